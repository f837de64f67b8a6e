"""Splits, folds and stratified samples, as row numbers."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.errors import GraphError
from gdlnn.graphs.arrays import components

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gdlnn.graphs.dataset import GraphDataset
    from gdlnn.graphs.graph import IntArray

SPLITS = ("auto", "paper", "random", "stratified", "scaffold")
SplitKind = str
"""One of `SPLITS`, time:COLUMN or column:COLUMN; `GraphDataset.split` describes them."""
PART_NAMES = ("train", "val", "test")
_WORDS = {
    **dict.fromkeys(("train", "training"), 0),
    **dict.fromkeys(("val", "valid", "validation", "dev"), 1),
    **dict.fromkeys(("test", "testing"), 2),
}
"""Accepted names of the parts in a split column; case is ignored."""


class Split(NamedTuple):
    """The three parts of a dataset; each part's ``split_source`` says how it was made."""

    train: GraphDataset
    val: GraphDataset
    test: GraphDataset


def split_rows(
    dataset: GraphDataset, kind: SplitKind, random_state: int, sizes: Sequence[float]
) -> tuple[list[IntArray], str]:
    """Return the sorted rows of train, val and test, and how they were chosen, in words."""
    method, _, column = kind.partition(":")
    if kind not in SPLITS and (method not in ("time", "column") or not column):
        raise GraphError(
            f"split: kind: expected one of {', '.join(SPLITS)}, got {kind!r}; or time:COLUMN, column:COLUMN"
        )
    if random_state < 0:
        raise GraphError(f"split: random_state: expected a whole number of at least 0, got {random_state}")
    counts = part_sizes(len(dataset), sizes)
    if kind in ("auto", "paper") and dataset.published_splits is not None:
        return list(checked_split(dataset.published_splits, len(dataset)).values()), "published"
    if method == "column":
        return _column_rows(dataset, column), f"by column {column}"
    rng = np.random.default_rng(random_state)
    if kind == "scaffold":
        return _scaffold_rows(dataset, counts, rng), f"scaffold, seed {random_state}"
    if method == "time" or kind in ("paper", "random"):
        order = _in_time(dataset, column) if method == "time" else rng.permutation(len(dataset))
        how = f"by time in column {column}" if method == "time" else f"random, seed {random_state}"
        return [np.sort(part) for part in np.split(order, np.cumsum(counts)[:-1])], how
    if kind == "stratified" and dataset.y is None:
        raise GraphError("split: a stratified split needs labels; the dataset has none")
    how = "random" if dataset.y is None or dataset.y.dtype.kind == "f" else "stratified"
    return _twins_together(dataset, counts, rng), f"{how}, seed {random_state}"


def _twins_together(dataset: GraphDataset, counts: Sequence[int], rng: np.random.Generator) -> list[IntArray]:
    """Distribute the classes evenly over the parts; isomorphic graphs stay in one part.

    The sizes are met as far as whole groups of twins allow.
    """
    twin = dataset.duplicates().twin_of
    firsts, sizes = np.unique(twin, return_counts=True)
    y = dataset.y
    classes = y is not None and y.dtype.kind != "f"  # the values of a target are no classes
    order = _spread_classes(y[firsts], rng) if y is not None and classes else rng.permutation(len(firsts))
    begins = np.cumsum(sizes[order]) - sizes[order]
    part_of = np.zeros(len(dataset), dtype=np.int64)
    part_of[firsts[order]] = np.searchsorted(np.cumsum(counts)[:-1], begins, side="right")
    return [np.flatnonzero(part_of[twin] == part) for part in range(3)]


def _column_rows(dataset: GraphDataset, column: str) -> list[IntArray]:
    """Return the rows of each part that a column of the table names."""
    cells = _column(dataset, column, "column")
    codes = np.array([_WORDS.get(cell.lower(), -1) for cell in cells], dtype=np.int64)
    if (codes < 0).any():
        at = int(np.argmax(codes < 0))
        raise GraphError(
            f"{_row(dataset, at)}, column {column!r}: expected train, val or test, got {cells[at]!r}"
        )
    if not (codes == 0).any():
        raise GraphError(f"column {column!r}: expected at least one row marked train")
    return [np.flatnonzero(codes == part) for part in range(3)]


def _in_time(dataset: GraphDataset, column: str) -> IntArray:
    """Return the rows from the oldest to the newest; rows of one time stay in the order of the table."""
    cells = _column(dataset, column, "time")
    times = []
    for at, cell in enumerate(cells):
        try:
            times.append(_moment(cell))
        except ValueError:
            raise GraphError(
                f"{_row(dataset, at)}, column {column!r}: expected a number or a date such as 2024-05-31, "
                f"got {cell!r}"
            ) from None
    kinds = [isinstance(time, float) for time in times]
    if any(kinds) and not all(kinds):
        at = kinds.index(not kinds[0])
        raise GraphError(
            f"{_row(dataset, at)}, column {column!r}: expected all numbers or all dates, got {cells[at]!r} "
            f"and {cells[0]!r}"
        )
    return np.array(sorted(range(len(times)), key=lambda i: times[i]), dtype=np.int64)


def _moment(cell: str) -> Any:
    try:
        number = float(cell)
    except ValueError:
        moment = datetime.fromisoformat(cell)
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    if not math.isfinite(number):
        raise ValueError(cell)
    return number


def _column(dataset: GraphDataset, column: str, kind: str) -> list[str]:
    if column not in dataset.columns:
        got = ", ".join(dataset.columns) or "none"
        raise GraphError(
            f"split: {kind}:{column}: expected a column that was read with the table ({got}), got {column!r}"
        )
    return dataset.columns[column]


def _row(dataset: GraphDataset, at: int) -> str:
    return f"{dataset.name or 'dataset'}, row {int(dataset.file_rows[at])}"


def part_sizes(n: int, sizes: Sequence[float]) -> list[int]:
    """Return int(sizes[0]·n), int(sizes[1]·n) and the rest."""
    if len(sizes) != 3 or any(not 0 <= size <= 1 for size in sizes) or abs(sum(sizes) - 1) > 1e-6:
        raise GraphError(f"split: sizes: expected three fractions that add up to 1, got {tuple(sizes)}")
    # 0.29 · 100 is 28.999…: the small addend corrects for rounding.
    train, val = (int(size * n + 1e-9) for size in sizes[:2])
    return [train, val, n - train - val]


def checked_split(parts: Mapping[str, npt.ArrayLike], n: int) -> dict[str, IntArray]:
    """Return the sorted rows of a published split, which must cover a dataset of n rows exactly once."""
    try:
        found = {name: np.sort(np.asarray(parts[name], dtype=np.int64)) for name in PART_NAMES}
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise GraphError(
            f"published split: expected lists of rows under train, val and test: {error}"
        ) from error
    rows = np.concatenate(list(found.values()))
    if not np.array_equal(np.sort(rows), np.arange(n)):
        raise GraphError(
            f"published split: expected each of the rows 0 to {n - 1} once, got {len(rows)} others"
        )
    return found


def _spread_classes(y: np.ndarray, rng: np.random.Generator) -> IntArray:
    """Order the rows so that every stretch has the classes in their proportions."""
    shuffled = rng.permutation(len(y))
    place = np.empty(len(y))
    for label in np.unique(y):
        members = shuffled[y[shuffled] == label]
        place[members] = (np.arange(len(members)) + 0.5) / len(members)
    return shuffled[np.argsort(place[shuffled], kind="stable")]


def _scaffold_rows(dataset: GraphDataset, counts: Sequence[int], rng: np.random.Generator) -> list[IntArray]:
    """Assign whole scaffolds, the largest first, to the first part that has room for them."""
    if dataset.smiles is None:
        raise GraphError("split: a scaffold split needs SMILES; the dataset has none")
    from gdlnn.graphs.molecules import scaffolds

    members: dict[int, list[int]] = {}
    for row, group in enumerate(_connected(scaffolds(dataset.smiles), dataset.duplicates().twin_of)):
        members.setdefault(group, []).append(row)
    groups = list(members.values())
    ties = rng.permutation(len(groups))
    order = sorted(range(len(groups)), key=lambda i: (-len(groups[i]), ties[i]))
    parts: list[list[int]] = [[], [], []]
    for i in order:
        part = next((p for p in range(2) if len(parts[p]) + len(groups[i]) <= counts[p]), 2)
        parts[part].extend(groups[i])
    return [np.sort(np.array(part, dtype=np.int64)) for part in parts]


def _connected(scaffolds: Sequence[str], twin: IntArray) -> list[int]:
    """Return a group number for each row; rows with the same scaffold, and twins, share one."""
    n, codes = len(twin), np.unique(scaffolds, return_inverse=True)[1]
    rows = np.arange(n)
    links = np.concatenate([np.column_stack((rows, n + codes)), np.column_stack((rows, twin))])
    found: list[int] = components(2 * n, links)[:n].tolist()
    return found


def fold_rows(dataset: GraphDataset, k: int, random_state: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield (train, test) rows of k folds, stratified if there are labels.

    Isomorphic graphs are in one fold. Without any, the sizes of folds differ by one at most.
    """
    firsts, group = np.unique(dataset.duplicates().twin_of, return_inverse=True)
    n = len(firsts)
    if not 2 <= k <= n:
        raise GraphError(f"folds: k: expected a whole number from 2 to {n}, the number of graphs, got {k}")
    order = np.random.default_rng(random_state).permutation(n)
    if dataset.y is not None:
        codes = np.unique(dataset.y[firsts], return_inverse=True)[1]
        order = order[np.argsort(codes[order], kind="stable")]
    fold = np.empty(n, dtype=np.int64)
    fold[order] = np.arange(n) % k
    for i in range(k):
        yield np.flatnonzero(fold[group] != i), np.flatnonzero(fold[group] == i)


def stratified_sample(y: npt.NDArray[Any], count: int, random_state: int) -> IntArray:
    """Draw `count` sorted rows, so that classes keep their shares; the largest remainders round up."""
    sizes = np.unique(y, return_counts=True)[1]
    quotas = sizes * (count / len(y))
    shares = np.floor(quotas + 1e-9).astype(np.int64)
    order = sorted(range(len(sizes)), key=lambda i: (shares[i] - quotas[i], i))
    shares[order[: count - int(shares.sum())]] += 1
    return _draw(y, shares.tolist(), random_state)


def held_out_rows(y: npt.NDArray[Any], fraction: float, random_state: int) -> IntArray:
    """Draw a share of every class, at least one row and never all of them; rows rise."""
    sizes = np.unique(y, return_counts=True)[1].tolist()
    return _draw(y, [min(size - 1, max(1, round(fraction * size))) for size in sizes], random_state)


def _draw(y: npt.NDArray[Any], counts: Sequence[int], random_state: int) -> IntArray:
    """Draw the given number of rows of each class, in the order of the labels."""
    rng = np.random.default_rng(random_state)
    drawn = [
        rng.permutation(np.flatnonzero(y == label))[:count]
        for label, count in zip(np.unique(y), counts, strict=True)
    ]
    return np.sort(np.concatenate(drawn))
