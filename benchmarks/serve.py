"""How the server holds under load: /predict at a steady rate over loopback, and how long answers take.

The load is open: requests are due at fixed times whether or not earlier ones are answered, and a latency is
counted from when its request was due. Client and server share the machine's processors. The model is one of
BBBP where GDLNN_DATA has the dataset, else one of a small table; --model takes a file that is there already.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import psutil
import typer

from benchmarks._measuring import GDLNN
from gdlnn import GDLNNClassifier, load_dataset, load_model, load_smiles

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TABLE = Path(__file__).parent.parent / "examples" / "molecules.csv"
AIM = 300
AIM_P99 = 80.0
SHORT = {"seconds": 5.0}


def run(
    rate: Annotated[float, typer.Option(help="Requests a second.")] = AIM,
    seconds: float = 30.0,
    connections: int = 32,
    workers: int = 2,
    model: Annotated[
        Path | None, typer.Option(help="A model of molecules; by default one is trained.")
    ] = None,
) -> None:
    """Send requests to a server at a steady rate."""
    name, smiles = molecules()
    with tempfile.TemporaryDirectory() as folder:
        path = model or trained(name, Path(folder) / "model.gdlnn")
        n_programs = len(load_model(path).programs_)
        with started(path, workers) as (pid, port):
            load = Load(port, smiles, rate, seconds)
            before = cpu(pid)
            asyncio.run(load.run(connections))
            spent = [1000 * (b - a) / len(load.due) for a, b in zip(before, cpu(pid), strict=True)]
    print(f"/predict, one SMILES of {name} each, {n_programs} programs, {workers} workers, {cores()}")
    show(load, rate, seconds)
    print(f"  CPU per request in ms: {spent[0]:.2f} where it listens, {spent[1]:.2f} in workers")


def molecules() -> tuple[str, list[str]]:
    """Return the name of the dataset and the SMILES to ask about, of BBBP those that are held out."""
    if os.environ.get("GDLNN_DATA"):
        smiles = load_dataset("BBBP", download=False).split("auto")[2].smiles
        return "BBBP", list(smiles or ())
    return TABLE.stem, list(load_smiles(TABLE, label="active").smiles or ())


def trained(name: str, path: Path) -> Path:
    """Train a model of the dataset with the default settings, and save it."""
    if name == "BBBP":
        train, validation, _ = load_dataset(name, download=False).split("auto")
        model = GDLNNClassifier(verbose=False).fit(train, validation=validation)
    else:
        model = GDLNNClassifier(verbose=False).fit(load_smiles(TABLE, label="active"))
    model.save(path)
    return path


def cpu(pid: int) -> tuple[float, float]:
    """Return the CPU seconds of the process that listens, and of its workers."""
    server = psutil.Process(pid)
    times = [sum(p.cpu_times()[:2]) for p in (server, *server.children())]
    return times[0], sum(times[1:])


def cores() -> str:
    return f"{len(os.sched_getaffinity(0))} processors, load average {os.getloadavg()[0]:.1f}"


@contextlib.contextmanager
def started(model: Path, workers: int) -> Iterator[tuple[int, int]]:
    """Start a server as people do; give its process and its port."""
    command = [*GDLNN, "serve", str(model), "--port", "0", "--workers", str(workers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://[\d.]+:(\d+)", process.stdout.readline())
            if found is None:
                raise RuntimeError("the server did not start")
            yield process.pid, int(found.group(1))
        finally:
            process.terminate()


class Load:
    """Requests that are due at fixed times, and how they went."""

    def __init__(self, port: int, smiles: Sequence[str], rate: float, seconds: float) -> None:
        self.port = port
        self.requests = [request(text) for text in smiles]
        self.due = np.arange(int(rate * seconds)) / rate
        self.latencies: list[float] = []
        self.failures: Counter[str] = Counter()

    async def run(self, connections: int) -> None:
        """Send all requests over a few connections."""
        self.start = time.monotonic() + 0.5
        await asyncio.gather(*(self._connection(i, connections) for i in range(connections)))
        self.took = time.monotonic() - self.start

    async def _connection(self, first: int, step: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        for number in range(first, len(self.due), step):
            due = self.start + self.due[number]
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            try:
                writer.write(self.requests[number % len(self.requests)])
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: (\d+)", head)
                body = await reader.readexactly(int(length.group(1)) if length else 0)
            except (OSError, asyncio.IncompleteReadError) as error:
                self.failures[type(error).__name__] += 1
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                continue
            self.latencies.append(time.monotonic() - due)
            if not head.startswith(b"HTTP/1.1 200") or json.loads(body)["rows"][0]["error"] is not None:
                self.failures[head.split(b"\r\n")[0].decode()] += 1
        writer.close()


def request(smiles: str) -> bytes:
    body = json.dumps({"smiles": smiles}).encode()
    head = ["POST /predict HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json"]
    return "\r\n".join([*head, f"Content-Length: {len(body)}", "", ""]).encode() + body


def show(load: Load, rate: float, seconds: float) -> None:
    milliseconds = 1000 * np.array(load.latencies)
    p50, p95, p99 = np.percentile(milliseconds, (50, 95, 99))
    answered = len(load.latencies) / max(load.took, 1e-9)
    print(f"  asked {rate:g} a second for {seconds:g} s: {len(load.due)} requests   aim ≥ {AIM} a second")
    print(
        f"  answered {answered:,.0f} a second, failures {sum(load.failures.values())} {dict(load.failures)}"
    )
    figures = f"p50 {p50:.1f}, p95 {p95:.1f}, p99 {p99:.1f}, largest {milliseconds.max():.1f}"
    print(f"  latency in ms: {figures}   aim: p99 ≤ {AIM_P99:g}")
