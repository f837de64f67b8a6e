"""HTML pages from Jinja2 templates, with autoescape.

A template is named by package and file: `gdlnn.report/page.html` is in the folder `page` of `gdlnn.report`.
"""

from __future__ import annotations

from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup


def page_file(name: str) -> str:
    """Return the text of a template, style sheet or script."""
    package, _, file = name.partition("/")
    return (resources.files(package) / "page" / file).read_text(encoding="utf-8")


def render(template: str, /, **values: Any) -> str:
    """Return a template filled in with values. Strings are escaped, `Markup` is inserted unchanged."""
    return _ENVIRONMENT.get_template(template).render(values)


_ENVIRONMENT = Environment(
    loader=FunctionLoader(page_file),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
_ENVIRONMENT.globals["file"] = lambda name: Markup(page_file(name))
