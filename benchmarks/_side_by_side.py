"""The CPU time of mining with two builds, measured in turns on one machine.

Each build mines in a child process of its own that stays alive between rounds, so that both see the same
machine within seconds of each other. Compare the ratios, not the seconds: those of a shared machine drift.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from typing import TYPE_CHECKING

from benchmarks._mining_report import markdown_table

if TYPE_CHECKING:
    from collections.abc import Sequence

# Only names that every version has, as the other build may be an old one; intervals on nominal features are
# what all can mine.
CHILD = """
import inspect, logging, sys, time
from gdlnn import load_dataset, mine
logging.disable(logging.WARNING)
name, root, epsilon, targets = sys.argv[1:]
train = load_dataset(name, root=root, download=False).split("paper")[0]
same = {"nominal": "interval"} if "nominal" in inspect.signature(mine).parameters else {}
print("ready", flush=True)
for _ in sys.stdin:
    start = time.process_time()
    mine(train, epsilon, targets=int(targets), progress=False, **same)
    print(time.process_time() - start, flush=True)
"""


class Build:
    """A build of the package that mines on request; `python` is an interpreter that has it."""

    def __init__(self, python: str, name: str, root: str, epsilon: str, targets: int) -> None:
        self._child = subprocess.Popen(
            [python, "-c", CHILD, name, root, epsilon, str(targets)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.seconds: list[float] = []

    def wait(self) -> None:
        """Wait until the dataset is loaded."""
        self._answer()

    def mine(self) -> None:
        """Mine once more and keep the CPU time."""
        assert self._child.stdin is not None
        self._child.stdin.write("mine\n")
        self._child.stdin.flush()
        self.seconds.append(float(self._answer()))

    def _answer(self) -> str:
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._child.args!r} ended with exit code {self._child.wait()}")
        return line

    def close(self) -> None:
        """End the child process."""
        self._child.communicate()


def compare(name: str, root: str, epsilon: str, targets: int, other: str, rounds: int) -> list[str]:
    """Return a row of the table: seconds and ratios of this build to the one of the interpreter `other`."""
    builds = [Build(python, name, root, epsilon, targets) for python in (other, sys.executable)]
    try:
        for build in builds:
            build.wait()
        for number in range(rounds + 1):  # the first round warms up
            for build in builds if number % 2 else reversed(builds):
                build.mine()
    finally:
        for build in builds:
            build.close()
    before, after = (build.seconds[1:] for build in builds)
    paired = [b / a for a, b in zip(before, after, strict=True)]
    return [
        name,
        str(targets),
        str(rounds),
        f"{min(before):.3f}",
        f"{min(after):.3f}",
        f"{min(after) / min(before):.3f}",
        f"{statistics.median(after) / statistics.median(before):.3f}",
        f"{statistics.median(paired):.3f}",
    ]


def report(names: Sequence[str], root: str, epsilon: str, targets: int, other: str, rounds: int) -> str:
    """Measure all datasets and return the table."""
    header = [
        "dataset", "targets", "rounds", "other build, s", "this build, s", "ratio of minima",
        "of medians", "median of ratios",
    ]  # fmt: skip
    rows = [compare(name, root, epsilon, targets, other, rounds) for name in names]
    return (
        f"CPU seconds of mining, the other build being that of `{other}`. A ratio under 1 means that this "
        f"build is faster.\n\n{markdown_table(header, rows)}\n"
    )
