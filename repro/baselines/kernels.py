"""Weisfeiler–Lehman kernels with a support vector machine: the subtree kernel and optimal assignment.

Histograms of colors are sparse, and optimal assignment, the sum of their minima, is a product of 0/1 rows
too: a color that occurs n times becomes n columns. So both take seconds on thousands of graphs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ModelError
from repro.baselines.base import Baseline, FloatArray, IntArray

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from gdlnn.graphs import Graph, GraphDataset, Schema


@dataclass(eq=False, repr=False)
class WLClassifier(Baseline):
    """A support vector machine on the Weisfeiler–Lehman subtree kernel.

    The initial color of a node is its nominal and ordinal features (without any, the features whose values
    are whole numbers). Every iteration adds the colors of its neighbors and, with `edge_labels`, the
    nominal and ordinal features of the edges to them. The kernel of two graphs is the
    product of their histograms of colors over all iterations, normalized to 1 on the diagonal.

    `C` is the inverse regularisation strength of the support vector machine.
    """

    optimal_assignment: ClassVar[bool] = False
    n_iter: int = 4
    C: float = 10.0
    edge_labels: bool = True
    random_state: int = 0

    def _fit(self, train: GraphDataset, codes: IntArray, val: GraphDataset | None) -> None:  # noqa: ARG002
        from sklearn.svm import SVC

        if int(self.n_iter) != self.n_iter or self.n_iter < 0:
            raise ModelError(f"n_iter: expected a whole number of at least 0, got {self.n_iter!r}")
        if not self.C > 0:
            raise ModelError(f"C: expected a number above 0, got {self.C!r}")
        if len(self.classes_) < 2:
            raise ModelError(f"fit: y: expected at least two classes, got {self.classes_.tolist()}")
        self.colors_ = ColorHistograms(self.n_iter, self.edge_labels)
        histograms = self.colors_.fit(train.graphs, train.schema)
        self.steps_: IntArray = np.asarray(histograms.max(axis=0).todense()).ravel().astype(np.int64)
        self.rows_, self.norms_ = self._rows_and_norms(histograms)
        self.machine_ = SVC(C=self.C, kernel="precomputed", break_ties=len(self.classes_) > 2)
        self.machine_.fit(self._kernel(self.rows_, self.norms_), codes)

    def _rows_and_norms(self, histograms: Any) -> tuple[Any, FloatArray]:
        """Return rows whose products are the kernel, and the roots of each graph's kernel with itself."""
        # Colors that no training graph has count towards a graph's own norm alone.
        known = histograms[:, : len(self.steps_)]
        if self.optimal_assignment:
            return _staircase(known, self.steps_), np.sqrt(np.asarray(histograms.sum(axis=1)).ravel())
        return known, np.sqrt(np.asarray(histograms.multiply(histograms).sum(axis=1)).ravel())

    def _kernel(self, rows: Any, norms: FloatArray) -> FloatArray:
        """Return the kernel of graphs (rows) with the training graphs (columns), normalized."""
        product = np.asarray((rows @ self.rows_.T).todense(), dtype=np.float64)
        return np.asarray(product / np.maximum(np.outer(norms, self.norms_), 1e-12))

    def kernel(self, graphs: list[Graph]) -> FloatArray:
        """Return the kernel of graphs (rows) with the training graphs (columns)."""
        return self._kernel(*self._rows_and_norms(self.colors_.transform(graphs)))

    def decision_function(self, graphs: list[Graph]) -> FloatArray:
        """Return the score of every class."""
        scores = self.machine_.decision_function(self.kernel(graphs))
        return np.stack([-scores, scores], axis=1) if scores.ndim == 1 else np.asarray(scores)

    def _proba(self, graphs: list[Graph]) -> FloatArray:
        """Return the softmax of the machine's scores: they rank graphs, but are not calibrated."""
        scores = self.decision_function(graphs)
        values = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(values / values.sum(axis=1, keepdims=True))


class WLOAClassifier(WLClassifier):
    """A support vector machine on the Weisfeiler–Lehman optimal assignment kernel; see `WLClassifier`.

    The kernel of two graphs is the sum, over colors of all iterations, of the smaller of the two counts.
    """

    optimal_assignment = True


def _staircase(histograms: Any, steps: IntArray) -> Any:
    """Return 0/1 rows with columns "at least 1", "at least 2", … of every color; their product sums minima.

    Counts above the largest of the training graphs change no product with one, so they get no column.
    """
    from scipy.sparse import csr_matrix

    table = histograms.tocoo()
    starts = np.concatenate([[0], np.cumsum(steps)])
    counts = table.data.astype(np.int64)
    shown = np.minimum(counts, steps[table.col])
    rows = np.repeat(table.row, shown)
    first = np.repeat(starts[:-1][table.col], shown)
    within = np.arange(shown.sum()) - np.repeat(np.cumsum(shown) - shown, shown)
    ones = np.ones(len(rows))
    return csr_matrix((ones, (rows, first + within)), shape=(table.shape[0], int(starts[-1])))


class ColorHistograms:
    """How often each color of Weisfeiler–Lehman refinement occurs in each graph, as a sparse matrix."""

    def __init__(self, n_iter: int, edge_labels: bool = True) -> None:
        self.n_iter, self.edge_labels = n_iter, edge_labels

    def fit(self, graphs: Sequence[Graph], schema: Schema | None) -> Any:
        """Learn the colors of the training graphs and return their histograms."""
        nodes = np.concatenate([graph.node_features for graph in graphs])
        edges = np.concatenate([graph.edge_features for graph in graphs])
        self.node_columns_ = labels_among(schema, "node", nodes)
        self.edge_columns_ = labels_among(schema, "edge", edges) if self.edge_labels else []
        self.tables_: list[dict[Hashable, int]] = [{} for _ in range(self.n_iter + 1)]
        return self._histograms(graphs, learn=True)

    def transform(self, graphs: Sequence[Graph]) -> Any:
        """Return the histograms of other graphs: the columns of `fit`, then those of new colors."""
        return self._histograms(graphs, learn=False)

    def _histograms(self, graphs: Sequence[Graph], *, learn: bool) -> Any:
        from scipy.sparse import csr_matrix

        fresh: dict[Hashable, int] | None = None if learn else {}
        colors = [self._first(graph, fresh) for graph in graphs]
        found = [colors]
        neighbors = [self._neighbors(graph) for graph in graphs]
        for step in range(1, self.n_iter + 1):
            colors = [
                self._refined(old, around, step, fresh) for old, around in zip(colors, neighbors, strict=True)
            ]
            found.append(colors)
        starts = np.concatenate([[0], np.cumsum([len(table) for table in self.tables_])]).tolist()
        rows: list[int] = []
        columns: list[int] = []
        for start, by_graph in zip(starts, found, strict=False):
            for row, color in enumerate(by_graph):
                rows += [row] * len(color)
                columns += [start + value if value >= 0 else starts[-1] - 1 - value for value in color]
        shape = (len(graphs), starts[-1] + len(fresh or ()))
        return csr_matrix((np.ones(len(rows)), (rows, columns)), shape=shape)

    def _first(self, graph: Graph, fresh: dict[Hashable, int] | None) -> list[int]:
        labels = graph.node_features[:, self.node_columns_] if graph.n_nodes else np.zeros((0, 0))
        return [self._color(0, tuple(row), fresh) for row in labels.tolist()]

    def _neighbors(self, graph: Graph) -> list[list[tuple[Any, int]]]:
        """Return for every node its neighbors, each with the label of the edge to it."""
        around: list[list[tuple[Any, int]]] = [[] for _ in range(graph.n_nodes)]
        labels = graph.edge_features[:, self.edge_columns_] if graph.n_edges else np.zeros((0, 0))
        for (u, v), label in zip(graph.edges.tolist(), labels.tolist(), strict=True):
            around[u].append((("out", *label) if graph.directed else tuple(label), v))
            if u != v:
                around[v].append((("in", *label) if graph.directed else tuple(label), u))
        return around

    def _refined(
        self,
        old: list[int],
        around: list[list[tuple[Any, int]]],
        step: int,
        fresh: dict[Hashable, int] | None,
    ) -> list[int]:
        signatures = (
            (old[node], tuple(sorted((label, old[other]) for label, other in near)))
            for node, near in enumerate(around)
        )
        return [self._color(step, signature, fresh) for signature in signatures]

    def _color(self, step: int, signature: Hashable, fresh: dict[Hashable, int] | None) -> int:
        """Return the number of a color: learned while `fresh` is None, afterwards -1, -2, … for new ones."""
        table = self.tables_[step]
        if fresh is None:
            return table.setdefault(signature, len(table))
        known = table.get(signature)
        return -1 - fresh.setdefault((step, signature), len(fresh)) if known is None else known


def labels_among(schema: Schema | None, of: str, table: npt.NDArray[np.float64]) -> list[int]:
    """Return the features that can serve as labels: nominal and ordinal, else those with whole numbers."""
    known = () if schema is None else getattr(schema, of)
    if len(known) == table.shape[1]:
        columns = [i for i, feature in enumerate(known) if feature.kind != "numeric"]
        if columns:
            return columns
    return [i for i, column in enumerate(table.T) if bool((column == np.floor(column)).all())]
