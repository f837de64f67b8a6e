"""Pages: HTML made of the packages' templates, with everything escaped that is not marked as markup.

A name such as `gdlnn.report/page.html` is a file in the folder `page` of a package.
"""

from __future__ import annotations

from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup


def page_file(name: str) -> str:
    """Return the text of a file of a page, as it is."""
    package, _, file = name.partition("/")
    return (resources.files(package) / "page" / file).read_text(encoding="utf-8")


def render(template: str, /, **values: Any) -> str:
    """Return the page of a template; strings among the values are escaped, `Markup` is not."""
    return _ENVIRONMENT.get_template(template).render(values)


_ENVIRONMENT = Environment(
    loader=FunctionLoader(page_file),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.globals["file"] = lambda name: Markup(page_file(name))
