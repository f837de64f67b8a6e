"""Ten million molecules on a thousand processors, on paper: from the cost model and the memory of BBBP.

::

    python -m benchmarks scale [--molecules 10000000] [--processors 1000] [--out FILE]

Time per target and its growth with |D| are read from docs/mining-cost.md; bytes are measured here on BBBP.
"""

from __future__ import annotations

import argparse
import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gdlnn import load_dataset
from gdlnn.graphs.arrays import GraphSet
from gdlnn.mining.descents import MiningData

if TYPE_CHECKING:
    from collections.abc import Sequence

COST = Path(__file__).parent.parent / "docs" / "mining-cost.md"
PROCESSORS_PER_NODE = 64
LINK = 10e9 / 8
"""Bytes per second that the scheduler can send."""
THREADS = (1, 8)
PEAK = """
import logging, resource, sys
logging.getLogger("gdlnn").setLevel(logging.ERROR)
from gdlnn import load_dataset, mine
train = load_dataset("BBBP", sys.argv[1], download=False).split("paper")[0]
mine(train, targets=16, n_jobs=int(sys.argv[2]), progress=False)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def run(argv: Sequence[str] | None = None) -> None:
    """Measure bytes, and compute."""
    parser = argparse.ArgumentParser("python -m benchmarks scale")
    parser.add_argument("--molecules", type=int, default=10_000_000)
    parser.add_argument("--processors", type=int, default=1000)
    parser.add_argument("--out", type=Path, help="a Markdown file to write")
    options = parser.parse_args([] if argv is None else list(argv))
    root = os.environ.get("GDLNN_DATA")
    if not root or not Path(root).is_dir():
        print("scale: GDLNN_DATA names no folder with the datasets; nothing is computed")
        return
    logging.getLogger("gdlnn").setLevel(logging.ERROR)
    train = load_dataset("BBBP", root, download=False).split("paper")[0]
    few, many = (_peak(root, n) for n in THREADS)
    found = _Figures(
        *_cost(),
        encoded=GraphSet(train.graphs).nbytes / len(train),
        scratch=(many - few) / (THREADS[1] - THREADS[0]) / len(train),
        sent=len(MiningData(train.graphs, np.zeros(len(train), np.int32), 1).pack()) / len(train),
    )
    command = " ".join(["python -m benchmarks scale", *(argv or [])])
    text = found.page(options.molecules, options.processors, command)
    print(text)
    if options.out is not None:
        options.out.write_text(text)


def _peak(root: str, threads: int) -> int:
    command = [sys.executable, "-c", PEAK, root, str(threads)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _cost() -> tuple[int, float, float]:
    """Return the graphs of BBBP, seconds per target, and the exponent of the growth."""
    text = COST.read_text(encoding="utf-8")
    row = re.search(r"^\| BBBP \| (\d+) \| \d+ \| \d+ \| ([\d.]+)", text, re.MULTILINE)
    exponent = re.search(r"\|D\|\^(\d+\.\d+)", text)
    assert row is not None
    assert exponent is not None
    return int(row[1]), float(row[2]) / 1000, float(exponent[1])


class _Figures:
    """What a graph, a thread and a descent take."""

    def __init__(
        self,
        n_graphs: int,
        seconds: float,
        exponent: float,
        *,
        encoded: float,
        scratch: float,
        sent: float,
    ) -> None:
        self.n_graphs, self.seconds, self.exponent = n_graphs, seconds, exponent
        self.encoded, self.scratch, self.sent = encoded, scratch, sent

    def per_target(self, n: int) -> float:
        """Return the seconds of a descent over n graphs."""
        return self.seconds * float((n / self.n_graphs) ** self.exponent)

    def page(self, n: int, processors: int, command: str) -> str:
        """Return the calculation in Markdown."""
        each = self.per_target(n)
        total = each * n
        node = n * (self.encoded + PROCESSORS_PER_NODE * self.scratch)
        rows = [
            ("one descent", f"{each:,.0f} s"),
            (f"all {n:,} targets", f"{total / 86_400 / 365:,.0f} years of one processor"),
            (f"… on {processors:,} processors", f"{total / processors / 86_400:,.1f} days"),
            ("1 % of the targets", f"{total / 100 / processors / 3600:,.1f} hours"),
            ("0.1 % of the targets", f"{total / 1000 / processors / 60:,.0f} minutes"),
            ("the data as it is sent", f"{n * self.sent / 1e9:,.1f} GB"),
            (
                f"… to {processors:,} processes over 10 Gbit/s",
                f"{processors * n * self.sent / LINK / 60:,.0f} minutes",
            ),
            ("encoded, for each process", f"{n * self.encoded / 1e9:,.0f} GB"),
            ("what is known in a descent, for each thread", f"{n * self.scratch / 1e9:,.0f} GB"),
            (f"a node of {PROCESSORS_PER_NODE} threads in one process", f"{node / 1e12:,.2f} TB"),
            ("supports, 0.1 % of the targets", f"{n / 1000 * n / 1e9:,.0f} GB"),
            ("supports, all targets", f"{n * n / 1e12:,.0f} TB"),
        ]
        lines = [
            "# Ten million molecules, on paper" if n == 10_000_000 else f"# {n:,} molecules, on paper",
            "",
            f"Written by `{command}`.",
            "",
            f"Time per target ({self.seconds * 1000:.1f} ms over {self.n_graphs:,} graphs) and its growth",
            f"(|D|^{self.exponent}) are those of [mining-cost.md](mining-cost.md). Measured on BBBP:",
            f"{self.encoded:,.0f} bytes for an encoded graph, {self.scratch:,.0f} for what a thread knows",
            f"of it, {self.sent:,.0f} as it is sent.",
            "",
            "| | |",
            "|---|---|",
            *(f"| {name} | {value} |" for name, value in rows),
            "",
        ]
        return "\n".join(lines)
