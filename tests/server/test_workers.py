"""Workers of the server: memory, the model they hold, what they import, and the files they leave behind."""

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pebble import ProcessExpired

from gdlnn import load_model
from gdlnn.errors import ModelError, ServerError
from gdlnn.server import workers
from gdlnn.server.answers import Answers
from gdlnn.server.limits import Limits
from reference.live_server import LiveServer, started, wait_until
from reference.server_models import motifs_file


def test_a_request_gets_so_much_memory_and_no_more(served_model: Path) -> None:
    async def run() -> None:
        pool = workers.WorkerPool(served_model, Limits(), 1)
        async with pool.running():
            (worker,) = pool.workers
            with pytest.raises(MemoryError):
                await worker.run(10, bytes, 2 * workers.MEMORY_BYTES)
            assert len(await worker.run(10, bytes, workers.MEMORY_BYTES // 16))

    asyncio.run(run())


def test_failures_of_a_worker_have_a_status(monkeypatch: pytest.MonkeyPatch, served_model: Path) -> None:
    class Failing:
        def predict(self, body: bytes) -> None:
            raise OSError(int(body), os.strerror(int(body))) if body else MemoryError

    codes: list[int] = []
    monkeypatch.setattr(workers, "_answers", Failing())
    monkeypatch.setattr(os, "_exit", codes.append)
    workers.answer_in_worker("predict", [b""], {})
    pool = workers.WorkerPool(served_model, Limits(), 1)
    for code, status in ((codes[0], 503), (-9, 500)):
        ended = ProcessExpired("ended", code=code)  # type: ignore[no-untyped-call]
        assert pool._refusal(ended)[0] == status
    assert workers.answer_in_worker("predict", [b"28"], {})[0][0] == 507  # a full disk
    assert workers.answer_in_worker("predict", [b"5"], {})[0][0] == 500


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model and with modules that must not be imported."""
    folder = tmp_path_factory.mktemp("place")
    for name in ("torch", "pebble", "multiprocessing", "pickle", "gdlnn", "numpy", "sitecustomize"):
        (folder / f"{name}.py").write_text(f"open({str(folder / 'ran')!r}, 'w').write({name!r})")
    (folder / "temporary").mkdir()
    return folder


@pytest.fixture(scope="module")
def running(place: Path, served_model: Path) -> Iterator[LiveServer]:
    """A server in that folder, as its script starts it."""
    shutil.copy(served_model, place / "model.gdlnn")
    script = str(Path(sys.executable).parent / "gdlnn")
    words = [script, "serve", "model.gdlnn", "--port", "0", "--workers", "1"]
    with started(words, cwd=place, env=os.environ | {"TMPDIR": str(place / "temporary")}) as server:
        yield server


def test_a_new_worker_has_the_old_model_and_imports_nothing_from_the_current_folder(
    running: LiveServer, place: Path
) -> None:
    before = running.ask_json("/predict", {"smiles": "Nc1ccccc1"})
    shutil.copy(motifs_file(place)[0], place / "model.gdlnn")
    (worker,) = running.workers()
    worker.kill()
    wait_until(running.is_well)
    assert running.workers()[0].pid != worker.pid
    assert running.ask_json("/predict", {"smiles": "Nc1ccccc1"}) == before
    assert not (place / "ran").exists()


def test_files_of_clients_are_removed_however_a_worker_ends(running: LiveServer, place: Path) -> None:
    def files() -> list[Path]:
        return [path for path in (place / "temporary").rglob("*") if path.is_file()]

    wait_until(running.is_well)
    (worker,) = running.workers()
    table = b"smiles\n" + b"C1CCCCC1C1CCCCC1C1CCCCC1C1CCCCC1\n" * 900
    with running.connect() as stream:
        head = b"POST /predict/file?kind=csv HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n"
        stream.sendall(head % len(table) + table)
        wait_until(lambda: files() or not worker.is_running(), 5)
        worker.kill()
        wait_until(lambda: not files(), 10)
    running.stop()
    assert not list((place / "temporary").glob("gdlnn-serve-*"))


def test_a_missing_model_is_reported(tmp_path: Path) -> None:
    async def run(path: Path) -> None:
        async with workers.WorkerPool(path, Limits(), 1).running():
            pass

    with pytest.raises(ModelError, match=r"none\.gdlnn: expected a model file, got No such file"):
        asyncio.run(run(tmp_path / "none.gdlnn"))
    (tmp_path / "models.json").write_text(json.dumps({"format": "another"}))
    with pytest.raises(ModelError, match="expected a list of"):
        asyncio.run(run(tmp_path))


def test_a_server_needs_a_worker(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="workers: expected at least 1, got 0"):
        workers.WorkerPool(tmp_path, Limits(), 0)


def test_predictions_that_are_answered_together_fail_alone(
    monkeypatch: pytest.MonkeyPatch, served_model: Path
) -> None:
    model = load_model(served_model)
    monkeypatch.setattr(workers, "_answers", Answers({"": model}, Limits(batch=1)))
    bodies = [json.dumps({"smiles": smiles}).encode() for smiles in ("CCO", ["C", "CC"], "C(", "Nc1ccccc1")]
    for some in (bodies, bodies[2:]):
        together = workers.answer_in_worker("predict", some, {})
        assert together == [workers.answer_in_worker("predict", [body], {})[0] for body in some]
    assert [status for status, _ in workers.answer_in_worker("predict", bodies, {})] == [200, 422, 200, 200]


class FakeWorker:
    """A worker without a process, which fails if it is asked something bad."""

    def __init__(self, settings: Any) -> None:
        self.pool, self.active, self.is_ready, self.asked = self, False, False, list[list[bytes]]()

    async def start(self) -> bytes:
        self.active = self.is_ready = True
        return b"{}"

    async def end(self) -> None:
        self.stop()

    def stop(self) -> None:
        self.active = False

    async def run(self, _: float, __: Any, do: str, bodies: list[bytes], ___: Any) -> list[tuple[int, bytes]]:
        self.asked.append(bodies)
        await asyncio.sleep(0.01)
        if b"bad" in bodies:
            raise TimeoutError
        return [(200, body) for body in bodies]


class FakeRequest:
    client = None

    def __init__(self, body: bytes) -> None:
        self.scope = {"body": body}

    async def is_disconnected(self) -> bool:
        return self.scope["body"] == b"gone"


def test_small_predictions_that_wait_are_answered_together(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(workers, "_Worker", FakeWorker)
    (tmp_path / "model.gdlnn").touch()

    async def run() -> None:
        pool = workers.WorkerPool(tmp_path / "model.gdlnn", Limits(seconds=0.3), 1)
        async with pool.running():
            worker: Any = pool.workers[0]
            large = b"x" * (workers.SMALL_BYTES + 1)
            questions: list[Any] = [FakeRequest(body) for body in (b"a", b"bad", b"b", b"gone", large, b"c")]
            asking = [pool.ask(question, "predict") for question in questions]
            found = await asyncio.gather(*asking, return_exceptions=True)
            assert [found[i] for i in (0, 2, 4, 5)] == [b"a", b"b", large, b"c"]
            assert "expected an answer within 0.3 s" in str(found[1])
            assert "the client has left" in str(found[3])
            assert worker.asked == [[b"a", b"bad", b"b"], [b"a"], [b"bad"], [b"b"], [large], [b"c"]]
            assert (pool.n_replaced, worker.is_ready, len(pool.waiting)) == (2, True, 0)

    asyncio.run(run())
