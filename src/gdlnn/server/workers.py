"""Worker processes that hold the model, the pool through which the server asks them, and their messages.

A worker reads requests from its standard input, answers one at a time, and exits when the input closes. A
worker that hangs, crashes or uses too much memory can be killed and replaced; the server keeps running.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import itertools
import json
import logging
import os
import shutil
import signal
import struct
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gdlnn.errors import GDLNNError, ServerError
from gdlnn.server.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

START_SECONDS = 300.0  # a large model on a busy machine
LEFT_SECONDS = 2.0  # for an answer that nobody waits for; starting a worker takes as long
OK, BAD_REQUEST, BROKEN, FULL = 200, 422, 500, 507
_FOLDERS = "gdlnn-serve-"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_READ_AHEAD = 1 << 20
logger = logging.getLogger(__name__)


# --- messages: a length, a JSON header, and bytes that belong to it -----------------------------------------

_LENGTHS = struct.Struct("<II")


def packed(header: dict[str, Any], body: bytes = b"") -> bytes:
    """Return a message as bytes."""
    text = json.dumps(header, separators=(",", ":")).encode()
    return _LENGTHS.pack(len(text), len(body)) + text + body


def read_message(stream: IO[bytes]) -> tuple[dict[str, Any], bytes] | None:
    """Read a message; None where the other side is gone."""
    lengths = stream.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    n_header, n_body = _LENGTHS.unpack(lengths)
    data = stream.read(n_header + n_body)
    if len(data) < n_header + n_body:
        return None
    return json.loads(data[:n_header]), data[n_header:]


async def receive_message(stream: asyncio.StreamReader) -> tuple[dict[str, Any], bytes]:
    """Read a message; raises `asyncio.IncompleteReadError` where the other side is gone."""
    n_header, n_body = _LENGTHS.unpack(await stream.readexactly(_LENGTHS.size))
    header = json.loads(await stream.readexactly(n_header))
    return header, await stream.readexactly(n_body)


# --- folders ------------------------------------------------------------------------------------------------


def new_folder() -> Path:
    """Make the folder of this server for clients' files; those of servers that were killed are removed."""
    for other in Path(tempfile.gettempdir()).glob(f"{_FOLDERS}*-*"):
        owner = other.name.removeprefix(_FOLDERS).partition("-")[0]
        if owner.isdigit() and not _is_running(int(owner)):
            shutil.rmtree(other, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{_FOLDERS}{os.getpid()}-"))


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


# --- the pool, in the server --------------------------------------------------------------------------------


class BusyError(Exception):
    """Every worker is at work, and enough requests wait already."""


class TooSlowError(Exception):
    """The question took longer than it may."""


class WorkerGoneError(Exception):
    """The worker ended while it was asked."""


@dataclass(frozen=True)
class Answer:
    """What a worker said: a status as in HTTP, an error or the body.

    Several answers in one body have a status, an error and a length each, in `parts`.
    """

    status: int
    error: str
    body: bytes
    parts: Sequence[tuple[int, str, int]] = ()


class _Worker:
    """One process, and the pipe to it."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        self.process, self.folder = process, folder
        self.at_work = False
        assert process.stdin is not None
        assert process.stdout is not None
        self.stdin, self.stdout = process.stdin, process.stdout

    @classmethod
    async def start(cls, settings: dict[str, Any], root: Path) -> tuple[_Worker, bytes]:
        """Start a process with a folder of its own; return it with its description of the model."""
        folder = Path(tempfile.mkdtemp(prefix="worker-", dir=root))
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            __name__,
            json.dumps(settings | {"folder": str(folder)}),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_READ_AHEAD,
            # One thread each, set before the numeric libraries are loaded.
            env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        worker = cls(process, folder)
        try:
            header, described = await asyncio.wait_for(receive_message(worker.stdout), START_SECONDS)
        except (asyncio.IncompleteReadError, TimeoutError) as error:
            await worker.end()
            raise ServerError("a worker did not start; the lines above say why") from error
        except asyncio.CancelledError:
            await worker.end()
            raise
        if header["status"] != OK:
            await worker.end()
            raise ServerError(header["error"])
        return worker, described

    async def ask(self, message: bytes) -> Answer:
        self.stdin.write(message)
        await self.stdin.drain()
        header, body = await receive_message(self.stdout)
        return Answer(header["status"], header.get("error", ""), body, header.get("parts", ()))

    async def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.stdin.close()
        await self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)  # what clients sent, wherever the worker was in it

    @property
    def is_alive(self) -> bool:
        return self.process.returncode is None


class WorkerPool:
    """A few workers that answer questions about a model, or about those of a folder.

    Parameters
    ----------
    model
        The model file, or a folder of models for several labels.
    limits
        How long a question may take, and how many may wait.
    n_workers
        How many there are.
    examples, smiles
        As for `make_app`.
    """

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
        self.n_workers, self.limits = n_workers, limits or Limits()
        self.settings = {
            "model": str(model),
            "limits": self.limits.to_json(),
            "examples": examples,
            "smiles": smiles,
        }
        self.described = b""
        self.failure: BaseException | None = None  # why the workers did not start
        self.n_waiting = self.n_replaced = 0
        self.folder: Path | None = None
        self._idle: asyncio.LifoQueue[_Worker] = asyncio.LifoQueue()
        self._all: set[_Worker] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Start the workers; returns when all have loaded the model."""
        self.folder = folder = new_folder()
        started = await asyncio.gather(
            *(_Worker.start(self.settings, folder) for _ in range(self.n_workers)), return_exceptions=True
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
        workers, self._all = self._all, set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(worker.end() for worker in workers))
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def n_ready(self) -> int:
        """How many workers there are now, at work or not."""
        return sum(worker.is_alive for worker in self._all)

    @property
    def n_idle(self) -> int:
        """How many workers wait for a question."""
        return sum(worker.is_alive and not worker.at_work for worker in self._all)

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
        message = packed({"do": do, "options": options or {}}, body)
        return await self.ask_for(lambda: message)

    async def ask_for(self, message: Callable[[], bytes]) -> Answer:
        """Do as `ask`, with a message that is put together when a worker is free."""
        worker = await self._free_worker()
        worker.at_work = True
        asking = asyncio.ensure_future(worker.ask(message()))
        try:
            answer = await asyncio.wait_for(asyncio.shield(asking), self.limits.seconds)
        except asyncio.CancelledError:  # the client has left
            self._in_background(self._finish(worker, asking))
            raise
        except TimeoutError as error:
            asking.cancel()
            self._replace(worker)
            raise TooSlowError from error
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            self._replace(worker)
            raise WorkerGoneError from error
        self._free(worker)
        return answer

    async def _finish(self, worker: _Worker, asking: asyncio.Future[Answer]) -> None:
        """Let a worker end an answer that nobody waits for, unless starting another is sooner done."""
        try:
            await asyncio.wait_for(asking, min(LEFT_SECONDS, self.limits.seconds))
        except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
            self._replace(worker)
        else:
            self._free(worker)

    async def _free_worker(self) -> _Worker:
        if self._idle.empty() and self.n_waiting >= self.limits.waiting:
            raise BusyError
        self.n_waiting += 1
        try:
            async with asyncio.timeout(self.limits.seconds):
                while not (worker := await self._idle.get()).is_alive or worker not in self._all:
                    self._replace(worker)  # it ended while nobody asked it anything
                return worker
        except TimeoutError as error:
            raise BusyError from error
        finally:
            self.n_waiting -= 1

    def _add(self, worker: _Worker) -> None:
        self._all.add(worker)
        self._free(worker)
        self._in_background(self._watch(worker))

    def _free(self, worker: _Worker) -> None:
        worker.at_work = False
        self._idle.put_nowait(worker)

    async def _watch(self, worker: _Worker) -> None:
        """Replace a worker as soon as it ends, whether somebody asks it or not."""
        await worker.process.wait()
        if not worker.at_work:
            self._replace(worker)

    def _replace(self, worker: _Worker) -> None:
        if worker in self._all:
            self._all.discard(worker)
            self.n_replaced += 1
            self._in_background(self._start_instead_of(worker))

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _start_instead_of(self, worker: _Worker) -> None:
        await worker.end()
        assert self.folder is not None
        for pause in itertools.chain((0.0, 1.0, 10.0), itertools.repeat(60.0)):
            await asyncio.sleep(pause)
            try:
                fresh, _ = await _Worker.start(self.settings, self.folder)
            except (ServerError, OSError) as error:
                logger.warning("a worker could not be started again: %s", error)
                continue
            self._add(fresh)
            return


# --- the process --------------------------------------------------------------------------------------------


def main(arguments: list[str]) -> int:
    """Load the model, say that it is loaded, answer until the server is gone."""
    for stop in (signal.SIGINT, signal.SIGTERM):  # the server decides when its workers end
        signal.signal(stop, signal.SIG_IGN)
    stdin = sys.stdin.buffer
    # What a library prints must not come between the answers.
    stdout = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    settings = json.loads(arguments[0])
    try:
        answers = _load(settings)
        answers.warm_up()
        described = json.dumps(answers.describe(), allow_nan=False).encode()
    except (GDLNNError, OSError) as error:
        _send(stdout, packed({"status": BAD_REQUEST, "error": str(error)}))
        return 2
    _send(stdout, packed({"status": OK}, described))
    while (message := read_message(stdin)) is not None:
        _send(stdout, _answered(answers, *message))
    return 0


def _load(settings: dict[str, Any]) -> Any:
    from gdlnn.datasets.resolve import resolve_dataset
    from gdlnn.model.model_folder import load_models

    models = load_models(Path(settings["model"]))
    import torch  # not before the file is known to be a model: it takes seconds

    torch.set_num_threads(1)  # workers run side by side, and a head is small
    for model in models.values():
        model.n_jobs = 1
    examples = None
    if settings.get("examples"):
        examples = resolve_dataset(settings["examples"], smiles=settings.get("smiles"), download=False)
    from gdlnn.server.answers import Answers

    limits, name = Limits.from_json(settings["limits"]), Path(settings["model"]).resolve().name
    return Answers(models, limits, examples, settings["folder"], name)


def _answered(answers: Any, header: dict[str, Any], body: bytes) -> bytes:
    """Return the answer to one question as a message; nothing that a question holds ends the worker."""
    try:
        do, options = header["do"], header["options"]
        if do == "predict_file":
            found = answers.predict_file(body, **options)
        elif do == "predict_each":
            return _answered_each(answers, options["sizes"], body)
        elif do == "explain":
            found = answers.explain(json.loads(body) | options)
        else:
            found = answers.predict(json.loads(body))
        return packed({"status": OK}, json.dumps(found, allow_nan=False).encode())
    except GDLNNError as error:
        return packed({"status": BAD_REQUEST, "error": str(error)})
    except OSError as error:
        if error.errno not in _NO_ROOM:
            logger.exception("%s: unexpected failure", header.get("do"))
            return packed({"status": BROKEN, "error": "something went wrong; the server's log says what"})
        logger.warning("no room for a client's file: %s", error.strerror)
        reason = "the server has no room for the file; try again later, or send less"
        return packed({"status": FULL, "error": reason})
    except Exception:
        logger.exception("%s: unexpected failure", header.get("do"))
        return packed({"status": BROKEN, "error": "something went wrong; the server's log says what"})


def _answered_each(answers: Any, sizes: list[int], body: bytes) -> bytes:
    """Return the answers to several requests for predictions as one message."""
    ends = list(itertools.accumulate(sizes, initial=0))
    asked = [json.loads(body[start:end]) for start, end in itertools.pairwise(ends)]
    parts: list[tuple[int, str, int]] = []
    texts = []
    for found in answers.predict_each(asked):
        if isinstance(found, GDLNNError):
            parts.append((BAD_REQUEST, str(found), 0))
        else:
            texts.append(json.dumps(found, allow_nan=False).encode())
            parts.append((OK, "", len(texts[-1])))
    return packed({"status": OK, "parts": parts}, b"".join(texts))


def _send(stream: IO[bytes], message: bytes) -> None:
    stream.write(message)
    stream.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
