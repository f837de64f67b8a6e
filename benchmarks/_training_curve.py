"""How the whole of training grows with the number of molecules: `gdlnn train` on tables of several sizes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks._recombined import write_table
from benchmarks.stream import GDLNN

if TYPE_CHECKING:
    from collections.abc import Sequence

FOLDER = Path("build/benchmarks/training")
SIZES = (500, 2000, 10_000, 41_127)
"""The last is the size of the HIV set."""


class Run(NamedTuple):
    """What training on a table took: seconds, CPU seconds, MB."""

    molecules: int
    seconds: float
    cpu: float
    peak: float


def measured(molecules: int, root: Path, jobs: int) -> Run:
    """Train on a table of this many molecules, from the csv file to the file of the model."""
    table = FOLDER / f"molecules-{molecules}.csv"
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not table.exists():
        write_table(table, molecules, root)
    words = [str(table), "--label", "active", "-o", str(table.with_suffix(".gdlnn")), "-j", str(jobs), "-q"]
    started = time.monotonic()
    process = subprocess.Popen([*GDLNN, "train", *words])
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"mining --training: gdlnn train ended with {process.returncode}")
    seconds = time.monotonic() - started
    return Run(molecules, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def exponent(runs: Sequence[Run]) -> float:
    """Return the slope of log CPU time over log size: 1 is proportional."""
    sizes, times = np.log([run.molecules for run in runs]), np.log([run.cpu for run in runs])
    return float(np.polyfit(sizes, times, 1)[0])


def report(runs: Sequence[Run], command: str) -> str:
    """Return the table and the exponents."""
    lines = [
        "# Training time by the number of molecules",
        "",
        "The whole of `gdlnn train` with its defaults: from a csv file of molecules, recombined from",
        "those of the datasets, to the file of the model.",
        "",
        f"Written by `{command}`.",
        "",
    ]
    lines.append("| molecules | seconds | CPU seconds | CPU ms per molecule | peak MB |")
    lines.append("|---|---|---|---|---|")
    for size, seconds, cpu, peak in runs:
        lines.append(f"| {size:,} | {seconds:.0f} | {cpu:.0f} | {1000 * cpu / size:.1f} | {peak:.0f} |")
    if len(runs) < 2:
        return "\n".join(lines) + "\n"
    first, last = runs[0].molecules, runs[-1].molecules
    lines.append("")
    lines.append(f"CPU time grows with |D|^{exponent(runs):.2f} from {first:,} to {last:,} molecules;")
    lines.append(f"between the two largest tables with |D|^{exponent(runs[-2:]):.2f}.")
    return "\n".join(lines) + "\n"
