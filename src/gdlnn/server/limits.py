"""Limits on requests, and the middleware that enforces those on bodies.

Every limit is an option of `gdlnn serve`. The middleware reads whole bodies, so that nothing behind it waits
for a client. Slow headers and clients that do not read the answer are dealt with in `listening`.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from gdlnn.errors import ServerError

if TYPE_CHECKING:
    from collections.abc import Collection, MutableMapping

    from starlette.types import ASGIApp, Receive, Scope, Send

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


_HOST = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")


@dataclass(frozen=True)
class Limits:
    """What a client may ask for at most.

    Attributes
    ----------
    body_bytes
        Size of a request's body.
    nodes
        Nodes (atoms) of one graph. A graph may have ten times as many edges.
    batch
        Graphs in one request.
    seconds
        Time for one request, waiting for a free worker not counted; then its worker is ended and replaced.
    read_seconds
        Time for a client to send a request, and to take each part of the answer.
    waiting
        Requests that may wait for a free worker; further ones are asked to come back later.
    connections
        Connections open at a time; further ones are asked to come back later.
    connections_per_client
        Connections open at a time from one address; 0: half of all.
    """

    body_bytes: int = 4 << 20
    nodes: int = 500
    batch: int = 1000
    seconds: float = 20.0
    read_seconds: float = 10.0
    waiting: int = 64
    connections: int = 128
    connections_per_client: int = 0

    def __post_init__(self) -> None:
        if not self.connections_per_client:
            object.__setattr__(self, "connections_per_client", (self.connections + 1) // 2)
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise ServerError(f"{field.name}: expected a number above 0, got {value!r}")

    @property
    def edges(self) -> int:
        """Edges of one graph."""
        return 10 * self.nodes

    def to_json(self) -> dict[str, Any]:
        """Return the limits as plain JSON values."""
        return asdict(self) | {"edges": self.edges}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Limits:
        """Build limits from what `to_json` gave."""
        return cls(**{field.name: data[field.name] for field in fields(cls)})


# --- the guard ----------------------------------------------------------------------------------------------


class _RefusedError(Exception):
    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class Guard:
    """Lets requests through that keep to the limits and come from where they may.

    Parameters
    ----------
    app
        What is guarded.
    limits
        The limits.
    hosts
        The names under which the server may be addressed; empty: any.
    """

    def __init__(self, app: ASGIApp, limits: Limits, hosts: Collection[str] = ()) -> None:
        self.app, self.limits = app, limits
        self.hosts = frozenset(host.lower().encode() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = self._with_headers(send)
        try:
            headers = dict(scope["headers"])
            self._check_host(headers)
            _check_origin(scope["method"], headers)
            body = await self._body(headers, receive)
        except _RefusedError as refused:
            await _refuse(answer, refused)
            return
        if body is not None:
            await self.app(scope, _given(body, receive), answer)

    def _check_host(self, headers: dict[bytes, bytes]) -> None:
        """Refuse other names than the server's own: a page from elsewhere would use one of these."""
        host = _HOST.fullmatch(headers.get(b"host", b""))
        if self.hosts and (host is None or host[1].lower() not in self.hosts):
            raise _RefusedError(400, "host: expected a name of this server, got another")

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes | None:
        """Return the whole body, or None where the client has left."""
        most = self.limits.body_bytes
        if b"content-length" in headers and b"transfer-encoding" in headers:
            raise _RefusedError(400, "expected content-length or transfer-encoding, got both")
        if int(headers.get(b"content-length", b"0")) > most:  # the protocol has checked that it is a number
            raise _RefusedError(413, f"body: expected at most {most:,} bytes, got more")
        chunks: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self.limits.read_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    chunks.append(message.get("body", b""))
                    size += len(chunks[-1])
                    if size > most:
                        raise _RefusedError(413, f"body: expected at most {most:,} bytes, got more")
                    if not message.get("more_body"):
                        return b"".join(chunks)
        except TimeoutError:
            seconds = f"{self.limits.read_seconds:g} s"
            raise _RefusedError(408, f"body: expected all of it within {seconds}, got a part") from None

    def _with_headers(self, send: Send) -> Send:
        """Return `send` with the headers that every answer has."""

        async def answer(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}
                added = [pair for pair in HEADERS if pair[0] not in own]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        return answer


def _check_origin(method: str, headers: dict[bytes, bytes]) -> None:
    """Refuse what pages of other sites send. Browsers say where a request comes from, and no page can lie."""
    if method in ("GET", "HEAD", "OPTIONS"):
        return
    site = headers.get(b"sec-fetch-site")
    origin = headers.get(b"origin")
    if site is not None:
        own = site in (b"same-origin", b"none")
    else:
        own = origin is None or origin.rpartition(b"://")[2] == headers.get(b"host")
    if not own:
        raise _RefusedError(403, "origin: expected a page of this server, got one of another site")


async def _refuse(send: Send, refused: _RefusedError) -> None:
    body = json.dumps({"error": refused.reason}).encode()
    # The rest of the request is not read: the connection ends with the answer.
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _given(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body that was read, then whatever the connection says."""
    told = False

    async def again() -> MutableMapping[str, Any]:
        nonlocal told
        if not told:
            told = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return again
