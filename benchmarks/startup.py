"""How long one waits before anything happens: `import gdlnn`, `gdlnn --help`, and what is loaded for them.

Each runs in new processes and the quickest counts: on a busy machine the others measure the machine. CPU time
says the same there with less noise.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from benchmarks._measuring import least

ROUNDS = 10
GDLNN = str(Path(sys.executable).with_name("gdlnn"))
CASES = {
    "import gdlnn": ([sys.executable, "-c", "import gdlnn"], 0.3),
    "gdlnn --help": ([GDLNN, "--help"], 0.6),
    "gdlnn --version": ([GDLNN, "--version"], 0.6),
    "gdlnn train --help": ([GDLNN, "train", "--help"], None),
    "gdlnn.Graph": ([sys.executable, "-c", "import gdlnn; gdlnn.Graph"], None),
    "gdlnn.GDLNNClassifier": ([sys.executable, "-c", "import gdlnn; gdlnn.GDLNNClassifier"], None),
}
"""What is run, and the aim in seconds where there is one."""


def run() -> None:
    """Measure how long starting takes."""
    print(f"{'':24} {'seconds':>8} {'CPU':>6}  aim")
    for name, (command, aim) in CASES.items():
        start = partial(subprocess.run, command, stdout=subprocess.DEVNULL, check=True)
        seconds, cpu = (least(start, ROUNDS, clock) for clock in (time.perf_counter, _cpu))
        verdict = "" if aim is None else f"{aim} s: {'met' if seconds <= aim else 'missed'}"
        print(f"{name:24} {seconds:8.3f} {cpu:6.2f}  {verdict}")


def _cpu() -> float:
    """Return the CPU seconds of the processes that were started."""
    times = os.times()
    return times.children_user + times.children_system
