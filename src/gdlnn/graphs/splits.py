"""Splits, folds and stratified samples: the rows that go where. Data sets take the rows themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from gdlnn.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gdlnn.graphs.dataset import GraphDataset
    from gdlnn.graphs.graph import IntArray

SplitKind = Literal["auto", "paper", "random", "stratified", "scaffold"]
"""Ways to split; `GraphDataset.split` describes them."""
PART_NAMES = ("train", "val", "test")


class Split(NamedTuple):
    """The three parts of a data set; each part's ``split_source`` says how it was made."""

    train: GraphDataset
    val: GraphDataset
    test: GraphDataset


def split_rows(
    dataset: GraphDataset, kind: SplitKind, seed: int, sizes: Sequence[float]
) -> tuple[list[IntArray], str]:
    """Return the rows of train, val and test, each rising, and how they were chosen, in words."""
    if kind not in get_args(SplitKind):
        raise GraphError(f"split: kind: expected one of {', '.join(get_args(SplitKind))}, got {kind!r}")
    if seed < 0:
        raise GraphError(f"split: seed: expected a whole number of at least 0, got {seed}")
    counts = part_sizes(len(dataset), sizes)
    if kind in ("auto", "paper") and dataset.published_splits is not None:
        return published_rows(dataset), "published"
    rng = np.random.default_rng(seed)
    if kind == "stratified":
        if dataset.y is None:
            raise GraphError("split: a stratified split needs labels, and the data set has none")
        order = _spread_classes(dataset.y, rng)
    elif kind == "scaffold":
        return _scaffold_rows(dataset, counts, rng), f"scaffold, seed {seed}"
    else:
        order = rng.permutation(len(dataset))
    rows = np.split(order, np.cumsum(counts)[:-1])
    how = "random" if kind in ("auto", "paper") else kind
    return [np.sort(part) for part in rows], f"{how}, seed {seed}"


def part_sizes(n: int, sizes: Sequence[float]) -> list[int]:
    """Return int(sizes[0]·n), int(sizes[1]·n) and the rest."""
    if len(sizes) != 3 or any(not 0 <= size <= 1 for size in sizes) or abs(sum(sizes) - 1) > 1e-6:
        raise GraphError(f"split: sizes: expected three fractions that add up to 1, got {tuple(sizes)}")
    # 0.29 · 100 is 28.999…: the small addend makes a fraction mean what it says.
    train, val = (int(size * n + 1e-9) for size in sizes[:2])
    return [train, val, n - train - val]


def published_rows(dataset: GraphDataset) -> list[IntArray]:
    """Return the published parts, after checking that they cover the data set exactly once."""
    published = dataset.published_splits or {}
    missing = [name for name in PART_NAMES if name not in published]
    if missing:
        raise GraphError(f"published split: expected the parts train, val and test, got no {missing[0]!r}")
    parts = [np.asarray(published[name], dtype=np.int64) for name in PART_NAMES]
    together = np.sort(np.concatenate(parts))
    if not np.array_equal(together, np.arange(len(dataset))):
        raise GraphError(
            f"published split: expected each of the rows 0 to {len(dataset) - 1} once, "
            f"got {len(together)} rows that differ"
        )
    return [np.sort(part) for part in parts]


def _spread_classes(y: np.ndarray, rng: np.random.Generator) -> IntArray:
    """Order the rows so that every stretch holds the classes in their proportions."""
    shuffled = rng.permutation(len(y))
    place = np.empty(len(y))
    for label in np.unique(y):
        members = shuffled[y[shuffled] == label]
        place[members] = (np.arange(len(members)) + 0.5) / len(members)
    return shuffled[np.argsort(place[shuffled], kind="stable")]


def _scaffold_rows(dataset: GraphDataset, counts: Sequence[int], rng: np.random.Generator) -> list[IntArray]:
    """Give whole scaffolds, the largest first, to the first part that has room for them."""
    if dataset.smiles is None:
        raise GraphError("split: a scaffold split needs SMILES, and the data set has none")
    from gdlnn.graphs.molecules import scaffolds

    members: dict[str, list[int]] = {}
    for row, scaffold in enumerate(scaffolds(dataset.smiles)):
        members.setdefault(scaffold, []).append(row)
    groups = list(members.values())
    ties = rng.permutation(len(groups))
    order = sorted(range(len(groups)), key=lambda i: (-len(groups[i]), ties[i]))
    parts: list[list[int]] = [[], [], []]
    for i in order:
        part = next((p for p in range(2) if len(parts[p]) + len(groups[i]) <= counts[p]), 2)
        parts[part].extend(groups[i])
    return [np.sort(np.array(part, dtype=np.int64)) for part in parts]


def fold_rows(dataset: GraphDataset, k: int, seed: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield (train, test) rows of k folds, stratified if there are labels; sizes differ by one at most."""
    n = len(dataset)
    if not 2 <= k <= n:
        raise GraphError(f"folds: k: expected a whole number from 2 to {n}, the number of graphs, got {k}")
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    if dataset.y is not None:
        codes = np.unique(dataset.y, return_inverse=True)[1]
        order = order[np.argsort(codes[order], kind="stable")]
    fold = np.empty(n, dtype=np.int64)
    fold[order] = np.arange(n) % k
    for i in range(k):
        yield np.flatnonzero(fold != i), np.flatnonzero(fold == i)


def stratified_sample(y: npt.NDArray[Any], count: int, seed: int) -> IntArray:
    """Draw `count` rows, rising, so that classes keep their shares; the largest remainders round up."""
    sizes = np.unique(y, return_counts=True)[1]
    quotas = sizes * (count / len(y))
    shares = np.floor(quotas + 1e-9).astype(np.int64)
    order = sorted(range(len(sizes)), key=lambda i: (shares[i] - quotas[i], i))
    shares[order[: count - int(shares.sum())]] += 1
    return _draw(y, shares.tolist(), seed)


def held_out_rows(y: npt.NDArray[Any], fraction: float, seed: int) -> IntArray:
    """Draw a share of every class, at least one row and never all of them; rows rise."""
    sizes = np.unique(y, return_counts=True)[1].tolist()
    return _draw(y, [min(size - 1, max(1, round(fraction * size))) for size in sizes], seed)


def _draw(y: npt.NDArray[Any], counts: Sequence[int], seed: int) -> IntArray:
    """Draw so many rows of each class, the classes in the order of their labels."""
    rng = np.random.default_rng(seed)
    drawn = [
        rng.permutation(np.flatnonzero(y == label))[:count]
        for label, count in zip(np.unique(y), counts, strict=True)
    ]
    return np.sort(np.concatenate(drawn))
