"""Fetching published files into the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdlnn.errors import DownloadError

if TYPE_CHECKING:
    from pathlib import Path

    from gdlnn.datasets.registry import Source


def fetch(source: Source) -> Path:
    """Fetch a data set."""
    raise DownloadError(
        f"data set {source.name}: cannot be fetched yet; put it into the folder GDLNN_DATA names"
    )
