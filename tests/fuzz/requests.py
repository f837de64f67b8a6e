"""Many requests to a live server, a tenth of them hostile: ``python -m fuzz.requests N [SEED [SECONDS]]``.

Run it in tests/. After SECONDS no more are sent, and what came of those before is told.

Good requests must be answered with 200, or with 503 while the server is busy; nothing is answered with 500,
no good request is lost, and the memory of server and workers stays flat.
"""

from __future__ import annotations

import contextlib
import json
import random
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from fuzz.readers import PIECES
from reference.live_server import LiveServer, answer_of, live_server, wait_until
from reference.server_models import molecules_file

N_CLIENTS = 4
HOSTILE = 0.1
LIMITS = {"read_seconds": 2, "seconds": 10}
SMILES = ("CCO", "Nc1ccccc1", "CC(=O)Oc1ccccc1C(=O)O", "C1CC1", "[Na+].[Cl-]", "O=[N+]([O-])c1ccccc1")
Seen = Counter[tuple[str, int]]


def good(server: LiveServer, rng: random.Random) -> tuple[str, int]:
    """Ask something sensible."""
    kind = rng.choice(("predict", "predict", "predict", "file", "health", "page", "explain"))
    if kind == "predict":
        body = json.dumps({"smiles": rng.choices(SMILES, k=rng.randint(1, 5))}).encode()
        return kind, server.ask("/predict", body)[0]
    if kind == "file":
        table = "smiles\n" + "\n".join(rng.choices(SMILES, k=5)) + "\n"
        return kind, server.ask("/predict/file?kind=csv", table.encode(), "text/csv")[0]
    if kind == "explain":
        body = json.dumps({"smiles": rng.choice(SMILES), "enough": False, "counterfactual": False}).encode()
        return kind, server.ask("/explain", body)[0]
    return kind, server.ask("/health" if kind == "health" else rng.choice(("/", "/page.js", "/model")))[0]


def hostile(server: LiveServer, rng: random.Random) -> tuple[str, int]:
    """Ask something that nobody should."""
    kind = rng.choice(("bytes", "body", "left", "silent", "unread", "headers", "file", "deep"))
    paths = ("/predict", "/explain", "/predict/file?kind=jsonl", "/predict/file?kind=sdf", "/nowhere")
    if kind in ("body", "deep", "file"):
        body = (
            b"".join(rng.choices(PIECES, k=30))
            if kind != "deep"
            else b'{"graphs":' + b"[" * rng.randint(1, 10**5)
        )
        return kind, server.ask(rng.choice(paths), body)[0]
    with server.connect() as stream, contextlib.suppress(OSError):
        stream.settimeout(10)
        if kind == "bytes":
            stream.sendall(rng.randbytes(rng.randint(1, 5000)) + b"\r\n\r\n")
        elif kind == "left":
            body = json.dumps({"smiles": rng.choices(SMILES, k=200)}).encode()
            head = b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            stream.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            return kind, 0
        elif kind == "unread":
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            stream.sendall(b"GET /page.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 50)
            time.sleep(0.05)
            return kind, 0
        elif kind == "silent":
            stream.sendall(b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\n"[: rng.randint(0, 40)])
            return kind, 0
        else:
            header = rng.choice(
                (b"Host: evil.com", b"Origin: http://evil.com", b"Transfer-Encoding: chunked")
            )
            stream.sendall(
                b"POST /predict HTTP/1.1\r\nContent-Length: 2\r\nHost: 127.0.0.1\r\n" + header + b"\r\n\r\n{}"
            )
        return kind, answer_of(stream)[0]
    return kind, 0


def run(
    server: LiveServer, n_requests: int, seed: int, seconds: float = float("inf")
) -> tuple[Seen, Seen, list[str]]:
    """Send the requests over a few threads."""
    seen, refused, lost = Seen(), Seen(), list[str]()
    left, end = iter(range(n_requests)), time.monotonic() + seconds
    lock = threading.Lock()

    def client(number: int) -> None:
        rng = random.Random(1000 * seed + number)
        while True:
            with lock:
                if time.monotonic() > end or next(left, None) is None:
                    return
            bad = rng.random() < HOSTILE
            try:
                found = (hostile if bad else good)(server, rng)
            except OSError as error:
                found = (type(error).__name__, -1)
                if not bad:
                    lost.append(repr(error))
            with lock:
                (refused if bad else seen)[found] += 1

    threads = [threading.Thread(target=client, args=(number,)) for number in range(N_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen, refused, lost


def told(counts: Seen) -> str:
    """Return counts by status."""
    by_status: Counter[int] = Counter()
    for (_, status), count in counts.items():
        by_status[status] += count
    return ", ".join(f"{status or 'no answer'}: {count}" for status, count in sorted(by_status.items()))


def main(words: list[str]) -> None:
    """Start a server, send the requests, and say what came of them."""
    n_requests, seed = (int(words[0]) if words else 50_000), (int(words[1]) if len(words) > 1 else 0)
    most_seconds = float(words[2]) if len(words) > 2 else float("inf")
    with tempfile.TemporaryDirectory() as folder:
        model = molecules_file(Path(folder))[0]
        with live_server(model, limits=LIMITS) as server:
            run(
                server, min(1000, n_requests // 5), seed + 1, most_seconds / 10
            )  # what is loaded late is loaded now
            before, begin = server.memory(), time.monotonic()
            seen, refused, lost = run(server, n_requests, seed, most_seconds)
            seconds = time.monotonic() - begin
            wait_until(server.is_well, 60)
            growth = server.memory() - before
            replaced = server.ask_json("/health")[1]["replaced"]
            assert server.stop() == 0
    print(f"{seen.total() + refused.total()} requests in {seconds:.0f} s, seed {seed}")
    print(f"good:    {told(seen)}")
    print(f"hostile: {told(refused)}")
    print(f"memory grew by {growth / 1e6:.1f} MB; {replaced} workers replaced; lost: {lost[:3]}")
    statuses = {status for _, status in seen}
    assert statuses <= {200, 503}, seen
    assert 500 not in {status for _, status in refused}, refused
    assert not lost, lost[:5]
    assert growth < 60 << 20, growth


if __name__ == "__main__":
    main(sys.argv[1:])
