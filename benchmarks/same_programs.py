"""Whether this build mines the same programs as an earlier one.

::

    python -m benchmarks same_programs --before FOLDER [--only NAME …] [--jobs N]

FOLDER holds files that `gdlnn mine NAME -o FILE` wrote, with any ``--epsilon``, ``--strategy``, ``--any``,
``--targets N``, ``--seed``, ``--restarts`` and ``--step-budget``: the dataset and these settings are read
from each file. A file that says nothing about nominal features was mined with intervals on them. Programs are
mined again from the training set and the files compared byte for byte, but for the version in the first line
and the sentence above each program, as the words for a program may change. Exit code 1: some differ.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import re
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks._mining_report import markdown_table
from gdlnn import load_dataset, mine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn import GraphDataset

HEADER = "// gdlnn programs "
SCHEMA = b"// schema "
GIVEN = ("epsilon", "strategy", "connected", "step_budget", "seed", "restarts")
"""Settings in a file that are parameters of `mine`."""
SHORT = 60
"""Most characters of a line that is shown where files differ."""


def run(argv: Sequence[str] | None = None) -> int:
    """Compare all files of a folder; without arguments there is nothing to compare."""
    root = os.environ.get("GDLNN_DATA")
    if argv is None or not root:
        print("same_programs: needs --before FOLDER, and GDLNN_DATA with the datasets; nothing is compared")
        return 0 if argv is None else 2
    options = _options(argv)
    logging.getLogger("gdlnn").setLevel(logging.ERROR)
    files = sorted(options.before.glob("*.gdl"), key=lambda path: (path.stat().st_size, path.name))
    files = [path for path in files if not options.only or _info(path)["dataset"] in options.only]
    if not files:
        print(f"{options.before}: no .gdl files to compare with")
        return 2
    rows = []
    for path in files:
        rows.append(_compare(path, root, options.jobs))
        print("  ".join(rows[-1]), flush=True)
    header = ["file", "targets", "programs", "CPU seconds", "result"]
    print("\n" + markdown_table(header, sorted(rows)))
    differing = sum(row[-1] != "same" for row in rows)
    print(f"\n{len(rows) - differing} of {len(rows)} files are the same")
    return 1 if differing else 0


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks same_programs")
    parser.add_argument("--before", type=Path, required=True, help="folder with files of an earlier build")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only files of these datasets")
    parser.add_argument("--jobs", type=int, default=1, help="threads")
    return parser.parse_args(list(argv))


def _info(path: Path) -> dict[str, Any]:
    """Return what the first line of a file says about how it was made."""
    with path.open(encoding="utf-8") as file:
        first = file.readline()
    if not first.startswith(HEADER):
        raise SystemExit(f"{path}: expected a file that `gdlnn mine` wrote")
    return dict(json.loads(first.removeprefix(HEADER)))


def _compare(path: Path, root: str, jobs: int) -> list[str]:
    """Mine what a file holds again and return its row of the table."""
    info = _info(path)
    train: GraphDataset = load_dataset(info["dataset"], root=root, download=False).split("paper")[0]
    settings = {name: info["settings"][name] for name in GIVEN}
    settings["nominal"] = info["settings"].get("nominal", "interval")
    targets = None if info["n_targets"] == info["n_graphs"] else info["n_targets"]
    start = time.process_time()
    programs = mine(train, targets=targets, n_jobs=jobs, progress=False, **settings)
    seconds = time.process_time() - start
    with tempfile.TemporaryDirectory() as folder:
        again = Path(folder) / path.name
        programs.save(again)
        result = difference(path.read_bytes(), again.read_bytes())
    return [path.name, str(info["n_targets"]), str(len(programs)), f"{seconds:.1f}", result]


def difference(before: bytes, after: bytes) -> str:
    """Return "same", or where files differ first; the version and the sentences are left aside."""
    old, new = (_compared_lines(text) for text in (before, after))
    if old == new:
        return "same"
    number = _first_difference(old, new)
    lines = [text[number] if number < len(text) else b"(end of file)" for text in (old, new)]
    column = max(0, _first_difference(*lines) - SHORT // 2)
    shown = [line[column : column + SHORT].decode(errors="replace") for line in lines]
    return f"line {number + 1}: {shown[0]!r} became {shown[1]!r}"


def _first_difference(one: Sequence[Any], other: Sequence[Any]) -> int:
    pairs = zip(one, other, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _compared_lines(text: bytes) -> list[bytes]:
    """Return the lines of a file without the version, and with an empty comment for each sentence."""
    lines = text.split(b"\n")
    lines[0] = re.sub(rb'"gdlnn": "[^"]*", ', b"", lines[0], count=1)
    n_header = 2 if len(lines) > 1 and lines[1].startswith(SCHEMA) else 1
    return lines[:n_header] + [b"//" if line.startswith(b"//") else line for line in lines[n_header:]]
