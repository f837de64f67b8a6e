"""How the server and its workers talk: a length, a JSON header, and bytes that belong to it."""

from __future__ import annotations

import json
import struct
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

_LENGTHS = struct.Struct("<II")


def packed(header: dict[str, Any], body: bytes = b"") -> bytes:
    """Return a message as bytes."""
    text = json.dumps(header, separators=(",", ":")).encode()
    return _LENGTHS.pack(len(text), len(body)) + text + body


def read_message(stream: IO[bytes]) -> tuple[dict[str, Any], bytes] | None:
    """Read a message; None where the other side is gone."""
    lengths = stream.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    n_header, n_body = _LENGTHS.unpack(lengths)
    data = stream.read(n_header + n_body)
    if len(data) < n_header + n_body:
        return None
    return json.loads(data[:n_header]), data[n_header:]


async def receive_message(stream: asyncio.StreamReader) -> tuple[dict[str, Any], bytes]:
    """Read a message; raises `asyncio.IncompleteReadError` where the other side is gone."""
    n_header, n_body = _LENGTHS.unpack(await stream.readexactly(_LENGTHS.size))
    header = json.loads(await stream.readexactly(n_header))
    return header, await stream.readexactly(n_body)
