"""Limits on requests, and the middleware that enforces those that need no model.

The middleware reads whole bodies, so that nothing behind it waits for a client.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse

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
SMALL_BYTES = 4096
LARGE_COST, MOST_COST = 8, 32
"""One address may have 32 small predictions in progress, or 4 of the other requests to the model."""
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")


@dataclass(frozen=True)
class Limits:
    """What a client may ask for at most."""

    body_bytes: int = 4 << 20
    nodes: int = 500  # of one graph, which may have ten times as many edges
    batch: int = 1000  # graphs in one request
    seconds: float = 20.0  # for an answer; then its worker is ended and replaced
    read_seconds: float = 10.0  # for a client to send a request, and to read on in an answer
    waiting: int = 64  # requests that wait for a worker
    connections: int = 128  # one address may have half of them

    @property
    def edges(self) -> int:
        """Edges of one graph."""
        return 10 * self.nodes


class RefusedError(Exception):
    """A request that is not answered: a status of HTTP, and the reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason

    def answer(self, **headers: str) -> JSONResponse:
        """Return what the client gets."""
        return JSONResponse({"error": self.reason}, self.status, headers)


class Guard:
    """Passes on requests that keep to the limits and come from where they may, with the body in the scope."""

    def __init__(self, app: ASGIApp, pool: WorkerPool, hosts: Collection[str]) -> None:
        self.app, self.pool, self.limits = app, pool, pool.limits
        self.hosts = {host.lower() for host in hosts}
        self._in_progress: Counter[str] = Counter()

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
                await self._pass_on(scope, receive, answer)
        except RefusedError as refused:
            # The rest of the request may be unread: the connection ends with the answer.
            await refused.answer(connection="close")(scope, receive, answer)

    def _check_host(self, headers: dict[bytes, bytes]) -> None:
        """Refuse names of other sites: by these their pages would reach a server on loopback."""
        host = _HOST.fullmatch(headers.get(b"host", b"").decode("latin-1"))
        known = host is not None and (host[1].lower() in self.hosts or _is_address(host[1]))
        if self.hosts and not known:
            raise RefusedError(400, "host: expected a name of this server, got another; see --allow-host")

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

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, unless its address has so many in progress that others would wait for it."""
        small = scope["path"] == "/predict" and len(scope["body"]) <= SMALL_BYTES
        cost = 1 if small or scope["method"] != "POST" else LARGE_COST
        address = str((scope.get("client") or ("",))[0])
        if self._in_progress[address] + cost > MOST_COST:
            raise RefusedError(503, "this address has too many requests in progress; wait for the answers")
        self._in_progress[address] += cost
        try:
            await self.app(scope, receive, send)
        finally:
            self._in_progress[address] -= cost
            self._in_progress += Counter()  # drops addresses without requests


def _is_address(name: str) -> bool:
    try:
        return bool(ipaddress.ip_address(name.strip("[]")))
    except ValueError:
        return False


def _check_origin(method: str, headers: dict[bytes, bytes]) -> None:
    """Refuse what pages of other sites send. Browsers say where a request comes from, and no page can lie."""
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    if site is not None:
        own = site in (b"same-origin", b"none")
    else:
        own = origin is None or origin.rpartition(b"://")[2] == headers.get(b"host")
    if not own and method not in ("GET", "HEAD", "OPTIONS"):
        raise RefusedError(403, "origin: expected a page of this server, got one of another site")
