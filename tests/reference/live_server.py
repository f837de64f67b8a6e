"""A server as people start it: `gdlnn serve` in a process of its own, and plain sockets to talk to it."""

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


class LiveServer:
    """A running server."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process, self.url = process, url
        parts = urlsplit(url)
        self.address = (parts.hostname, parts.port)

    def connect(self) -> socket.socket:
        return socket.create_connection(self.address, timeout=60)

    def ask(self, path: str, body: bytes | None = None, kind: str = "application/json") -> tuple[int, bytes]:
        """Send one request and return status and body of the answer."""
        method = "GET" if body is None else "POST"
        with self.connect() as stream:
            head = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close"]
            head += [f"Content-Type: {kind}", f"Content-Length: {len(body or b'')}", "", ""]
            stream.sendall("\r\n".join(head).encode())
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # refused before all was sent
                stream.sendall(body or b"")
            return answer_of(stream)

    def ask_json(self, path: str, value: Any = None) -> tuple[int, Any]:
        status, body = self.ask(path, None if value is None else json.dumps(value).encode())
        return status, json.loads(body)

    def is_well(self) -> bool:
        """Say whether a plain question is answered."""
        with contextlib.suppress(OSError):
            return self.ask("/predict", b'{"smiles": "Nc1ccccc1"}')[0] == 200
        return False

    def memory(self) -> int:
        """Return the bytes that the server and its workers hold."""
        import psutil

        process = psutil.Process(self.process.pid)
        return sum(each.memory_info().rss for each in [process, *process.children(recursive=True)])

    def workers(self) -> list[Any]:
        """Return the processes that hold the model."""
        import psutil

        children = psutil.Process(self.process.pid).children()
        return [child for child in children if any("spawn_main" in word for word in child.cmdline())]

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask the server to stop; return its exit code."""
        self.process.send_signal(number)
        return self.process.wait(60)


def answer_of(stream: socket.socket) -> tuple[int, bytes]:
    """Read an answer until the server closes the connection."""
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := stream.recv(1 << 16):
            data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    return (int(head.split()[1]), body) if head.startswith(b"HTTP/") else (0, data)


_AS_A_COMMAND = "from gdlnn.cli import main; main()"
_WITH_LIMITS = """
import json, sys
from gdlnn.server import Limits, serve
limits = Limits(**json.loads(sys.argv[2]))
serve(sys.argv[1], port=0, limits=limits, n_workers=1, say=lambda address: print(address, flush=True))
"""


@contextlib.contextmanager
def live_server(
    model: Path, *options: str, limits: Mapping[str, float] | None = None, python: str = sys.executable
) -> Iterator[LiveServer]:
    """Start a server on a free port, and end it however the test went; with `limits`, one of one worker."""
    command = [python, "-c", _AS_A_COMMAND, "serve", str(model), "--port", "0", *options]
    if limits is not None:
        command = [python, "-c", _WITH_LIMITS, str(model), json.dumps(dict(limits))]
    with started(command) as server:
        yield server


@contextlib.contextmanager
def started(command: list[str], **options: Any) -> Iterator[LiveServer]:
    """Run a command that prints the address of a server."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options) as process:
        try:
            line = process.stdout.readline()
            found = re.search(r"http://\S+:\d+", line)
            assert found, f"expected an address, got {line!r}"
            yield LiveServer(process, found.group())
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
            process.kill()


def wait_until(condition: Any, seconds: float = 60.0) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)
