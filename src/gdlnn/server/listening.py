"""serve(): listen, answer until stopped, and close the connections of clients that are too slow.

A stop lets running requests finish. uvicorn has no time limit for headers and for clients that do not read
the answer; `PatientProtocol` has. Limits on bodies are in `limits`, on connections in `accepting`.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import logging
import signal
import socket
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from gdlnn.errors import ServerError
from gdlnn.server.accepting import Acceptor
from gdlnn.server.app import app_over
from gdlnn.server.limits import HEADERS, Limits
from gdlnn.server.workers import WorkerPool

if TYPE_CHECKING:
    import asyncio
    import os
    from collections.abc import Callable

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
STOP_SECONDS = 2.0
"""Time that a server which stops waits for a client that reads nothing."""
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
    """Serve a model until the process is stopped (SIGINT, SIGTERM).

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
        server = _Server(_config(app_over(pool, hosts), limits), limits, address, say)
        # uvicorn raises the signal again once it has stopped; a requested stop is not a failure.
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
        timeout_keep_alive=max(1, round(limits.read_seconds)),
        timeout_graceful_shutdown=max(1, round(limits.seconds)),
    )


class _Server(uvicorn.Server):
    """uvicorn's server that says when it listens, and where."""

    def __init__(
        self, config: uvicorn.Config, limits: Limits, address: str, say: Callable[[str], None] | None
    ) -> None:
        super().__init__(config)
        self._limits, self._address, self._say = limits, address, say
        self._acceptors: list[Acceptor] = []
        # What keeps workers from starting is raised; uvicorn would tell it once more, at length.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup([])  # connections are taken here, not by asyncio
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        self._acceptors = [Acceptor(each, self._protocol, self._limits) for each in sockets or []]
        if self.started and self._say is not None:
            self._say(self._address)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for acceptor in self._acceptors:
            acceptor.close()
        await super().shutdown(sockets)

    def _protocol(self) -> PatientProtocol:
        kind: Any = self.config.http_protocol_class
        made: PatientProtocol = kind(self.config, self.server_state, self.lifespan.state)
        return made


class _CountingTransport:
    """A transport that counts what is written to it, to distinguish progress from silence."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.written = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        self.written += len(data)
        self._transport.write(data)

    @property
    def taken(self) -> int:
        """Bytes that have gone out."""
        return self.written - self._transport.get_write_buffer_size()


class PatientProtocol(H11Protocol):
    """uvicorn's protocol with a time limit for the lines before a body, and for answers that are not read."""

    patience = 10.0
    _deadline: asyncio.TimerHandle | None = None
    _watching: asyncio.TimerHandle | None = None
    _taken, _since = 0, 0.0
    forget: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        self._counted = _CountingTransport(transport)
        super().connection_made(self._counted)  # type: ignore[arg-type]
        self._since = self.loop.time()
        self._watch()
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
        if self._watching is not None:
            self._watching.cancel()
        super().connection_lost(exc)
        if self.forget is not None:
            self.forget()
            self.forget = None

    def shutdown(self) -> None:
        """Let a running request end; what a client does not read is no reason to wait for long."""
        self.patience = min(self.patience, STOP_SECONDS)
        super().shutdown()

    def send_400_response(self, msg: str) -> None:
        """Refuse anything but HTTP, in JSON as for every other error."""
        body = json.dumps({"error": msg}).encode()
        headers = [
            *((b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))),
            *((b"connection", b"close"), *HEADERS),
        ]
        with contextlib.suppress(h11.LocalProtocolError):  # an answer is under way already
            events = h11.Response(status_code=400, headers=headers), h11.Data(data=body), h11.EndOfMessage()
            for event in events:
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _watch(self) -> None:
        """Give up a client that has not taken any part of what lies ready for it for too long."""
        taken, now = self._counted.taken, self.loop.time()
        if taken != self._taken or taken == self._counted.written:
            self._taken, self._since = taken, now
        elif now - self._since >= self.patience:
            self.transport.abort()
            return
        self._watching = self.loop.call_later(min(self.patience, STOP_SECONDS) / 4, self._watch)

    def _wait(self) -> None:
        self._deadline = self.loop.call_later(self.patience, self._give_up)

    def _enough(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        self.transport.abort()
