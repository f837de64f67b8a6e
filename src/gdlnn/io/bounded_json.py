"""loads(): parse untrusted JSON, with limits on depth and on memory."""

from __future__ import annotations

import json
import re
from typing import Any

FREE_BYTES = 8 << 20
"""Bytes of lists and objects that are always allowed, whatever the length of the text."""
MOST_TIMES = 16
"""Bytes of lists and objects allowed per byte of text; our own files take less than half of this."""
_LIST, _OBJECT = 96, 240  # bytes that a list with a few values and an object with one key take
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"')


def loads(data: bytes | str) -> Any:
    """Return the value of a JSON text.

    Raises
    ------
    ValueError
        If it is not JSON, is nested too deeply, or would take far more memory than its length, as millions
        of empty objects do.
    """
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if _weight(raw) > _granted(raw) and _weight(_STRING.sub(b'""', raw)) > _granted(raw):
        raise ValueError(f"expected values, got {raw.count(b'[') + raw.count(b'{'):,} lists and objects")
    try:
        return json.loads(data)
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error


def _weight(raw: bytes) -> int:
    """Return about how many bytes the lists and objects of a text take."""
    return _LIST * raw.count(b"[") + _OBJECT * raw.count(b"{")


def _granted(raw: bytes) -> int:
    return FREE_BYTES + MOST_TIMES * len(raw)
