"""Commands run in this process, and the tables that they read and write."""

import csv
from pathlib import Path
from typing import Any

import pytest

from gdlnn.cli import main


def exit_code(*words: object) -> int:
    """Run a command to its end; return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0)


def run(*words: object) -> None:
    """Run a command that must succeed."""
    assert exit_code(*words) == 0


def refusal(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """Run a command that must end with exit code 2 and one line; return it."""
    capsys.readouterr()
    assert exit_code(*words) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def rows_of(path: Path) -> list[dict[str, str]]:
    """Read a csv file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_table(path: Path, columns: dict[str, list[Any]]) -> Path:
    """Write a csv file; return its path."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path
