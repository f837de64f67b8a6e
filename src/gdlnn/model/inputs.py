"""What estimators over graphs accept: graphs, labels and a validation set, checked once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.errors import GraphError, ModelError
from gdlnn.graphs import Graph, GraphDataset
from gdlnn.graphs.splits import held_out_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gdlnn.mining import SetInfo

GraphsLike = GraphDataset | list[Graph] | tuple[Graph, ...] | npt.NDArray[Any]
Validation = None | float | tuple[GraphsLike, npt.ArrayLike] | GraphDataset
MIN_VALIDATION = 100
"""Fewest graphs that are worth holding out: choices made on fewer are noise."""


def as_graphs(graphs: Iterable[Graph], what: str = "graphs") -> list[Graph]:
    """Return the graphs as a list; anything else among them is named in the error."""
    if isinstance(graphs, Graph):
        raise ModelError(f"{what}: expected a list of graphs or a GraphDataset, got one Graph")
    try:
        listed = list(graphs)
    except TypeError:
        kind = type(graphs).__name__
        raise ModelError(f"{what}: expected a list of graphs or a GraphDataset, got {kind}") from None
    for index, graph in enumerate(listed):
        if not isinstance(graph, Graph):
            raise ModelError(f"{what}: item {index}: expected a Graph, got {type(graph).__name__}")
    return listed


def as_labelled(graphs: GraphsLike, y: npt.ArrayLike | None, what: str = "fit") -> GraphDataset:
    """Return graphs and labels as a data set; without `y` the labels are those of the data set."""
    listed = as_graphs(graphs, f"{what}: graphs")
    dataset = graphs if isinstance(graphs, GraphDataset) else None
    if y is None:
        if dataset is None or dataset.y is None:
            raise ModelError(f"{what}: expected labels (y), or a GraphDataset that has them, got none")
        return dataset
    labels = np.asarray(y)
    if labels.ndim != 1 or len(labels) != len(listed):
        raise ModelError(f"{what}: y: expected {len(listed)} labels, one per graph, got shape {labels.shape}")
    schema, name = (dataset.schema, dataset.name) if dataset is not None else (None, "")
    try:
        return GraphDataset(listed, labels, schema, name)
    except GraphError as error:
        raise ModelError(f"{what}: {error}") from error


def check_fits(graphs: list[Graph], info: SetInfo, what: str) -> None:
    """Check that graphs have the features and the direction of those the programs were mined from."""
    for index, graph in enumerate(graphs):
        for of, expected, got, rows in (
            ("node", info.n_node_features, graph.node_features.shape[1], graph.n_nodes),
            ("edge", info.n_edge_features, graph.edge_features.shape[1], graph.n_edges),
        ):
            if rows and expected != got:
                raise ModelError(
                    f"{what}: graph {index}: expected {expected} {of} feature(s), as in training, got {got}"
                )
        if graph.directed != info.directed and graph.n_edges:
            kind = "a directed" if info.directed else "an undirected"
            raise ModelError(f"{what}: graph {index}: expected {kind} graph, as in training")


# --- the validation set -----------------------------------------------------------------------------------


def training_and_validation(
    data: GraphDataset, validation: Validation, fraction: float, seed: int
) -> tuple[GraphDataset, GraphDataset | None]:
    """Return the graphs to train on and the validation part, or None where there is none.

    Parameters
    ----------
    data
        All training graphs.
    validation
        What the user gave: a fraction to hold out, a part, or None.
    fraction
        Share to hold out where nothing was given and it comes to `MIN_VALIDATION` graphs.
    seed
        Seed of what is held out.
    """
    if isinstance(validation, GraphDataset):
        return data, as_labelled(validation, None, "fit: validation")
    if isinstance(validation, tuple):
        if len(validation) != 2:
            raise ModelError(f"fit: validation: expected (graphs, y), got a tuple of {len(validation)}")
        return data, as_labelled(validation[0], validation[1], "fit: validation")
    if validation is None:
        if fraction * len(data) < MIN_VALIDATION:
            return data, None
        validation = fraction
    given: object = validation
    if not isinstance(given, float) or not 0 < given < 1:
        expected = "a fraction between 0 and 1, (graphs, y) or a GraphDataset"
        raise ModelError(f"fit: validation: expected {expected}, got {validation!r}")
    assert data.y is not None
    rows = held_out_rows(data.y, validation, seed)
    held_out = np.zeros(len(data), dtype=bool)
    held_out[rows] = True
    return data.take(~held_out), data.take(held_out)
