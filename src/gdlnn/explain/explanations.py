"""Explanations: a list of explanations that can be shown as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gdlnn.explain.explanation import Explanation, plain
from gdlnn.io.frames import Columns, data_frame, html_table

if TYPE_CHECKING:
    from collections.abc import Iterable


class Explanations(list[Explanation]):
    """The result of `explain` for several graphs: a list that can be converted to a DataFrame."""

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each program of each explanation."""
        return data_frame(explanation_columns(self))

    def _repr_html_(self) -> str:
        return html_table(explanation_columns(self), f"Explanations of {len(self)} graphs")


def explanation_columns(explanations: Iterable[Explanation]) -> Columns:
    """Return a row for each program of each explanation: graph, prediction, program, weight."""
    names = (
        "graph",
        "prediction",
        "probability",
        "target",
        "program",
        "weight",
        "matched",
        "nodes",
        "column",
    )
    columns: Columns = {name: [] for name in names}
    for number, one in enumerate(explanations):
        schema, directed = one.graph.schema, one.graph.directed
        rows = zip(one.programs, one.weights, one.matched, one.witnesses, one.indices, strict=True)
        for program, weight, matched, witness, column in rows:
            cells = (
                *(one.graph.name or f"graph {number}", plain(one.prediction), one.probability),
                *(plain(one.target), program.describe(schema, directed=directed), weight, matched),
                *(None if witness is None else tuple(witness.values()), column),
            )
            for name, cell in zip(names, cells, strict=True):
                columns[name].append(cell)
    return columns
