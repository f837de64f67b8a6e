"""Many requests to a live server, a tenth of them hostile: ``python -m fuzz.requests N [SEED]`` in tests/.

Good requests must be answered with 200, or with 503 while the server is busy; nothing is answered with 500,
no good request is lost, and the memory of server and workers stays flat.
"""

import contextlib
import json
import random
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fuzz.readers import GOLDEN, PIECES
from reference.live_server import LiveServer, answer_of, live_server, wait_until

N_CLIENTS, HOSTILE = 4, 0.1
LIMITS = {"read_seconds": 2, "seconds": 10}
SMILES = ("CCO", "Nc1ccccc1", "CC(=O)Oc1ccccc1C(=O)O", "C1CC1", "[Na+].[Cl-]", "O=[N+]([O-])c1ccccc1")
PAGES = ("/", "/page.js", "/model", "/health")
POSTS = ("/predict", "/explain", "/predict/file?kind=jsonl", "/predict/file?kind=sdf", "/nowhere")
HEAD = b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
FORGED = (b"Host: evil.com", b"Origin: http://evil.com", b"Transfer-Encoding: chunked")


def good(server: LiveServer, rng: random.Random) -> int:
    """Ask something sensible; return the status."""
    some = rng.choices(SMILES, k=rng.randint(1, 5))
    kinds: list[tuple[Any, ...]] = [
        (rng.choice(PAGES),),
        ("/predict", json.dumps({"smiles": some}).encode()),
        ("/predict/file?kind=csv", "\n".join(["smiles", *some]).encode(), "text/csv"),
        ("/explain", json.dumps({"smiles": some[0], "enough": False, "counterfactual": False}).encode()),
    ]
    return server.ask(*rng.choices(kinds, weights=(2, 3, 1, 1))[0])[0]


def hostile(server: LiveServer, rng: random.Random) -> int:
    """Ask something that nobody should; return the status, or 0 where no answer is waited for."""
    if rng.random() < 0.3:
        bodies = b'{"graphs":' + b"[" * rng.randint(1, 10**5), b"".join(rng.choices(PIECES, k=30))
        return server.ask(rng.choice(POSTS), rng.choice(bodies))[0]
    body = json.dumps({"smiles": rng.choices(SMILES, k=200)}).encode()
    unread = [
        HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body,
        HEAD[: rng.randint(0, 40)],
        b"GET /page.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 50,
    ]
    forged = HEAD + b"Content-Length: 2\r\n" + rng.choice(FORGED) + b"\r\n\r\n{}"
    data = rng.choice([*unread, forged, rng.randbytes(rng.randint(1, 5000)) + b"\r\n\r\n"])
    with server.connect() as stream, contextlib.suppress(OSError):
        stream.settimeout(10)
        stream.sendall(data)
        if data not in unread:
            return answer_of(stream)[0]
        time.sleep(0.05)  # then it leaves, and has read nothing
    return 0


def run(server: LiveServer, n_requests: int, seed: int) -> Counter[tuple[str, int]]:
    """Send the requests over a few threads; count statuses by kind, -1 for those that are lost."""

    def ask(number: int) -> tuple[str, int]:
        rng = random.Random(seed * 10**9 + number)
        kind = hostile if rng.random() < HOSTILE else good
        with contextlib.suppress(OSError):
            return kind.__name__, kind(server, rng)
        return kind.__name__, -1

    with ThreadPoolExecutor(N_CLIENTS) as threads:
        return Counter(threads.map(ask, range(n_requests)))


def main(words: list[str]) -> None:
    """Start a server, send the requests, and print how they were answered."""
    n_requests, seed = (*map(int, words), *(50_000, 0)[len(words) :])
    with live_server(GOLDEN / "bbbp-scorecard.gdlnn", limits=LIMITS) as server:
        run(server, min(1000, n_requests // 5), seed + 1)  # what is loaded late is loaded now
        print("the server answers", flush=True)
        before, begin = server.memory(), time.monotonic()
        counts = run(server, n_requests, seed)
        seconds = time.monotonic() - begin
        wait_until(server.is_well, 60)
        growth, replaced = server.memory() - before, server.ask_json("/health")[1]["replaced"]
        assert server.stop() == 0
    print(f"{n_requests} requests in {seconds:.0f} s, seed {seed}: {dict(sorted(counts.items()))}")
    print(f"memory grew by {growth / 1e6:.1f} MB; {replaced} workers replaced")
    assert {status for kind, status in counts if kind == "good"} <= {200, 503}, counts
    assert ("hostile", 500) not in counts, counts
    assert growth < 60 << 20, growth


if __name__ == "__main__":
    main(sys.argv[1:])
