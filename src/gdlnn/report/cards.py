"""An explained graph as plain JSON values, as the report and the server's page draw it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gdlnn.report.pictures import picture

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from gdlnn.explain import Counterfactual, Explanation


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


def enough_card(found: Explanation, said: Any) -> dict[str, Any]:
    """Return the smallest part of which alone the model says the same, or that none was found.

    Parameters
    ----------
    found
        The explanation by the smallest subgraph.
    said
        What the model says of that subgraph.
    """
    if found.is_empty or said != found.prediction:
        return {"nodes": [], "programs": [], "found": False}
    return {"nodes": list(found.nodes), "programs": list(found.indices), "found": True}


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
