"""Worker processes that hold the model, and the pool through which the server asks them.

Every worker is a Pebble pool of one process: one that hangs, crashes or takes too much memory is replaced
while the others go on. Small predictions that wait for a worker are answered together, which takes a fraction
of the time.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import itertools
import json
import logging
import multiprocessing
import os
import resource
import tempfile
from collections import deque
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
CHECK_SECONDS = 0.5  # between looks at whether an idle worker still runs
MEMORY_BYTES = 1 << 30
"""Memory that a request may take in a worker, beyond what the loaded model takes."""
SMALL_BYTES, MOST_TOGETHER = 4096, 16
_OUT_OF_MEMORY = 77  # exit code of a worker
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
logger = logging.getLogger(__name__)


class _Worker:
    """One process, and the folder for files that it reads; both are replaced when the process fails."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings

    async def start(self) -> bytes:
        """Start the process and load the model; return its description."""
        self._folder = tempfile.TemporaryDirectory(prefix="gdlnn-serve-", ignore_cleanup_errors=True)
        self.pool = ProcessPool(1, context=multiprocessing.get_context("spawn"))
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


class _Job:
    """A request that waits for its answer: a status of HTTP, and JSON or the reason why there is none."""

    def __init__(self, request: Request, do: str, options: dict[str, Any], waiting: asyncio.Timeout) -> None:
        self.request, self.do, self.options, self.waiting = request, do, options, waiting
        self.body: bytes = request.scope["body"]
        self.is_small = do == "predict" and len(self.body) <= SMALL_BYTES
        self.answer: asyncio.Future[tuple[int, bytes]] = asyncio.get_running_loop().create_future()

    def waits(self, until: float | None) -> bool:
        """Set how long it waits for a worker from now on, alone; return False if it was given up before."""
        if self.answer.done():
            return False
        self.waiting.reschedule(until)
        self.is_small = self.is_small and until is None
        return True


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
        self.n_ready = self.n_idle = self.n_replaced = 0
        self._jobs: deque[_Job] = deque()
        self._arrived = asyncio.Event()
        self._workers: list[_Worker] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Start the workers; return when all have loaded the model."""
        # The model is read once: a file that is replaced later must not give two models in one server.
        self._settings |= {"name": self.model.resolve().name, "files": _files(self.model)}
        self._workers = [_Worker(self._settings) for _ in range(self.n_workers)]
        self.described, *_ = await asyncio.gather(*(worker.start() for worker in self._workers))
        self._tasks = [asyncio.create_task(self._work(worker)) for worker in self._workers]
        self.n_ready = self.n_workers

    async def stop(self) -> None:
        """End all workers."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(worker.end() for worker in self._workers))

    @property
    def n_waiting(self) -> int:
        """How many requests wait for a worker."""
        return len(self._jobs)

    async def ask(self, request: Request, do: str, **options: Any) -> bytes:
        """Return the answer of the next free worker: what the method `do` of `Answers` gives.

        Raises
        ------
        RefusedError
            Where there is no answer. A worker that gave none is replaced.
        """
        busy = RefusedError(503, "every worker is busy; try again in a moment")
        if self.n_waiting >= self.limits.waiting + self.n_idle:
            raise busy
        try:
            async with asyncio.timeout(self.limits.seconds) as waiting:
                job = _Job(request, do, options, waiting)
                self._jobs.append(job)
                self._arrived.set()
                status, answer = await job.answer
        except TimeoutError:
            raise busy from None
        finally:
            with contextlib.suppress(ValueError):
                self._jobs.remove(job)
        if status != 200:
            raise RefusedError(status, answer.decode())
        return answer

    async def _work(self, worker: _Worker) -> None:
        """Answer requests by a worker, and replace its process whenever that ends."""
        while True:
            while worker.pool.active:
                await (self._answer(worker, self._next_jobs()) if self._jobs else self._wait())
            self.n_ready -= 1
            self.n_replaced += 1
            await self._restart(worker)
            self.n_ready += 1

    async def _restart(self, worker: _Worker) -> None:
        for pause in itertools.chain((1, 4, 16), itertools.repeat(60)):
            await worker.end()
            try:
                await worker.start()
            except (GDLNNError, OSError) as error:
                logger.warning("a worker could not be started again: %s", error)
                await asyncio.sleep(pause)
            else:
                return

    async def _wait(self) -> None:
        """Wait for a request, but not for long: a process may end while it is idle."""
        self._arrived.clear()
        self.n_idle += 1
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CHECK_SECONDS):
                await self._arrived.wait()
        self.n_idle -= 1

    def _next_jobs(self) -> list[_Job]:
        """Return the job that came first; with a small prediction, those that wait behind it."""
        jobs = [self._jobs.popleft()]
        while self._jobs and jobs[0].is_small and self._jobs[0].is_small and len(jobs) < MOST_TOGETHER:
            jobs.append(self._jobs.popleft())
        return jobs

    async def _answer(self, worker: _Worker, jobs: list[_Job]) -> None:
        jobs = [job for job in jobs if not await job.request.is_disconnected() and job.waits(None)]
        if not jobs:
            return
        asked = jobs[0].do, [job.body for job in jobs], jobs[0].options
        try:
            answers = await worker.run(self.limits.seconds, answer_in_worker, *asked)
        except Exception as error:
            worker.pool.stop()  # type: ignore[no-untyped-call]
            answers = [self._refusal(error)]
        if len(answers) < len(jobs):  # one of several is the cause: each is asked alone
            until = asyncio.get_running_loop().time() + self.limits.seconds
            self._jobs.extendleft(job for job in reversed(jobs) if job.waits(until))
            return
        for job, answer in zip(jobs, answers, strict=True):
            if not job.answer.done():
                job.answer.set_result(answer)

    def _refusal(self, error: Exception) -> tuple[int, bytes]:
        """Return why a worker gave no answer."""
        if isinstance(error, TimeoutError):
            reason = f"expected an answer within {self.limits.seconds:g} s, got none; ask for less"
            return 503, reason.encode()
        if isinstance(error, ProcessExpired) and error.exitcode == _OUT_OF_MEMORY:
            return 503, b"the request needs more memory than a worker has; ask for less"
        return 500, b"the worker ended while it was at work; the server's log may say why"


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
    described = _json(_answers.describe())
    pages = int(Path("/proc/self/statm").read_text().split()[5])  # data and stack
    most = pages * resource.getpagesize() + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    return described


def answer_in_worker(do: str, bodies: list[bytes], options: dict[str, Any]) -> list[tuple[int, bytes]]:
    """Answer requests, several predictions together if that is possible, else one by one."""
    assert _answers is not None
    if len(bodies) > 1:
        with contextlib.suppress(Exception):  # each by itself then, so that others do not fail with it
            return [(200, _json(answer)) for answer in _answers.predict_together(bodies)]
    return [_answer_one(getattr(_answers, do), body, options) for body in bodies]


def _answer_one(answer: Callable[..., Any], body: bytes, options: dict[str, Any]) -> tuple[int, bytes]:
    try:
        return 200, _json(answer(body, **options))
    except MemoryError:
        os._exit(_OUT_OF_MEMORY)
    except GDLNNError as error:
        return 422, str(error).encode(errors="replace")
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _DISK_FULL:
            return 507, b"the server has no room for the file; try again later, or send less"
        logger.exception("unexpected failure")
        return 500, b"something went wrong; the server's log says what"


def _json(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False).encode()
