"""The server: a page and a JSON API over one model, for people who will not write Python.

The process that listens knows HTTP and limits only; models run in worker processes that can be ended.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gdlnn.server.app import make_app
    from gdlnn.server.limits import Limits
    from gdlnn.server.listening import serve

_HOMES = {
    "Limits": "gdlnn.server.limits",
    "make_app": "gdlnn.server.app",
    "serve": "gdlnn.server.listening",
}

__all__ = ["Limits", "make_app", "serve"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
