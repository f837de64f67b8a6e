"""The application: routes, statuses of errors and pages. Models run in worker processes.

The pages load nothing from other hosts. They share the report's styles and scripts; `page/` has the rest, and
`answers.json`, the schemas of the answers in the OpenAPI document.
"""

from __future__ import annotations

import json
import re
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from markupsafe import Markup, escape
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException

from gdlnn.drawing.pages import page_file, render
from gdlnn.server.bodies import ExplainBody, FileKind, PredictBody
from gdlnn.server.limits import Guard, Limits, RefusedError, refusal
from gdlnn.server.workers import WorkerPool
from gdlnn.version import package_version

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Collection

JSON = "application/json"
Body = TypeVar("Body", bound=BaseModel)
ABOUT = """
Asks one GDLNN model: what it predicts for graphs, and why. Errors are `{"error": "…"}`: what, where,
expected, got. No request names a file or a path; files are sent as they are.
"""
FAILURES = {
    400: "Not JSON, not text, not HTTP, or not a host name of this server",
    403: "The request comes from a page of another site",
    408: "The request came too slowly",
    413: "The body is too large",
    415: "The body is said to be something else than JSON",
    422: "The request cannot be answered as it is",
    500: "The server failed; its log says why",
    503: "Too busy, or the answer took too long",
    507: "The server has no room for the file",
}
FILE_TYPES = ("text/csv", "chemical/x-mdl-sdfile", "application/jsonl", "application/octet-stream")
STYLES = ("gdlnn.drawing/drawing.css", "gdlnn.report/page.css", "gdlnn.server/serve.css")
SCRIPTS = ("gdlnn.report/card.js", *(f"gdlnn.server/{n}.js" for n in ("dom", "answer", "batch", "serve")))


def make_app(
    model: str | os.PathLike[str],
    limits: Limits | None = None,
    *,
    n_workers: int = 2,
    examples: str | None = None,
    smiles: str | None = None,
    hosts: Collection[str] = (),
) -> Guard:
    """Return the application for a model, as any ASGI server runs it.

    Parameters
    ----------
    model
        The model file, or a folder of models for several labels.
    limits
        What a client may ask for at most.
    n_workers
        Processes that hold the model.
    examples, smiles
        A dataset whose first graphs the page offers, as on the command line, and its column of SMILES.
    hosts
        The names that clients may use for the server, besides addresses; empty: any.
    """
    pool = WorkerPool(model, limits, n_workers=n_workers, examples=examples, smiles=smiles)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        try:
            await pool.start()
            yield
        finally:
            await pool.stop()

    app = FastAPI(
        title="GDLNN server",
        version=package_version(),
        description=ABOUT,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        swagger_ui_oauth2_redirect_url=None,
    )
    _add_failures(app)
    _add_api(app, pool)
    _add_schemas(app)
    _add_pages(app)
    return Guard(app, pool, hosts)


def _add_failures(app: FastAPI) -> None:
    """Describe every failure in one line, without what the client sent: it may be anything."""

    @app.exception_handler(RequestValidationError)
    @app.exception_handler(ValidationError)
    async def invalid(_: Request, error: RequestValidationError | ValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "body"
        status = 400 if first["type"] == "json_invalid" else 422
        return refusal(RefusedError(status, f"{where[:200]}: {first['msg'][:300]}"))

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> Response:
        return refusal(error, **({"retry-after": "2"} if error.status_code == 503 else {}))


def _add_api(app: FastAPI, pool: WorkerPool) -> None:
    async def ask(request: Request, do: str, **options: Any) -> Response:
        return Response(await pool.ask(request, do, **options), media_type=JSON)

    @app.post("/predict", summary="Predictions of graphs", **_post(PredictBody.__name__, "PredictAnswer"))
    async def predict(request: Request) -> Response:
        """Return the label and the probabilities of each graph.

        A graph that cannot be read has an `error` in its row; the others are answered.
        """
        _checked(PredictBody, request)  # only the bytes wait for a worker: objects take more memory
        return await ask(request, "predict")

    @app.post("/predict/file", summary="Predictions of a file", **_post(None, "PredictAnswer"))
    async def predict_file(
        request: Request,
        kind: Annotated[FileKind, Query(description="What kind of file the body is.")],
        smiles: Annotated[str | None, Query(max_length=200, description="The column of SMILES.")] = None,
        id: Annotated[str | None, Query(max_length=200, description="The column that names rows.")] = None,
        encoding: Annotated[
            str, Query(max_length=40, description="How text is encoded, such as `latin-1`.")
        ] = "utf-8",
    ) -> Response:
        """Return the predictions of the graphs in a file, of any form that `gdlnn predict` takes.

        Text may be compressed by gzip. Columns of the file are kept; `added` says what the others are called.
        """
        return await ask(request, "predict_file", kind=kind, smiles=smiles, id=id, encoding=encoding)

    @app.post("/explain", summary="One explanation", **_post(ExplainBody.__name__, "ExplainAnswer"))
    async def explain(request: Request) -> Response:
        """Return the prediction of one graph and why.

        The programs that decide it, where they are, and what would change it.
        """
        options = _checked(ExplainBody, request).model_dump(exclude={"smiles", "graph"})
        return await ask(request, "explain", **options)

    @app.get("/model", summary="The model", responses={200: _content("ModelAnswer")})
    async def model() -> Response:
        """Return what the model is, what it expects, its strongest programs, the limits and examples."""
        return Response(pool.described, media_type=JSON)

    @app.get("/health", summary="Health", responses={200: _content("HealthAnswer")})
    async def health() -> Response:
        """Return whether questions are answered; with status 503 while no worker is there."""
        answer = {
            "status": "ok" if pool.n_ready else "starting",
            "version": package_version(),
            "workers": pool.n_ready,
            "idle": pool.n_idle,
            "waiting": pool.n_waiting,
            "replaced": pool.n_replaced,
        }
        return JSONResponse(answer, 200 if pool.n_ready else 503)


def _checked(kind: type[Body], request: Request) -> Body:
    """Return the body of a request; one that is not declared as JSON may come from a page of another site."""
    declared = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if declared != JSON:
        raise RefusedError(415, f"content-type: expected {JSON}, got {declared[:60] or 'none'}")
    return kind.model_validate_json(request.scope["body"])


# --- the OpenAPI document -----------------------------------------------------------------------------------


def _content(schema: str) -> dict[str, Any]:
    return {"content": {JSON: {"schema": {"$ref": f"#/components/schemas/{schema}"}}}}


def _post(body: str | None, answer: str) -> dict[str, Any]:
    """Return the description of a request with a body, which is a file if it has no name."""
    files = {"content": {kind: {"schema": {"type": "string"}} for kind in FILE_TYPES}}
    sent = {"description": "The file itself.", **files} if body is None else _content(body)
    failures = {
        status: {"description": words, **_content("ErrorAnswer")} for status, words in FAILURES.items()
    }
    return {
        "openapi_extra": {"requestBody": {"required": True, **sent}},
        "responses": {200: _content(answer), **failures},
    }


def _add_schemas(app: FastAPI) -> None:
    """Describe bodies and answers in the document; FastAPI neither reads nor makes them."""
    made = app.openapi

    def document() -> dict[str, Any]:
        schemas = json.loads(page_file("gdlnn.server/answers.json"))
        for kind in (PredictBody, ExplainBody):
            schema = kind.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas |= schema.pop("$defs", {}) | {kind.__name__: schema}
        return made() | {"components": {"schemas": schemas}}

    app.openapi = document  # type: ignore[method-assign]


# --- pages ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def _joined(*parts: str) -> str:
    return "\n".join(page_file(part) for part in parts)


def _add_pages(app: FastAPI) -> None:
    """Add the page, its assets and the page of the API; none of them is part of the API itself."""

    @app.get("/", include_in_schema=False)
    async def page() -> HTMLResponse:
        return HTMLResponse(render("gdlnn.server/serve.html", title="GDLNN"))

    @app.get("/api", include_in_schema=False)
    async def api() -> HTMLResponse:
        words = {"title": "API · GDLNN", "document": app.openapi(), "prose": _prose}
        return HTMLResponse(render("gdlnn.server/api.html", **words))

    @app.get("/page.css", include_in_schema=False)
    async def styles() -> Response:
        return Response(_joined(*STYLES), media_type="text/css")

    @app.get("/page.js", include_in_schema=False)
    async def script() -> Response:
        return Response(_joined(*SCRIPTS), media_type="text/javascript")


def _prose(text: str) -> Markup:
    """Return a sentence of the document, with text between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))
