"""Run tests on every supported Python and with both compilers, as far as this machine has them.

::

    python tools/matrix.py [--cells 3.13-gcc,3.11-clang] [TESTS …]

Without --cells it runs every Python with gcc, and the oldest one that is here with clang as well. Each
combination has an environment of its own under build/matrix, with the known versions of constraints.txt.
Ends with a table: passed, failed, or what is missing here. A missing combination counts as a failure only
if --cells names it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "matrix"
MINORS = (11, 12, 13, 14)
COMPILERS = {"gcc": ("gcc", "g++"), "clang": ("clang", "clang++")}


class Cell(NamedTuple):
    """One combination: Python 3.minor and a compiler."""

    minor: int
    compiler: str

    @property
    def python(self) -> str:
        """The interpreter of the cell's own environment."""
        return str(FOLDER / f"python3.{self.minor}-{self.compiler}" / "bin" / "python")

    def __str__(self) -> str:
        return f"Python 3.{self.minor}, {self.compiler}"


def find_python(minor: int) -> str | None:
    """Return an interpreter that runs: one on the path, else one that pyenv has."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [f"python3.{minor}", *map(str, sorted(pyenv.glob(f"3.{minor}.*/bin/python"), reverse=True))]
    asked = f"import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != (3, {minor}))"
    for candidate in filter(shutil.which, candidates):
        if subprocess.run([candidate, "-c", asked], capture_output=True).returncode == 0:
            return candidate
    return None


def prepare(cell: Cell, python: str) -> bool:
    """Make the environment and install the package, built by the compiler of the cell."""
    if not Path(cell.python).exists():
        subprocess.run([python, "-m", "venv", Path(cell.python).parent.parent], check=True)
    compiler, compiler_cpp = COMPILERS[cell.compiler]
    install = [cell.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    install += ["-c", str(ROOT / "constraints.txt")]
    install += ["-C", f"build-dir={FOLDER}/native-3.{cell.minor}-{cell.compiler}", f"{ROOT}[test]"]
    variables = {**os.environ, "CC": compiler, "CXX": compiler_cpp}
    return subprocess.run(install, env=variables, cwd=ROOT).returncode == 0


def run_cell(cell: Cell, tests: list[str]) -> str:
    """Run the tests of one cell; return its line of the table."""
    python = find_python(cell.minor)
    if python is None:
        return f"not run: no python3.{cell.minor} here"
    if shutil.which(COMPILERS[cell.compiler][1]) is None:
        return f"not run: no {COMPILERS[cell.compiler][1]} here"
    if not prepare(cell, python):
        return "failed: could not be installed"
    command = [cell.python, "-m", "pytest", "-n", "2", "--dist", "loadfile", "-m", "not long", *tests]
    last = ""
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line.strip("= \n") or last
    counts = last if re.search(r"\d+ (passed|failed|error)", last) else "no test ran"
    ended = f"failed: pytest ended with {process.returncode}"
    return f"{'passed' if process.returncode == 0 else ended} ({counts})"


def all_cells() -> list[Cell]:
    """Return every Python with gcc, and the oldest one that is here with clang as well."""
    oldest = next((minor for minor in MINORS if find_python(minor)), MINORS[0])
    return [*(Cell(minor, "gcc") for minor in MINORS), Cell(oldest, "clang")]


def read_cell(text: str) -> Cell:
    """Return the cell of a text such as 3.13-gcc."""
    found = re.fullmatch(rf"3\.(\d+)-({'|'.join(COMPILERS)})", text)
    if found is None or int(found[1]) not in MINORS:
        known = f"3.{MINORS[0]}-gcc to 3.{MINORS[-1]}-gcc, or clang in place of gcc"
        raise argparse.ArgumentTypeError(f"expected {known}, got {text!r}")
    return Cell(int(found[1]), found[2])


def main(asked: list[Cell] | None, tests: list[str]) -> int:
    """Run the tests in each cell, those that were asked for or all; print a table."""
    table = {}
    for cell in asked or all_cells():
        print(f"== {cell}", flush=True)
        table[cell] = run_cell(cell, tests)
        print(f"   {table[cell]}", flush=True)
    print()
    for cell, result in table.items():
        print(f"{cell!s:24} {result}")
    bad = ("failed", "not run") if asked else ("failed",)
    return int(any(result.startswith(bad) for result in table.values()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Run tests on several Pythons and compilers.")
    parser.add_argument("--cells", type=lambda text: [read_cell(one) for one in text.split(",") if one])
    parser.add_argument("tests", nargs="*", default=["tests"])
    chosen = parser.parse_args()
    sys.exit(main(chosen.cells, chosen.tests))
