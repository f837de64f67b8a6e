"""The application: routes, error statuses and pages. Models run in worker processes.

The pages load nothing from other hosts. They share the report's styles and scripts; `page/` has the rest.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from markupsafe import Markup, escape
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from gdlnn.drawing.pages import page_file, render
from gdlnn.server import bodies
from gdlnn.server.grouping import Predictions
from gdlnn.server.limits import Guard, Limits
from gdlnn.server.reading import FileKind  # noqa: TC001  (FastAPI reads the annotations)
from gdlnn.server.workers import OK, Answer, BusyError, TooSlowError, WorkerGoneError, WorkerPool
from gdlnn.version import package_version

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine

    from pydantic import BaseModel
    from starlette.types import ASGIApp

    Endpoint = Callable[..., Awaitable[Response]]
    Decorator = Callable[[Endpoint], Endpoint]

JSON = "application/json"
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
    "requestBody": {
        "required": True,
        "description": "The file itself.",
        "content": {kind: {"schema": {"type": "string"}} for kind in _FILE_KINDS},
    }
}

ASSETS = {
    "page.css": (
        "text/css",
        ("gdlnn.drawing/drawing.css", "gdlnn.report/page.css", "gdlnn.server/serve.css"),
    ),
    "page.js": (
        "text/javascript",
        (
            "gdlnn.report/card.js",
            "gdlnn.server/dom.js",
            "gdlnn.server/answer.js",
            "gdlnn.server/batch.js",
            "gdlnn.server/serve.js",
        ),
    ),
}


def _json_body(kind: type[BaseModel]) -> dict[str, Any]:
    reference = {"$ref": f"#/components/schemas/{kind.__name__}"}
    return {"requestBody": {"required": True, "content": {JSON: {"schema": reference}}}}


def make_app(
    model: str | os.PathLike[str],
    limits: Limits | None = None,
    *,
    n_workers: int = 2,
    examples: str | None = None,
    smiles: str | None = None,
    hosts: Collection[str] = (),
) -> ASGIApp:
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
        The names under which the server may be addressed; empty: any. Other names are how a page from
        elsewhere would reach a server on loopback.
    """
    return app_over(WorkerPool(model, limits, n_workers=n_workers, examples=examples, smiles=smiles), hosts)


def app_over(pool: WorkerPool, hosts: Collection[str] = ()) -> ASGIApp:
    """Return the application over workers, which it starts and stops."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await pool.start()
        yield
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
    _add_failures(app, pool.limits)
    _add_api(app, pool)
    _add_schemas(app)
    _add_pages(app)
    return Guard(app, pool.limits, hosts)


def _failure(status: int, reason: str, **headers: str) -> JSONResponse:
    return JSONResponse({"error": reason}, status, headers or None)


def _add_failures(app: FastAPI, limits: Limits) -> None:
    """Say every failure in one line, and never what the client sent: it may be anything."""

    @app.exception_handler(RequestValidationError)
    @app.exception_handler(ValidationError)
    async def wrong(_: Request, error: RequestValidationError | ValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "body"
        status = 400 if first["type"] == "json_invalid" else 422
        return _failure(status, f"{where[:200]}: {first['msg'][:300]}")

    @app.exception_handler(HTTPException)
    async def no_such(_: Request, error: HTTPException) -> JSONResponse:
        return _failure(error.status_code, str(error.detail), **(error.headers or {}))

    @app.exception_handler(BusyError)
    async def busy(_: Request, __: BusyError) -> JSONResponse:
        return _failure(503, "every worker is busy; try again in a moment", **{"retry-after": "2"})

    @app.exception_handler(TooSlowError)
    async def too_slow(_: Request, __: TooSlowError) -> JSONResponse:
        return _failure(503, f"expected an answer within {limits.seconds:g} s, got none; ask for less")

    @app.exception_handler(WorkerGoneError)
    async def gone(_: Request, __: WorkerGoneError) -> JSONResponse:
        return _failure(500, "the worker ended while it was at work; the server's log may say why")


def _check_json(request: Request) -> None:
    """Refuse a body that is not said to be JSON: pages of other sites may send text without being asked."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        raise HTTPException(415, f"content-type: expected {JSON}, got {kind[:60] or 'none'}")


async def _while_there(request: Request, asking: Coroutine[Any, Any, Answer]) -> Answer | None:
    """Return an answer, or None as soon as the client has left: then its question is dropped."""
    task = asyncio.ensure_future(asking)
    left = asyncio.ensure_future(_has_left(request))
    try:
        await asyncio.wait((task, left), return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        for one in (task, left):
            one.cancel()


async def _has_left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _add_api(app: FastAPI, pool: WorkerPool) -> None:
    def post(path: str, summary: str, body: dict[str, Any], answer: type[BaseModel]) -> Decorator:
        return app.post(path, summary=summary, openapi_extra=body, response_model=answer, responses=_FAILURES)

    predictions = Predictions(pool)

    async def ask(request: Request, asking: Coroutine[Any, Any, Answer]) -> Response:
        answer = await _while_there(request, asking)
        if answer is None:
            return _failure(503, "the client has left")
        if answer.status != OK:
            return _failure(answer.status, answer.error)
        return Response(answer.body, media_type=JSON)

    @post("/predict", "Predictions of graphs", _json_body(bodies.PredictBody), bodies.PredictAnswer)
    async def predict(request: Request) -> Response:
        """Return the label and the probabilities of each graph.

        A graph that cannot be read has an `error` in its row; the others are answered.
        """
        # What was checked is let go before the wait for a worker: objects take far more room than bytes.
        _check_json(request)
        bodies.PredictBody.model_validate_json(data := await request.body())
        return await ask(request, predictions.ask(data))

    @post("/predict/file", "Predictions of a file", _FILE_BODY, bodies.PredictAnswer)
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
        options = {"kind": kind, "smiles": smiles, "identifier": id, "encoding": encoding}
        return await ask(request, pool.ask("predict_file", await request.body(), options))

    @post("/explain", "One explanation", _json_body(bodies.ExplainBody), bodies.ExplainAnswer)
    async def explain(request: Request) -> Response:
        """Return the prediction of one graph and why.

        The programs that decide it, where they are, and what would change it.
        """
        _check_json(request)
        body = bodies.ExplainBody.model_validate_json(data := await request.body())
        options = body.model_dump(exclude={"smiles", "graph"})
        del body
        return await ask(request, pool.ask("explain", data, options))

    @app.get("/model", response_model=bodies.ModelAnswer, summary="The model")
    async def model() -> Response:
        """Return what the model is, what it expects, its strongest programs, the limits and examples."""
        return Response(pool.described, media_type=JSON)

    @app.get("/health", summary="Health")
    async def health(response: Response) -> bodies.HealthAnswer:
        """Return whether questions are answered; with status 503 while no worker is there."""
        response.status_code = OK if pool.n_ready else 503
        return bodies.HealthAnswer(
            status="ok" if pool.n_ready else "starting",
            version=package_version(),
            workers=pool.n_ready,
            idle=pool.n_idle,
            waiting=pool.n_waiting,
            replaced=pool.n_replaced,
        )


def _add_schemas(app: FastAPI) -> None:
    """Describe the bodies of requests in the OpenAPI document; they are read apart from FastAPI."""
    made = app.openapi

    def document() -> dict[str, Any]:
        found = made()
        schemas = found["components"]["schemas"]
        for kind in (bodies.PredictBody, bodies.ExplainBody):
            schema = kind.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas |= schema.pop("$defs", {}) | {kind.__name__: schema}
        return found

    app.openapi = document  # type: ignore[method-assign]


# --- pages ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def _asset(name: str) -> str:
    """Return a style sheet or a script, put together of the report's part and the server's."""
    return "\n".join(page_file(part) for part in ASSETS[name][1])


def _add_pages(app: FastAPI) -> None:
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
        return Response(_asset(name), media_type=kind)

    return route


def api_page(document: dict[str, Any]) -> str:
    """Return the OpenAPI document as a page to read."""
    return render(
        "gdlnn.server/api.html", title="API · GDLNN", document=document, prose=_prose, type_name=_type_name
    )


def _prose(text: str) -> Markup:
    """Return a sentence of the document, with text between backticks as code."""
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
