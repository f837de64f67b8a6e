"""Greedy cover: a few programs that together match most graphs of a class, and hardly any other."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.model.scores import wilson

if TYPE_CHECKING:
    from collections.abc import Sequence

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
NEARLY_BEST = 0.95
"""Among programs that gain at least this share of the best gain, the smallest is taken."""
LEAST_NEW = 0.02
"""Share of the graphs of a class that a program must add to what is covered; at least two graphs."""


class Covering(NamedTuple):
    """A program of a cover: its column, and the graphs of the class that it covers as the first one."""

    column: int
    rows: IntArray


def greedy_cover(
    matches: BoolArray, inside: BoolArray, sizes: Sequence[int], candidates: BoolArray, most: int
) -> list[Covering]:
    """Choose programs that cover the graphs of a class.

    Each step looks at the graphs that are not covered yet. The gain of a program is the number of graphs of
    the class it matches there, times the margin of its precision: the lower end of Wilson's 95 % interval
    minus the share of the class. Programs no better than chance gain nothing. A program is skipped as a
    variant if less than half of the graphs of the class that it matches are new.

    Parameters
    ----------
    matches
        Graphs × programs: which programs match.
    inside
        Which graphs are of the class.
    sizes
        The size of each program, which decides between nearly equal ones.
    candidates
        Which programs may be chosen.
    most
        Maximum number of programs to choose.
    """
    share = float(inside.mean()) if len(inside) else 0.0
    columns = np.flatnonzero(candidates & (_lower(matches, inside) > share))
    table = matches[:, columns]
    size = np.asarray(sizes, dtype=np.int64)[columns]
    least = max(2, int(np.ceil(LEAST_NEW * inside.sum())))
    open_rows = np.ones(len(inside), dtype=bool)
    in_class = table[inside].sum(axis=0)
    chosen: list[int] = []
    while len(chosen) < most and len(columns):
        new = table[open_rows & inside].sum(axis=0)
        gain = new * (_lower(table[open_rows], inside[open_rows]) - share)
        gain[(new < least) | (2 * new < in_class)] = 0
        if gain.max() <= 0:
            break
        near = np.flatnonzero(gain >= NEARLY_BEST * gain.max())
        best = int(near[np.lexsort((columns[near], -gain[near], size[near]))[0]])
        chosen.append(int(columns[best]))
        open_rows &= ~table[:, best]
    return _assigned(matches, inside, _needed(matches[inside], chosen))


def _lower(matches: BoolArray, inside: BoolArray) -> npt.NDArray[np.float64]:
    """Return per program the lower end of the interval of its precision."""
    hits, n = matches[inside].sum(axis=0).tolist(), matches.sum(axis=0).tolist()
    known = {pair: wilson(*pair)[0] for pair in set(zip(hits, n, strict=True))}
    return np.array([known[pair] for pair in zip(hits, n, strict=True)], dtype=np.float64)


def _needed(matches: BoolArray, chosen: list[int]) -> list[int]:
    """Leave out programs all of whose graphs are covered by the others, the first ones first."""
    kept = list(chosen)
    for column in chosen:
        others = [other for other in kept if other != column]
        if others and not (matches[:, column] & ~matches[:, others].any(axis=1)).any():
            kept = others
    return kept


def _assigned(matches: BoolArray, inside: BoolArray, chosen: list[int]) -> list[Covering]:
    """Return the programs with the graphs that each covers first."""
    open_rows, found = inside.copy(), []
    for column in chosen:
        found.append(Covering(column, np.flatnonzero(open_rows & matches[:, column])))
        open_rows &= ~matches[:, column]
    return found
