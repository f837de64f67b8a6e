"""Worker processes that hold the model, and the pool through which the server asks them.

Every worker is a Pebble pool of one process: one that hangs, crashes or takes too much memory is replaced
while the others go on. Small predictions that wait for a worker are answered together, which takes a fraction
of the time.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import logging
import multiprocessing
import os
import resource
import tempfile
from collections import deque
from concurrent.futures.process import BrokenProcessPool
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pebble import ProcessExpired, ProcessPool
from threadpoolctl import threadpool_limits

from gdlnn.errors import GDLNNError, ModelError, ServerError
from gdlnn.server.limits import RefusedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.requests import Request

    from gdlnn.server.answers import Answers
    from gdlnn.server.limits import Limits

START_SECONDS = 300.0  # a large model on a busy machine
PAUSE_SECONDS = 10.0  # before another try, if a worker could not be started again
CHECK_SECONDS = 0.5  # between looks at whether an idle worker still runs
MEMORY_BYTES = 1 << 30
"""Memory that a request may take in a worker, beyond what the loaded model takes."""
SMALL_BYTES, MOST_TOGETHER = 1024, 16
_OUT_OF_MEMORY = 77  # exit code of a worker
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
logger = logging.getLogger(__name__)


class _Worker:
    """One process, and the folder for files that it reads; both are replaced when the process fails."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings, self.is_ready = settings, False

    async def start(self) -> bytes:
        """Start the process and load the model; return its description."""
        self._folder = tempfile.TemporaryDirectory(prefix="gdlnn-serve-", ignore_cleanup_errors=True)
        self.pool = ProcessPool(1, context=multiprocessing.get_context("spawn"))
        try:
            described: bytes = await self.run(START_SECONDS, load, self._settings, self._folder.name)
        except (BrokenProcessPool, ProcessExpired, TimeoutError) as error:
            raise ServerError("a worker did not start; the lines above may say why") from error
        self.is_ready = True
        return described

    async def run(self, seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a function in the process; when the time is over, Pebble ends the process."""
        running = asyncio.wrap_future(self.pool.schedule(function, arguments, timeout=seconds))
        return await asyncio.wait_for(running, seconds + 1)  # for a process that does not even begin

    async def end(self) -> None:
        """End the process, and remove the files that it read."""
        self.is_ready = False
        self.pool.stop()  # type: ignore[no-untyped-call]
        await asyncio.to_thread(self.pool.join)
        self._folder.cleanup()


class _Job:
    """A request that waits for its answer: a status of HTTP, and JSON or the reason why there is none."""

    def __init__(self, request: Request, do: str, options: dict[str, Any]) -> None:
        self.request, self.do, self.options = request, do, options
        self.body: bytes = request.scope["body"]
        self.client = request.client.host if request.client else ""
        self.is_small = do == "predict" and len(self.body) <= SMALL_BYTES
        self.answer: asyncio.Future[tuple[int, bytes]] = asyncio.get_running_loop().create_future()


class WorkerPool:
    """A few workers that answer requests about a model; the parameters are those of `make_app`."""

    def __init__(self, model: Path, limits: Limits, n_workers: int, examples: str | None = None) -> None:
        if n_workers < 1:
            raise ServerError(f"workers: expected at least 1, got {n_workers}")
        self.model, self.n_workers, self.limits = model, n_workers, limits
        self._settings = {"limits": limits, "examples": examples, "name": model.name}
        self.described = b""
        self.n_idle = self.n_replaced = 0
        self._asked: list[_Job] = []
        self.waiting: deque[_Job] = deque()
        self._arrived = asyncio.Event()
        self.workers: list[_Worker] = []

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Start the workers, which have loaded the model then, and end them at the end."""
        tasks: list[asyncio.Task[None]] = []
        try:
            # The model is read once: a file that is replaced later must not give two models in one server.
            settings = self._settings | {"files": _files(self.model)}
            self.workers = [_Worker(settings) for _ in range(self.n_workers)]
            self.described, *_ = await asyncio.gather(*(worker.start() for worker in self.workers))
            tasks = [asyncio.create_task(self._work(worker)) for worker in self.workers]
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.gather(*(worker.end() for worker in self.workers))

    async def ask(self, request: Request, do: str, **options: Any) -> bytes:
        """Return the answer of the next free worker: what the method `do` of `Answers` gives.

        Raises
        ------
        RefusedError
            Where there is no answer. A worker that gave none is replaced.
        """
        busy = RefusedError(503, "every worker is busy; try again in a moment")
        if len(self.waiting) >= self.limits.waiting + self.n_idle:
            raise busy
        job = _Job(request, do, options)
        others = [other for other in self._asked if other.client == job.client and not other.is_small]
        if not job.is_small and len(others) >= self.limits.of_one_client:
            n = self.limits.of_one_client
            raise RefusedError(503, f"expected at most {n} requests of one address at once; wait for answers")
        self._asked.append(job)
        self.waiting.append(job)
        self._arrived.set()
        try:
            async with asyncio.timeout(2 * self.limits.seconds):  # it may wait as long as it may take
                status, answer = await job.answer
        except TimeoutError:
            raise busy from None
        finally:
            self._asked.remove(job)
            with contextlib.suppress(ValueError):
                self.waiting.remove(job)
        if status != 200:
            raise RefusedError(status, answer.decode())
        return answer

    async def _work(self, worker: _Worker) -> None:
        """Answer requests by a worker, and replace its process whenever that ends."""
        while True:
            while worker.is_ready and worker.pool.active:
                await (self._answer(worker, self._next_jobs()) if self.waiting else self._wait())
            self.n_replaced += worker.is_ready
            await worker.end()
            try:
                await worker.start()
            except (GDLNNError, OSError) as error:
                logger.warning("a worker could not be started again: %s", error)
                await asyncio.sleep(PAUSE_SECONDS)

    async def _wait(self) -> None:
        """Wait for a request, but not for long: a process may end while it is idle."""
        self._arrived.clear()
        self.n_idle += 1
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._arrived.wait(), CHECK_SECONDS)
        self.n_idle -= 1

    def _next_jobs(self) -> list[_Job]:
        """Return the job that came first; with a small prediction, those that wait behind it."""
        jobs = [self.waiting.popleft()]
        while self.waiting and jobs[0].is_small and self.waiting[0].is_small and len(jobs) < MOST_TOGETHER:
            jobs.append(self.waiting.popleft())
        return jobs

    async def _answer(self, worker: _Worker, jobs: list[_Job]) -> None:
        for job in jobs:
            if await job.request.is_disconnected() and not job.answer.done():
                job.answer.set_result((408, b"the client has left"))
        jobs = [job for job in jobs if not job.answer.done()]
        if not jobs:
            return
        asked = jobs[0].do, [job.body for job in jobs], jobs[0].options
        try:
            answers = await worker.run(self.limits.seconds, answer_in_worker, *asked)
        except Exception as error:
            worker.pool.stop()  # type: ignore[no-untyped-call]
            answers = [self._refusal(error)]
        if len(answers) < len(jobs):  # one of several is the cause: each is asked alone
            for job in reversed(jobs):
                job.is_small = False
                self.waiting.appendleft(job)
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
    """Return the content of a model file, or of the files of a folder of models, by their paths."""
    try:
        listed = [model]
        if model.is_dir():
            listed = [path for path in model.iterdir() if path.suffix in (".json", ".gdlnn")]
        if not listed:
            raise ModelError(f"{model.name}: expected a model file or a folder of models, got neither")
        return {str(path.relative_to(model.parent)): path.read_bytes() for path in listed}
    except OSError as error:
        raise ModelError(f"{model.name}: expected a model file, got {error.strerror}") from error


# --- in the process -----------------------------------------------------------------------------------------

_answers: Answers | None = None


def load(settings: dict[str, Any], folder: str) -> bytes:
    """Load the model in a worker, predict an example, and return a description of the model."""
    global _answers
    os.environ["OMP_NUM_THREADS"] = "1"  # workers run side by side; PyTorch, which is loaded later, reads it
    threadpool_limits(1)  # for the libraries that are loaded
    tempfile.tempdir = folder
    from gdlnn.datasets.resolve import resolve_dataset
    from gdlnn.model.model_folder import load_models
    from gdlnn.server.answers import Answers

    with tempfile.TemporaryDirectory() as temporary:
        for name, content in settings["files"].items():
            path = Path(temporary, name)
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        models = load_models(Path(temporary, settings["name"]))
    for model in models.values():
        model.n_jobs = 1
    examples = settings["examples"] and resolve_dataset(settings["examples"], download=False)
    _answers = Answers(models, settings["limits"], examples, settings["name"])
    for example in _answers.examples[:1]:  # so that no client waits for what is loaded once
        _answers.predict_together([_json(example)])
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
