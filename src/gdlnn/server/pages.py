"""The page, the page of the API, and what they load: all from here, nothing from elsewhere.

Styles and drawings are the report's own; what only the server's page needs stands in `page/`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup, escape

from gdlnn.drawing.pages import page_file, render

if TYPE_CHECKING:
    from fastapi import FastAPI

ASSETS = {
    "page.css": ("text/css", ("gdlnn.report/page.css", "gdlnn.server/serve.css")),
    "page.js": (
        "text/javascript",
        ("gdlnn.report/draw.js", "gdlnn.report/card.js", "gdlnn.server/batch.js", "gdlnn.server/serve.js"),
    ),
}


@lru_cache(maxsize=8)
def asset(name: str) -> str:
    """Return a style sheet or a script, put together of the report's part and the server's."""
    return "\n".join(page_file(part) for part in ASSETS[name][1])


def add_pages(app: FastAPI) -> None:
    """Add the page, its assets and the page of the API; none of them is part of the API itself."""

    @app.get("/", include_in_schema=False)
    async def page() -> HTMLResponse:
        return HTMLResponse(render("gdlnn.server/serve.html", title="GDLNN"))

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
    return render(
        "gdlnn.server/api.html", title="API · GDLNN", document=document, prose=_prose, type_name=_type_name
    )


def _prose(text: str) -> Markup:
    """Return a sentence of the document, with what stands between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _type_name(schema: dict[str, Any]) -> Markup:
    """Return a type in a word, with a link where it is described on the page."""
    if "$ref" in schema:
        return Markup("<a href='#{0}'>{0}</a>").format(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return Markup(" or ").join(dict.fromkeys(_type_name(item) for item in schema["anyOf"]))
    if schema.get("type") == "array":
        inner = schema.get("items") or (schema.get("prefixItems") or [{}])[0]
        return Markup("list of {}").format(_type_name(inner))
    if "enum" in schema or "const" in schema:
        return Markup(" or ").join(map(str, schema.get("enum", [schema.get("const")])))
    return escape(schema.get("type", "anything"))
