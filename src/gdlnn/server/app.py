"""The application: routes, statuses of errors and pages; serve() listens. Models run in worker processes.

The pages load nothing from other hosts. They share the report's styles and scripts; `page/` has the rest.
`page/openapi.json` is the contract: what clients may send, and what they get.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import uvicorn
from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from markupsafe import Markup, escape
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Route

from gdlnn.drawing.pages import joined, page_file, render
from gdlnn.errors import ServerError
from gdlnn.server.bodies import ExplainBody, FileKind, PredictBody
from gdlnn.server.limits import Guard, Limits, PatientProtocol, RefusedError, refusal
from gdlnn.server.workers import WorkerPool
from gdlnn.version import package_version

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

JSON = "application/json"
STYLES = ("gdlnn.drawing/drawing.css", "gdlnn.report/page.css", "gdlnn.server/serve.css")
SCRIPTS = ("gdlnn.report/card.js", *(f"gdlnn.server/{n}.js" for n in ("dom", "answer", "batch", "serve")))


def make_app(
    model: str | os.PathLike[str],
    limits: Limits | None = None,
    *,
    n_workers: int = 2,
    examples: str | None = None,
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
    examples
        A dataset whose first graphs the page offers, as on the command line.
    hosts
        The names that clients may use for the server, besides addresses; empty: any.
    """
    pool = WorkerPool(Path(model).resolve(), limits or Limits(), n_workers, examples)
    app = FastAPI(lifespan=lambda _: pool.running(), openapi_url=None)
    _add_failures(app)
    _add_api(app, pool)
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

    @app.post("/predict")
    async def predict(request: Request) -> Response:
        return await ask(request, "predict", **_checked(PredictBody, request))

    @app.post("/predict/file")
    async def predict_file(
        request: Request,
        kind: FileKind,
        smiles: Annotated[str | None, Query(max_length=200)] = None,
        id: Annotated[str | None, Query(max_length=200)] = None,
        encoding: Annotated[str, Query(max_length=40)] = "utf-8",
    ) -> Response:
        return await ask(request, "predict_file", kind=kind, smiles=smiles, id=id, encoding=encoding)

    @app.post("/explain")
    async def explain(request: Request) -> Response:
        return await ask(request, "explain", **_checked(ExplainBody, request))

    @app.get("/model")
    async def model() -> Response:
        return Response(pool.described, media_type=JSON)

    @app.get("/health")
    async def health() -> Response:
        n_ready = sum(worker.is_ready for worker in pool.workers)
        answer = {
            "status": "ok" if n_ready else "starting",
            "version": package_version(),
            "workers": n_ready,
            "idle": pool.n_idle,
            "waiting": len(pool.waiting),
            "replaced": pool.n_replaced,
        }
        return JSONResponse(answer, 200 if n_ready else 503)


def _checked(kind: type[BaseModel], request: Request) -> dict[str, Any]:
    """Return the options in a body; one that is not declared as JSON may come from a page of another site."""
    declared = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if declared != JSON:
        raise RefusedError(415, f"content-type: expected {JSON}, got {declared[:60] or 'none'}")
    # Graphs go on as bytes: objects that wait for a worker would take more memory.
    return kind.model_validate_json(request.scope["body"]).model_dump(exclude={"smiles", "graph", "graphs"})


# --- pages ------------------------------------------------------------------------------------------------


def _add_pages(app: FastAPI) -> None:
    """Add the page, its assets, and the description of the API for people and for programs."""
    document = json.loads(page_file("gdlnn.server/openapi.json"))
    document["info"]["version"] = package_version()
    api = render("gdlnn.server/api.html", title="API · GDLNN", document=document, prose=_prose)
    for path, content, kind in (
        ("/", render("gdlnn.server/serve.html", title="GDLNN"), "text/html"),
        ("/api", api, "text/html"),
        ("/openapi.json", json.dumps(document), JSON),
        ("/page.css", joined(STYLES), "text/css"),
        ("/page.js", joined(SCRIPTS), "text/javascript"),
    ):
        answer = Response(content, media_type=kind)
        app.router.routes.append(Route(path, answer, methods=["GET"]))


def _prose(text: str) -> Markup:
    """Return a sentence of the document, with text between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


# --- listening ---------------------------------------------------------------------------------------------


def serve(
    model: str | os.PathLike[str],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    allowed_hosts: Collection[str] = (),
    say: Callable[[str], None] | None = None,
    **options: Any,
) -> None:
    """Serve a model until the process is stopped (SIGINT, SIGTERM); current requests are answered.

    Parameters
    ----------
    host, port
        Where to listen; port 0 takes any that is free.
    allowed_hosts
        Names that clients may use for the server, besides addresses, localhost and `host`.
    say
        Called with the address as soon as requests are answered.
    model, options
        As for `make_app`.
    """
    # No worker imports from the current folder: not by the list that it gets, and not while it starts.
    if not sys.flags.safe_path and sys.path[:1] in ([""], [str(Path.cwd())]):
        del sys.path[0]
    os.environ["PYTHONSAFEPATH"] = "1"
    app = make_app(model, hosts={"localhost", host, *allowed_hosts}, **options)
    listening = _bind(host, port)
    config = uvicorn.Config(
        app,
        http=type("LimitedProtocol", (PatientProtocol,), {"limits": app.limits}),
        ws="none",
        lifespan="off",  # the workers are started before
        access_log=False,
        log_config=None,
        log_level=logging.ERROR,
        server_header=False,
        proxy_headers=False,  # a client could choose the address that its connections are counted for
        limit_concurrency=app.limits.connections,
        timeout_keep_alive=max(1, round(app.limits.read_seconds)),
        timeout_graceful_shutdown=max(1, round(app.limits.seconds)),
    )

    async def run() -> None:
        async with app.pool.running():
            if say is not None:
                say(f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}")
            await uvicorn.Server(config).serve(sockets=[listening])

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with listening, suppress(KeyboardInterrupt):  # a requested stop is not a failure
        asyncio.run(run())


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except (OSError, OverflowError) as error:
        raise ServerError(f"{host}:{port}: expected an address to listen on, got {error}") from error
