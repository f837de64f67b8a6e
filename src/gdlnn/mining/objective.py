"""objective(): what mining is after, as the paper puts it, to compare sets of programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.errors import MiningError
from gdlnn.matching import Graphs, as_graph_set, match
from gdlnn.mining.program_set import MinedProgram

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gdlnn.gdl.program import Program


def objective(
    programs: Iterable[Program | MinedProgram],
    graphs: Graphs,
    y: npt.ArrayLike,
    *,
    mean: bool = False,
    n_jobs: int | None = 1,
) -> float:
    """Return how well programs set labels apart: alike within a label, different between labels.

    The sum over all ordered pairs (i, j) of graphs, i = j included, of the Hamming similarity of their
    representations, with + where the labels are equal and - where they differ. A representation says which
    programs match; the similarity is the share of programs on which two graphs agree.

    Where labels differ in size, programs that match nothing do well: all graphs are then alike, and most
    pairs share a label. docs/mining.md has figures.

    Parameters
    ----------
    programs
        The programs.
    graphs, y
        The graphs and their labels.
    mean
        Divide by the number of pairs, so that data sets of different sizes compare: from -1 to 1.
    n_jobs
        Threads for matching.
    """
    listed = [item.program if isinstance(item, MinedProgram) else item for item in programs]
    if not listed:
        raise MiningError("objective: programs: expected at least one, got none")
    encoded = as_graph_set(graphs)
    labels = np.asarray(y)
    if labels.shape != (len(encoded),):
        raise MiningError(
            f"objective: y: expected {len(encoded)} labels, one per graph, got shape {labels.shape}"
        )
    value = _signed_agreement(match(listed, encoded, n_jobs), labels)
    return value / max(1, len(labels)) ** 2 if mean else value


def _signed_agreement(table: npt.NDArray[np.bool_], labels: npt.NDArray[Any]) -> float:
    """Count agreeing pairs from the number of matches alone: within labels twice, less all of them."""

    def agreeing(rows: npt.NDArray[np.bool_]) -> int:
        matched = rows.sum(axis=0, dtype=np.int64)
        return int((matched**2 + (len(rows) - matched) ** 2).sum())

    n_programs: int = table.shape[1]
    within = sum(agreeing(table[labels == label]) for label in np.unique(labels))
    return (2 * within - agreeing(table)) / n_programs
