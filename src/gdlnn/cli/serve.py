"""`gdlnn serve`: a page and a JSON API over a model."""

from __future__ import annotations

from typing import Annotated

import typer

from gdlnn.cli import options as opt
from gdlnn.cli.terminal import echo
from gdlnn.errors import ModelError, require


def serve(
    model: opt.Models,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on; with anything but loopback, other machines can connect."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 picks a free one.")] = 8000,
    examples: Annotated[
        str | None,
        typer.Option(metavar="DATASET", help="A dataset whose first graphs the page offers as examples."),
    ] = None,
    smiles: opt.Smiles = None,
    workers: Annotated[int, typer.Option(help="Worker processes; each handles one request at a time.")] = 2,
    max_body: Annotated[float, typer.Option(help="Maximum request size, in MiB.")] = 4.0,
    max_nodes: Annotated[
        int, typer.Option(help="Maximum nodes (atoms) per graph; ten times as many edges.")
    ] = 500,
    max_batch: Annotated[int, typer.Option(help="Maximum graphs per request.")] = 1000,
    max_seconds: Annotated[float, typer.Option(help="Maximum time for an answer.")] = 20.0,
    max_read_seconds: Annotated[
        float,
        typer.Option(help="Maximum time for a client to send a request or to accept a chunk of the answer."),
    ] = 10.0,
    max_waiting: Annotated[int, typer.Option(help="Maximum number of requests waiting for a worker.")] = 64,
    max_connections: Annotated[int, typer.Option(help="Maximum number of open connections.")] = 128,
    max_connections_per_client: Annotated[
        int,
        typer.Option(help="Maximum number of open connections from one address; 0: half of --connections."),
    ] = 0,
    quiet: Annotated[bool, opt.quiet("Say nothing.")] = False,
) -> None:
    """Serve a model, or a folder of models: a web page and a JSON API.

    Stops on Ctrl-C or SIGTERM after answering the current requests.
    """
    for module in ("fastapi", "uvicorn"):
        require(module, "server", "Serving a model")
    from gdlnn.server import Limits
    from gdlnn.server import serve as run

    if not model.exists():
        raise ModelError(f"{model.name}: expected a model file, got no such file")
    limits = Limits(
        body_bytes=round(max_body * (1 << 20)),
        nodes=max_nodes,
        batch=max_batch,
        seconds=max_seconds,
        read_seconds=max_read_seconds,
        waiting=max_waiting,
        connections=max_connections,
        connections_per_client=max_connections_per_client,
    )

    def say(address: str) -> None:
        if not quiet:
            echo(f"{model.name}: {address} (the API: {address}/api); Ctrl-C stops it")

    run(
        model,
        host=host,
        port=port,
        limits=limits,
        n_workers=workers,
        examples=examples,
        smiles=smiles,
        say=say,
    )
