"""Support: which of many graphs a program matches, in little memory; and its text, ``0-5,7``."""

from __future__ import annotations

import re
from array import array
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterable

BoolArray = npt.NDArray[np.bool_]
MOST_ROWS = 2**31 - 1
"""Maximum number of rows of a support: row numbers are stored in 32 bits."""
_RUN = re.compile(r"([0-9]{1,10})(?:-([0-9]{1,10}))?(,|\Z)", re.ASCII)
_RUN_BYTES = 8


class Support:
    """Which of `n_rows` rows are matched: as runs of rows, or as bits if these take less memory.

    So a support takes no more memory than its text does, whatever number of rows a file declares.
    """

    __slots__ = ("_bits", "_runs", "n_matched", "n_rows")

    def __init__(self, runs: npt.NDArray[np.int32], n_rows: int) -> None:
        self.n_rows = n_rows
        self.n_matched = int((runs[:, 1].astype(np.int64) - runs[:, 0] + 1).sum())
        dense = _RUN_BYTES * len(runs) >= n_rows // 8
        self._bits = np.packbits(_mask(runs, n_rows)) if dense else None
        self._runs = None if dense else runs

    @classmethod
    def of(cls, mask: BoolArray) -> Self:
        """Return the support of a mask."""
        edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).view(np.int8)))
        runs = edges.reshape(-1, 2).astype(np.int32)
        runs[:, 1] -= 1
        return cls(runs, len(mask))

    @classmethod
    def parse(cls, text: str, n_rows: int) -> Self:
        """Read what `format_rows` wrote.

        Raises
        ------
        ValueError
            If the text is not a list of increasing rows below `n_rows`.
        """
        return cls(parse_runs(text, n_rows), n_rows)

    def mask(self) -> BoolArray:
        """Return one truth value per row."""
        if self._bits is not None:
            return np.unpackbits(self._bits, count=self.n_rows).view(np.bool_)
        assert self._runs is not None
        return _mask(self._runs, self.n_rows)

    @property
    def key(self) -> bytes:
        """A key that is equal for equal supports over as many rows."""
        if self._bits is not None:
            return self._bits.tobytes()
        assert self._runs is not None
        return b"runs" + self._runs.tobytes()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Support):
            return NotImplemented
        return self.n_rows == other.n_rows and self.key == other.key

    def __hash__(self) -> int:
        return hash((self.n_rows, self.key))


def _mask(runs: npt.NDArray[np.int32], n_rows: int) -> BoolArray:
    steps = np.zeros(n_rows + 1, dtype=np.int8)
    steps[runs[:, 0]] += 1
    steps[runs[:, 1] + 1] -= 1
    return np.cumsum(steps[:-1], dtype=np.int8).view(np.bool_)


def format_rows(rows: Iterable[int]) -> str:
    """Write sorted row numbers with runs as ranges: ``0-5,7``."""
    runs: list[list[int]] = []
    for row in map(int, rows):
        if runs and row == runs[-1][1] + 1:
            runs[-1][1] = row
        else:
            runs.append([row, row])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def parse_runs(text: str, n_rows: int) -> npt.NDArray[np.int32]:
    """Return the first and last rows of runs, in time and memory proportional to the text."""
    ends = array("i")
    at, least = 0, 0
    for run in _RUN.finditer(text):
        first, last = int(run[1]), int(run[2] or run[1])
        if run.start() != at or not least <= first <= last < n_rows:
            break
        ends.append(first)
        ends.append(last)
        least, at = last + 1, run.end()
    if at < len(text):
        bad = _RUN.match(text, at)
        got = (bad[0] if bad else text[at : at + 40]).rstrip(",")
        order = "increasing " if bad and int(bad[2] or bad[1]) < n_rows else ""
        raise ValueError(f"expected {order}rows from 0 to {n_rows - 1}, got {got!r}")
    if text.endswith(","):
        raise ValueError(f"expected rows from 0 to {n_rows - 1}, got a comma at the end")
    return np.array(ends, dtype=np.int32).reshape(-1, 2)


def parse_rows(text: str, n_rows: int) -> BoolArray:
    """Read what `format_rows` wrote, as a mask.

    Raises
    ------
    ValueError
        If the text is not a list of increasing rows below `n_rows`.
    """
    return _mask(parse_runs(text, n_rows), n_rows)
