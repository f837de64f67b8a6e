"""serve(): listen, answer until stopped, and close the connections of clients that are too slow."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from gdlnn.errors import ServerError
from gdlnn.server.app import make_app
from gdlnn.server.limits import Guard, Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


def serve(
    model: str | os.PathLike[str],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    allowed_hosts: Collection[str] = (),
    limits: Limits | None = None,
    n_workers: int = 2,
    examples: str | None = None,
    smiles: str | None = None,
    say: Callable[[str], None] | None = None,
) -> None:
    """Serve a model until the process is stopped (SIGINT, SIGTERM); current requests are answered.

    Parameters
    ----------
    model, limits, n_workers, examples, smiles
        As for `make_app`.
    host, port
        Where to listen; port 0 takes any that is free.
    allowed_hosts
        Names that clients may use for the server, besides addresses, localhost and `host`.
    say
        Called with the address as soon as requests are answered.
    """
    # No worker imports from the current folder: not by the list that it gets, and not while it starts.
    if not sys.flags.safe_path and sys.path[:1] in ([""], [str(Path.cwd())]):
        del sys.path[0]
    os.environ["PYTHONSAFEPATH"] = "1"
    hosts = {"localhost", host, *allowed_hosts}
    app = make_app(model, limits, n_workers=n_workers, examples=examples, smiles=smiles, hosts=hosts)
    listening = _bind(host, port)
    server = uvicorn.Server(_config(app))

    async def run() -> None:
        try:
            await app.pool.start()
            if say is not None:
                say(f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}")
            await server.serve(sockets=[listening])
        finally:
            await app.pool.stop()

    stops = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, _interrupt) for number in stops}
    try:
        with listening, contextlib.suppress(KeyboardInterrupt):  # a requested stop is not a failure
            asyncio.run(run())
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except (OSError, OverflowError) as error:
        raise ServerError(f"{host}:{port}: expected an address to listen on, got {error}") from error


def _config(app: Guard) -> uvicorn.Config:
    limits = app.limits
    return uvicorn.Config(
        app,
        http=type("LimitedProtocol", (PatientProtocol,), {"limits": limits}),
        ws="none",
        lifespan="off",  # the workers are started before
        access_log=False,
        log_config=None,
        log_level=logging.ERROR,
        server_header=False,
        proxy_headers=False,  # a client could choose the address that its requests are counted for
        limit_concurrency=limits.connections,
        timeout_keep_alive=max(1, round(limits.read_seconds)),
        timeout_graceful_shutdown=max(1, round(limits.seconds)),
    )


class PatientProtocol(H11Protocol):
    """uvicorn's protocol with a time limit for headers and for answers that are not read.

    The time begins anew with every answer, and while a client goes on reading.
    """

    limits = Limits()
    _since, _unread = 0.0, 0
    _watching: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request; one address gets at most half of the connections."""
        super().connection_made(transport)
        clients = [getattr(each, "client", None) or ("",) for each in self.connections]
        if sum(client[0] == (self.client or ("",))[0] for client in clients) > self.limits.connections / 2:
            transport.abort()
        self._since = self.loop.time()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        if self._watching is not None:
            self._watching.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        self._since = self.loop.time()
        super().on_response_complete()

    def resume_writing(self) -> None:
        """Note that the client has read most of what was ready for it."""
        self._since = self.loop.time()
        super().resume_writing()

    def _watch(self) -> None:
        unread, now = self.transport.get_write_buffer_size(), self.loop.time()
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request
        at_work = cycle is not None and not cycle.response_complete
        if unread < self._unread or (at_work and not unread):
            self._since = now
        self._unread = unread
        if now - self._since >= self.limits.read_seconds:
            self.transport.abort()
        else:
            self._watching = self.loop.call_later(self.limits.read_seconds / 8, self._watch)
