"""What a model was trained on: labels, where the graphs come from, and salted hashes of them."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
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
from gdlnn.graphs.molecules import MoleculeReader, hidden_by_default
from gdlnn.model.domain import HASH, Domain, TrainingValues, packed, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gdlnn.graphs import Graph, GraphDataset, Schema
    from gdlnn.mining import ProgramSet

BoolArray = npt.NDArray[np.bool_]
Hashes = npt.NDArray[np.uint64]
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
        self._mask = np.frombuffer(salt[: HASH.itemsize], dtype=HASH)

    @classmethod
    def of(cls, train: GraphDataset, validation: GraphDataset | None = None) -> TrainingGraphs:
        """Hash the graphs that a model is trained on."""
        parts = [train, *([] if validation is None else [validation])]
        prints = "".join(fingerprint(part.graphs) for part in parts)
        salt = hashlib.sha256(f"gdlnn seen graphs {prints}".encode()).digest()[:SALT_BYTES]
        none = np.zeros(0, dtype=HASH)
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
        return np.frombuffer(b"".join(self._digest(graph) for graph in graphs), dtype=HASH)

    def _digest(self, graph: Graph) -> bytes:
        digest = hashlib.blake2b(digest_size=HASH.itemsize, key=self._salt)
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
        return {"salt": self._salt.hex(), "hashes": packed(self._hashes), "screens": packed(self._screens)}

    @classmethod
    def from_json(
        cls, data: Mapping[str, Any], schema: Schema | None, widths: tuple[int, int]
    ) -> TrainingGraphs:
        """Build it from what `to_json` gave; `widths` says how many features nodes and edges have."""
        hashes, screens = (unpacked(data[name], "seen") for name in ("hashes", "screens"))
        salt = bytes.fromhex(data["salt"])
        if len(salt) != SALT_BYTES:
            raise ModelError(f"seen: expected a salt of {SALT_BYTES} bytes, got {len(salt)}")
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


@dataclass(eq=False)
class TrainingRecord:
    """What a model knows of its training graphs.

    Attributes
    ----------
    labels
        The label or value of every graph, in the order of the supports of the programs.
    reading
        How the molecules were converted to graphs, or None.
    provenance
        How the table was read and split, see `GraphDataset`; a report repeats it.
    graphs
        Which graphs they are.
    domain
        What they are like.
    """

    labels: npt.NDArray[Any]
    reading: MoleculeReader | None
    provenance: dict[str, Any]
    graphs: TrainingGraphs
    domain: Domain

    @classmethod
    def of(cls, train: GraphDataset, validation: GraphDataset | None, programs: ProgramSet) -> TrainingRecord:
        """Record the graphs that a model with these programs is trained on."""
        graphs = TrainingGraphs.of(train, validation)
        domain = Domain.of(train, programs)
        return cls(np.asarray(train.y), train.reading, dict(train.provenance), graphs, domain)

    def to_json(self) -> dict[str, Any]:
        """Return all but the labels as plain JSON values."""
        return {
            "reading": None if self.reading is None else self.reading.to_json(),
            "provenance": self.provenance,
            "seen_values": self.domain.values.to_json(),
            "seen": self.graphs.to_json(),
            "domain": self.domain.to_json(),
        }

    @classmethod
    def from_json(
        cls, data: Mapping[str, Any], labels: npt.NDArray[Any], programs: ProgramSet, schema: Schema | None
    ) -> TrainingRecord:
        """Build it from what `to_json` gave."""
        reading = None if data["reading"] is None else MoleculeReader.from_json(data["reading"])
        widths = programs.info.n_node_features, programs.info.n_edge_features
        graphs = TrainingGraphs.from_json(data["seen"], schema, widths)
        values = TrainingValues.from_json(data["seen_values"], schema)
        domain = Domain.from_json(data["domain"], programs, values, schema)
        return cls(labels, reading, dict(data["provenance"]), graphs, domain)
