"""The application: routes, error statuses and pages. Models run in worker processes.

The pages load nothing from other hosts. They share the report's styles and scripts; `page/` has the rest.
"""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup, escape
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException

from gdlnn.drawing.pages import page_file, render
from gdlnn.server import bodies
from gdlnn.server.limits import Guard, Limits, RefusedError
from gdlnn.server.workers import WorkerPool
from gdlnn.version import package_version

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection

    Endpoint = Callable[..., Awaitable[Response]]
    Decorator = Callable[[Endpoint], Endpoint]

JSON = "application/json"
Body = TypeVar("Body", bound=BaseModel)
ABOUT = """
Asks one GDLNN model: what it predicts for graphs, and why. Errors are `{"error": "…"}`: what, where,
expected, got. No request names a file or a path; files are sent as they are.
"""
_FAILURES: dict[int | str, dict[str, Any]] = {
    status: {"model": bodies.ErrorAnswer, "description": words}
    for status, words in {
        400: "Not JSON, not text, not HTTP, or not a host name of this server",
        403: "The request comes from a page of another site",
        408: "The request came too slowly",
        413: "The body is too large",
        415: "The body is said to be something else than JSON",
        422: "The request cannot be answered as it is",
        500: "The server failed; its log says why",
        503: "Too busy, or the answer took too long",
        507: "The server has no room for the file",
    }.items()
}
_FILE_KINDS = ("text/csv", "chemical/x-mdl-sdfile", "application/jsonl", "application/octet-stream")
_FILE_BODY = {
    "description": "The file itself.",
    "content": {kind: {"schema": {"type": "string"}} for kind in _FILE_KINDS},
}
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
        Processes that hold the model, each of which answers one request at a time.
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
        return RefusedError(status, f"{where[:200]}: {first['msg'][:300]}").answer()

    @app.exception_handler(HTTPException)
    async def no_such(_: Request, error: HTTPException) -> Response:
        return RefusedError(error.status_code, str(error.detail)).answer(**(error.headers or {}))

    @app.exception_handler(RefusedError)
    async def refused(_: Request, error: RefusedError) -> Response:
        return error.answer(**({"retry-after": "2"} if error.status == 503 else {}))


def _add_api(app: FastAPI, pool: WorkerPool) -> None:
    def post(path: str, summary: str, body: dict[str, Any], answer: type[BaseModel]) -> Decorator:
        extra = {"requestBody": {"required": True, **body}}
        return app.post(
            path, summary=summary, openapi_extra=extra, response_model=answer, responses=_FAILURES
        )

    async def ask(request: Request, do: str, **options: Any) -> Response:
        return Response(await pool.ask(request, do, **options), media_type=JSON)

    @post("/predict", "Predictions of graphs", _schema(bodies.PredictBody), bodies.PredictAnswer)
    async def predict(request: Request) -> Response:
        """Return the label and the probabilities of each graph.

        A graph that cannot be read has an `error` in its row; the others are answered.
        """
        _checked(bodies.PredictBody, request)  # only the bytes wait for a worker: objects take more memory
        return await ask(request, "predict")

    @post("/predict/file", "Predictions of a file", _FILE_BODY, bodies.PredictAnswer)
    async def predict_file(
        request: Request,
        kind: Annotated[bodies.FileKind, Query(description="What kind of file the body is.")],
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

    @post("/explain", "One explanation", _schema(bodies.ExplainBody), bodies.ExplainAnswer)
    async def explain(request: Request) -> Response:
        """Return the prediction of one graph and why.

        The programs that decide it, where they are, and what would change it.
        """
        options = _checked(bodies.ExplainBody, request).model_dump(exclude={"smiles", "graph"})
        return await ask(request, "explain", **options)

    @app.get("/model", response_model=bodies.ModelAnswer, summary="The model")
    async def model() -> Response:
        """Return what the model is, what it expects, its strongest programs, the limits and examples."""
        return Response(pool.described, media_type=JSON)

    @app.get("/health", summary="Health")
    async def health(response: Response) -> bodies.HealthAnswer:
        """Return whether questions are answered; with status 503 while no worker is there."""
        pool.check()
        response.status_code = 200 if pool.n_ready else 503
        return bodies.HealthAnswer(
            status="ok" if pool.n_ready else "starting",
            version=package_version(),
            workers=pool.n_ready,
            idle=pool.n_idle,
            waiting=pool.n_waiting,
            replaced=pool.n_replaced,
        )


def _checked(kind: type[Body], request: Request) -> Body:
    """Return the body of a request; one that is not declared as JSON may come from a page of another site."""
    declared = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if declared != JSON:
        raise RefusedError(415, f"content-type: expected {JSON}, got {declared[:60] or 'none'}")
    return kind.model_validate_json(request.scope["body"])


def _schema(kind: type[BaseModel]) -> dict[str, Any]:
    return {"content": {JSON: {"schema": {"$ref": f"#/components/schemas/{kind.__name__}"}}}}


def _add_schemas(app: FastAPI) -> None:
    """Describe the bodies of requests in the OpenAPI document; they are read apart from FastAPI."""
    made = app.openapi

    def document() -> dict[str, Any]:
        found = made()
        for kind in (bodies.PredictBody, bodies.ExplainBody):
            schema = kind.model_json_schema(ref_template="#/components/schemas/{model}")
            found["components"]["schemas"] |= schema.pop("$defs", {}) | {kind.__name__: schema}
        return found

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
        document = app.openapi()
        return HTMLResponse(
            render("gdlnn.server/api.html", title="API · GDLNN", document=document, prose=_prose)
        )

    @app.get("/page.css", include_in_schema=False)
    async def styles() -> Response:
        return Response(_joined(*STYLES), media_type="text/css")

    @app.get("/page.js", include_in_schema=False)
    async def script() -> Response:
        return Response(_joined(*SCRIPTS), media_type="text/javascript")


def _prose(text: str) -> Markup:
    """Return a sentence of the document, with text between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))
