"""Programs, patterns and graphs as plain JSON values, as the report and the server's page show them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.drawing import program_picture
from gdlnn.errors import GDLNNError
from gdlnn.explain.explanation import plain
from gdlnn.explain.pictures import explanation_picture, largest_score, reason_cards
from gdlnn.explain.words import (
    baseline_line,
    chance_text,
    further_lines,
    nodes_word,
    reason_words,
)
from gdlnn.model.program_effects import SAME
from gdlnn.report.performance import Counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.explain import Counterfactual, Explanation
    from gdlnn.gdl.program import Program
    from gdlnn.graphs import Schema
    from gdlnn.mining.program_set import Example
    from gdlnn.model import GDLNNClassifier

BoolArray = npt.NDArray[np.bool_]
MOST_LISTED = 250  # programs of a report; the page says how many there are in all
LONGEST_SMARTS = 2000  # characters; nobody pastes more
MOST_DRAWN_NODES = 24
LEAST_PATTERN = 0.01
"""Share of the heaviest pattern's weight under which a pattern is left out."""


def program_rows(
    model: GDLNNClassifier,
    truth: npt.NDArray[Any],
    matched: BoolArray,
    adds: npt.NDArray[np.float64],
) -> list[dict[str, Any]]:
    """Return a row per program, those that weigh most first.

    `matched` is held-out graphs × programs, and `adds` classes × programs: what each adds to the probability
    where it is present, as a mean.
    """
    weights = adds.max(axis=0) * matched.mean(axis=0)
    scores = model.programs_.scores
    order = sorted(range(len(weights)), key=lambda i: (-abs(weights[i]), -scores[i], i))
    info, supports, trained = model.programs_.info, model.programs_.supports, model.training_.labels
    rows = []
    for index in order[:MOST_LISTED]:
        item, code = model.programs_[index], int(adds[:, index].argmax())
        label, here = plain(model.classes_[code]), matched[:, index]
        held_out = Counts.of(here, truth == item.label)
        rows.append(
            {
                "index": index,
                "label": plain(item.label),
                "speaks_for": label,
                "adds": float(adds[code, index]),
                "weight": float(weights[index]),
                "training": list(
                    Counts.of(supports[:, [index]].toarray().ravel() > 0, trained == item.label)
                ),
                "held_out": list(held_out),
                **held_out.odds(),
                "n_matched": held_out.matched,
                **Counts.of(here, truth == label).precision(),
                "score": item.score,
                "gdl": str(item.program),
                **shown_program(item.program, model.schema_, info.directed),
                "diagram": diagram(item.program, model.schema_, info.directed, item.example),
            }
        )
    return rows


def shown_program(program: Program, schema: Schema | None, directed: bool) -> dict[str, Any]:
    """Return a program in words, in the names of the schema, and as SMARTS where there is one."""
    shown: dict[str, Any] = {
        "words": program.describe(schema, directed=directed),
        "n_nodes": len(program.nodes),
        "smarts": None,
    }
    if schema is not None:
        shown["readable"] = program.to_text(schema)
        if schema.domain == "molecule":
            shown |= _smarts(program, schema)
    return shown


def _smarts(program: Program, schema: Schema) -> dict[str, Any]:
    """Return a SMARTS, where need be one that leaves out what takes too many words, and says so."""
    for exact in (True, False):
        with suppress(GDLNNError):
            smarts = program.to_smarts(schema, exact=exact)
            if len(smarts) <= LONGEST_SMARTS:
                return {"smarts": smarts, "smarts_exact": exact}
    return {}


def diagram(program: Program, schema: Schema | None, directed: bool, example: Example | None = None) -> str:
    """Return a picture for a page that has the style sheet of drawings; of a very large program none."""
    if len(program.nodes) > MOST_DRAWN_NODES:
        return ""
    picture = program_picture(program, schema, directed=directed, example=example)
    return picture.svg(program.describe(schema, directed=directed))


# --- patterns -----------------------------------------------------------------------------------------------


def pattern_cards(rows: Sequence[dict[str, Any]], model: GDLNNClassifier) -> list[dict[str, Any]]:
    """Return the patterns with their programs by index, the heaviest patterns and variants first.

    Variants of one pattern speak for the same class and match nearly the same training graphs.
    """
    columns = [row["index"] for row in rows]
    matched = model.programs_.supports[:, columns]
    sizes = np.asarray(matched.sum(axis=0)).reshape(-1)
    shared = (matched.T @ matched).toarray()
    alike = shared / np.maximum(sizes[:, None] + sizes[None] - shared, 1) >= SAME
    heads: list[int] = []
    groups: dict[int, list[int]] = {}
    for place, row in enumerate(rows):  # rows are from the heaviest to the lightest
        own = [head for head in heads if alike[place, head] and rows[head]["speaks_for"] == row["speaks_for"]]
        if own:
            groups[own[0]].append(place)
        else:
            heads.append(place)
            groups[place] = [place]
    weight = {head: sum(abs(rows[place]["weight"]) for place in groups[head]) for head in heads}
    largest = max(weight.values(), default=0.0)
    heavy = [head for head in heads if weight[head] >= LEAST_PATTERN * largest]
    return [
        {"programs": [columns[place] for place in groups[head]], "label": rows[head]["speaks_for"]}
        for head in sorted(heavy, key=lambda head: (-weight[head], head))
    ]


# --- graphs -------------------------------------------------------------------------------------------------


def graph_card(
    explanation: Explanation,
    proba: npt.NDArray[np.float64],
    name: str = "graph",
    *,
    enough: dict[str, Any] | None = None,
    counterfactual: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the card of one graph: prediction, baseline, what decides and where it is, picture.

    `name` is for a graph that has none; `enough` comes from `enough_cards` and `counterfactual` from
    `counterfactual_card`. Their nodes are hidden until the picture gets the class ``shows-kept`` or
    ``shows-gone``.
    """
    kept, gone = ((part or {}).get("nodes", ()) for part in (enough, counterfactual))
    picture = explanation_picture(explanation, kept=kept, gone=gone)
    title = f"{explanation.graph.name or name}: {explanation.graph.n_nodes} {nodes_word(explanation.graph)}"
    return {
        "name": explanation.graph.name or name,
        "prediction": explanation.prediction,
        "probability": explanation.probability,
        "probabilities": [round(float(value), 6) for value in proba],
        "said": chance_text(explanation),
        "target": explanation.target,
        "threshold": explanation.threshold,
        "baseline": None if explanation.contributions is None else explanation.contributions.baseline,
        "baseline_line": baseline_line(explanation) or None,
        "has_reason": explanation.has_reason,
        "further": further_lines(explanation),
        "programs": reason_cards(explanation),
        "nodes": list(explanation.nodes),
        "nodes_word": nodes_word(explanation.graph),
        "quality": explanation.method.quality,
        "n_nodes": explanation.graph.n_nodes,
        "n_edges": explanation.graph.n_edges,
        "n_shown": picture.n_shown,
        "largest": largest_score(explanation),
        **({} if explanation.value is None else {"unit": explanation.value.unit}),
        "picture": picture.svg(title),
        "enough": enough,
        "counterfactual": counterfactual,
    }


def enough_cards(explanations: Sequence[Explanation]) -> list[dict[str, Any]]:
    """Return the smallest parts that alone get the same prediction, or that none was found."""
    return [
        {
            "nodes": list(explanation.nodes),
            "words": [reason_words(explanation, reason) for reason in explanation.reasons],
            "found": not explanation.is_empty,
        }
        for explanation in explanations
    ]


def counterfactual_card(found: Counterfactual | None) -> dict[str, Any]:
    """Return the nodes without which the model decides otherwise, or that none were found."""
    if found is None:
        return {"nodes": [], "words": [], "found": False}
    return {
        "found": True,
        "nodes": list(found.nodes),
        "words": found.names,
        "prediction": found.new_prediction,
        "probability": found.new_probability,
    }
