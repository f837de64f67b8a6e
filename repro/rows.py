"""What was measured, in a file of JSON lines, from which a stopped run resumes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from joblib import Parallel, delayed

from gdlnn import __version__
from repro.tables import write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

Row = dict[str, Any]
OUT = "A file of JSON lines; a stopped run resumes from it."


class Rows:
    """The rows of a file; those of other versions of the package are kept and not used."""

    def __init__(self, file: Path) -> None:
        self._file = file
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        self._rows: list[Row] = [json.loads(line) for line in lines]

    def find(self, settings: Row) -> Row | None:
        """Return the row with these settings, or None."""
        wanted = {"gdlnn": __version__, **settings}
        return next((row for row in self._rows if wanted.items() <= row.items()), None)

    def add(self, row: Row) -> None:
        """Add a row; the file is complete after every one."""
        self._rows.append({"gdlnn": __version__, **row})
        self._file.parent.mkdir(parents=True, exist_ok=True)
        write_file(self._file, "".join(f"{json.dumps(row)}\n" for row in self._rows))


def measure_all(
    function: Callable[..., Any], settings: Sequence[Row], file: Path, jobs: int = 1
) -> list[Any]:
    """Return what a function gives for each of the settings; what is in the file is not measured again."""
    rows = Rows(file)
    missing = [one for one in settings if rows.find(one) is None]
    found = Parallel(jobs, return_as="generator")(delayed(function)(**one) for one in missing)
    for one, result in zip(missing, found, strict=True):
        rows.add({**one, "result": result})
    return [(rows.find(one) or {})["result"] for one in settings]
