"""The page, the page of the API, and what they load: all from here, nothing from elsewhere.

Styles and drawings are the report's own; what only the server's page needs stands in `page/`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape
from importlib import resources
from string import Template
from typing import TYPE_CHECKING, Any

from fastapi.responses import HTMLResponse, Response

if TYPE_CHECKING:
    from fastapi import FastAPI

ASSETS = {
    "page.css": ("text/css", (("gdlnn.report", "page.css"), ("gdlnn.server", "serve.css"))),
    "page.js": (
        "text/javascript",
        (
            ("gdlnn.report", "draw.js"),
            ("gdlnn.report", "card.js"),
            ("gdlnn.server", "batch.js"),
            ("gdlnn.server", "serve.js"),
        ),
    ),
}


def read(package: str, name: str) -> str:
    """Return a file of a page."""
    return (resources.files(package) / "page" / name).read_text(encoding="utf-8")


@lru_cache(maxsize=8)
def asset(name: str) -> str:
    """Return a style sheet or a script, put together of the report's part and the server's."""
    return "\n".join(read(package, part) for package, part in ASSETS[name][1])


def add_pages(app: FastAPI) -> None:
    """Add the page, its assets and the page of the API; none of them is part of the API itself."""

    @app.get("/", include_in_schema=False)
    async def page() -> HTMLResponse:
        return HTMLResponse(read("gdlnn.server", "serve.html"))

    @app.get("/api", include_in_schema=False)
    async def api() -> HTMLResponse:
        return HTMLResponse(api_page(app.openapi()))

    for name, (kind, _) in ASSETS.items():
        app.add_api_route(f"/{name}", _asset_route(name, kind), include_in_schema=False)


def _asset_route(name: str, kind: str) -> Any:
    async def route() -> Response:
        return Response(asset(name), media_type=kind)

    return route


def api_page(document: dict[str, Any]) -> str:
    """Return the OpenAPI document as a page to read."""
    routes = [
        _route(method, path, route)
        for path, methods in document["paths"].items()
        for method, route in methods.items()
    ]
    schemas = [_schema(name, schema) for name, schema in sorted(document["components"]["schemas"].items())]
    return Template(read("gdlnn.server", "api.html")).substitute(
        about=_prose(" ".join(document["info"]["description"].split())),
        version=escape(document["info"]["version"]),
        routes="".join(routes),
        schemas="".join(schemas),
    )


def _route(method: str, path: str, route: dict[str, Any]) -> str:
    parameters = "".join(
        f"<dt><code>{escape(item['name'])}</code></dt><dd>{_prose(item.get('description', ''))}</dd>"
        for item in route.get("parameters", ())
    )
    content = route.get("requestBody", {}).get("content", {})
    takes = ", ".join(f"{escape(kind)} {_reference(item['schema'])}" for kind, item in content.items())
    good = route["responses"]["200"]["content"]["application/json"]["schema"]
    others = ", ".join(code for code in route["responses"] if code != "200")
    return (
        f"<article class='card route'><h3><code>{method.upper()} {escape(path)}</code> "
        f"<span class='quiet'>{escape(route.get('summary', ''))}</span></h3>"
        f"<p>{_prose(route.get('description', ''))}</p>"
        f"<dl>{parameters}{f'<dt>takes</dt><dd>{takes}</dd>' if takes else ''}"
        f"<dt>gives</dt><dd>{_reference(good)}</dd>"
        f"{f'<dt>or an error</dt><dd>{others}</dd>' if others else ''}</dl></article>"
    )


def _schema(name: str, schema: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><th scope='row'><code>{escape(key)}</code></th><td>{_reference(value)}</td>"
        f"<td>{_prose(value.get('description', ''))}</td></tr>"
        for key, value in schema.get("properties", {}).items()
    )
    return (
        f"<article class='card' id='{escape(name)}'><h3><code>{escape(name)}</code></h3>"
        f"<p>{_prose(schema.get('description', ''))}</p>"
        f"<div class='fields'><table>{rows}</table></div></article>"
    )


def _prose(text: str) -> str:
    """Return a sentence of the document, with what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _reference(schema: dict[str, Any]) -> str:
    """Return a type in a word, with a link where it is described on the page."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f"<a href='#{name}'>{name}</a>"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_reference(item) for item in schema["anyOf"]))
    if schema.get("type") == "array":
        inner = schema.get("items") or (schema.get("prefixItems") or [{}])[0]
        return f"list of {_reference(inner)}"
    if "enum" in schema or "const" in schema:
        return " or ".join(escape(str(value)) for value in schema.get("enum", [schema.get("const")]))
    return escape(str(schema.get("type", "anything")))
