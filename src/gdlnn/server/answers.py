"""What a worker answers: predictions, an explanation, a description of the model. Plain JSON values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gdlnn.errors import ServerError
from gdlnn.explain import counterfactual, explain
from gdlnn.explain.explanation import plain
from gdlnn.gdl.text import shortened
from gdlnn.graphs import Schema
from gdlnn.graphs.structure import given_schema
from gdlnn.model.program_effects import strongest_programs
from gdlnn.report.build import MOST_REMOVED
from gdlnn.report.cards import counterfactual_card, diagram, enough_cards, graph_card, shown_program
from gdlnn.server.reading import FileKind, Reader, Row, given_examples, own_examples
from gdlnn.version import package_version

if TYPE_CHECKING:
    from gdlnn.explain import Counterfactual
    from gdlnn.graphs import Feature, Graph, GraphDataset
    from gdlnn.mining import MinedProgram
    from gdlnn.model import GDLNNClassifier
    from gdlnn.model.representation import Representation
    from gdlnn.server.limits import Limits

WARNINGS = {
    "outside": "This graph lies outside what was learnt, so do not rely on the prediction: {}.",
    "edge": "This graph lies at the edge of what was learnt: {}.",
}
_STRONGEST = 10


class Answers:
    """Answers questions about one model.

    Parameters
    ----------
    model
        A fitted model.
    limits
        What is answered at most.
    examples
        Graphs to try the model with.
    folder
        Where files of clients are while they are read; None: the system's folder for such.
    """

    def __init__(
        self,
        model: GDLNNClassifier,
        limits: Limits,
        examples: GraphDataset | None = None,
        folder: str | None = None,
    ) -> None:
        self.model, self.limits = model, limits
        self.schema = model.schema_ or Schema()
        self.directed = model.programs_.info.directed
        self.reader = Reader(model.schema_, model.programs_.info, limits, model.reading_, folder)
        self.examples = (
            own_examples(model)
            if examples is None
            else given_examples(examples, as_smiles=self.reader.takes_smiles)
        )

    def predict(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Answer a request for predictions: one row for each graph, in order."""
        return self._predictions(self._rows(asked))

    def predict_file(
        self, data: bytes, kind: str, smiles: str | None, identifier: str | None
    ) -> dict[str, Any]:
        """Answer a request for the predictions of a file."""
        return self._predictions(self.reader.file(data, kind, smiles, identifier))

    def explain(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Answer a request for one explanation."""
        (row,) = self._rows(asked)
        if row.graph is None:
            raise ServerError(f"{shortened(row.smiles or row.name, 60)}: {row.reason}")
        target = None if asked.get("target") is None else self._label(asked["target"])
        seen = self.model.represent([row.graph])
        (found,) = explain(self.model, seen, asked["technique"], asked["n_programs"], target, asked["seed"])
        matched, where = seen.matches[0], seen.domains[0]
        found = replace(found, smiles=row.smiles)
        answer = graph_card(
            found,
            seen.probabilities[0],
            enough=self._enough(seen, asked) if asked["enough"] else None,
            counterfactual=counterfactual_card(self._counterfactual(row.graph))
            if asked["counterfactual"]
            else None,
        )
        labels = dict(zip(found.indices, found.labels, strict=True))
        for item in answer["programs"]:
            column, present = item["index"], item["witness"] is not None
            item |= {"matched": present, **self._program(self.model.programs_[column], labels[column])}
        return answer | {
            "smiles": row.smiles,
            "class_name": self.schema.class_name(found.prediction),
            "target": found.target,
            "technique": found.technique,
            "seed": found.seed,
            "complete": found.complete,
            "n_programs_matched": int(matched.sum()),
            "seen": seen.seen[0],
            "domain": where.domain,
            "domain_reason": where.reason,
            "warning": WARNINGS[where.domain].format(where.reason) if where.domain in WARNINGS else None,
            "classes": self._classes(),
        }

    def describe(self) -> dict[str, Any]:
        """Say what the model is, what it expects, and what may be asked of it."""
        info = self.model.programs_.info
        return {
            "name": info.dataset or "model",
            "made_by": f"gdlnn {package_version()}",
            "classes": self._classes(),
            "n_programs": len(self.model.programs_),
            "n_training_graphs": info.n_graphs,
            "expects": self._expects(),
            "limits": self.limits.to_json(),
            "examples": self.examples,
            "programs": [
                {
                    "index": strong.column,
                    "strength": strong.strength,
                    **self._program(strong.mined, plain(strong.label)),
                }
                for strong in strongest_programs(self.model, _STRONGEST)
            ],
        }

    def _enough(self, seen: Representation, asked: dict[str, Any]) -> dict[str, Any]:
        """Look for the smallest part of which alone the model says what it says of the graph."""
        (found,) = explain(self.model, seen, asked["technique"], "smallest", seed=asked["seed"])
        (card,) = enough_cards(self.model, [found])
        return card

    def _counterfactual(self, graph: Graph) -> Counterfactual | None:
        """Look for a few nodes whose removal changes the prediction; what is left is still a graph."""
        most = min(MOST_REMOVED, graph.n_nodes - 1)
        return counterfactual(self.model, graph, max_nodes=most) if most else None

    # --- parts --------------------------------------------------------------------------------------------

    def _rows(self, asked: dict[str, Any]) -> list[Row]:
        if asked.get("smiles") is not None:
            smiles = asked["smiles"]
            return self.reader.smiles([smiles] if isinstance(smiles, str) else smiles)
        graphs = asked["graphs"] if asked.get("graphs") is not None else [asked["graph"]]
        return self.reader.graphs(graphs)

    def _predictions(self, rows: list[Row]) -> dict[str, Any]:
        seen = self.model.represent([row.graph for row in rows if row.graph is not None])
        predictions = iter(seen.predictions())
        answers: list[dict[str, Any]] = []
        for row in rows:
            told: dict[str, Any] = {"row": row.number, "name": row.name, "smiles": row.smiles}
            if row.graph is None:
                answers.append(told | {"error": row.reason})
                continue
            said = next(predictions)
            names = {"class_name": self.schema.class_name(said.label), "error": None}
            answers.append(told | said._asdict() | names)
        return {"classes": self._classes(), "rows": answers}

    def _program(self, mined: MinedProgram, label: Any) -> dict[str, Any]:
        """Return what is shown of a program that speaks for a class."""
        return {
            "label": label,
            "class_name": self.schema.class_name(label),
            "gdl": str(mined.program),
            **shown_program(mined.program, self.model.schema_, self.directed),
            "diagram": diagram(mined.program, self.model.schema_, self.directed, mined.example),
        }

    def _classes(self) -> list[dict[str, Any]]:
        labels = [plain(label) for label in self.model.classes_]
        return [{"label": label, "name": self.schema.class_name(label)} for label in labels]

    def _label(self, word: Any) -> Any:
        """Return the label that a client means, as it is or by its name."""
        for item in self._classes():
            if word in (item["label"], item["name"], str(item["label"])):
                return item["label"]
        known = ", ".join(item["name"] for item in self._classes())
        raise ServerError(f"target: expected one of {known}, got {word!r}")

    def _expects(self) -> dict[str, Any]:
        info = self.model.programs_.info
        smiles = self.reader.takes_smiles
        kinds: tuple[FileKind, ...] = ("csv", "smi", "sdf", "jsonl") if smiles else ("jsonl",)
        given = given_schema(self.schema) or Schema()
        nodes = _features(given.node, self.reader.n_node_features)
        edges = _features(self.schema.edge, info.n_edge_features)
        direction = "directed" if self.directed else "undirected"
        if smiles:
            words = "Molecules: a SMILES each, or a csv table, a .smi or SDF file or JSON Lines with several."
        else:
            words = (
                f"Graphs, {direction}, as JSON: nodes with {_told(nodes)}, edges with {_told(edges)}; "
                "one, or a JSON Lines file with several."
            )
        return {
            "smiles": smiles,
            "files": list(kinds),
            "directed": self.directed,
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
