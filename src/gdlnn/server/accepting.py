"""Acceptor: takes connections up to a limit, and refuses further ones politely.

asyncio's own loop takes as many connections as come, and out of descriptors it logs each attempt. What is
done with a connection that was taken is in `listening`.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import logging
import os
import socket
from collections import Counter, deque
from functools import partial
from typing import TYPE_CHECKING

from gdlnn.server.limits import HEADERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from gdlnn.server.limits import Limits
    from gdlnn.server.listening import PatientProtocol

AT_ONCE = 32
"""Connections taken before other work gets its turn."""
LINGER, LINGER_SECONDS = 32, 1.0
"""Refused connections that stay open a moment, so that the refusal is not lost with what the client sends."""
LOG_SECONDS = 1.0
"""Time between lines of the log about refusals."""
PAUSE_SECONDS = 0.1
"""Time to the next attempt where the system has no room for a connection."""
_NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
logger = logging.getLogger(__name__)


def refusal(reason: str) -> bytes:
    """Return the whole answer to a client that is not let in."""
    body = json.dumps({"error": reason}).encode()
    headers = [
        *((b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))),
        *((b"connection", b"close"), (b"retry-after", b"2")),
        *HEADERS,
    ]
    lines = [b"HTTP/1.1 503 Service Unavailable", *(name + b": " + value for name, value in headers)]
    return b"\r\n".join([*lines, b"", body])


FULL = refusal("too many connections; try again in a moment")


class Acceptor:
    """Takes connections from a listening socket.

    Parameters
    ----------
    listening
        The socket.
    make_protocol
        Makes what talks to a client.
    limits
        How many connections there may be, in all and from one address.
    """

    def __init__(
        self, listening: socket.socket, make_protocol: Callable[[], PatientProtocol], limits: Limits
    ) -> None:
        self._listening, self._make_protocol, self._limits = listening, make_protocol, limits
        self._loop = asyncio.get_running_loop()
        self._open: Counter[str] = Counter()
        self._n_open = 0
        self._lingering: deque[socket.socket] = deque()
        self._spare = self._reserve()
        self._n_refused, self._last_log = 0, -LOG_SECONDS
        self._taking: set[asyncio.Task[None]] = set()
        self._paused: asyncio.TimerHandle | None = None
        listening.setblocking(False)
        self._loop.add_reader(listening, self._accept)

    def close(self) -> None:
        """Take no more connections."""
        self._loop.remove_reader(self._listening)
        if self._paused is not None:
            self._paused.cancel()
        while self._lingering:
            self._lingering.popleft().close()
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None

    def _accept(self) -> None:
        for _ in range(AT_ONCE):
            try:
                connection, address = self._listening.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if error.errno in _NO_ROOM:
                    self._without_room(error)
                    return
                continue  # the client has left already
            client = str(address[0])
            if self._n_open >= self._limits.connections or (
                self._open[client] >= self._limits.connections_per_client
            ):
                self._refuse(connection)
                continue
            self._open[client] += 1
            self._n_open += 1
            task = self._loop.create_task(self._take(connection, client))
            self._taking.add(task)
            task.add_done_callback(self._taking.discard)

    async def _take(self, connection: socket.socket, client: str) -> None:
        protocol = self._make_protocol()
        protocol.forget = partial(self._forget, client)
        try:
            await self._loop.connect_accepted_socket(lambda: protocol, connection)
        except OSError as error:
            connection.close()
            protocol.forget()
            self._note(str(error.strerror))

    def _forget(self, client: str) -> None:
        self._n_open -= 1
        self._open[client] -= 1
        if not self._open[client]:
            del self._open[client]

    def _refuse(self, connection: socket.socket) -> None:
        """Tell a client to come back later; nothing here waits for it."""
        with contextlib.suppress(OSError):
            connection.setblocking(False)
            connection.send(FULL)
            connection.shutdown(socket.SHUT_WR)
        self._lingering.append(connection)
        while len(self._lingering) > LINGER:
            self._lingering.popleft().close()
        self._loop.call_later(LINGER_SECONDS, self._end, connection)
        self._note("the limit is reached")

    def _end(self, connection: socket.socket) -> None:
        if connection in self._lingering:
            self._lingering.remove(connection)
            connection.close()

    def _without_room(self, error: OSError) -> None:
        """Refuse those that wait, one after another on a spare descriptor, and pause."""
        while self._lingering:
            self._lingering.popleft().close()
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None
        for _ in range(AT_ONCE):
            try:
                connection, _ = self._listening.accept()
            except OSError:
                break
            with contextlib.suppress(OSError), connection:
                connection.setblocking(False)
                connection.send(FULL)
            self._note(str(error.strerror))
        self._spare = self._reserve()
        self._note(str(error.strerror))
        self._loop.remove_reader(self._listening)
        self._paused = self._loop.call_later(PAUSE_SECONDS, self._go_on)

    def _go_on(self) -> None:
        self._paused = None
        self._loop.add_reader(self._listening, self._accept)

    def _reserve(self) -> int | None:
        try:
            return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None

    def _note(self, reason: str) -> None:
        """Log refusals, at most once a second."""
        self._n_refused += 1
        now = self._loop.time()
        if now - self._last_log >= LOG_SECONDS:
            logger.warning("%d connections refused: %s", self._n_refused, reason)
            self._n_refused, self._last_log = 0, now
