"""What is answered about one model: an explanation, what the model is. Plain JSON values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gdlnn.errors import ServerError
from gdlnn.explain import counterfactual, explain
from gdlnn.explain.explanation import plain
from gdlnn.graphs import Schema
from gdlnn.model.program_effects import strongest_programs
from gdlnn.report.build import MOST_REMOVED
from gdlnn.report.cards import counterfactual_card, diagram, enough_cards, graph_card, shown_program

if TYPE_CHECKING:
    from gdlnn.explain import Counterfactual
    from gdlnn.graphs import Graph
    from gdlnn.mining import MinedProgram
    from gdlnn.model import GDLNNClassifier
    from gdlnn.model.representation import Prediction, Representation
    from gdlnn.server.reading import Row

WARNINGS = {
    "outside": "This graph lies outside what was learnt, so do not rely on the prediction: {}.",
    "edge": "This graph lies at the edge of what was learnt: {}.",
}
_STRONGEST = 10


class ModelAnswers:
    """Answers questions about one model.

    Parameters
    ----------
    model
        A fitted model.
    label
        The label column that it is for; empty for a model alone.
    """

    def __init__(self, model: GDLNNClassifier, label: str = "") -> None:
        self.model, self.label = model, label
        self.schema = model.schema_ or Schema()
        self.directed = model.programs_.info.directed
        labels = [plain(value) for value in model.classes_]
        self.classes = [{"label": value, "name": self.schema.class_name(value)} for value in labels]

    def predictions(self, graphs: list[Graph]) -> list[Prediction]:
        """Return what the model says of graphs."""
        return self.model.represent(graphs).predictions()

    def told(self, said: Prediction) -> dict[str, Any]:
        """Return a prediction as it is answered."""
        return said._asdict() | {"class_name": self.schema.class_name(said.label)}

    def explain(self, row: Row, asked: dict[str, Any]) -> dict[str, Any]:
        """Explain one graph."""
        assert row.graph is not None
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
            "uncertainty": seen.uncertainty[0],
            "seen": seen.seen[0],
            "domain": where.domain,
            "domain_reason": where.reason,
            "warning": WARNINGS[where.domain].format(where.reason) if where.domain in WARNINGS else None,
            "classes": self.classes,
        }

    def describe(self) -> dict[str, Any]:
        """Say what the model is."""
        info = self.model.programs_.info
        decision = self.model.decision_
        return {
            "model": self.label,
            "name": info.dataset or "model",
            "classes": self.classes,
            "decision": None if decision is None else decision.to_json(),
            "n_programs": len(self.model.programs_),
            "n_training_graphs": info.n_graphs,
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

    def _program(self, mined: MinedProgram, label: Any) -> dict[str, Any]:
        """Return the values that the page shows for a program of a class."""
        return {
            "label": label,
            "class_name": self.schema.class_name(label),
            "gdl": str(mined.program),
            **shown_program(mined.program, self.model.schema_, self.directed),
            "diagram": diagram(mined.program, self.model.schema_, self.directed, mined.example),
        }

    def _label(self, word: Any) -> Any:
        """Return the label that a client means, as it is or by its name."""
        for item in self.classes:
            if word in (item["label"], item["name"], str(item["label"])):
                return item["label"]
        known = ", ".join(item["name"] for item in self.classes)
        raise ServerError(f"target: expected one of {known}, got {word!r}")
