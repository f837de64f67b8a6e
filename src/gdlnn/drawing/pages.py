"""HTML pages from Jinja2 templates, with autoescape.

A template is named by package and file: `gdlnn.report/page.html` is in the folder `page` of `gdlnn.report`.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Sequence


def page_file(name: str) -> str:
    """Return the text of a template, style sheet or script."""
    package, _, file = name.partition("/")
    # The package is not imported: the server's listening process would load libraries that it never uses.
    spec = find_spec(package)
    folders = (spec and spec.submodule_search_locations) or ()
    path = next(path for folder in folders if (path := Path(folder) / "page" / file).is_file())
    return path.read_text(encoding="utf-8")


def render(template: str, /, **values: Any) -> str:
    """Return a template filled in with values. Strings are escaped, `Markup` is inserted unchanged."""
    return _ENVIRONMENT.get_template(template).render(values)


def style(files: Sequence[str]) -> Markup:
    """Return style sheets as one element of a page."""
    return Markup(f"<style>{joined(files)}</style>")


def script(files: Sequence[str]) -> Markup:
    """Return scripts as one element of a page."""
    return Markup(f"<script>{joined(files)}</script>")


def policy(styles: Sequence[str] = (), scripts: Sequence[str] = ()) -> Markup:
    """Return the security policy of a page that holds everything itself.

    Only the given style sheets and scripts apply, known by their hashes: a style attribute or a script that
    found its way into the page does nothing, and nothing is fetched.
    """
    allowed = {"style-src": styles, "script-src": scripts}
    parts = [f"{name} 'sha256-{_hash(files)}'" for name, files in allowed.items() if files]
    rules = "; ".join(
        ["default-src 'none'", *parts, "img-src data:", "base-uri 'none'", "form-action 'none'"]
    )
    return Markup(f'<meta http-equiv="Content-Security-Policy" content="{rules}">')


def joined(files: Sequence[str]) -> str:
    """Return the text of several style sheets or scripts as one."""
    return "".join(page_file(name) for name in files)


def _hash(files: Sequence[str]) -> str:
    return base64.b64encode(hashlib.sha256(joined(files).encode()).digest()).decode()


_ENVIRONMENT = Environment(
    loader=FunctionLoader(page_file),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
_ENVIRONMENT.globals["file"] = lambda name: Markup(page_file(name))
_ENVIRONMENT.globals |= {"style": style, "script": script, "policy": policy}
