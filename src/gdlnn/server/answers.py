"""What a worker answers: predictions, an explanation, a description of its models. Plain JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

from gdlnn.errors import GDLNNError, ServerError
from gdlnn.gdl.text import shortened
from gdlnn.graphs import Schema
from gdlnn.graphs.structure import given_schema
from gdlnn.model.prediction_columns import added_columns
from gdlnn.server.examples import given_examples, graph_json, own_examples
from gdlnn.server.model_answers import ModelAnswers
from gdlnn.server.reading import GRAPHS, OF_GRAPHS, TYPED, FileKind, Reader, Row, Sent
from gdlnn.version import package_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gdlnn.datasets.resolve import BatchedInput
    from gdlnn.graphs import Feature, GraphDataset
    from gdlnn.model import GDLNNClassifier
    from gdlnn.model.representation import Prediction
    from gdlnn.server.limits import Limits


class Answers:
    """Answers questions about one model, or about several that predict different labels.

    Parameters
    ----------
    models
        A fitted model, or the models of a folder by the label that each is for.
    limits
        What is answered at most.
    examples
        Graphs to try the models with.
    folder
        Where files of clients are while they are read; None: the system's folder for such.
    name
        What to call several models.
    """

    def __init__(
        self,
        models: GDLNNClassifier | Mapping[str, GDLNNClassifier],
        limits: Limits,
        examples: GraphDataset | None = None,
        folder: str | None = None,
        name: str = "models",
    ) -> None:
        given = models if isinstance(models, Mapping) else {"": models}
        self.models = {label: ModelAnswers(model, label) for label, model in given.items()}
        self.name, self.limits = name, limits
        # Models of one folder are trained on one table, read in one way.
        self.first = next(iter(given.values()))
        self.reader = Reader(
            self.first.schema_,
            self.first.programs_.info,
            limits,
            self.first.reading_,
            folder,
            self.first.provenance_.get("smiles"),
        )
        self.examples = (
            own_examples(self.first)
            if examples is None
            else given_examples(examples, as_smiles=self.reader.takes_smiles)
        )

    @property
    def is_alone(self) -> bool:
        """Whether there is one model, for no label in particular."""
        return list(self.models) == [""]

    def predict(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Answer a request for predictions: one row for each graph, in order."""
        return self._predictions(self._sent(asked))

    def predict_each(self, asked: Sequence[dict[str, Any]]) -> list[dict[str, Any] | GDLNNError]:
        """Answer several requests for predictions at once; one that cannot be answered gives its error."""
        sent: list[Sent | GDLNNError] = []
        for one in asked:
            try:
                sent.append(self._sent(one))
            except GDLNNError as error:
                sent.append(error)
        said = self._said(*(one for one in sent if isinstance(one, Sent)))
        return [one if isinstance(one, GDLNNError) else self._answer(one, said) for one in sent]

    def predict_file(
        self,
        data: bytes,
        kind: str,
        smiles: str | None = None,
        identifier: str | None = None,
        encoding: str = "utf-8",
    ) -> dict[str, Any]:
        """Answer a request for the predictions of a file."""
        return self._predictions(self.reader.file(data, kind, smiles, identifier, encoding))

    def warm_up(self) -> None:
        """Predict an example, so that the first client does not wait for what is loaded or compiled once."""
        for example in self.examples[:1]:
            self.predict(example)

    def explain(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Answer a request for one explanation."""
        model = self._asked_model(asked.get("model"))
        (row,) = self._sent(asked).rows
        if row.graph is None:
            raise ServerError(f"{shortened(row.smiles or row.name, 60)}: {row.reason}")
        return model.explain(row, asked)

    def describe(self) -> dict[str, Any]:
        """Say what the models are, what they expect, and what may be asked of them."""
        models = [model.describe() for model in self.models.values()]
        alone = models[0] if self.is_alone else {"name": self.name}
        return alone | {
            "models": models,
            "made_by": f"gdlnn {package_version()}",
            "expects": self._expects(),
            "limits": self.limits.to_json(),
            "examples": self.examples,
        }

    # --- parts --------------------------------------------------------------------------------------------

    def _asked_model(self, label: str | None) -> ModelAnswers:
        found = self.models.get("" if label is None else label)
        if found is None:
            known = "no label: there is one model" if self.is_alone else f"one of {', '.join(self.models)}"
            got = "none" if label is None else repr(shortened(label, 60))
            raise ServerError(f"model: expected {known}, got {got}")
        return found

    def _sent(self, asked: dict[str, Any]) -> Sent:
        if asked.get("smiles") is not None:
            smiles = asked["smiles"]
            return Sent(self.reader.smiles([smiles] if isinstance(smiles, str) else smiles), TYPED)
        graphs = asked["graphs"] if asked.get("graphs") is not None else [asked["graph"]]
        return Sent(self.reader.graphs(graphs), GRAPHS)

    def _predictions(self, sent: Sent) -> dict[str, Any]:
        return self._answer(sent, self._said(sent))

    def _said(self, *sent: Sent) -> Iterator[tuple[Prediction, ...]]:
        """Return what each model says of all graphs, in order."""
        graphs = [row.graph for one in sent for row in one.rows if row.graph is not None]
        return iter(zip(*(model.predictions(graphs) for model in self.models.values()), strict=True))

    def _answer(self, sent: Sent, said: Iterator[tuple[Prediction, ...]]) -> dict[str, Any]:
        rows = [self._told(row, sent.source, () if row.graph is None else next(said)) for row in sent.rows]
        labels = [{"model": label, "classes": model.classes} for label, model in self.models.items()]
        return {
            **({"classes": labels[0]["classes"]} if self.is_alone else {"models": labels}),
            "columns": list(sent.source.columns),
            "added": self._columns(sent.source),
            "rows": rows,
        }

    def _told(self, row: Row, sent: BatchedInput, said: tuple[Prediction, ...]) -> dict[str, Any]:
        """Return the answer for a row: its prediction, or one for each label."""
        told: dict[str, Any] = {"row": row.number, "name": row.name, "smiles": row.smiles}
        told |= {"error": row.reason or None, "cells": row.cells}
        if row.smiles is None and row.graph is not None and sent is not GRAPHS:
            told["graph"] = graph_json(row.graph)  # so that it can be explained
        if not said:
            return told
        pairs = zip(self.models.items(), said, strict=True)
        each = {label: model.told(one) for (label, model), one in pairs}
        return told | (each[""] if self.is_alone else {"predictions": each})

    def _columns(self, source: BatchedInput) -> list[dict[str, Any]]:
        """Return the columns that are added to the client's own, as `gdlnn predict` adds them."""
        classes = {label: model.model.classes_.tolist() for label, model in self.models.items()}
        return [column._asdict() for column in added_columns(source, classes)]

    def _expects(self) -> dict[str, Any]:
        info, schema = self.first.programs_.info, self.first.schema_ or Schema()
        smiles = self.reader.takes_smiles
        given = given_schema(schema) or Schema()
        nodes = _features(given.node, self.reader.n_node_features)
        edges = _features(schema.edge, info.n_edge_features)
        direction = "directed" if info.directed else "undirected"
        if smiles:
            words = "Molecules: a SMILES each, or a table, a .smi or SDF file or JSON Lines with several."
        else:
            words = (
                f"Graphs, {direction}, as JSON: nodes with {_told(nodes)}, edges with {_told(edges)}; "
                "one, or a JSON Lines file with several."
            )
        return {
            "smiles": smiles,
            "files": list(get_args(FileKind) if smiles else OF_GRAPHS),
            "directed": info.directed,
            "node_features": nodes,
            "edge_features": edges,
            "in_words": words,
        }


def _features(features: tuple[Feature, ...], width: int) -> list[dict[str, Any]]:
    if len(features) != width:
        return [{"name": f"feature {i + 1}", "kind": "numeric", "values": []} for i in range(width)]
    return [
        {"name": f.name, "kind": f.kind, "values": [[value, name] for value, name in f.values.items()]}
        for f in features
    ]


def _told(features: list[dict[str, Any]]) -> str:
    names = ", ".join(feature["name"] for feature in features)
    count = f"{len(features)} feature{'s' if len(features) != 1 else ''}"
    return f"{count} ({names})" if features else "no features"
