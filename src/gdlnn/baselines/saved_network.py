"""Fitted graph networks as files: safetensors whose header says the rest. Reading runs no code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.baselines.encoding import Column, FeatureEncoder
from gdlnn.errors import ModelError
from gdlnn.graphs import Schema
from gdlnn.io.atomic import atomic_write

if TYPE_CHECKING:
    import os

    from gdlnn.baselines.gnn import GNNClassifier

FORMAT = "gdlnn-network-1"


def save_network(model: GNNClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted graph network; the file appears when it is complete."""
    from safetensors.torch import save

    about = {
        "kind": model.kind,
        "parameters": model.get_params(),
        "classes": model.classes_.tolist(),
        "n_node_features": model.n_node_features_,
        "n_edge_features": model.n_edge_features_,
        "schema": None if model.schema_ is None else model.schema_.to_json(),
        "node_columns": [_column_json(column) for column in model.encoder_.node_],
        "edge_columns": [_column_json(column) for column in model.encoder_.edge_],
        "history": model.history_,
    }
    weights = {name: value.detach().cpu().contiguous() for name, value in model.network_.state_dict().items()}
    content = save(weights, {"format": FORMAT, "about": json.dumps(about)})
    with atomic_write(Path(path)) as handle:
        handle.write(content)


def load_network(path: str | os.PathLike[str], device: str = "auto") -> GNNClassifier:
    """Read what `save_network` wrote.

    Parameters
    ----------
    path
        The file.
    device
        Where it is used: "auto", "cpu" or "cuda".
    """
    from safetensors import SafetensorError, safe_open

    from gdlnn.model.network import choose_device

    file = Path(path)
    try:
        with safe_open(str(file), "pt") as content:
            header = content.metadata() or {}
            weights = {name: content.get_tensor(name) for name in content.keys()}  # noqa: SIM118 - no mapping
    except SafetensorError as error:
        raise ModelError(f"{file.name}: expected a saved graph network, got {error}") from error
    if header.get("format") != FORMAT:
        got = header.get("format")
        raise ModelError(f"{file.name}: expected a graph network of the format {FORMAT}, got {got!r}")
    about = json.loads(header["about"])
    model: GNNClassifier = _classes()[about["kind"]](**{**about["parameters"], "device": device})
    model.classes_ = np.array(about["classes"])
    model.n_node_features_, model.n_edge_features_ = about["n_node_features"], about["n_edge_features"]
    model.schema_ = None if about["schema"] is None else Schema.from_json(about["schema"])
    model.encoder_ = FeatureEncoder()
    model.encoder_.node_ = [_column(values) for values in about["node_columns"]]
    model.encoder_.edge_ = [_column(values) for values in about["edge_columns"]]
    model.history_ = about["history"]
    model.network_ = model._new_network()
    model.network_.load_state_dict(weights)
    model.network_.to(choose_device(device)).eval()
    return model


def _classes() -> dict[str, Any]:
    from gdlnn.baselines import gnn

    several = (gnn.GCNClassifier, gnn.GINClassifier, gnn.GATClassifier, gnn.PoolingMLPClassifier)
    return {one.kind: one for one in several}


def _column_json(column: Column) -> dict[str, Any]:
    values = None if column.values is None else column.values.tolist()
    return {"values": values, "mean": column.mean, "scale": column.scale}


def _column(given: dict[str, Any]) -> Column:
    values = None if given["values"] is None else np.array(given["values"], dtype=np.float64)
    return Column(values, given["mean"], given["scale"])
