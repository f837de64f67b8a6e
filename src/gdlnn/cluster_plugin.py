"""The Dask plugin that gives workers the data that all jobs share. Imported only if Dask is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distributed.diagnostics.plugin import WorkerPlugin

from gdlnn.workers import keep

if TYPE_CHECKING:
    from collections.abc import Callable


class SharedPlugin(WorkerPlugin):
    """Shared data to send to a worker."""

    def __init__(self, key: str, unpack: Callable[[bytes], Any], payload: bytes) -> None:
        self.key, self.unpack, self.payload = key, unpack, payload
        self.name = f"gdlnn-{key[:24]}"

    def setup(self, worker: Any) -> None:  # noqa: ARG002 - Dask's signature
        """Unpack it once, when the worker joins."""
        keep(self.key, self.unpack(self.payload))
