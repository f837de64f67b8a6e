"""Worker processes that hold the model, and the pool through which the server asks them.

Every worker is a Pebble pool of one process: one that hangs, crashes or takes too much memory costs one
request, and is replaced while the others go on.
"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import multiprocessing
import os
import resource
import tempfile
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pebble import ProcessExpired, ProcessPool

from gdlnn.errors import GDLNNError, ModelError, ServerError
from gdlnn.server.limits import Limits, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from gdlnn.server.answers import Answers

START_SECONDS = 300.0  # a large model on a busy machine
MEMORY_BYTES = 1 << 30
"""Memory that a request may take in a worker, beyond what the loaded model takes."""
_OUT_OF_MEMORY = 77  # exit code of a worker
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
logger = logging.getLogger(__name__)


class _Worker:
    """One process, which is replaced when it fails, and the folder for files that it reads."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._start()

    def _start(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="gdlnn-serve-", ignore_cleanup_errors=True)
        self.pool = ProcessPool(1, context=multiprocessing.get_context("spawn"))

    async def load(self) -> bytes:
        """Load the model; return its description."""
        try:
            described: bytes = await self.run(START_SECONDS, load, self._settings, self._folder.name)
        except (BrokenProcessPool, ProcessExpired, TimeoutError) as error:
            raise ServerError("a worker did not start; the lines above may say why") from error
        return described

    async def run(self, seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a function in the process; when the time is over, Pebble ends the process."""
        running = asyncio.wrap_future(self.pool.schedule(function, arguments, timeout=seconds))
        return await asyncio.wait_for(running, seconds + 1)  # for a process that does not even begin

    async def end(self) -> None:
        """End the process, and remove the files that it read."""
        self.pool.stop()  # type: ignore[no-untyped-call]
        await asyncio.to_thread(self.pool.join)
        self._folder.cleanup()

    async def restart(self) -> None:
        await self.end()
        self._start()
        await self.load()


class WorkerPool:
    """A few workers that answer requests about a model; the parameters are those of `make_app`."""

    def __init__(
        self,
        model: str | os.PathLike[str],
        limits: Limits | None = None,
        *,
        n_workers: int = 2,
        examples: str | None = None,
        smiles: str | None = None,
    ) -> None:
        if n_workers < 1:
            raise ServerError(f"workers: expected at least 1, got {n_workers}")
        self.model, self.n_workers, self.limits = Path(model), n_workers, limits or Limits()
        self._settings: dict[str, Any] = {"limits": self.limits, "examples": examples, "smiles": smiles}
        self.described = b""
        self.n_waiting = self.n_replaced = self.n_ready = 0
        self._idle: asyncio.Queue[_Worker] = asyncio.Queue()
        self._workers: list[_Worker] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Start the workers; return when all have loaded the model."""
        # The model is read once: a file that is replaced later must not give two models in one server.
        self._settings |= {"name": self.model.resolve().name, "files": _files(self.model)}
        self._workers = [_Worker(self._settings) for _ in range(self.n_workers)]
        self.described, *_ = await asyncio.gather(*(worker.load() for worker in self._workers))
        for worker in self._workers:
            self._add(worker)

    async def stop(self) -> None:
        """End all workers."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(worker.end() for worker in self._workers))

    @property
    def n_idle(self) -> int:
        """How many workers wait for a request."""
        return self._idle.qsize()

    async def ask(self, request: Request, do: str, **options: Any) -> bytes:
        """Return the answer of the next free worker: what the method `do` of `Answers` gives.

        Raises
        ------
        RefusedError
            Where there is no answer. A worker that gave none is replaced.
        """
        worker = await self._free_worker()
        if await request.is_disconnected():
            self._idle.put_nowait(worker)
            raise RefusedError(503, "the client has left")
        try:
            job = do, request.scope["body"], options
            status, answer = await worker.run(self.limits.seconds, answer_in_worker, *job)
        except BaseException as error:
            self._replace(worker)
            if isinstance(error, Exception):
                raise self._refusal(error) from error
            raise
        self._idle.put_nowait(worker)
        if status != 200:
            raise RefusedError(status, answer.decode())
        return bytes(answer)

    async def _free_worker(self) -> _Worker:
        self.check()
        busy = RefusedError(503, "every worker is busy; try again in a moment")
        if self._idle.empty() and self.n_waiting >= self.limits.waiting:
            raise busy
        self.n_waiting += 1
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await self._idle.get()
        except TimeoutError:
            raise busy from None
        finally:
            self.n_waiting -= 1

    def check(self) -> None:
        """Replace the workers that ended while nobody asked them anything."""
        for _ in range(self.n_idle):
            worker = self._idle.get_nowait()
            if worker.pool.active:
                self._idle.put_nowait(worker)
            else:
                self._replace(worker)

    def _refusal(self, error: Exception) -> RefusedError:
        """Return why a worker gave no answer."""
        if isinstance(error, TimeoutError):
            seconds = self.limits.seconds
            return RefusedError(503, f"expected an answer within {seconds:g} s, got none; ask for less")
        if isinstance(error, ProcessExpired) and error.exitcode == _OUT_OF_MEMORY:
            return RefusedError(503, "the request needs more memory than a worker has; ask for less")
        return RefusedError(500, "the worker ended while it was at work; the server's log may say why")

    def _add(self, worker: _Worker) -> None:
        self.n_ready += 1
        self._idle.put_nowait(worker)

    def _replace(self, worker: _Worker) -> None:
        self.n_ready -= 1
        self.n_replaced += 1
        task = asyncio.create_task(self._restart(worker))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _restart(self, worker: _Worker) -> None:
        pause = 1.0
        while True:
            try:
                await worker.restart()
            except (GDLNNError, OSError) as error:
                logger.warning("a worker could not be started again: %s", error)
                await asyncio.sleep(pause)
                pause = min(60.0, 4 * pause)
            else:
                self._add(worker)
                return


def _files(model: Path) -> dict[str, bytes]:
    """Return the content of a model file under an empty name, or of the files of a folder of models."""
    try:
        if not model.is_dir():
            return {"": model.read_bytes()}
        listed = [path for path in model.iterdir() if path.suffix in (".json", ".gdlnn")]
        return {path.name: path.read_bytes() for path in listed}
    except OSError as error:
        raise ModelError(f"{model.name}: expected a model file, got {error.strerror}") from error


# --- in the process -----------------------------------------------------------------------------------------

_answers: Answers | None = None


def load(settings: dict[str, Any], folder: str) -> bytes:
    """Load the model in a worker, predict an example, and return a description of the model."""
    global _answers
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # before libraries read them
    tempfile.tempdir = folder
    from gdlnn.datasets.resolve import resolve_dataset
    from gdlnn.model.model_folder import load_models
    from gdlnn.server.answers import Answers

    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary) / settings["name"]
        if "" not in settings["files"]:
            place.mkdir()
        for name, content in settings["files"].items():
            (place / name).write_bytes(content)
        models = load_models(place)
    import torch

    torch.set_num_threads(1)  # workers run side by side
    for model in models.values():
        model.n_jobs = 1
    examples = None
    if settings["examples"]:
        examples = resolve_dataset(settings["examples"], smiles=settings["smiles"], download=False)
    _answers = Answers(models, settings["limits"], examples, settings["name"])
    _answers.warm_up()
    described = json.dumps(_answers.describe(), allow_nan=False).encode()
    pages = int(Path("/proc/self/statm").read_text().split()[5])  # data and stack
    most = pages * resource.getpagesize() + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    return described


def answer_in_worker(do: str, body: bytes, options: dict[str, Any]) -> tuple[int, bytes]:
    """Answer a request: a status, and the answer as JSON or the reason why there is none."""
    try:
        return 200, json.dumps(getattr(_answers, do)(body, **options), allow_nan=False).encode()
    except MemoryError:
        os._exit(_OUT_OF_MEMORY)
    except GDLNNError as error:
        return 422, str(error).encode(errors="replace")
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _DISK_FULL:
            return 507, b"the server has no room for the file; try again later, or send less"
        logger.exception("%s: unexpected failure", do)
        return 500, b"something went wrong; the server's log says what"
