"""serve(): listen, answer until stopped, and close the connections of clients that are too slow.

A stop lets running requests finish. uvicorn has no time limit for headers and for clients that do not read
the answer; `PatientProtocol` has. Time limits for bodies are in `limits`.
"""

from __future__ import annotations

import ipaddress
import logging
import signal
import socket
from typing import TYPE_CHECKING

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from gdlnn.errors import ServerError
from gdlnn.server.app import app_over
from gdlnn.server.limits import Limits
from gdlnn.server.workers import WorkerPool

if TYPE_CHECKING:
    import asyncio
    import os
    from collections.abc import Callable

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def serve(
    model: str | os.PathLike[str],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    limits: Limits | None = None,
    n_workers: int = 2,
    examples: str | None = None,
    smiles: str | None = None,
    say: Callable[[str], None] | None = None,
) -> None:
    """Serve a model until the process is told to stop (SIGINT, SIGTERM).

    Parameters
    ----------
    model, limits, n_workers, examples, smiles
        As for `make_app`.
    host, port
        Where to listen; port 0 takes any that is free.
    say
        Called with the address as soon as requests are answered.
    """
    limits = limits or Limits()
    hosts = LOOPBACK_NAMES if is_loopback(host) else ()
    pool = WorkerPool(model, limits, n_workers=n_workers, examples=examples, smiles=smiles)
    listening = _bind(host, port)
    with listening:
        address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        server = _Server(_config(app_over(pool, hosts), limits), address, say)
        # uvicorn raises the signal again once it has stopped; a stop that was asked for is no failure.
        before = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}
        try:
            server.run(sockets=[listening])
        except SystemExit:  # uvicorn's way to say that the application did not start
            if pool.failure is None:
                raise
            raise pool.failure from None
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except (OSError, OverflowError) as error:
        raise ServerError(f"{host}:{port}: expected an address to listen on, got {error}") from error


def _config(app: object, limits: Limits) -> uvicorn.Config:
    protocol = type("LimitedProtocol", (PatientProtocol,), {"patience": limits.read_seconds})
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        http=protocol,
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        limit_concurrency=limits.connections,
        timeout_keep_alive=max(1, round(limits.read_seconds)),
        timeout_graceful_shutdown=max(1, round(limits.seconds)),
    )


class _Server(uvicorn.Server):
    """uvicorn's server that says when it listens, and where."""

    def __init__(self, config: uvicorn.Config, address: str, say: Callable[[str], None] | None) -> None:
        super().__init__(config)
        self._address, self._say = address, say
        # What keeps workers from starting is raised; uvicorn would tell it once more, at length.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        if self.started and self._say is not None:
            self._say(self._address)


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
