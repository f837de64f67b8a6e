"""An explained graph as plain JSON values, as the report and the server's page draw it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gdlnn.report.pictures import picture

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from gdlnn.explain import Counterfactual, Explanation
    from gdlnn.model import GDLNNClassifier


def graph_card(
    explanation: Explanation, proba: npt.NDArray[np.float64], name: str = "graph"
) -> dict[str, Any]:
    """Return what is shown of one graph: prediction, deciding programs and where they stand, picture.

    Parameters
    ----------
    explanation
        Why the model says so.
    proba
        The probability of every class.
    name
        What to call a graph that has no name.
    """
    programs = [
        {
            "index": index,
            "weight": weight,
            "witness": None if witness is None else list(witness.values()),
            "edges": None
            if witness is None
            else [[witness[edge.source], witness[edge.target]] for edge in program.edges],
        }
        for index, weight, witness, program in zip(
            explanation.indices, explanation.weights, explanation.witnesses, explanation.programs, strict=True
        )
    ]
    return {
        "name": explanation.graph.name or name,
        "prediction": explanation.prediction,
        "probability": explanation.probability,
        "probabilities": [round(float(value), 6) for value in proba],
        "programs": programs,
        "nodes": list(explanation.nodes),
        "quality": explanation.quality,
        "picture": picture(explanation),
        "enough": None,
        "counterfactual": None,
    }


def enough_cards(model: GDLNNClassifier, explanations: Sequence[Explanation]) -> list[dict[str, Any]]:
    """Return the smallest parts of which alone the model says the same, or that none was found.

    Parameters
    ----------
    model
        The model, which is asked about the parts.
    explanations
        Explanations of graphs by the smallest subgraph.
    """
    if not explanations:
        return []
    said = model.predict([explanation.subgraph for explanation in explanations]).tolist()
    return [
        {"nodes": [], "programs": [], "found": False}
        if explanation.is_empty or label != explanation.prediction
        else {"nodes": list(explanation.nodes), "programs": list(explanation.indices), "found": True}
        for explanation, label in zip(explanations, said, strict=True)
    ]


def counterfactual_card(found: Counterfactual | None) -> dict[str, Any]:
    """Return the nodes without which the model decides otherwise, or that none were found."""
    if found is None:
        return {"nodes": [], "found": False}
    return {
        "found": True,
        "nodes": list(found.nodes),
        "prediction": found.new_prediction,
        "probability": found.new_probability,
    }
