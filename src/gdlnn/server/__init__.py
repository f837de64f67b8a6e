"""The server: a page and a JSON API over one model, for people who will not write Python.

The process that listens knows HTTP and limits only; models run in worker processes that can be ended.
"""

from gdlnn.server.app import make_app, serve
from gdlnn.server.limits import Limits

__all__ = ["Limits", "make_app", "serve"]
