"""`gdlnn serve`: a page and a JSON API over a model."""

from __future__ import annotations

from typing import Annotated

import typer

from gdlnn.cli import options as opt
from gdlnn.cli.app import echo
from gdlnn.errors import require


def serve(
    model: opt.Models,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on; with anything but loopback, other machines can connect."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 picks a free one.")] = 8000,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A name that clients may use for the server; repeatable."),
    ] = None,
    examples: Annotated[
        str | None,
        typer.Option(metavar="DATASET", help="A dataset whose first graphs the page offers as examples."),
    ] = None,
    workers: Annotated[
        int,
        opt.option("Advanced", "Worker processes; each handles one request at a time.", min=1),
    ] = 2,
    max_nodes: Annotated[
        int, opt.option("Advanced", "Maximum nodes (atoms) per graph; ten times as many edges.", min=1)
    ] = 500,
    max_batch: Annotated[int, opt.option("Advanced", "Maximum graphs per request.", min=1)] = 1000,
    quiet: opt.Quiet = False,
) -> None:
    """Serve a model, or a folder of models: a web page and a JSON API.

    Stops on Ctrl-C or SIGTERM after answering the current requests.
    """
    for module in ("fastapi", "pebble", "uvicorn"):
        require(module, "server", "Serving a model")
    from gdlnn.server import Limits
    from gdlnn.server import serve as run

    def say(address: str) -> None:
        if not quiet:
            echo(f"{model.name}: {address} (the API: {address}/api); Ctrl-C stops it")

    run(
        model,
        host=host,
        port=port,
        allowed_hosts=allow_host or (),
        limits=Limits(nodes=max_nodes, edges=10 * max_nodes, batch=max_batch),
        n_workers=workers,
        examples=examples,
        say=say,
    )
