"""serve(): bind, run, stop. A stop lets requests that are being answered end."""

from __future__ import annotations

import ipaddress
import logging
import signal
import socket
from typing import TYPE_CHECKING

import uvicorn

from gdlnn.errors import ServerError
from gdlnn.server.app import app_over, make_pool
from gdlnn.server.connections import PatientProtocol
from gdlnn.server.limits import Limits

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


def silent(text: str) -> None:
    """Tell nobody."""


def serve(
    model: str | os.PathLike[str],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    limits: Limits | None = None,
    n_workers: int = 2,
    examples: str | None = None,
    smiles: str | None = None,
    say: Callable[[str], None] = silent,
) -> None:
    """Serve a model until the process is told to stop (SIGINT, SIGTERM).

    Parameters
    ----------
    model, limits, n_workers, examples, smiles
        As for `make_app`.
    host, port
        Where to listen; port 0 takes any that is free.
    say
        Told the address once requests are answered.
    """
    limits = limits or Limits()
    hosts = LOOPBACK_NAMES if is_loopback(host) else ()
    pool = make_pool(model, limits, n_workers=n_workers, examples=examples, smiles=smiles)
    listening = _bind(host, port)
    with listening:
        address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        server = _Server(_config(app_over(pool, hosts), limits), lambda: say(address))
        # uvicorn raises the signal again once it has stopped; a stop that was asked for is no failure.
        before = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}
        try:
            server.run(sockets=[listening])
        except SystemExit:  # uvicorn's way to say that the application did not start
            if pool.failure is None:
                raise
            raise pool.failure from None
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except (OSError, OverflowError) as error:
        raise ServerError(f"{host}:{port}: expected an address to listen on, got {error}") from error


def _config(app: object, limits: Limits) -> uvicorn.Config:
    protocol = type("LimitedProtocol", (PatientProtocol,), {"patience": limits.read_seconds})
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        http=protocol,
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        limit_concurrency=limits.connections,
        timeout_keep_alive=max(1, round(limits.read_seconds)),
        timeout_graceful_shutdown=max(1, round(limits.seconds)),
    )


class _Server(uvicorn.Server):
    """uvicorn's server that says when it listens."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready
        # What keeps workers from starting is raised; uvicorn would tell it once more, at length.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        if self.started:
            self._ready()
