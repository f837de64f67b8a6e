"""Labels from the cells of a table: missing labels, thresholds, columns that cannot be labels."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.errors import DatasetError
from gdlnn.graphs.schema import label_array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MISSING = ("", "NA", "N/A", "nan", "NaN", "None", "null", "?")
"""Cells that mean a missing label; so does "-", unless the column also has "+"."""
MOST_NUMBERS = 20
"""Maximum number of distinct whole numbers taken as classes."""
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}", re.ASCII)
_WHOLE_WITH_ZERO = re.compile(rf"(?:{_WHOLE.pattern})\.0", re.ASCII)
_ADVICE = (
    "name the column with the label, name cells that mean a missing value with --missing, predict numbers "
    "with --target, or split them into two classes with --split-at median or a value"
)
Threshold = float | Literal["median", "number", "log"] | None
"""What becomes of numbers: cut at a value or the median; for regression, kept, or their logarithm."""


class Labels(NamedTuple):
    """The labels of a column.

    Attributes
    ----------
    y
        One label for each row that has one.
    present
        Which rows have one.
    classes
        Names of the classes; empty where labels are their own names.
    threshold
        The number that values were cut at; number or log for the values of a target; or None.
    """

    y: npt.NDArray[Any]
    present: npt.NDArray[np.bool_]
    classes: Mapping[Any, str]
    threshold: Threshold


def read_labels(
    cells: Sequence[str],
    where: str,
    missing: Sequence[str] = (),
    threshold: Threshold = None,
    min_classes: int = 2,
) -> Labels:
    """Return the labels of a column.

    A column without enough classes is refused, as is one of many numbers, and, where two classes are
    needed, one with a class per row.

    Parameters
    ----------
    cells
        The cells of the column.
    where
        The file and the column, for errors.
    missing
        Cells that mean "no label", besides `MISSING`.
    threshold
        Split a column of numbers into two classes: 1 for values of at least this, 0 for smaller ones.
        "median" takes the median of the column. "number" reads the target of a regressor, and "log" its
        logarithm to base 10: cells that are no numbers, such as ">50", count as missing.
    min_classes
        Minimum number of distinct labels.
    """
    given: Any = threshold
    number = isinstance(given, int | float) and not isinstance(given, bool) and math.isfinite(given)
    if given not in (None, "median", "number", "log") and not number:
        raise DatasetError(f"threshold: expected a number or median, got {given!r}")
    if threshold in ("number", "log"):
        return _values(cells, where, missing, log=threshold == "log")
    absent = {*MISSING, *missing} | (set() if "+" in cells else {"-"})
    present = np.array([cell not in absent for cell in cells], dtype=bool)
    words = [cell for cell, there in zip(cells, present.tolist(), strict=True) if there]
    if not words:
        raise DatasetError(f"{where}: expected labels, got {_none_of(cells)}")
    numbers = finite_numbers(words)
    if threshold is not None:
        y, classes, cut = _cut_at(numbers, threshold, words, where)
    else:
        if numbers is not None:
            _refuse_quantities(numbers, where)
        y, classes, cut = parse_labels(words), {}, None
    found = np.unique(y)
    if len(found) < min_classes:
        absence = f"; {len(cells) - len(words)} rows have no label" if len(words) < len(cells) else ""
        raise DatasetError(
            f"{where}: expected at least {min_classes} classes, got the label {found[0]} for every row"
            f"{absence}"
        )
    if min_classes > 1 and cut is None and len(found) > max(2, len(words) // 2):
        raise DatasetError(
            f"{where}: expected classes with several rows each, got {len(found)} different values in "
            f"{len(words)} rows; {_ADVICE}"
        )
    return Labels(y, present, classes, cut)


def _values(cells: Sequence[str], where: str, missing: Sequence[str], *, log: bool) -> Labels:
    """Return the numbers of a column; infinite ones are refused, as is what has no logarithm."""
    numbers = np.array([np.nan if cell in missing else _number(cell) for cell in cells])
    present = ~np.isnan(numbers)
    if present.sum() < 2:
        raise DatasetError(f"{where}: expected numbers, got {_none_of(cells)}")
    wrong = np.isinf(numbers) | ((numbers <= 0) if log else False)
    if wrong.any():
        expected = "numbers above 0 for --log" if log else "finite numbers"
        raise DatasetError(f"{where}: expected {expected}, got {cells[int(np.argmax(wrong))]!r}")
    values = numbers[present]
    return Labels(np.log10(values) if log else values, present, {}, "log" if log else "number")


def parse_labels(labels: Sequence[str]) -> npt.NDArray[Any]:
    """Return labels as whole numbers if all of them are and are written plainly, else as text.

    Plainly means that two labels are the same number only where they are the same text: 1 but not 01, or all
    with one zero behind the point, as other programs write a column of numbers with gaps.
    """
    for pattern in (_WHOLE, _WHOLE_WITH_ZERO):
        if all(pattern.fullmatch(label) for label in labels):
            numbers = [int(label.removesuffix(".0")) for label in labels]
            if all(-(2**63) <= number < 2**63 for number in numbers):
                return np.array(numbers, dtype=np.int64)
    return label_array(list(labels), "labels")


def _cut_at(
    numbers: npt.NDArray[np.float64] | None, threshold: Threshold, words: Sequence[str], where: str
) -> tuple[npt.NDArray[Any], Mapping[Any, str], float]:
    """Return 1 for numbers of at least the threshold and 0 for others, the names of both, and the number."""
    if numbers is None:
        word = next(word for word in words if finite_numbers([word]) is None)
        raise DatasetError(
            f"{where}: expected numbers to compare with the threshold, got {word!r}; if it means a missing "
            f"value, name it with --missing"
        )
    at = float(np.median(numbers)) if threshold == "median" else float(threshold or 0.0)
    return (numbers >= at).astype(np.int64), {0: f"below {at:g}", 1: f"{at:g} or more"}, at


def _number(cell: str) -> float:
    """Return a cell as a number; NaN for anything else."""
    try:
        return float(cell)
    except ValueError:
        return math.nan


def finite_numbers(words: Sequence[Any]) -> npt.NDArray[np.float64] | None:
    """Return words as finite numbers, or None if one of them is not."""
    try:
        numbers = np.array([float(word) for word in words])
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _refuse_quantities(numbers: npt.NDArray[np.float64], where: str) -> None:
    values = np.unique(numbers)
    whole = bool((values == np.floor(values)).all())
    if len(values) > MOST_NUMBERS or not whole:
        raise DatasetError(
            f"{where}: expected classes, got {len(values)} different numbers from {values[0]:g} to "
            f"{values[-1]:g}; predict them with --target, or split them into two classes with --split-at "
            f"{np.median(values):.2g} or --split-at median"
        )


def _none_of(cells: Sequence[str]) -> str:
    if not cells:
        return "no rows"
    counts = Counter(cells).most_common(3)
    listed = ", ".join(f"{repr(cell) if cell else 'empty'} ({count})" for cell, count in counts)
    return f"none in {len(cells)} rows: {listed}"
