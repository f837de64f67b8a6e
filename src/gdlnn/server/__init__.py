"""The server: a page and a JSON API over one model, for people who will not write Python.

The process that listens knows HTTP and limits only; models run in worker processes that can be ended.
"""

from gdlnn.server.app import make_app
from gdlnn.server.limits import Limits
from gdlnn.server.listening import serve

__all__ = ["Limits", "make_app", "serve"]
