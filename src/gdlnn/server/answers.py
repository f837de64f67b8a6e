"""What a worker answers: predictions, an explanation, a description of its models. Plain JSON values."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from gdlnn.errors import ServerError
from gdlnn.explain.counterfactual import changed_by_removal
from gdlnn.explain.explainer import Explainer, target_codes
from gdlnn.explain.explanation import plain
from gdlnn.gdl.text import shortened
from gdlnn.graphs import Graph, Schema
from gdlnn.model.program_effects import strongest_programs
from gdlnn.model.representation import added_columns, predict_rows
from gdlnn.report.build import MOST_REMOVED
from gdlnn.report.cards import (
    counterfactual_card,
    diagram,
    enough_cards,
    graph_card,
    shown_program,
)
from gdlnn.server.bodies import FileKind
from gdlnn.server.reading import GRAPHS, Reader
from gdlnn.version import package_version

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gdlnn.datasets.resolve import BatchedInput
    from gdlnn.datasets.tables import Row
    from gdlnn.gdl.program import FloatArray, Program
    from gdlnn.graphs import Feature, GraphDataset
    from gdlnn.mining.program_set import Example
    from gdlnn.model import GDLNNClassifier
    from gdlnn.model.representation import Prediction
    from gdlnn.server.limits import Limits

WARNINGS = {
    "outside": "This graph lies outside what was learned, so do not rely on the prediction: {}.",
    "edge": "This graph lies at the edge of what was learned: {}.",
}
MOST_EXAMPLES, MOST_PROGRAMS = 12, 10
MOLECULES = {
    "aspirin": "CC(=O)Oc1ccccc1C(=O)O",
    "caffeine": "Cn1cnc2c1c(=O)n(C)c(=O)n2C",
    "ibuprofen": "CC(C)Cc1ccc(cc1)C(C)C(=O)O",
    "aniline": "Nc1ccccc1",
    "ethanol": "CCO",
}


class Answers:
    """Answers requests about models, by the label that each predicts; one alone has the empty label."""

    def __init__(
        self,
        models: Mapping[str, GDLNNClassifier],
        limits: Limits,
        examples: GraphDataset | None = None,
        name: str = "models",
    ) -> None:
        self.models, self.limits, self.name = models, limits, name
        self.is_alone = list(models) == [""]
        self.first = next(iter(models.values()))  # all are trained on one table
        self.reader = Reader(self.first, limits)
        self.examples = own_examples(self.first) if examples is None else self._given_examples(examples)

    def predict(self, body: bytes) -> dict[str, Any]:
        """Answer a request for predictions: one row for each graph, in order."""
        return self.predict_together([body])[0]

    def predict_together(self, bodies: Sequence[bytes]) -> list[dict[str, Any]]:
        """Answer requests for predictions by one call of each model."""
        return self._predictions([self.reader.sent(json.loads(body)) for body in bodies])

    def predict_file(self, body: bytes, *, kind: str, **options: Any) -> dict[str, Any]:
        """Answer a request for the predictions of a file."""
        return self._predictions([self.reader.file(body, kind, **options)])[0]

    def explain(self, body: bytes, **options: Any) -> dict[str, Any]:
        """Answer a request for one explanation, with the options of `ExplainBody`."""
        model = self._model(options["model"])
        (row,), _ = self.reader.sent(json.loads(body))
        if row.graph is None:
            raise ServerError(f"{shortened(row.smiles or row.key or '', 60)}: {row.reason}")
        found = model.represent([row.graph])
        target = None if options["target"] is None else _label(model, options["target"])
        explainer = Explainer(model)
        own = asked = explainer.attributed(found, found.codes)
        if target is not None:
            asked = explainer.attributed(found, target_codes(found, target))
        (explanation,) = explainer.by_places(asked, options["n_programs"])
        enough = other = None
        classifies = hasattr(model, "classes_")
        if options["enough"] and classifies:
            (enough,) = enough_cards(explainer.by_places(own, "smallest"))
        if options["counterfactual"] and classifies:
            most = min(MOST_REMOVED, row.graph.n_nodes - 1)  # what is left is still a graph
            changed = changed_by_removal(model, found, own.scored[0], most) if most else None
            other = counterfactual_card(changed)
        explanation = replace(explanation, smiles=row.smiles)
        answer = graph_card(explanation, found.probabilities[0], enough=enough, counterfactual=other)
        for item, reason in zip(answer["programs"], explanation.listed, strict=True):
            example = None if reason.column < 0 else model.programs_[reason.column].example
            item |= _program(model, reason.program, plain(reason.label), example)
            item |= {"matched": bool(reason.places), "words": reason.name or item["words"]}
        where = found.domains[0]
        return answer | {
            "smiles": row.smiles,
            "class_name": _class_name(model, explanation.prediction if classifies else explanation.target),
            "target": explanation.target,
            "complete": explanation.method.complete,
            "n_programs_matched": int(found.matches[0].sum()),
            "uncertainty": found.uncertainty[0],
            "seen": found.in_training[0],
            "domain": where.domain,
            "domain_reason": where.reason,
            "warning": WARNINGS[where.domain].format(where.reason) if where.domain in WARNINGS else None,
            "classes": _classes(model),
        }

    def describe(self) -> dict[str, Any]:
        """Return what the models are, what they expect, and what may be asked of them."""
        models = [_described(model, label) for label, model in self.models.items()]
        return (models[0] if self.is_alone else {"name": self.name}) | {
            "models": models,
            "made_by": f"gdlnn {package_version()}",
            "expects": self._expects(),
            "limits": asdict(self.limits),
            "examples": self.examples,
        }

    # --- parts --------------------------------------------------------------------------------------------

    def _predictions(self, inputs: list[tuple[list[Row], BatchedInput]]) -> list[dict[str, Any]]:
        """Return an answer for each of the inputs, whose graphs are predicted together."""
        predicted = iter(
            predict_rows(list(self.models.values()), [row for rows, _ in inputs for row in rows])
        )
        labels = [{"model": label, "classes": _classes(model)} for label, model in self.models.items()]
        return [
            {
                **({"classes": labels[0]["classes"]} if self.is_alone else {"models": labels}),
                "columns": list(source.columns),
                "added": [column._asdict() for column in added_columns(source, self.models)],
                "rows": [self._row(row, source, next(predicted)[1]) for row in rows],
            }
            for rows, source in inputs
        ]

    def _row(self, row: Row, source: BatchedInput, predictions: Sequence[Prediction]) -> dict[str, Any]:
        """Return the answer for a row: its prediction, or one for each label."""
        found: dict[str, Any] = {"row": row.number, "name": row.key, "smiles": row.smiles}
        found |= {"error": row.reason or None, "cells": row.cells}
        if row.graph is None:
            return found
        if row.smiles is None and source is not GRAPHS:
            found["graph"] = row.graph.to_json()  # so that it can be explained
        each = {
            label: one._asdict() | {"class_name": _prediction_name(model, one.label)}
            for (label, model), one in zip(self.models.items(), predictions, strict=True)
        }
        return found | (each[""] if self.is_alone else {"predictions": each})

    def _model(self, label: str | None) -> GDLNNClassifier:
        found = self.models.get("" if label is None else label)
        if found is None:
            known = "no label: there is one model" if self.is_alone else f"one of {', '.join(self.models)}"
            got = "none" if label is None else repr(shortened(label, 60))
            raise ServerError(f"model: expected {known}, got {got}")
        return found

    def _expects(self) -> dict[str, Any]:
        kind, smiles = self.reader.kind, self.first.reading is not None
        schema = kind.schema or Schema()
        nodes = _features(schema.node, min(self.reader.kinds))
        edges = _features(schema.edge, self.reader.info.n_edge_features)
        words = "Molecules: a SMILES each, or a table, a .smi or SDF file or JSON Lines with several."
        if not smiles:
            words = f"Graphs, {'' if kind.directed else 'un'}directed, as JSON, or JSON Lines with several: "
            words += f"nodes with {len(nodes)} feature(s), edges with {len(edges)}."
        return {
            "smiles": smiles,
            "files": list(get_args(FileKind) if smiles else ["jsonl"]),
            "directed": kind.directed,
            "node_features": nodes,
            "edge_features": edges,
            "in_words": words,
        }

    def _given_examples(self, data: GraphDataset) -> list[dict[str, Any]]:
        """Return the first graphs of a dataset as a client would send them."""
        smiles = data.smiles if self.first.reading is not None else None
        names = data.ids or [graph.name or f"graph {i}" for i, graph in enumerate(data.graphs)]
        return [
            {"name": names[i]} | ({"graph": graph.to_json()} if smiles is None else {"smiles": smiles[i]})
            for i, graph in enumerate(data.graphs[:MOST_EXAMPLES])
        ]


def _class_name(model: GDLNNClassifier, label: Any) -> str:
    return (model.schema_ or Schema()).class_name(label)


def _classes(model: GDLNNClassifier) -> list[dict[str, Any]]:
    labels = map(plain, getattr(model, "classes_", ()))
    return [{"label": label, "name": _class_name(model, label)} for label in labels]


def _prediction_name(model: Any, label: Any) -> str:
    """Return the name of a predicted class, or a predicted value with its unit."""
    return _class_name(model, label) if hasattr(model, "classes_") else f"{label:.4g} {model.unit}".rstrip()


def _label(model: GDLNNClassifier, word: Any) -> Any:
    """Return the label that a client means, as it is or by its name."""
    for item in _classes(model):
        if word in (item["label"], item["name"], str(item["label"])):
            return item["label"]
    known = ", ".join(item["name"] for item in _classes(model))
    raise ServerError(f"target: expected one of {known}, got {word!r}")


def _described(model: GDLNNClassifier, label: str) -> dict[str, Any]:
    info, decision = model.programs_.info, getattr(model, "decision_", None)
    return {
        "model": label,
        "name": info.dataset or "model",
        "classes": _classes(model),
        "decision": None if decision is None else decision.to_json(),
        "unit": getattr(model, "unit", None),
        "n_programs": len(model.programs_),
        "n_training_graphs": info.n_graphs,
        "programs": [
            {
                "index": one.column,
                "strength": one.strength,
                **_program(model, one.mined.program, plain(one.label), one.mined.example),
            }
            for one in strongest_programs(model, MOST_PROGRAMS)
        ],
    }


def _program(model: GDLNNClassifier, program: Program, label: Any, example: Example | None) -> dict[str, Any]:
    """Return what the page shows of a program of a class, or of the one that a place induces."""
    directed = model.programs_.info.directed
    return {
        "label": label,
        "class_name": _class_name(model, label),
        "gdl": str(program),
        **shown_program(program, model.schema_, directed),
        "diagram": diagram(program, model.schema_, directed, example),
    }


def _features(features: tuple[Feature, ...], width: int) -> list[dict[str, Any]]:
    if len(features) != width:
        return [{"name": f"feature {i + 1}", "kind": "numeric", "values": []} for i in range(width)]
    return [{"name": f.name, "kind": f.kind, "values": list(f.values.items())} for f in features]


# --- examples ---------------------------------------------------------------------------------------------


def own_examples(model: GDLNNClassifier) -> list[dict[str, Any]]:
    """Return well-known molecules, or the smallest graphs that contain the best program of each class."""
    if model.reading is not None:
        return [{"name": name, "smiles": smiles} for name, smiles in MOLECULES.items()]
    found: dict[Any, dict[str, Any]] = {}
    for number, item in enumerate(model.programs_, 1):
        if item.label not in found and item.program.nodes:
            name = f"what program {number} asks for ({_class_name(model, item.label)})"
            found[item.label] = {"name": name, "graph": _pattern(item.program, model).to_json()}
    return list(found.values())[:MOST_EXAMPLES]


def _pattern(program: Program, model: GDLNNClassifier) -> Graph:
    """Return the graph that has just the nodes and edges of a program, with values from its intervals."""
    info = model.programs_.info
    bounds = program.arrays(info.n_node_features, info.n_edge_features)
    nodes = _inside(bounds.node_lower, bounds.node_upper)
    return Graph(nodes, bounds.edges, _inside(bounds.edge_lower, bounds.edge_upper), directed=info.directed)


def _inside(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return a value of each interval: a bound, which was a value in training, or 0 between open bounds."""
    return np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper, 0.0))
