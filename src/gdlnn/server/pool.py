"""The workers as the server sees them: started, asked one thing at a time, ended when too slow, replaced."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gdlnn.errors import ServerError
from gdlnn.server.wire import packed, receive_message

if TYPE_CHECKING:
    from gdlnn.server.limits import Limits

START_SECONDS = 300.0  # a large model on a busy machine
_READ_AHEAD = 1 << 20
logger = logging.getLogger(__name__)


class BusyError(Exception):
    """Every worker is at work, and enough requests wait already."""


class TooSlowError(Exception):
    """The question took longer than it may."""


class WorkerGoneError(Exception):
    """The worker ended while it was asked."""


@dataclass(frozen=True)
class Answer:
    """What a worker said: a status as in HTTP, an error or the body."""

    status: int
    error: str
    body: bytes


class _Worker:
    """One process, and the pipe to it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self.stdin, self.stdout = process.stdin, process.stdout

    @classmethod
    async def start(cls, settings: dict[str, Any]) -> tuple[_Worker, bytes]:
        """Start a process; return it with its description of the model."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "gdlnn.server.worker",
            json.dumps(settings),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_READ_AHEAD,
            # One thread each, set before the numeric libraries are loaded.
            env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        worker = cls(process)
        try:
            header, described = await asyncio.wait_for(receive_message(worker.stdout), START_SECONDS)
        except (asyncio.IncompleteReadError, TimeoutError) as error:
            await worker.end()
            raise ServerError("a worker did not start; the lines above say why") from error
        except asyncio.CancelledError:
            await worker.end()
            raise
        if header["status"] != 200:
            await worker.end()
            raise ServerError(header["error"])
        return worker, described

    async def ask(self, message: bytes) -> Answer:
        self.stdin.write(message)
        await self.stdin.drain()
        header, body = await receive_message(self.stdout)
        return Answer(header["status"], header.get("error", ""), body)

    async def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.stdin.close()
        await self.process.wait()


class WorkerPool:
    """A few workers that answer questions about one model.

    Parameters
    ----------
    settings
        What a worker is started with: the model's path, limits, examples.
    n_workers
        How many there are.
    limits
        How long a question may take, and how many may wait.
    """

    def __init__(self, settings: dict[str, Any], n_workers: int, limits: Limits) -> None:
        if n_workers < 1:
            raise ServerError(f"workers: expected at least 1, got {n_workers}")
        self.settings, self.n_workers, self.limits = settings, n_workers, limits
        self.described = b""
        self.failure: BaseException | None = None  # why the workers did not start
        self.n_waiting = self.n_replaced = 0
        self._idle: asyncio.LifoQueue[_Worker] = asyncio.LifoQueue()
        self._all: set[_Worker] = set()
        self._starting: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Start the workers; returns when all have loaded the model."""
        started = await asyncio.gather(
            *(_Worker.start(self.settings) for _ in range(self.n_workers)), return_exceptions=True
        )
        for found in started:
            if not isinstance(found, BaseException):
                worker, self.described = found
                self._add(worker)
        for found in started:
            if isinstance(found, BaseException):
                self.failure = found
                await self.stop()
                raise found

    async def stop(self) -> None:
        """End all workers."""
        for task in self._starting:
            task.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        await asyncio.gather(*(worker.end() for worker in self._all))
        self._all.clear()

    @property
    def n_ready(self) -> int:
        """How many workers there are now, at work or not."""
        return len(self._all)

    @property
    def n_idle(self) -> int:
        """How many workers wait for a question."""
        return self._idle.qsize()

    async def ask(self, do: str, body: bytes, options: dict[str, Any] | None = None) -> Answer:
        """Ask the next free worker.

        Raises
        ------
        BusyError
            Where enough requests wait already, or this one has waited too long.
        TooSlowError
            Where the answer took too long; its worker has been ended and another is being started.
        WorkerGoneError
            Where the worker ended by itself; another is being started.
        """
        worker = await self._free_worker()
        message = packed({"do": do, "options": options or {}}, body)
        done = False
        try:
            answer = await asyncio.wait_for(worker.ask(message), self.limits.seconds)
            done = True
        except TimeoutError as error:
            raise TooSlowError from error
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise WorkerGoneError from error
        finally:
            # Whatever came between (also the client's leaving) has left an answer in the pipe.
            if done:
                self._idle.put_nowait(worker)
            else:
                self._replace(worker)
        return answer

    async def _free_worker(self) -> _Worker:
        if self._idle.empty() and self.n_waiting >= self.limits.waiting:
            raise BusyError
        self.n_waiting += 1
        try:
            async with asyncio.timeout(self.limits.seconds):
                while (worker := await self._idle.get()).process.returncode is not None:
                    self._replace(worker)  # it ended while nobody asked it anything
                return worker
        except TimeoutError as error:
            raise BusyError from error
        finally:
            self.n_waiting -= 1

    def _add(self, worker: _Worker) -> None:
        self._all.add(worker)
        self._idle.put_nowait(worker)

    def _replace(self, worker: _Worker) -> None:
        self._all.discard(worker)
        self.n_replaced += 1
        task = asyncio.create_task(self._start_instead_of(worker))
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _start_instead_of(self, worker: _Worker) -> None:
        await worker.end()
        for pause in itertools.chain((0.0, 1.0, 10.0), itertools.repeat(60.0)):
            await asyncio.sleep(pause)
            try:
                fresh, _ = await _Worker.start(self.settings)
            except (ServerError, OSError) as error:
                logger.warning("a worker could not be started again: %s", error)
                continue
            self._add(fresh)
            return
