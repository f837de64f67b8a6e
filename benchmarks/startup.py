"""How long one waits before anything happens: `import gdlnn`, `gdlnn --help`, and what is loaded for them.

::

    python -m benchmarks startup [--rounds 10]

Each runs in new processes and the quickest counts: on a busy machine the others measure the machine. CPU time
says the same there with less noise.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

GDLNN = str(Path(sys.executable).with_name("gdlnn"))
CASES = {
    "import gdlnn": ([sys.executable, "-c", "import gdlnn"], 0.3),
    "gdlnn --help": ([GDLNN, "--help"], 0.6),
    "gdlnn --version": ([GDLNN, "--version"], 0.6),
    "gdlnn train --help": ([GDLNN, "train", "--help"], None),
    "import gdlnn; gdlnn.Graph": ([sys.executable, "-c", "import gdlnn; gdlnn.Graph"], None),
    "import gdlnn; gdlnn.GDLNNClassifier": (
        [sys.executable, "-c", "import gdlnn; gdlnn.GDLNNClassifier"],
        None,
    ),
}
"""What is run, and the aim in seconds where there is one."""


def quickest(command: list[str], rounds: int) -> tuple[float, float]:
    """Return the least seconds, and the least CPU seconds, that a command took."""
    seconds, cpu = [], []
    for _ in range(rounds):
        began, before = time.perf_counter(), os.times()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        after = os.times()
        seconds.append(time.perf_counter() - began)
        cpu.append(
            after.children_user + after.children_system - before.children_user - before.children_system
        )
    return min(seconds), min(cpu)


def run(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks startup")
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args(words or []).rounds
    missed = 0
    print(f"{'':38} {'seconds':>8} {'CPU':>6}  aim")
    for name, (command, aim) in CASES.items():
        seconds, cpu = quickest(command, rounds)
        told = "" if aim is None else f"{aim} s: {'met' if seconds <= aim else 'missed'}"
        missed += aim is not None and seconds > aim
        print(f"{name:38} {seconds:8.3f} {cpu:6.2f}  {told}")
    return int(missed > 0)
