"""Read the TU text format: NAME_A.txt and other files in one folder, with array operations."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gdlnn.datasets.opening import read_lines
from gdlnn.errors import DatasetError
from gdlnn.graphs import Feature, GraphDataset, Schema
from gdlnn.graphs.arrays import GraphArrays, offsets_of
from gdlnn.graphs.graph import MAX_FEATURE

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from gdlnn.graphs.graph import BoolArray, FloatArray, IntArray

NODE_FILES = ("node_labels", "node_attributes")
EDGE_FILES = ("edge_labels", "edge_attributes")
"""The optional files of a TU dataset, named like NAME_A.txt; labels come before attributes."""
_NAMES = re.compile(
    r"^(Node|Edge|Class) labels were converted to integer values using this map:(.*?)(?=^\w+ labels|^===|\Z)",
    re.MULTILINE | re.DOTALL,
)
_NAME = re.compile(r"^\s*(-?[0-9]+)\s+(\S.*?)\s*$", re.MULTILINE)


def tu_prefix(folder: Path) -> str | None:
    """Return the NAME of the one NAME_A.txt in a folder, or None."""
    found = sorted(folder.glob("*_A.txt"))
    named = [path for path in found if path.name == f"{folder.name}_A.txt"]
    chosen = named or found
    return chosen[0].name.removesuffix("_A.txt") if len(chosen) == 1 else None


def load_tu(folder: str | os.PathLike[str]) -> GraphDataset:
    """Read a TU dataset: a folder with NAME_A.txt, NAME_graph_indicator.txt and NAME_graph_labels.txt.

    Node features are the node labels, then the node attributes, unchanged; edge features
    likewise. Without node features, the degree is the only feature (a self-loop adds 1). Edges
    may be listed in one or in both directions; identical lines merge. ``NAME_edge_gt.txt``, one 0 or 1 per
    line of NAME_A.txt, becomes the ground-truth masks.
    """
    path = Path(folder)
    if not path.is_dir():
        raise DatasetError(f"{path.name or path}: no such folder; expected one with NAME_A.txt")
    prefix = tu_prefix(path)
    if prefix is None:
        several = sorted(file.name for file in path.glob("*_A.txt"))
        got = ", ".join(several) if several else "none"
        raise DatasetError(f"{path.name}: expected one file NAME_A.txt, got {got}")
    return _Reader(path, prefix).read()


@dataclass(frozen=True)
class _Reader:
    folder: Path
    prefix: str

    def file(self, suffix: str) -> Path:
        return self.folder / f"{self.prefix}_{suffix}.txt"

    def has(self, suffix: str) -> bool:
        return self.file(suffix).exists()

    def read(self) -> GraphDataset:
        y, offsets = self._labels_and_offsets()
        n_nodes = int(offsets[-1])
        node_blocks = self._blocks(NODE_FILES, n_nodes, "node")
        lines = self._edge_lines(n_nodes)
        edge_blocks = self._blocks(EDGE_FILES, len(lines), "edge")
        truth = self._truth(len(lines))
        nodes = _stack(node_blocks, n_nodes)
        ends, rows, features, truth = self._undirected(lines, _stack(edge_blocks, len(lines)), truth, n_nodes)
        owner = np.searchsorted(offsets, ends[:, 0], side="right") - 1
        self._check_same_graph(ends, rows, owner, offsets)
        arrays = GraphArrays(
            nodes,
            offsets,
            ends - offsets[owner][:, None],
            features,
            offsets_of(np.bincount(owner, minlength=len(y)).astype(np.int64)),
            np.zeros(len(y), dtype=bool),
        )
        names = self._value_names()
        classes = {int(label): name for label, name in next(iter(names.get("Class", [])), {}).items()}
        nodes_of, edges_of = names.get("Node", []), names.get("Edge", [])
        schema = Schema(_features(node_blocks, nodes_of), _features(edge_blocks, edges_of), classes)
        if not node_blocks:
            schema = replace(schema, node=(Feature("degree"),))
            arrays = arrays.with_degrees()
        titles = [f"{self.prefix}/{i}" for i in range(len(y))]
        data = GraphDataset(arrays.graphs(schema, titles), y, schema, self.prefix)
        if truth is not None:  # a node belongs to the motif when one of its edges does
            in_motif = np.zeros(n_nodes, dtype=bool)
            in_motif[arrays.global_edges()[truth].reshape(-1)] = True
            data.node_masks = np.split(in_motif, arrays.node_offsets[1:-1])
            data.edge_masks = np.split(truth, arrays.edge_offsets[1:-1])
        return data

    def _need(self, suffix: str) -> Path:
        path = self.file(suffix)
        if not path.exists():
            raise DatasetError(f"{path.name}: missing next to {self.prefix}_A.txt")
        return path

    def _value_names(self) -> dict[str, list[dict[float, str]]]:
        """Return the names of values in NAME_label_readme.txt, by column of node, edge and class labels."""
        path = self.file("label_readme")
        found: dict[str, list[dict[float, str]]] = {}
        text = "".join(line for line, _ in read_lines(path)) if path.exists() else ""
        for what, maps in _NAMES.findall(text):
            parts = [part for part in re.split(r"Component [0-9]+:", maps) if part.strip()]
            named = [{float(code): name for code, name in _NAME.findall(part)} for part in parts]
            # Two values of one name stay numbers.
            found[what] = [one if len(set(one.values())) == len(one) else {} for one in named]
        return found

    def _labels_and_offsets(self) -> tuple[IntArray, IntArray]:
        labels_file, indicator_file = self._need("graph_labels"), self._need("graph_indicator")
        y = read_numbers(labels_file, columns=1, whole=True)[:, 0].astype(np.int64)
        indicator = read_numbers(indicator_file, columns=1, whole=True)[:, 0].astype(np.int64)
        if not len(y):
            raise DatasetError(f"{labels_file.name}: expected one label per graph, got an empty file")
        outside = np.flatnonzero((indicator < 1) | (indicator > len(y)))
        if len(outside):
            row = int(outside[0])
            raise DatasetError(
                f"{indicator_file.name}, line {row + 1}: expected a graph from 1 to {len(y)}, "
                f"as {labels_file.name} has {len(y)} line(s), got {int(indicator[row])}"
            )
        falls = np.flatnonzero(np.diff(indicator) < 0)
        if len(falls):
            row = int(falls[0]) + 1
            raise DatasetError(
                f"{indicator_file.name}, line {row + 1}: expected the nodes of a graph together, "
                f"got graph {int(indicator[row])} after graph {int(indicator[row - 1])}"
            )
        sizes = np.bincount(indicator - 1, minlength=len(y)).astype(np.int64)
        return y, offsets_of(sizes)

    def _edge_lines(self, n_nodes: int) -> IntArray:
        path = self._need("A")
        lines = read_numbers(path, columns=2, whole=True).astype(np.int64)
        bad = np.argwhere((lines < 1) | (lines > n_nodes))
        if len(bad):
            row, end = (int(i) for i in bad[0])
            raise DatasetError(
                f"{path.name}, line {row + 1}: node {int(lines[row, end])} is in no graph "
                f"({self.prefix}_graph_indicator.txt has {n_nodes} line(s))"
            )
        return lines - 1

    def _blocks(self, suffixes: tuple[str, ...], rows: int, of: str) -> list[tuple[str, FloatArray]]:
        blocks = []
        for suffix in suffixes:
            if not self.has(suffix):
                continue
            path = self.file(suffix)
            block = read_numbers(path)
            if len(block) != rows:
                listing = "A" if of == "edge" else "graph_indicator"
                raise DatasetError(
                    f"{path.name}: expected {rows} lines, one per {of}, as in {self.prefix}_{listing}.txt, "
                    f"got {len(block)}"
                )
            if rows:
                blocks.append((suffix, block))
        return blocks

    def _truth(self, rows: int) -> BoolArray | None:
        if not self.has("edge_gt"):
            return None
        path = self.file("edge_gt")
        marks = read_numbers(path, columns=1, whole=True)[:, 0]
        if len(marks) != rows:
            raise DatasetError(
                f"{path.name}: expected {rows} lines, one per line of {self.prefix}_A.txt, got {len(marks)}"
            )
        return np.asarray(marks != 0)

    def _undirected(
        self, lines: IntArray, features: FloatArray, truth: BoolArray | None, n_nodes: int
    ) -> tuple[IntArray, IntArray, FloatArray, BoolArray | None]:
        """Merge the lines that name the same edge; ends rise, and edges are in the order of their ends."""
        ends = np.sort(lines, axis=1)
        keys = ends[:, 0] * n_nodes + ends[:, 1]
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
        differs = np.flatnonzero((features != features[first][group]).any(axis=1))
        if len(differs):
            row, other = int(differs[0]), int(first[group[differs[0]]])
            u, v = (int(end) + 1 for end in lines[row])
            raise DatasetError(
                f"{self.prefix}_A.txt, line {row + 1}: edge {u}, {v} is also on line {other + 1}: "
                f"expected the same features, got {features[row].tolist()} and {features[other].tolist()}"
            )
        if truth is not None:
            truth = np.bincount(group, truth, minlength=len(first)) > 0
        return ends[first], first, features[first], truth

    def _check_same_graph(self, ends: IntArray, rows: IntArray, owner: IntArray, offsets: IntArray) -> None:
        other = np.searchsorted(offsets, ends[:, 1], side="right") - 1
        across = np.flatnonzero(owner != other)
        if len(across):
            at = across[np.argmin(rows[across])]
            u, v = (int(end) + 1 for end in ends[at])
            raise DatasetError(
                f"{self.prefix}_A.txt, line {int(rows[at]) + 1}: expected both ends in one graph, "
                f"got node {u} of graph {int(owner[at]) + 1} and node {v} of graph {int(other[at]) + 1}"
            )


def _stack(blocks: list[tuple[str, FloatArray]], rows: int) -> FloatArray:
    return np.concatenate([block for _, block in blocks], axis=1) if blocks else np.zeros((rows, 0))


def _features(blocks: list[tuple[str, FloatArray]], names: Sequence[dict[float, str]]) -> tuple[Feature, ...]:
    """Name the columns: "label" is nominal, with the names of its values; attributes are numbers."""
    found: list[Feature] = []
    for suffix, block in blocks:
        width, labels = block.shape[1], suffix.endswith("labels")
        stem = "label" if labels else "attribute"
        for i in range(width):
            values = names[i] if labels and i < len(names) else {}
            title = stem if width == 1 else f"{stem}_{i + 1}"
            found.append(Feature(title, "nominal" if labels else "numeric", values))
    return tuple(found)


# --- numbers ------------------------------------------------------------------------------------------------


def read_numbers(path: Path, *, columns: int | None = None, whole: bool = False) -> FloatArray:
    """Return a file of numbers, one row per line, separated by commas or blanks.

    A file without rows gives shape (0, columns).
    """
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace").rstrip()
    except OSError as error:
        raise DatasetError(f"{path.name}: cannot be read: {error.strerror or error}") from error
    if not text:
        return np.zeros((0, columns or 0))
    lines = text.replace(",", " ").split("\n")
    width = columns or len(lines[0].split())
    try:
        found = np.loadtxt(lines, ndmin=2, comments=None)
    except ValueError:
        found = np.zeros((0, 0))
    if found.shape != (len(lines), width):
        number = next((i for i, line in enumerate(lines) if not _has_numbers(line, width)), 0)
        got = repr(text.split("\n")[number].strip()[:60]) if lines[number].strip() else "an empty line"
        raise DatasetError(f"{path.name}, line {number + 1}: expected {width} number(s), got {got}")
    # From 2**53 on a double no longer holds every whole number.
    fits = (np.floor(found) == found) & (np.abs(found) < 2**53) if whole else np.abs(found) <= MAX_FEATURE
    if not fits.all():
        row, column = (int(i) for i in np.argwhere(~fits)[0])
        kind = "whole numbers below 2^53" if whole else f"finite numbers up to {MAX_FEATURE:g}"
        raise DatasetError(f"{path.name}, line {row + 1}: expected {kind}, got {found[row, column]:.17g}")
    return found


def _has_numbers(line: str, width: int) -> bool:
    try:
        return len([float(word) for word in line.split()]) == width > 0
    except ValueError:
        return False
