"""What a model was trained on: salted hashes of its graphs, and the values of their nominal features."""

from __future__ import annotations

import base64
import hashlib
import logging
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ModelError
from gdlnn.graphs.identity import (
    Columns,
    among,
    canonical_form,
    color_sums,
    fingerprint,
    mix64,
    refined_colors,
)
from gdlnn.graphs.molecules import hidden_by_default

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gdlnn.graphs import Feature, Graph, GraphDataset, Schema

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Hashes = npt.NDArray[np.uint64]
_HASH = np.dtype("<u8")
SALT_BYTES = 16
SCREEN_ROUNDS = 3
"""The radius around each node that the screening hash covers."""
logger = logging.getLogger(__name__)


class TrainingGraphs:
    """Which graphs a model was trained on, the validation set included.

    A graph counts as one of them if it is the same up to the numbering of its nodes. Features of molecules
    that models leave out by default make no difference; all others do.

    Parameters
    ----------
    hashes
        The hash of the canonical form of each distinct training graph, sorted.
    screens
        Sorted hashes of something cheaper that equal graphs share: a graph that has none of these is not
        among them, and its canonical form is not needed.
    salt
        What is hashed with every graph. It follows from the training graphs, so that equal models have
        equal files.
    columns
        The features of nodes and edges that count.
    """

    def __init__(self, hashes: Hashes, screens: Hashes, salt: bytes, columns: Columns) -> None:
        self._hashes, self._screens, self._salt, self._columns = hashes, screens, salt, columns
        self._mask = np.frombuffer(salt[: _HASH.itemsize], dtype=_HASH)

    @classmethod
    def of(cls, train: GraphDataset, validation: GraphDataset | None = None) -> TrainingGraphs:
        """Hash the graphs that a model is trained on."""
        parts = [train, *([] if validation is None else [validation])]
        prints = "".join(fingerprint(part.graphs) for part in parts)
        salt = hashlib.sha256(f"gdlnn seen graphs {prints}".encode()).digest()[:SALT_BYTES]
        none = np.zeros(0, dtype=_HASH)
        empty = cls(none, none, salt, _columns(train.schema, train.n_node_features, train.n_edge_features))
        graphs = [graph for part in parts for graph in part.graphs]
        return cls(np.unique(empty._hash(graphs)), np.unique(empty._screen(graphs)), salt, empty._columns)

    def contains(self, graphs: Sequence[Graph]) -> BoolArray:
        """Return which graphs were trained on; they have the features of the training graphs."""
        found = among(self._screen(graphs), self._screens)
        rows = np.flatnonzero(found)
        found[rows] = among(self._hash(graphs[row] for row in rows.tolist()), self._hashes)
        return found

    def _screen(self, graphs: Sequence[Graph]) -> Hashes:
        return mix64(color_sums(*refined_colors(graphs, SCREEN_ROUNDS, self._columns)) ^ self._mask)

    def _hash(self, graphs: Iterable[Graph]) -> Hashes:
        return np.frombuffer(b"".join(self._digest(graph) for graph in graphs), dtype=_HASH)

    def _digest(self, graph: Graph) -> bytes:
        digest = hashlib.blake2b(digest_size=_HASH.itemsize, key=self._salt)
        for part in self._form(graph):  # the numbers of nodes, edges and features come first
            digest.update(part if isinstance(part, bytes) else repr(part).encode())
        return digest.digest()

    def _form(self, graph: Graph) -> tuple[Any, ...]:
        """Return the canonical form of what models see of a graph; 0.0 and -0.0 are one value."""
        if not graph.n_nodes:
            return (0,)
        nodes = graph.node_features[:, self._columns[0]] + 0.0
        if not graph.n_edges:  # then whether edges have features and a direction may be left open
            return nodes.shape, nodes[np.lexsort(nodes.T)].tobytes() if nodes.shape[1] else b""
        return canonical_form(graph, nodes, graph.edge_features[:, self._columns[1]] + 0.0)

    def to_json(self) -> dict[str, Any]:
        """Return salt and hashes as plain JSON values."""
        hashes, screens = (
            base64.b64encode(values.astype(_HASH).tobytes()).decode()
            for values in (self._hashes, self._screens)
        )
        return {"salt": self._salt.hex(), "hashes": hashes, "screens": screens}

    @classmethod
    def from_json(
        cls, data: Mapping[str, Any], schema: Schema | None, widths: tuple[int, int]
    ) -> TrainingGraphs:
        """Build it from what `to_json` gave.

        Parameters
        ----------
        data
            Salt and hashes.
        schema, widths
            The schema of the training graphs, and how many features their nodes and edges have.
        """
        hashes, screens = (
            np.frombuffer(base64.b64decode(data[name], validate=True), dtype=_HASH)
            for name in ("hashes", "screens")
        )
        salt = bytes.fromhex(data["salt"])
        if any((values[1:] <= values[:-1]).any() for values in (hashes, screens)) or len(salt) != SALT_BYTES:
            raise ModelError("seen: expected a salt and sorted hashes")
        return cls(hashes, screens, salt, _columns(schema, *widths))


def _columns(schema: Schema | None, n_node: int, n_edge: int) -> Columns:
    """Return the features that count: all but those that models of molecules leave out."""
    hidden = hidden_by_default(schema)
    nodes, edges = ((), ()) if schema is None else (schema.node, schema.edge)
    return (
        [column for column in range(n_node) if column >= len(nodes) or nodes[column].name not in hidden],
        [column for column in range(n_edge) if column >= len(edges) or edges[column].name not in hidden],
    )


def report_missing(data: GraphDataset) -> None:
    """Warn of missing values, with one message for each feature."""
    for of in ("node", "edge"):
        features = getattr(data.schema, of) if data.schema else ()
        counts = sum(
            np.isnan(table).sum(axis=0) for g in data.graphs if len(table := getattr(g, f"{of}_features"))
        )
        for column in np.flatnonzero(counts):
            name = features[column].name if features else f"{of} feature {column}"
            logger.warning("%d missing values in %s: they satisfy no condition", counts[column], name)


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
