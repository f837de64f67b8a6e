"""Clients that hold connections, read nothing, leave, or come from other sites; and files left behind."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

import pytest

from reference.live_server import LiveServer, answer_of, live_server, wait_until

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("rdkit")
psutil = pytest.importorskip("psutil")

READ_SECONDS = 1.0
LIMITS = (
    *("--max-seconds", "20", "--max-read-seconds", str(READ_SECONDS), "--workers", "1"),
    *("--max-waiting", "8", "--max-connections", "40", "--max-connections-per-client", "40"),
)
GOOD = json.dumps({"smiles": "Nc1ccccc1"}).encode()


def raw(server: LiveServer, *lines: str, body: bytes = b"") -> tuple[int, Any]:
    """Send the lines of a request as they are; return the status and the JSON of the answer."""
    with server.connect() as stream:
        stream.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        status, answer = answer_of(stream)
    return status, json.loads(answer) if answer else None


def n_sockets(server: LiveServer) -> int:
    return len(psutil.Process(server.process.pid).net_connections(kind="tcp"))


# --- connections --------------------------------------------------------------------------------------------


def _clients_that_read_nothing(server: LiveServer, n: int) -> list[socket.socket]:
    streams = []
    for _ in range(n):
        stream = socket.socket()
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        stream.connect(server.address)
        stream.sendall(b"GET /page.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 118)
        streams.append(stream)
    return streams


def test_clients_that_read_nothing_are_given_up(server: LiveServer) -> None:
    """They pipeline requests and have hardly any room for answers."""
    assert server.is_well()
    streams = _clients_that_read_nothing(server, 38)
    begin = time.monotonic()
    wait_until(lambda: n_sockets(server) < 10, 10 * READ_SECONDS + 10)
    assert server.is_well()
    assert time.monotonic() - begin < 10 * READ_SECONDS + 10
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


def test_idle_connections_are_counted_and_refused(server: LiveServer) -> None:
    assert server.is_well()
    streams = [server.connect() for _ in range(120)]
    try:
        assert n_sockets(server) <= 40 + 32 + 1 + 8
        refused = 0
        for stream in streams[-20:]:
            stream.settimeout(5)
            with contextlib.suppress(OSError):
                status, body = answer_of(stream)
                refused += status == 503
                assert status != 503 or json.loads(body)["error"].startswith("too many connections")
        assert refused == 20
        wait_until(lambda: server.is_well(), 20)
    finally:
        for stream in streams:
            stream.close()


def test_one_client_does_not_take_all_connections_nor_hold_up_a_stop(served_model: Path) -> None:
    options = ("--workers", "1", "--max-connections", "20", "--max-read-seconds", "60")
    with live_server(served_model, *options) as server:
        held = [server.connect() for _ in range(30)]
        time.sleep(0.5)
        with socket.create_connection(server.address, timeout=10, source_address=("127.0.0.2", 0)) as other:
            other.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            assert answer_of(other)[0] == 200
        assert n_sockets(server) <= 10 + 32 + 2
        for stream in held:
            stream.close()
        time.sleep(0.5)
        held += _clients_that_read_nothing(server, 10)
        time.sleep(1)
        begin = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - begin < 15, "it waited for clients that read nothing"
        for stream in held:
            stream.close()


def test_without_descriptors_the_server_refuses_and_recovers(served_model: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    run = "from gdlnn.cli import main; main()"
    options = ("--workers", "1", "--max-connections", "500", "--max-connections-per-client", "500")
    command = [sys.executable, "-c", run, "serve", str(served_model), "--port", "0", *options]
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100)),
        ) as process,
    ):  # fmt: skip
        try:
            assert process.stdout is not None
            server = LiveServer(process, process.stdout.readline().split()[1])
            assert server.is_well()
            streams = []
            for _ in range(300):
                with contextlib.suppress(OSError):
                    streams.append(socket.create_connection(server.address, timeout=5))
            time.sleep(2)
            assert process.poll() is None
            for stream in streams:
                stream.close()
            wait_until(lambda: server.is_well(), 20)
        finally:
            process.terminate()
            process.wait(30)
            process.kill()
    assert log.stat().st_size < 5000, log.read_text()[:500]


# --- clients that leave -------------------------------------------------------------------------------------


def workers_of(server: LiveServer) -> list[Any]:
    return list(psutil.Process(server.process.pid).children())


def test_questions_of_clients_that_have_left_are_dropped(server: LiveServer) -> None:
    wait_until(lambda: server.is_well())
    (worker,) = workers_of(server)
    worker.suspend()
    try:
        head = b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        for _ in range(8):
            with server.connect() as stream:
                stream.sendall(head + b"Content-Length: %d\r\n\r\n" % len(GOOD) + GOOD)
                time.sleep(0.05)
        wait_until(lambda: server.ask_json("/health")[1]["waiting"] == 0, 5)
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            worker.resume()
    wait_until(lambda: server.is_well())


def test_health_tells_of_workers_that_died(server: LiveServer) -> None:
    wait_until(lambda: server.is_well())
    (worker,) = workers_of(server)
    worker.kill()
    wait_until(lambda: server.ask_json("/health")[0] == 503, 5)
    status, told = server.ask_json("/health")
    assert (status, told["status"], told["workers"], told["idle"]) == (503, "starting", 0, 0)
    wait_until(lambda: server.ask_json("/health")[0] == 200)  # without any question it is replaced
    assert server.is_well()


# --- other sites --------------------------------------------------------------------------------------------

POST = ("POST /predict HTTP/1.1", f"Content-Length: {len(GOOD)}", "Connection: close")
AS_JSON = "Content-Type: application/json"


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (("Host: 127.0.0.1", AS_JSON), 200),
        (("Host: 127.0.0.1", "Content-Type: application/json; charset=utf-8"), 200),
        (("Host: 127.0.0.1", "Content-Type: text/plain"), 415),
        (("Host: 127.0.0.1", "Content-Type: application/x-www-form-urlencoded"), 415),
        (("Host: 127.0.0.1",), 415),
        (("Host: 127.0.0.1:8123", AS_JSON, "Origin: http://127.0.0.1:8123"), 200),
        (("Host: 127.0.0.1:8123", AS_JSON, "Origin: http://evil.com"), 403),
        (("Host: 127.0.0.1:8123", AS_JSON, "Origin: http://127.0.0.1:9000"), 403),
        (("Host: 127.0.0.1:8123", AS_JSON, "Origin: null"), 403),
        (("Host: 127.0.0.1:8123", AS_JSON, "Sec-Fetch-Site: cross-site"), 403),
        (("Host: 127.0.0.1:8123", AS_JSON, "Sec-Fetch-Site: same-origin", "Origin: https://proxy"), 200),
        (("Host: evil.com", AS_JSON), 400),
        (("Host: 127.0.0.1:8123@evil.com", AS_JSON), 400),
        (("Host: [::1].evil.com", AS_JSON), 400),
        (("Host: [::1]:80:90", AS_JSON), 400),
        (("Host: 127.0.0.1.evil.com", AS_JSON), 400),
        (("Host: localhost#evil.com", AS_JSON), 400),
        (("Host: [::1]:8000", AS_JSON), 200),
        (("Host: LOCALHOST:8000", AS_JSON), 200),
        (("Host: 127.0.0.1", AS_JSON, "Transfer-Encoding: chunked"), 400),
        (("Host: 127.0.0.1", "Host: evil.com", AS_JSON), 400),
        (("Host : 127.0.0.1", AS_JSON), 400),
    ],
    ids=lambda value: " ".join(value)[:70] if isinstance(value, tuple) else "",
)
def test_where_a_request_comes_from(server: LiveServer, lines: tuple[str, ...], status: int) -> None:
    wait_until(lambda: server.is_well())
    found, answer = raw(server, *POST, *lines, body=GOOD)
    assert found == status
    assert ("error" in answer) == (status != 200)


def test_every_refusal_is_json(server: LiveServer) -> None:
    assert raw(server, "nonsense")[1]["error"]
    assert raw(server, "GET / HTTP/1.1")[1]["error"]  # without a host
    assert raw(server, "GET /nowhere HTTP/1.1", "Host: 127.0.0.1", "Connection: close")[1]["error"]


# --- files --------------------------------------------------------------------------------------------------


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_files_of_clients_are_removed_however_a_worker_ends(served_model: Path, tmp_path: Path) -> None:
    stale = tmp_path / "gdlnn-serve-999999999-x"
    stale.mkdir()
    (stale / "input.csv").write_text("secret")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path))
        patch.setattr(tempfile, "tempdir", None)
        with live_server(served_model, "--workers", "1", "--max-seconds", "2") as server:
            assert not stale.exists()
            assert server.is_well()
            (folder,) = tmp_path.glob("gdlnn-serve-*")
            (worker,) = workers_of(server)
            big = b"smiles\n" + b"C1CCCCC1C1CCCCC1C1CCCCC1C1CCCCC1\n" * 900
            with server.connect() as stream:
                head = (
                    b"POST /predict/file?kind=csv HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n"
                )
                stream.sendall(head % len(big) + big)
                wait_until(lambda: files_below(folder) or not worker.is_running(), 5)
                worker.kill()
                wait_until(lambda: not files_below(folder), 5)
            wait_until(lambda: server.is_well())
            assert not files_below(folder)
            server.stop()
        assert not list(tmp_path.glob("gdlnn-serve-*"))


def test_a_full_folder_is_told(served_model: Path) -> None:
    from gdlnn import load_model
    from gdlnn.server.answers import Answers
    from gdlnn.server.limits import Limits
    from gdlnn.server.workers import _answered

    answers = Answers(load_model(served_model), Limits(), folder="/nowhere")
    header = {"do": "predict_file", "options": {"kind": "csv"}}
    assert b'"status":500' in _answered(answers, header, b"smiles\nC\n")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, os.strerror(28))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "TemporaryDirectory", full)
        told = _answered(answers, header, b"smiles\nC\n")
    assert b'"status":507' in told
    assert b"no room for the file" in told


@pytest.mark.long
def test_a_killed_server_leaves_nothing_running(served_model: Path) -> None:
    with live_server(served_model, "--workers", "2") as server:
        workers = workers_of(server)
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(10)
        gone = ("zombie", "dead")
        wait_until(
            lambda: not any(worker.is_running() and worker.status() not in gone for worker in workers), 10
        )
