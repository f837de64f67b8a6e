"""Domain: whether a graph is like the training graphs of a model, and if not, why.

Three things are checked:

- whether a nominal feature has a value that no training graph has, such as a chemical element;
- how many nodes have surroundings that occur in a training graph;
- how many programs the graph shares with the most similar training graph.

The limits come from the training graphs themselves, each compared with all others.
"""

from __future__ import annotations

import base64
import logging
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ModelError
from gdlnn.graphs.identity import Columns, among, refined_colors
from gdlnn.graphs.molecules import hidden_by_default
from gdlnn.model.pooling import features_with_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gdlnn.graphs import Feature, Graph, GraphDataset, Schema
    from gdlnn.mining import ProgramSet

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]
DomainName = Literal["inside", "edge", "outside"]
_Finding = tuple[DomainName, str]
"""The domain of a graph, and the reason in words."""

EDGE, OUTSIDE = 0.05, 0.01
"""Shares of the training graphs that lie beyond the limits of "inside" and of "edge"."""
MOST_REFERENCES = 5000
"""Maximum number of training graphs to compare with; of more, evenly spaced ones are taken."""
HASH = np.dtype("<u8")
logger = logging.getLogger(__name__)
_CHUNK = 256
"""Number of graphs compared with the training graphs at a time."""


class DomainAnswer(NamedTuple):
    """Whether a graph is like the training graphs.

    Attributes
    ----------
    domain
        "inside", "edge" or "outside"; None for a model without a record of its training graphs.
    reason
        Why it is not inside, in words; else empty.
    coverage
        Share of its nodes whose surroundings occur in a training graph: the node, its edges and its
        neighbors. None if the graph has no nodes.
    similarity
        Programs that match both it and the most similar training graph, over those that match either. None
        where the model has no programs.
    """

    domain: DomainName | None
    reason: str
    coverage: float | None
    similarity: float | None


class Limits(NamedTuple):
    """Limits that all but the most unusual training graphs reach, each compared with the others."""

    edge: float
    outside: float

    @classmethod
    def of(cls, values: FloatArray) -> Limits:
        """Take the limits from the values of training graphs."""
        edge, outside = np.quantile(values, (EDGE, OUTSIDE)) if len(values) else (0.0, 0.0)
        return cls(float(edge), float(outside))

    def judge(self, value: float) -> DomainName:
        """Say on which side of the limits a value lies."""
        return "inside" if value >= self.edge else "edge" if value >= self.outside else "outside"


@dataclass(eq=False)
class Domain:
    """A record of the training graphs that decides whether other graphs are like them.

    Attributes
    ----------
    programs
        The programs of the model, with the training graphs that they match.
    values
        The values of nominal features in training.
    schema
        The schema of the training graphs.
    surroundings
        Hashes of the surroundings of nodes of training graphs, sorted.
    columns
        Node features and edge features that surroundings are made of, by column.
    coverage, similarity
        The limits; None for the similarity of a model without programs.
    """

    programs: ProgramSet
    values: TrainingValues
    schema: Schema | None
    surroundings: Hashes
    columns: Columns
    coverage: Limits
    similarity: Limits | None = None

    @classmethod
    def of(cls, train: GraphDataset, programs: ProgramSet) -> Domain:
        """Compute the limits from training graphs, as the model sees them."""
        columns = _nominal_columns(train)
        colors, offsets = refined_colors(train.graphs, 1, columns)
        owner = np.repeat(np.arange(len(train)), np.diff(offsets))
        known, code = np.unique(colors, return_inverse=True)
        # Each graph is compared with the others: surroundings that only it has are not covered.
        pairs = np.unique(np.stack([code.reshape(-1), owner]), axis=1)
        elsewhere = np.bincount(pairs[0], minlength=len(known))[code.reshape(-1)] > 1
        coverage = Limits.of(_means(elsewhere, offsets))
        domain = cls(programs, TrainingValues.of(train), train.schema, known, columns, coverage)
        if len(programs):
            domain.similarity = Limits.of(domain._training.nearest_other())
        return domain

    def judge(self, graphs: Sequence[Graph], matches: BoolArray) -> list[DomainAnswer]:
        """Say of every graph whether it is like the training graphs; `matches` is graphs × programs."""
        strange = self._strange_values(graphs)
        colors, offsets = refined_colors(graphs, 1, self.columns)
        known = self.surroundings
        covered = _means(among(colors, known), offsets) if len(known) else np.zeros(len(graphs))
        nearest = self._training.nearest(matches) if len(self.programs) else None
        answers = []
        for i, graph in enumerate(graphs):
            coverage = float(covered[i]) if graph.n_nodes else None
            similarity = None if nearest is None else float(nearest[i])
            found = strange[i] or self._judge_matches(matches[i])
            if not found:
                found = self._judge_similarity(similarity) + self._judge_coverage(coverage, graph.n_nodes)
            answers.append(self._answer(found, coverage, similarity))
        return answers

    def training_similarity(self) -> tuple[IntArray, FloatArray]:
        """Return training graphs, all or evenly spaced ones, and how similar the nearest other one is."""
        if not len(self.programs):
            return np.arange(self.programs.info.n_graphs), np.ones(self.programs.info.n_graphs)
        return self._training.rows, self._training.nearest_other()

    @staticmethod
    def _answer(found: list[_Finding], coverage: float | None, similarity: float | None) -> DomainAnswer:
        """Combine the checks; for an outside graph, give only the reasons that put it there."""
        worst: DomainName = "inside"
        if found:
            worst = "outside" if any(name == "outside" for name, _ in found) else "edge"
        reason = "; ".join(words for name, words in found if name == worst)
        return DomainAnswer(worst, reason, coverage, similarity)

    # --- the three questions ------------------------------------------------------------------------------

    def _strange_values(self, graphs: Sequence[Graph]) -> list[list[_Finding]]:
        reasons: list[list[_Finding]] = [[] for _ in graphs]
        hidden = hidden_by_default(self.schema)
        for of, feature, rows, value in self.values.new_values(graphs):
            if feature.name in hidden:
                continue
            name = feature.value_name(value)
            if self._is_molecule and feature.name == "atom" and value == 0:
                words = "contains a placeholder (*) in place of an atom"
            elif self._is_molecule and feature.name == "atom":
                words = f"contains an element that no training molecule has: {name}"
            else:
                words = f"has a value that no {self._one} has: {of} feature {feature.name!r} = {name}"
            for row in rows:
                reasons[row].append(("outside", words))
        return reasons

    def _judge_matches(self, matched: BoolArray) -> list[_Finding]:
        """Say whether no program matches, unless that is usual, as with a scorecard of few programs."""
        if matched.any() or not len(matched) or (self.similarity is not None and not self.similarity.outside):
            return []
        return [("outside", "contains none of the patterns of the model")]

    def _judge_similarity(self, similarity: float | None) -> list[_Finding]:
        limits = self.similarity
        if similarity is None or limits is None or limits.judge(similarity) == "inside":
            return []
        verdict = limits.judge(similarity)
        limit = getattr(limits, verdict)
        # As many decimals as tell the two apart: "35%, where 35% is usual" would explain nothing.
        digits = next((d for d in range(3) if _percent(similarity, d) != _percent(limit, d)), 3)
        words = (
            f"its nearest {self._one} shares {_percent(similarity, digits)} of its patterns "
            f"(usually at least {_percent(limit, digits)})"
        )
        return [(verdict, words)]

    def _judge_coverage(self, coverage: float | None, n_nodes: int) -> list[_Finding]:
        limits = self.coverage
        if coverage is None or limits.judge(coverage) == "inside":
            return []
        verdict = limits.judge(coverage)
        strange = round((1 - coverage) * n_nodes)
        what = "atom" if self._is_molecule else "node"
        words = (
            f"{strange} of {n_nodes} {what}{'s' if n_nodes != 1 else ''} "
            f"{'have' if strange != 1 else 'has'} surroundings that no {self._one} has "
            f"(usually at most {_percent(1 - getattr(limits, verdict))})"
        )
        return [(verdict, words)]

    @property
    def _is_molecule(self) -> bool:
        return self.schema is not None and self.schema.domain == "molecule"

    @property
    def _one(self) -> str:
        return f"training {'molecule' if self._is_molecule else 'graph'}"

    # --- surroundings and neighbors ----------------------------------------------------------------------

    @cached_property
    def _training(self) -> _TrainingMatches:
        return _TrainingMatches(self.programs)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_training"}

    # --- files --------------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Return what was learned as plain JSON values."""
        return {
            "surroundings": packed(self.surroundings),
            "columns": [list(columns) for columns in self.columns],
            "coverage": list(self.coverage),
            "similarity": None if self.similarity is None else list(self.similarity),
        }

    @classmethod
    def from_json(
        cls,
        data: Mapping[str, Any],
        programs: ProgramSet,
        values: TrainingValues,
        schema: Schema | None,
    ) -> Domain:
        """Build it from what `to_json` gave."""
        surroundings = unpacked(data["surroundings"], "domain")
        nodes, edges = ([int(column) for column in columns] for columns in data["columns"])
        widths = (programs.info.n_node_features, programs.info.n_edge_features)
        for columns, width in zip((nodes, edges), widths, strict=True):
            if any(not 0 <= column < width for column in columns):
                raise ModelError(f"domain: expected columns of {width} features, got {columns}")
        coverage, similarity = Limits(*map(float, data["coverage"])), data["similarity"]
        similarity = None if similarity is None else Limits(*map(float, similarity))
        if not np.isfinite([*coverage, *(similarity or ())]).all():
            raise ModelError("domain: expected finite limits, got NaN or infinity")
        return cls(programs, values, schema, surroundings, (nodes, edges), coverage, similarity)


class TrainingValues:
    """The values of nominal features in training; others match no condition and are reported once.

    Parameters
    ----------
    values
        For each nominal feature: "node" or "edge", its column, its name, and its values.
    """

    def __init__(self, values: Sequence[tuple[str, int, Feature, FloatArray]]) -> None:
        self._values = list(values)
        self._reported: set[tuple[str, float]] = set()

    @classmethod
    def of(cls, train: GraphDataset) -> TrainingValues:
        """Return the values of a training set."""
        found = []
        for of, features, tables in (
            ("node", train.schema.node if train.schema else (), [g.node_features for g in train.graphs]),
            ("edge", train.schema.edge if train.schema else (), [g.edge_features for g in train.graphs]),
        ):
            for column, feature in enumerate(features):
                if feature.kind == "nominal":
                    known = [np.unique(table[:, column]) for table in tables if len(table)]
                    values = np.unique(np.concatenate(known or [np.zeros(0)]))
                    found.append((of, column, feature, values[~np.isnan(values)]))
        return cls(found)

    def new_values(self, graphs: Sequence[Graph]) -> Iterator[tuple[str, Feature, IntArray, float]]:
        """Give the values that no training graph had: "node" or "edge", feature, graphs with it, value."""
        for of in ("node", "edge") if graphs and self._values else ():
            tables = [getattr(graph, f"{of}_features") for graph in graphs]
            full = [i for i, table in enumerate(tables) if len(table)]
            if not full:
                continue
            whole = np.concatenate([tables[i] for i in full])
            for kind, column, feature, known in self._values:
                if kind != of:
                    continue
                values = whole[:, column]
                strange = ~among(values, known) & ~np.isnan(values)
                if strange.any():
                    owner = np.repeat(full, [len(tables[i]) for i in full])
                    for value in np.unique(values[strange]).tolist():
                        yield of, feature, np.unique(owner[values == value]), value

    def report_new(self, graphs: Sequence[Graph]) -> None:
        """Warn of values that no training graph had; each is reported once."""
        fresh: dict[tuple[str, str], list[str]] = {}
        for of, feature, _, value in self.new_values(graphs):
            if (f"{of} {feature.name}", value) not in self._reported:
                self._reported.add((f"{of} {feature.name}", value))
                fresh.setdefault((of, feature.name), []).append(feature.value_name(value))
        for (of, name), values in fresh.items():
            logger.warning(
                "%s feature %r: no training graph has %s; no condition on it matches there",
                *(of, name, ", ".join(values[:10])),
            )

    def to_json(self) -> list[Any]:
        """Return the values as plain JSON values."""
        return [[of, column, values.tolist()] for of, column, _, values in self._values]

    @classmethod
    def from_json(cls, data: Sequence[Any], schema: Schema | None) -> TrainingValues:
        """Build it from what `to_json` gave, with the names of a schema."""
        return cls(
            [
                (of, int(column), getattr(schema, of)[column], np.array([float(value) for value in values]))
                for of, column, values in data
            ]
        )


class _TrainingMatches:
    """Which programs match which training graphs, to find the most similar ones.

    Similarity is that of Jaccard, which chemists call Tanimoto: programs that match both over those that
    match either.
    """

    def __init__(self, programs: ProgramSet) -> None:
        table = programs.supports.tocsr()
        self.rows: IntArray = np.arange(table.shape[0])
        if table.shape[0] > MOST_REFERENCES:
            self.rows = np.linspace(0, table.shape[0] - 1, MOST_REFERENCES).astype(np.int64)
            table = table[self.rows]
        self._table = table
        self._by_program = table.T.tocsr()
        self._sizes = np.diff(table.indptr).astype(np.float32)

    def nearest(self, matches: BoolArray) -> FloatArray:
        """Return the similarity of graphs to the most similar training graph."""
        from scipy.sparse import csr_array

        if len(matches) != 1:
            return self._largest(csr_array(matches, dtype=np.float32))
        programs, table = np.flatnonzero(matches[0]), self._by_program  # counting is quicker than a product
        graphs = [table.indices[table.indptr[i] : table.indptr[i + 1]] for i in programs.tolist()]
        counts = np.bincount(np.concatenate([*graphs, table.indices[:0]]), minlength=len(self._sizes))
        similar = self._similar(counts[None].astype(np.float32), np.full((1, 1), len(programs), np.float32))
        return np.asarray(similar.max(axis=1))

    def nearest_other(self) -> FloatArray:
        """Return the similarity of the training graphs to the most similar other one."""
        return self._largest(self._table, itself=True)

    def _largest(self, rows: Any, *, itself: bool = False) -> FloatArray:
        largest = []
        for start in range(0, rows.shape[0], _CHUNK):
            some = rows[start : start + _CHUNK]
            shared = (some @ self._by_program).toarray()  # hardly anything in it is zero
            similar = self._similar(shared, np.diff(some.indptr).astype(np.float32)[:, None])
            if itself:
                own = np.arange(len(similar))
                similar[own, start + own] = 0.0
            largest.append(similar.max(axis=1))
        return np.concatenate([np.zeros(0), *largest])

    def _similar(self, shared: Any, own: Any) -> FloatArray:
        """Return the similarity, from the numbers of programs that are shared and that a graph has."""
        either = own + self._sizes
        either -= shared
        return np.asarray(shared / np.maximum(either, 1, out=either))


def packed(hashes: Hashes) -> str:
    """Return sorted hashes as text."""
    return base64.b64encode(hashes.astype(HASH).tobytes()).decode()


def unpacked(text: str, what: str) -> Hashes:
    """Return the hashes of what `packed` gave."""
    hashes = np.frombuffer(base64.b64decode(text, validate=True), dtype=HASH)
    if (hashes[1:] <= hashes[:-1]).any():
        raise ModelError(f"{what}: expected sorted hashes")
    return hashes


def _nominal_columns(train: GraphDataset) -> Columns:
    """Return the columns of features that have a few values and that models look at."""
    hidden = hidden_by_default(train.schema)
    nodes, edges = (
        [
            column
            for column, (feature, values) in enumerate(features_with_values(train.graphs, train.schema, of))
            if values is not None and feature.name not in hidden
        ]
        for of in ("node", "edge")
    )
    return nodes, edges


def _means(flags: BoolArray, offsets: IntArray) -> FloatArray:
    """Return the mean of the flags of each graph; 1 for one without nodes."""
    sums = np.concatenate([[0], np.cumsum(flags)])
    counts = np.diff(offsets)
    return np.where(counts > 0, (sums[offsets[1:]] - sums[offsets[:-1]]) / np.maximum(counts, 1), 1.0)


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f}%"
