"""Generality and precision of programs, measured on graphs that they were not mined from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.explain.metrics.checks import same_length
from gdlnn.matching import Graphs, as_graph_set, match

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.gdl.program import Program


class ProgramQuality(NamedTuple):
    """How a program does on some graphs.

    Attributes
    ----------
    generality
        ``|matched graphs of the label| / |graphs of the label|``; NaN where there are none.
    precision
        ``|matched graphs of the label| / |matched graphs|``; NaN where it matches nothing.
    n_matched
        How many graphs it matches.
    """

    generality: float
    precision: float
    n_matched: int


def program_quality(
    programs: Sequence[Program],
    labels: Sequence[Any],
    graphs: Graphs,
    y: npt.ArrayLike,
    *,
    step_budget: int | None = None,
    n_jobs: int | None = 1,
) -> list[ProgramQuality]:
    """Measure programs, each for its label, on labelled graphs."""
    encoded, truth = as_graph_set(graphs), np.asarray(y)
    same_length("program_quality: graphs", graphs=encoded, y=truth)
    if programs:
        same_length("program_quality: programs", programs=programs, labels=labels)
    matched, _ = match(programs, encoded, n_jobs, step_budget, return_unknown=True)
    found = []
    for column, label in zip(matched.T, labels, strict=True):
        of_label = truth == label
        both, n, size = int((column & of_label).sum()), int(column.sum()), int(of_label.sum())
        found.append(
            ProgramQuality(both / size if size else float("nan"), both / n if n else float("nan"), n)
        )
    return found
