"""Print which share of its lines the tests run, for each package and for the core.

::

    python tools/coverage_table.py build/coverage.json build/coverage

takes what `coverage json` wrote, and the build folder of the core's tests, compiled with --coverage.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
Counts = dict[str, tuple[int, int]]
"""Lines that run and all lines, by package."""


def of_python(file: Path) -> Counts:
    """Return the counts of the package, one entry for each folder."""
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, item in json.loads(file.read_text())["files"].items():
        parts = Path(name.partition("gdlnn/")[2]).parts
        package = parts[0] if len(parts) > 1 else "the root"
        found[package][0] += item["summary"]["covered_lines"]
        found[package][1] += item["summary"]["num_statements"]
    return {package: (ran, total) for package, (ran, total) in found.items()}


def of_core(build: Path) -> Counts:
    """Return the counts of the core's own sources under its own tests."""
    data = [str(path.resolve()) for path in build.rglob("*.gcda")]
    folder = build / "gcov"
    folder.mkdir(exist_ok=True)
    command = ["gcov", "--json-format", "--preserve-paths", *data]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    hits: dict[tuple[str, int], int] = defaultdict(int)
    for file in folder.glob("*.gcov.json.gz"):
        for source in json.loads(gzip.decompress(file.read_bytes()))["files"]:
            if any(part in source["file"] for part in ("core/src/", "core/include/")):
                for line in source["lines"]:
                    hits[source["file"], line["line_number"]] += line["count"]
    return {"core (C++)": (sum(count > 0 for count in hits.values()), len(hits))}


def main(python: Path, build: Path) -> None:
    """Print the table."""
    counts = dict(sorted(of_python(python).items()))
    ran, total = (sum(column) for column in zip(*counts.values(), strict=True))
    for package, (own, of) in {**counts, "all of Python": (ran, total), **of_core(build)}.items():
        print(f"{package:15} {own:6} of {of:6} lines  {100 * own / max(1, of):5.1f}%")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
