"""Limits on clients: on what they send, where it comes from, and how slow they may be.

The middleware reads whole bodies, so that nothing behind it waits for a client.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, MutableMapping

    from starlette.types import ASGIApp, Receive, Scope, Send

    from gdlnn.server.workers import WorkerPool

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")


@dataclass(frozen=True)
class Limits:
    """What a client may ask for at most."""

    body_bytes: int = 4 << 20
    nodes: int = 500  # of one graph
    edges: int = 5000  # of one graph
    batch: int = 1000  # graphs in one request
    seconds: float = 20.0  # for an answer; then its worker is ended and replaced
    read_seconds: float = 10.0  # for a client to send a request, and to read on in an answer
    waiting: int = 64  # requests that wait for a worker
    of_one_client: int = 4  # requests of one address at work or waiting, besides small predictions
    connections: int = 128  # one address may have half of them


class RefusedError(HTTPException):
    """A request that is not answered: a status of HTTP, and the reason."""


def refusal(error: HTTPException, **headers: str) -> JSONResponse:
    """Return what the client gets."""
    return JSONResponse({"error": error.detail}, error.status_code, {**(error.headers or {}), **headers})


class Guard:
    """Passes on requests that keep to the limits and come from where they may, with the body in the scope."""

    def __init__(self, app: ASGIApp, pool: WorkerPool, hosts: Collection[str]) -> None:
        self.app, self.pool, self.limits = app, pool, pool.limits
        self.hosts = {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def answer(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *HEADERS]}
            await send(message)

        headers = dict(scope["headers"])
        try:
            self._check_host(headers)
            _check_origin(scope["method"], headers)
            scope["body"] = await self._body(headers, receive)
            if scope["body"] is not None:
                await self.app(scope, receive, answer)
        except RefusedError as refused:
            # The rest of the request may be unread: the connection ends with the answer.
            await refusal(refused, connection="close")(scope, receive, answer)

    def _check_host(self, headers: dict[bytes, bytes]) -> None:
        """Refuse names of other sites: by these their pages would reach a server on loopback."""
        host = _HOST.fullmatch(headers.get(b"host", b"").decode("latin-1").lower())
        if not self.hosts or (host is not None and host[1] in self.hosts):
            return
        try:
            ipaddress.ip_address(host[1].strip("[]") if host else "")
        except ValueError:
            raise RefusedError(
                400, "host: expected a name of this server, got another; see --allow-host"
            ) from None

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes | None:
        """Return the whole body, or None where the client has left."""
        most, body = self.limits.body_bytes, bytearray()
        too_large = RefusedError(413, f"body: expected at most {most:,} bytes, got more")
        if b"content-length" in headers and b"transfer-encoding" in headers:
            raise RefusedError(400, "expected content-length or transfer-encoding, got both")
        if int(headers.get(b"content-length", b"0")) > most:  # the protocol has checked that it is a number
            raise too_large
        try:
            async with asyncio.timeout(self.limits.read_seconds):
                while (message := await receive())["type"] != "http.disconnect":
                    body += message.get("body", b"")
                    if len(body) > most:
                        raise too_large
                    if not message.get("more_body"):
                        return bytes(body)
        except TimeoutError:
            seconds = f"{self.limits.read_seconds:g} s"
            raise RefusedError(408, f"body: expected all of it within {seconds}, got a part") from None
        return None


def _check_origin(method: str, headers: dict[bytes, bytes]) -> None:
    """Refuse what pages of other sites send. Browsers say where a request comes from, and no page can lie."""
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    if site is not None:
        own = site in (b"same-origin", b"none")
    else:
        own = origin is None or origin.rpartition(b"://")[2] == headers.get(b"host")
    if not own and method not in ("GET", "HEAD", "OPTIONS"):
        raise RefusedError(403, "origin: expected a page of this server, got one of another site")


class PatientProtocol(H11Protocol):
    """uvicorn's protocol with a time limit for clients that neither send a request nor read an answer."""

    limits = Limits()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request; one address gets at most half of the connections."""
        super().connection_made(transport)
        clients = [getattr(each, "client", None) or ("",) for each in self.connections]
        if sum(client[0] == (self.client or ("",))[0] for client in clients) > self.limits.connections / 2:
            transport.abort()
        self._watch(None, self.loop.time())

    def _watch(self, before: tuple[object, int] | None, since: float) -> None:
        """Close the connection of a client that has done nothing since a time, else look again soon."""
        if self.transport.is_closing():
            return
        now, unread = self.loop.time(), self.transport.get_write_buffer_size()
        cycle: Any = self.cycle  # None before the first request
        at_work = cycle and not cycle.response_complete and not unread
        since = now if at_work or (self.cycle, unread) != before else since
        if now - since >= self.limits.read_seconds:
            self.transport.abort()
        else:
            self.loop.call_later(self.limits.read_seconds / 8, self._watch, (self.cycle, unread), since)
