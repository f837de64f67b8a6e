"""`gdlnn serve`: a page and a JSON API over a model."""

from __future__ import annotations

from typing import Annotated

import typer

from gdlnn.cli import options as opt
from gdlnn.errors import ModelError, require


def serve(
    model: opt.Model,
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than loopback let other machines in.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes any that is free.")] = 8000,
    examples: Annotated[
        str | None, typer.Option(metavar="DATASET", help="A dataset whose first graphs the page offers.")
    ] = None,
    smiles: opt.Smiles = None,
    workers: Annotated[int, typer.Option(help="Processes that hold the model; one request each.")] = 2,
    max_body: Annotated[float, typer.Option(help="Largest body of a request, in MiB.")] = 4.0,
    max_nodes: Annotated[int, typer.Option(help="Most nodes (atoms) of a graph; edges: ten times.")] = 500,
    max_batch: Annotated[int, typer.Option(help="Most graphs in a request.")] = 1000,
    max_seconds: Annotated[float, typer.Option(help="Most time for an answer.")] = 20.0,
    max_read_seconds: Annotated[
        float, typer.Option(help="Most time for a client to send a request or to take a part of the answer.")
    ] = 10.0,
    max_waiting: Annotated[int, typer.Option(help="Most requests that wait for a free worker.")] = 64,
    max_connections: Annotated[int, typer.Option(help="Most connections at a time.")] = 128,
    max_connections_per_client: Annotated[
        int, typer.Option(help="Most connections at a time from one address; 0: half of all.")
    ] = 0,
    quiet: Annotated[bool, opt.quiet("Say nothing.")] = False,
) -> None:
    """Serve a model: a page to ask it in a browser, and a JSON API.

    Stops on Ctrl-C or SIGTERM, once the requests at hand are answered.
    """
    for module in ("fastapi", "uvicorn"):
        require(module, "server", "Serving a model")
    from gdlnn.server import Limits
    from gdlnn.server import serve as run

    if model.is_dir():
        raise ModelError(f"{model.name}: expected a model file, got a folder; name one of the models in it")
    if not model.is_file():
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
            typer.echo(f"{model.name}: {address} (the API: {address}/api); Ctrl-C stops it")

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
