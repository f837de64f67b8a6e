"""HTTP connections that end when a client is too slow to say what it wants, or to take the answer.

uvicorn waits for both as long as it takes; here that has an end. Bodies are waited for in `guard`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio


class PatientProtocol(H11Protocol):
    """uvicorn's protocol with a time limit for the lines before a body, and for each part of an answer."""

    patience = 10.0
    _deadline: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take data; a request that has begun must be complete in time."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._enough()
        elif self._deadline is None and not self.transport.is_closing():
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._enough()
        self._taken()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Begin to wait for a client that does not take the answer."""
        super().pause_writing()
        self._taken()
        self._unread = self.loop.call_later(self.patience, self._give_up)

    def resume_writing(self) -> None:
        """Go on with the answer."""
        self._taken()
        super().resume_writing()

    def _taken(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _wait(self) -> None:
        self._deadline = self.loop.call_later(self.patience, self._give_up)

    def _enough(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        self.transport.abort()
