"""serve(): listen, and answer until stopped."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn

from gdlnn.errors import ServerError
from gdlnn.server.app import make_app
from gdlnn.server.limits import PatientProtocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


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
        try:
            await app.pool.start()
            if say is not None:
                say(f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}")
            await uvicorn.Server(config).serve(sockets=[listening])
        finally:
            await app.pool.stop()

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with listening, contextlib.suppress(KeyboardInterrupt):  # a requested stop is not a failure
            asyncio.run(run())
    finally:
        signal.signal(signal.SIGTERM, before)


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except (OSError, OverflowError) as error:
        raise ServerError(f"{host}:{port}: expected an address to listen on, got {error}") from error
