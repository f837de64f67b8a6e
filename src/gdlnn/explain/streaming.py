"""Explanations of large sets, in the order of the input: here or on an executor, with a checkpoint."""

from __future__ import annotations

import hashlib
import pickle
from contextlib import ExitStack
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.errors import ExplanationError
from gdlnn.explain.explainer import explain
from gdlnn.explain.explanation import Explanation, plain
from gdlnn.explain.techniques import TechniqueLike, make_technique
from gdlnn.graphs.identity import fingerprint
from gdlnn.io.journal import Journal
from gdlnn.model.representation import shared_model
from gdlnn.version import package_version
from gdlnn.workers import ordered

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Executor

    from gdlnn.graphs import Graph, GraphDataset

BATCH = 64
"""Number of graphs explained at a time."""
KIND = "gdlnn explanation checkpoint"
_NAMES = {"model": "the model", "graphs": "the graphs", "version": "the version of gdlnn"}


def stream_explanations(
    model: Any,
    graphs: Sequence[Graph] | GraphDataset,
    technique: TechniqueLike = None,
    n_features: int = 5,
    target: Any = None,
    seed: int = 0,
    *,
    executor: Executor | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    batch_size: int = BATCH,
) -> Iterator[Explanation]:
    """Explain many graphs one batch after another.

    Parameters
    ----------
    model, graphs, technique, n_features, target, seed
        As for `explain`.
    executor
        Workers that explain in place of this process.
    checkpoint
        A file to which finished explanations are appended. The same call resumes from it.
    batch_size
        Number of graphs explained at a time.
    """
    listed = list(graphs)
    shared = shared_model(model)
    done = 0
    with ExitStack() as stack:
        saved: Journal | None = None
        if checkpoint is not None:
            header = {
                "version": package_version(),
                "model": _model_digest(model),
                "graphs": fingerprint(listed, np.array([graph.name or "" for graph in listed])),
                "technique": _said(technique),
                "n_features": n_features,
                "target": plain(target),
                "seed": seed,
                "batch_size": batch_size,
            }
            saved = stack.enter_context(Journal(checkpoint, KIND, header, _NAMES, ExplanationError))
            for _, value in saved.read():
                yield from _restored(value, len(listed[done : done + batch_size]))
                done += batch_size
        rest = iter(listed[done:])
        batches = iter(lambda: list(islice(rest, batch_size)), [])
        items = ((some, technique, n_features, target, seed) for some in batches)
        for found in ordered(executor, shared, model, _explain_batch, items, "explain"):
            if saved is not None:
                # A batch at a time: the last bits of a sum of floats depend on what is computed together.
                saved.append([{"explanations": [explanation.to_json() for explanation in found]}])
            yield from found


def _restored(value: Any, expected: int) -> Iterator[Explanation]:
    found = value.get("explanations") if isinstance(value, dict) else None
    if not isinstance(found, list) or len(found) != expected or not expected:
        raise ExplanationError(
            f"checkpoint: expected {expected} finished explanations, got a record of another kind"
        )
    yield from map(Explanation.from_json, found)


def _explain_batch(
    model: Any, graphs: list[Graph], technique: TechniqueLike, n_features: int, target: Any, seed: int
) -> list[Explanation]:
    from gdlnn.model.network import one_thread

    with one_thread():
        return explain(model, graphs, technique, n_features, target, seed)


def _said(technique: TechniqueLike) -> list[Any]:
    made = make_technique(technique)
    return [made.name, {name: plain(value) for name, value in made.options().items()}]


def _model_digest(model: Any) -> str:
    """Return a hash of a model's parameters; pickles of equal models may differ between processes."""
    digest = hashlib.sha256(model.programs_.to_text().encode())
    digest.update(repr(model.classes_.tolist()).encode())
    head = getattr(model, "head_", None)
    network = getattr(head, "network_", None)
    if network is not None:
        for name, tensor in sorted(network.state_dict().items()):
            digest.update(name.encode() + tensor.cpu().numpy().tobytes())
    elif head is not None:
        digest.update(pickle.dumps(head))
    layer = getattr(model, "layer_", None)
    if layer is not None:
        pooled = getattr(layer, "pooled_", None)
        parts = (layer.activation, None if pooled is None else pooled.to_json())
        digest.update(repr(parts).encode())
    return digest.hexdigest()
