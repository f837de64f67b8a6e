"""Quantities: the largest and the smallest value of a quantity in a graph, each the threshold of a program.

Whether a graph has an edge with channel = wire and amount ≥ 900 is whether its largest amount of a wire edge
is at least 900. So one column with that largest value stands for all such programs: a split of a tree at t is
the program with the threshold t.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ModelError
from gdlnn.gdl.program import ANY, EdgeDescription, Interval, NodeDescription, Program
from gdlnn.graphs.molecules import hidden_by_default
from gdlnn.graphs.schema import Feature, is_quantity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from gdlnn.graphs import Graph, GraphDataset, Schema

FloatArray = npt.NDArray[np.float64]
MISSING = -3e38
"""The value of a graph without such a node or edge: below all others, so that it has no such program."""
MOST_COLUMNS = 400
"""Maximum number of columns; those that occur in most graphs stay."""
MOST_THRESHOLDS = 16
"""Thresholds of each column that become programs of their own."""
logger = logging.getLogger(__name__)


class Extreme(NamedTuple):
    """The largest value of a quantity, or with `sign` -1 that of its negative, among some nodes or edges.

    Attributes
    ----------
    of
        "node" or "edge".
    feature
        The position of the quantity.
    values
        The nominal values that the nodes or edges have, as pairs of position and value; none: all of them.
    sign
        1 for the largest value, -1 for the smallest.
    """

    of: str
    feature: int
    values: tuple[tuple[int, float], ...]
    sign: int

    def name(self, schema: Schema | None) -> str:
        """Return what the column is called, such as "largest amount of edges with channel = wire"."""
        features = [] if schema is None else list(getattr(schema, self.of))

        def feature(position: int) -> Feature:
            return features[position] if features else Feature(f"feature {position}")

        pairs = [(feature(position), value) for position, value in self.values]
        values = " and ".join(f"{one.name} = {one.value_name(value)}" for one, value in pairs)
        end = f" with {values}" if values else ""
        return f"{'largest' if self.sign > 0 else 'smallest'} {feature(self.feature).name} of {self.of}s{end}"

    def program(self, threshold: float, width: int, *, directed: bool) -> Program:
        """Return the program that a graph has if the column is above a threshold.

        At `MISSING`, or so near that no value lies below it, the quantity is open. `width` is the number of
        features of nodes (edges).
        """
        intervals = [ANY] * width
        for position, value in self.values:
            intervals[position] = Interval(value, value)
        if threshold > MISSING / 2:
            open_end = Interval(threshold, np.inf) if self.sign > 0 else Interval(-np.inf, -threshold)
            intervals[self.feature] = open_end
        if self.of == "node":
            return Program((NodeDescription("x0", tuple(intervals)),), ()).canonical(directed)
        ends = NodeDescription("x0", None), NodeDescription("x1", None)
        return Program(ends, (EdgeDescription("x0", "x1", tuple(intervals)),)).canonical(directed)


@dataclass(frozen=True)
class Quantities:
    """The columns of extremes of some training graphs.

    Attributes
    ----------
    columns
        What each column is.
    n_left_out
        How many columns there were beyond `MOST_COLUMNS`.
    """

    columns: tuple[Extreme, ...]
    n_left_out: int = 0

    @classmethod
    def of(cls, data: GraphDataset, ignored: Collection[str] = ()) -> Self:
        """Find the quantities of nodes and edges, and the nominal values that they occur with."""
        found: list[tuple[int, Extreme]] = []
        hidden = {*ignored, *hidden_by_default(data.schema)}
        for of in ("node", "edge"):
            table, owner = _table(data.graphs, of)
            features = () if data.schema is None else getattr(data.schema, of)
            used = [i for i in range(table.shape[1]) if not features or features[i].name not in hidden]
            numeric = [i for i in used if is_quantity(table[:, i], features[i] if features else None)]
            rest = [i for i in used if i not in numeric]
            nominal = [i for i in rest if not features or features[i].kind == "nominal"]
            if not numeric:
                continue
            groups: list[tuple[tuple[tuple[int, float], ...], Any]] = [((), np.ones(len(table), dtype=bool))]
            if nominal:
                known = np.where(np.isnan(table[:, nominal]), np.inf, table[:, nominal])
                combinations, code = np.unique(known, axis=0, return_inverse=True)
                groups += [
                    (tuple(zip(nominal, values.tolist(), strict=True)), code.reshape(-1) == number)
                    for number, values in enumerate(combinations)
                    if np.isfinite(values).all()
                ]
            for values, rows in groups:
                n_graphs = len(np.unique(owner[rows]))
                found += [(n_graphs, Extreme(of, i, values, sign)) for i in numeric for sign in (1, -1)]
        order = sorted(range(len(found)), key=lambda i: (-found[i][0], i))[:MOST_COLUMNS]
        left_out = len(found) - len(order)
        if left_out:
            logger.warning("quantities: %d of %d columns are left out", left_out, len(found))
        return cls(tuple(found[i][1] for i in sorted(order)), left_out)

    def __len__(self) -> int:
        return len(self.columns)

    def transform(self, graphs: Sequence[Graph]) -> FloatArray:
        """Return graphs × columns; `MISSING` for a graph without such a node or edge."""
        result = np.full((len(graphs), len(self.columns)), MISSING)
        tables = {of: _table(graphs, of) for of in {column.of for column in self.columns}}
        for number, column in enumerate(self.columns):
            table, owner = tables[column.of]
            if not len(table):  # without a row the number of features is unknown
                continue
            values = column.sign * table[:, column.feature]
            there = np.isfinite(values)
            for position, value in column.values:
                there &= table[:, position] == value
            np.maximum.at(result[:, number], owner[there], values[there])
        return result

    def thresholds(self, table: FloatArray) -> Iterator[tuple[int, float]]:
        """Yield pairs of a column and a threshold: quantiles over the training graphs."""
        for number, column in enumerate(table.T):
            values = np.unique(column[column > MISSING])
            if len(values) < 2:
                continue
            middles = (values[1:] + values[:-1]) / 2
            if len(middles) > MOST_THRESHOLDS:
                known = column[column > MISSING]
                wanted = np.quantile(known, (np.arange(MOST_THRESHOLDS) + 0.5) / MOST_THRESHOLDS)
                middles = np.unique(middles[np.searchsorted(middles, wanted).clip(max=len(middles) - 1)])
            yield from ((number, float(threshold)) for threshold in middles)

    def to_json(self) -> dict[str, Any]:
        """Return the columns as plain JSON values."""
        columns = [
            [one.of, one.feature, [list(pair) for pair in one.values], one.sign] for one in self.columns
        ]
        return {"columns": columns, "left_out": self.n_left_out}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], widths: Mapping[str, int]) -> Self:
        """Build them from what `to_json` gave; `widths` says how many features nodes and edges have."""
        columns = tuple(
            Extreme(str(of), int(feature), tuple((int(p), float(v)) for p, v in values), int(sign))
            for of, feature, values, sign in data["columns"]
        )
        for column in columns:
            places = [column.feature, *(position for position, _ in column.values)]
            if not all(0 <= place < widths[column.of] for place in places) or column.sign not in (1, -1):
                raise ModelError(f"quantities: expected features of the schema, got {column}")
        return cls(columns, int(data["left_out"]))


def _table(graphs: Sequence[Graph], of: str) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Return the features of all nodes (edges), and the graph that each belongs to."""
    tables = [graph.node_features if of == "node" else graph.edge_features for graph in graphs]
    filled = [table for table in tables if len(table)]
    width = filled[0].shape[1] if filled else 0
    table = np.concatenate(filled) if filled else np.zeros((0, width))
    return table, np.repeat(np.arange(len(graphs)), [len(table) for table in tables])
