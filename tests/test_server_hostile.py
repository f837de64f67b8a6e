"""The server against clients that mean no good: it answers 4xx, stays up, and its memory stays bounded."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from reference.live_server import LiveServer, answer_of, live_server, wait_until

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("rdkit")
psutil = pytest.importorskip("psutil")

SECONDS, READ_SECONDS = 3.0, 1.0
BODY = 1 << 20
LIMITS = (
    *("--max-seconds", str(SECONDS), "--max-read-seconds", str(READ_SECONDS), "--max-body", "1"),
    *("--workers", "1", "--max-waiting", "4", "--max-connections", "40"),
)
GOOD = {"smiles": "Nc1ccccc1"}


# --- bodies -----------------------------------------------------------------------------------------------


def test_random_bodies_are_refused(server: LiveServer, n_cases: float) -> None:
    rng = np.random.default_rng(11)
    assert server.is_well()
    before = server.memory()
    targets = ("/predict", "/explain", "/predict/file?kind=csv", "/predict/file?kind=jsonl", "/nowhere")
    words = [b'{"smiles":', b'"C"', b'{"graphs":[{"nodes":', b"[[", b"]]", b"}", b'"edges":', b"null", b"1e9"]
    seen: set[int] = set()
    for case in range(int(1000 * max(1.0, n_cases / 10))):
        size = int(2 ** rng.uniform(0, 14))
        if case % 2:
            body = rng.integers(0, 256, size, dtype=np.uint8).tobytes()
        else:  # pieces of what is expected come further
            body = b"".join(words[i] for i in rng.integers(0, len(words), rng.integers(1, 20)))
        status, answer = server.ask(targets[case % len(targets)], body)
        seen.add(status)
        assert 400 <= status < 500, (case, status, body[:80], answer)
        assert json.loads(answer)["error"]
    assert {400, 404, 422} <= seen
    assert server.is_well()
    assert server.memory() - before < 150 << 20


def test_random_bytes_that_are_no_http(server: LiveServer) -> None:
    rng = np.random.default_rng(12)
    for size in (1, 10, 1000, 200_000):
        with server.connect() as stream:
            try:
                stream.sendall(rng.integers(0, 256, size, dtype=np.uint8).tobytes() + b"\r\n\r\n")
            except (BrokenPipeError, ConnectionResetError):
                continue
            assert answer_of(stream)[0] in (0, 400)
    assert server.is_well()


@pytest.mark.parametrize(
    "body",
    [
        b"[" * (BODY - 1),
        b'{"smiles":' * (BODY // 10),
        b'{"graphs": [{"nodes": ' + b"[" * 400_000 + b"]" * 400_000 + b"}]}",
        b'{"graphs": [{"nodes": [' + b"0," * 400_000 + b'0], "edges": []}]}',
        b'{"smiles": "' + b"C1" * 400_000 + b'"}',
        b'{"smiles": ' + b"7" * 900_000 + b"}",
        b'{"graphs": [' + b'{"nodes":"a"},' * 70_000 + b"1]}",
        b'{"graphs": [{"nodes": [' + b'"",' * 300_000 + b'""]}]}',
        b"{" + b",".join(b'"%d":1' % i for i in range(90_000)) + b"}",
    ],
    ids=["lists", "objects", "nodes", "many nodes", "long", "number", "mistakes", "bad nodes", "keys"],
)
def test_deep_and_long_bodies(server: LiveServer, body: bytes) -> None:
    before = server.memory()
    for path in ("/explain", "/predict"):
        status, answer = server.ask(path, body)
        row_says_so = status == 200 and json.loads(answer)["rows"][0]["error"]
        assert 400 <= status < 500 or row_says_so, (status, answer[:200])
    assert server.is_well()
    assert server.memory() - before < 200 << 20


def test_bodies_over_the_limit_are_not_read(server: LiveServer) -> None:
    status, answer = server.ask("/predict", b"x" * (BODY + 1))
    assert (status, json.loads(answer)["error"]) == (413, f"body: expected at most {BODY:,} bytes, got more")
    with server.connect() as stream:  # the length is not told before
        stream.sendall(b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"%x\r\n" % (1 << 16) + b"x" * (1 << 16) + b"\r\n"
        try:
            for _ in range(64):
                stream.sendall(chunk)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert answer_of(stream)[0] in (0, 413)
    with server.connect() as stream:  # a lie about the length costs nothing
        stream.sendall(b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999\r\n\r\n")
        assert answer_of(stream)[0] == 413
    assert server.is_well()


# --- slow clients -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("beginning", "status"),
    [
        (b"", 0),
        (b"POST /predict HT", 0),
        (b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\n", 0),
        (b'POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\n{"smi', 408),
    ],
    ids=["silent", "line", "headers", "body"],
)
def test_a_slow_client_is_not_waited_for(server: LiveServer, beginning: bytes, status: int) -> None:
    with server.connect() as stream:
        start = time.monotonic()
        stream.sendall(beginning)
        assert answer_of(stream)[0] == status
        assert time.monotonic() - start < READ_SECONDS + 5
    assert server.is_well()


def test_a_client_that_drips_is_not_waited_for(server: LiveServer) -> None:
    with server.connect() as stream:
        stream.sendall(b"GET /health HTTP/1.1\r\n")
        start = time.monotonic()
        try:
            while time.monotonic() - start < READ_SECONDS + 10:
                stream.sendall(b"X-A: b\r\n")
                time.sleep(0.1)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert time.monotonic() - start < READ_SECONDS + 5


def test_a_client_that_takes_no_answers_is_not_waited_for(server: LiveServer) -> None:
    n_asked, before = 500, server.memory()
    script = len(server.ask("/page.js")[1])
    with server.connect() as stream:
        stream.sendall(b"GET /page.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * n_asked)
        time.sleep(READ_SECONDS + 1.5)
        stream.settimeout(10)
        taken = 0
        with contextlib.suppress(ConnectionResetError):
            while chunk := stream.recv(1 << 20):
                taken += len(chunk)
    assert taken < n_asked * script / 2
    assert server.is_well()
    assert server.memory() - before < 100 << 20


def test_many_silent_clients_do_not_lock_others_out(server: LiveServer) -> None:
    silent = [server.connect() for _ in range(60)]
    try:
        wait_until(lambda: server.is_well(), 30)
    finally:
        for stream in silent:
            stream.close()


# --- questions that take too long -------------------------------------------------------------------------


def workers_of(server: LiveServer) -> list[Any]:
    return list(psutil.Process(server.process.pid).children())


def test_an_answer_that_takes_too_long_is_given_up(server: LiveServer) -> None:
    assert server.is_well()
    replaced = server.ask_json("/health")[1]["replaced"]
    for worker in workers_of(server):
        worker.suspend()
    start = time.monotonic()
    status, answer = server.ask_json("/predict", GOOD)
    assert (status, answer["error"]) == (503, "expected an answer within 3 s, got none; ask for less")
    assert time.monotonic() - start < SECONDS + 5
    wait_until(lambda: server.ask_json("/health")[1]["idle"] == 1)
    assert server.ask_json("/health")[1]["replaced"] == replaced + 1
    assert server.is_well()
    assert len(workers_of(server)) == 1


def test_too_many_at_once_are_told_to_come_back(server: LiveServer) -> None:
    assert server.is_well()
    (worker,) = workers_of(server)
    worker.suspend()
    answers: list[int] = []
    asking = [
        threading.Thread(target=lambda: answers.append(server.ask_json("/predict", GOOD)[0]))
        for _ in range(12)
    ]
    for thread in asking:
        thread.start()
    wait_until(lambda: len(answers) >= 7)  # one is asked, four wait
    assert set(answers) == {503}
    worker.resume()
    for thread in asking:
        thread.join()
    assert answers.count(200) == 5
    assert server.is_well()


@pytest.mark.long
def test_a_worker_that_ended_is_replaced(server: LiveServer) -> None:
    (worker,) = workers_of(server)
    worker.kill()
    wait_until(lambda: server.is_well())
    (fresh,) = workers_of(server)
    assert fresh.pid != worker.pid


# --- the document -----------------------------------------------------------------------------------------


def test_requests_made_from_the_document_fail_no_server(server: LiveServer, n_cases: float) -> None:
    """schemathesis: requests that fit the OpenAPI document, and requests that nearly do."""
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, given, settings

    seen: list[int] = []
    bounded = settings(
        max_examples=int(8 * n_cases), deadline=None, suppress_health_check=list(HealthCheck), database=None
    )

    def check(case: Any) -> None:
        answer = case.call()
        seen.append(answer.status_code)
        case.validate_response(answer, checks=[schemathesis.checks.not_a_server_error])

    document = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
    for operation in document.get_all_operations():
        bounded(given(case=operation.ok().as_strategy())(check))()
    assert {200, 422} <= set(seen)
    assert server.is_well()


# --- starting and stopping --------------------------------------------------------------------------------


def test_a_stop_lets_requests_end(served_model: Path) -> None:
    with live_server(served_model, "--workers", "1") as server:
        assert server.is_well()
        workers = workers_of(server)
        for worker in workers:
            worker.suspend()
        answers: list[int] = []
        asking = threading.Thread(target=lambda: answers.append(server.ask_json("/predict", GOOD)[0]))
        asking.start()
        wait_until(lambda: server.ask_json("/health")[1]["idle"] == 0)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        assert server.process.poll() is None
        for worker in workers:
            worker.resume()
        asking.join()
        assert answers == [200]
        assert server.process.wait(30) == 0
        assert not any(worker.is_running() and worker.status() != "zombie" for worker in workers)
        with pytest.raises(ConnectionRefusedError):
            server.connect()


def test_a_server_that_cannot_start_says_why(
    served_model: Path, server: LiveServer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from gdlnn.cli import main

    broken = tmp_path / "broken.gdlnn"
    broken.write_bytes(os.urandom(100))
    port = str(server.address[1])
    for words, reason in (
        ([str(served_model), "--port", port], f"127.0.0.1:{port}: expected an address to listen on"),
        ([str(tmp_path / "none.gdlnn")], "none.gdlnn: expected a model file, got no such file"),
        ([str(broken), "--port", "0", "--workers", "1"], "broken.gdlnn: not a model file, or damaged"),
        ([str(served_model), "--max-batch", "0"], "batch: expected a number above 0, got 0"),
        ([str(served_model), "--workers", "0"], "workers: expected at least 1, got 0"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["serve", *words])
        assert ended.value.code == 2
        assert reason in capsys.readouterr().err
