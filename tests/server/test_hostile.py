"""The server against clients that mean no good: it answers 4xx, stays up, and its memory stays bounded."""

import contextlib
import json
import os
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from gdlnn.server import workers
from reference.live_server import LiveServer, answer_of, live_server, wait_until
from reference.server_models import WorkerHere

SECONDS, READ_SECONDS = 3.0, 1.0
BODY = 1 << 20
LIMITS = {
    "seconds": SECONDS,
    "read_seconds": READ_SECONDS,
    "body_bytes": BODY,
    "waiting": 4,
    "connections": 40,
}
GOOD = {"smiles": "Nc1ccccc1"}
AS_JSON = "Content-Type: application/json"


def test_random_bodies_are_refused(server: LiveServer, n_cases: float) -> None:
    rng = np.random.default_rng(11)
    assert server.is_well()
    before = server.memory()
    targets = ("/predict", "/explain", "/predict/file?kind=csv", "/predict/file?kind=jsonl", "/nowhere")
    words = [b'{"smiles":', b'"C"', b'{"graphs":[{"nodes":', b"[[", b"]]", b"}", b'"edges":', b"null", b"1e9"]
    statuses: set[int] = set()
    for case in range(int(200 * n_cases)):
        size = int(2 ** rng.uniform(0, 14))
        if case % 2:
            body = rng.integers(0, 256, size, dtype=np.uint8).tobytes()
        else:  # pieces of what is expected come further
            body = b"".join(words[i] for i in rng.integers(0, len(words), rng.integers(1, 20)))
        status, answer = server.ask(targets[case % len(targets)], body)
        statuses.add(status)
        assert 400 <= status < 500, (case, status, body[:80], answer)
        assert json.loads(answer)["error"]
    assert {400, 404, 422} <= statuses
    assert server.is_well()
    assert server.memory() - before < 150 << 20


@pytest.mark.parametrize(
    "body",
    [
        b"[" * (BODY - 1),
        b'{"smiles":' * (BODY // 10),
        b'{"graphs": [{"nodes": ' + b"[" * 400_000 + b"]" * 400_000 + b"}]}",
        b'{"graphs": [{"nodes": [' + b"0," * 200_000 + b'0], "edges": []}]}',
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
    with server.connect() as stream:  # the length is not given before
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


def test_a_client_that_drips_headers_is_not_waited_for(server: LiveServer) -> None:
    start = time.monotonic()
    with server.connect() as stream, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stream.sendall(b"GET /health HTTP/1.1\r\n")
        while time.monotonic() - start < READ_SECONDS + 10:
            stream.sendall(b"X-A: b\r\n")
            time.sleep(0.1)
    assert time.monotonic() - start < READ_SECONDS + 5


def test_clients_that_read_nothing_are_given_up(server: LiveServer) -> None:
    """They pipeline requests and have hardly any room for answers."""
    streams = []
    for _ in range(15):
        stream = socket.socket()
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        stream.connect(server.address)
        stream.sendall(b"GET /page.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 118)
        streams.append(stream)
    process = psutil.Process(server.process.pid)
    wait_until(lambda: len(process.net_connections(kind="tcp")) < 5, 10 * READ_SECONDS + 10)
    assert server.is_well()
    for stream in streams:
        stream.close()


def test_a_client_that_reads_slowly_gets_all(server: LiveServer) -> None:
    """Progress counts, not speed: it takes longer than the time for silence."""
    expected = server.ask("/page.js")[1]
    with socket.socket() as stream:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stream.connect(server.address)
        asked = b"GET /page.js HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        stream.sendall((asked + b"\r\n") * 19 + asked + b"Connection: close\r\n\r\n")
        begin, data = time.monotonic(), b""
        while chunk := stream.recv(1 << 15):
            data += chunk
            time.sleep(2 * READ_SECONDS * len(chunk) / (20 * len(expected)))
        assert data.count(b"HTTP/1.1 200") == 20
        assert data.endswith(expected)
        assert time.monotonic() - begin > READ_SECONDS


def test_silent_connections_do_not_lock_others_out(server: LiveServer) -> None:
    silent = [server.connect() for _ in range(60)]
    try:
        address = ("127.0.0.2", 0)
        with socket.create_connection(server.address, timeout=10, source_address=address) as other:
            other.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            assert answer_of(other)[0] == 200
        wait_until(server.is_well, 30)
    finally:
        for stream in silent:
            stream.close()


def test_an_answer_that_takes_too_long_is_given_up(server: LiveServer) -> None:
    wait_until(server.is_well)
    replaced = server.ask_json("/health")[1]["replaced"]
    for worker in server.workers():
        worker.suspend()
    start = time.monotonic()
    status, answer = server.ask_json("/predict", GOOD)
    assert (status, answer["error"]) == (503, "expected an answer within 3 s, got none; ask for less")
    assert time.monotonic() - start < SECONDS + 5
    wait_until(lambda: server.ask_json("/health")[1]["idle"] == 1)
    assert server.ask_json("/health")[1]["replaced"] == replaced + 1
    assert server.is_well()
    assert len(server.workers()) == 1


def _asked_at_once(
    server: LiveServer, n: int, path: str, source: str = "127.0.0.1"
) -> tuple[list[threading.Thread], list[int]]:
    """Ask from an address of this machine, in threads; return them, and the statuses so far."""
    statuses: list[int] = []
    body = json.dumps(GOOD).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{AS_JSON}\r\n"

    def ask() -> None:
        with socket.create_connection(server.address, timeout=60, source_address=(source, 0)) as stream:
            stream.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            statuses.append(answer_of(stream)[0])

    threads = [threading.Thread(target=ask) for _ in range(n)]
    for thread in threads:
        thread.start()
    return threads, statuses


@pytest.mark.parametrize(("path", "n_answered"), [("/predict", 5), ("/explain", 4)])
def test_too_many_at_once_are_asked_to_come_back(server: LiveServer, path: str, n_answered: int) -> None:
    """One request is at work and four wait; of others than small predictions, four are of one address."""
    wait_until(server.is_well)
    (worker,) = server.workers()
    worker.suspend()
    first, answered = _asked_at_once(server, 1, path)
    wait_until(lambda: server.ask_json("/health")[1]["idle"] == 0)
    threads, statuses = _asked_at_once(server, 11, path)
    wait_until(lambda: len(statuses) >= 12 - n_answered)
    assert set(statuses) == {503}
    others, of_others = _asked_at_once(server, 5 - n_answered, path, "127.0.0.2")
    wait_until(lambda: server.ask_json("/health")[1]["waiting"] == 4)
    worker.resume()
    for thread in first + threads + others:
        thread.join()
    assert (answered + statuses).count(200) == n_answered
    assert set(of_others) <= {200}
    assert server.is_well()


def test_health_reports_a_worker_that_was_killed_until_it_is_replaced(server: LiveServer) -> None:
    wait_until(server.is_well)
    (worker,) = server.workers()
    worker.kill()
    wait_until(lambda: server.ask_json("/health")[0] == 503, 5)
    status, health = server.ask_json("/health")
    assert (status, health["status"], health["workers"], health["idle"]) == (503, "starting", 0, 0)
    wait_until(lambda: server.ask_json("/health")[0] == 200)  # without any request it is replaced
    assert server.is_well()
    (fresh,) = server.workers()
    assert fresh.pid != worker.pid


HERE = "Host: 127.0.0.1:8123"


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ((HERE, AS_JSON), 200),
        ((HERE, "Content-Type: application/json; charset=utf-8"), 200),
        ((HERE, "Content-Type: text/plain"), 415),
        ((HERE,), 415),
        ((HERE, AS_JSON, "Origin: http://127.0.0.1:8123"), 200),
        ((HERE, AS_JSON, "Origin: http://evil.com"), 403),
        ((HERE, AS_JSON, "Origin: http://127.0.0.1:9000"), 403),
        ((HERE, AS_JSON, "Origin: null"), 403),
        ((HERE, AS_JSON, "Sec-Fetch-Site: cross-site"), 403),
        ((HERE, AS_JSON, "Sec-Fetch-Site: same-origin", "Origin: https://proxy"), 200),
        (("Host: evil.com", AS_JSON), 400),
        (("Host: 127.0.0.1:8123@evil.com", AS_JSON), 400),
        (("Host: [::1].evil.com", AS_JSON), 400),
        (("Host: 127.0.0.1.evil.com", AS_JSON), 400),
        (("Host: localhost#evil.com", AS_JSON), 400),
        (("Host: [::1]:8000", AS_JSON), 200),
        (("Host: LOCALHOST:8000", AS_JSON), 200),
        ((HERE, AS_JSON, "Transfer-Encoding: chunked"), 400),
        ((HERE, "Host: evil.com", AS_JSON), 400),
    ],
    ids=lambda value: " ".join(value)[:70] if isinstance(value, tuple) else "",
)
def test_where_a_request_comes_from(server: LiveServer, lines: tuple[str, ...], status: int) -> None:
    wait_until(server.is_well)
    body = json.dumps(GOOD)
    head = ("POST /predict HTTP/1.1", f"Content-Length: {len(body)}", "Connection: close", *lines, "", body)
    with server.connect() as stream:
        stream.sendall("\r\n".join(head).encode("latin-1"))
        assert answer_of(stream)[0] == status


def test_requests_made_from_the_document_fail_no_server(server: LiveServer, n_cases: float) -> None:
    """schemathesis: requests that fit the OpenAPI document, and requests that nearly do."""
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, given, settings

    statuses: list[int] = []
    bounded = settings(
        max_examples=int(5 * n_cases), deadline=None, suppress_health_check=list(HealthCheck), database=None
    )

    def check(case: Any) -> None:
        answer = case.call()
        statuses.append(answer.status_code)
        case.validate_response(answer, checks=[schemathesis.checks.not_a_server_error])

    document = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
    for operation in document.get_all_operations():
        bounded(given(case=operation.ok().as_strategy())(check))()
    assert {200, 422} <= set(statuses)
    assert server.is_well()


def test_a_killed_server_leaves_nothing_running(served_model: Path) -> None:
    with live_server(served_model, limits={}) as server:
        workers = server.workers()
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(10)
        for worker in workers:
            with contextlib.suppress(psutil.NoSuchProcess):
                wait_until(lambda one=worker: one.status() in ("zombie", "dead"), 10)


def test_a_server_that_cannot_start_says_why(
    served_model: Path,
    server: LiveServer,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    from gdlnn.cli import main

    monkeypatch.setenv("PYTHONSAFEPATH", "1")  # the command sets it, for the life of its process
    monkeypatch.setattr(workers, "_Worker", WorkerHere)
    broken = tmp_path / "broken.gdlnn"
    broken.write_bytes(os.urandom(100))
    port = str(server.address[1])
    for words, reason in (
        ([str(served_model), "--port", port], f"127.0.0.1:{port}: expected an address to listen on"),
        (
            [str(tmp_path / "none.gdlnn"), "--port", "0"],
            "none.gdlnn: expected a model file",
        ),
        ([str(broken), "--port", "0", "--workers", "1"], "broken.gdlnn: not a model file, or damaged"),
        ([str(served_model), "--workers", "0"], "--workers"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["serve", *words])
        assert ended.value.code == 2
        assert reason in capsys.readouterr().err


def test_a_stop_lets_requests_end(server: LiveServer) -> None:
    """The last test of this server."""
    wait_until(server.is_well)
    (worker,) = server.workers()
    worker.suspend()
    (thread,), statuses = _asked_at_once(server, 1, "/predict")
    wait_until(lambda: server.ask_json("/health")[1]["idle"] == 0)
    server.process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    assert server.process.poll() is None
    worker.resume()
    thread.join()
    assert statuses == [200]
    assert server.process.wait(30) == 0
    assert not worker.is_running() or worker.status() == "zombie"
    with pytest.raises(ConnectionRefusedError):
        server.connect()
