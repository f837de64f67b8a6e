"""Programs and explained graphs as plain JSON values, as the report and the server's page show them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.drawing import Marks, program_picture
from gdlnn.drawing.marks import signed
from gdlnn.errors import GDLNNError
from gdlnn.explain.explanation import plain
from gdlnn.explain.pictures import explanation_outlines, explanation_picture, largest_score
from gdlnn.explain.words import baseline_line, chance_text, further_lines, nodes_word, spaced, words_of
from gdlnn.report.patterns import precision
from gdlnn.report.statistics import odds_ratio

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gdlnn.explain import Counterfactual, Explanation
    from gdlnn.gdl.program import Program
    from gdlnn.graphs import Schema
    from gdlnn.mining import MinedProgram
    from gdlnn.mining.program_set import Example
    from gdlnn.model import GDLNNClassifier

BoolArray = npt.NDArray[np.bool_]
MOST_LISTED = 250  # programs of a report; the page says how many there are in all
LONGEST_SMARTS = 2000  # characters; nobody pastes more
MOST_DRAWN_NODES = 24


def program_rows(
    model: GDLNNClassifier,
    truth: npt.NDArray[Any],
    matched: BoolArray,
    adds: npt.NDArray[np.float64],
    named: Collection[int] = (),
) -> list[dict[str, Any]]:
    """Return a row per program, those that weigh most first; of very many the strongest.

    Parameters
    ----------
    model
        The fitted model.
    truth, matched
        Labels of the held-out graphs, and which programs (columns) match which of them.
    adds
        Classes × programs: what each adds to the log odds where it is present, see `mean_contributions`.
    named
        Programs that must be among them, by column.
    """
    classes = [plain(label) for label in model.classes_]
    speaks = adds.argmax(axis=0)
    weights = adds.max(axis=0) * matched.mean(axis=0)
    scores = model.programs_.scores
    order = sorted(range(len(weights)), key=lambda i: (-abs(weights[i]), -scores[i], i))
    needed = set(named)
    listed = [index for place, index in enumerate(order) if place < MOST_LISTED or index in needed]
    counts = dict(model.programs_.info.label_counts)
    epsilon = float(model.programs_.info.settings.get("epsilon", 0.1))
    directed = model.programs_.info.directed
    rows = []
    for index in listed:
        item, label = model.programs_[index], classes[speaks[index]]
        here = matched[:, index]
        rows.append(
            {
                "index": index,
                "label": plain(item.label),
                "speaks_for": label,
                "adds": float(adds[speaks[index], index]),
                "weight": float(weights[index]),
                **_support(item, counts, epsilon, truth, here),
                "n_matched": int(here.sum()),
                **precision(int(here.sum()), int((here & (truth == label)).sum())),
                "score": item.score,
                "gdl": str(item.program),
                **shown_program(item.program, model.schema_, directed),
                "diagram": diagram(item.program, model.schema_, directed, item.example),
            }
        )
    return rows


def _support(
    item: MinedProgram, counts: dict[Any, int], epsilon: float, truth: npt.NDArray[Any], matched: BoolArray
) -> dict[str, Any]:
    """Return matched graphs of the program's own class and of all others, in training and held out."""
    n_own = counts.get(item.label, 0)
    n_others = sum(counts.values()) - n_own
    own = min(item.n_matched, round(item.score * (item.n_matched + epsilon)))
    of_class = truth == item.label
    held = (
        int(matched[of_class].sum()),
        int(of_class.sum()),
        int(matched[~of_class].sum()),
        int((~of_class).sum()),
    )
    ratio, low, high = odds_ratio(*held)
    return {
        "training": [own, n_own, item.n_matched - own, n_others],
        "held_out": list(held),
        "odds_ratio": ratio,
        "odds_interval": [low, high],
    }


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


# --- graphs -------------------------------------------------------------------------------------------------


def graph_card(
    explanation: Explanation,
    proba: npt.NDArray[np.float64],
    name: str = "graph",
    *,
    enough: dict[str, Any] | None = None,
    counterfactual: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the card of one graph: prediction, baseline, deciding programs with their places, picture.

    Parameters
    ----------
    explanation
        Why the model says so.
    proba
        The probability of every class.
    name
        What to call a graph that has no name.
    enough, counterfactual
        What `enough_cards` and `counterfactual_card` give. Their nodes are in the picture, hidden until it
        gets the class ``shows-kept`` or ``shows-gone``.
    """
    picture = explanation_picture(
        explanation, kept=(enough or {}).get("nodes", ()), gone=(counterfactual or {}).get("nodes", ())
    )
    title = f"{explanation.graph.name or name}: {explanation.graph.n_nodes} {nodes_word(explanation)}"
    return {
        "name": explanation.graph.name or name,
        "prediction": explanation.prediction,
        "probability": explanation.probability,
        "probabilities": [round(float(value), 6) for value in proba],
        "said": spaced(chance_text(explanation)),
        "target": explanation.target,
        "threshold": explanation.threshold,
        "baseline": None if explanation.contributions is None else explanation.contributions.baseline,
        "baseline_line": spaced(baseline_line(explanation)) or None,
        "has_reason": explanation.has_reason,
        "further": further_lines(explanation, signed),
        "programs": term_cards(explanation),
        "nodes": list(explanation.nodes),
        "nodes_word": nodes_word(explanation),
        "quality": explanation.method.quality,
        "n_nodes": explanation.graph.n_nodes,
        "n_edges": explanation.graph.n_edges,
        "n_shown": picture.n_shown,
        "largest": largest_score(explanation),
        "picture": picture.svg(title),
        "enough": enough,
        "counterfactual": counterfactual,
    }


def term_cards(explanation: Explanation) -> list[dict[str, Any]]:
    """Return the programs of an explanation in the order of its texts.

    `number` is that of the class ``p1``, ``p2`` … in the picture, `line` that of its outline (0: none),
    `weight` what it adds by itself, and `place` what its nodes add in all programs.
    """
    drawn = {
        outline.number: line for line, outline in Marks(outlines=explanation_outlines(explanation)).drawn()
    }
    return [
        {
            "number": number,
            "line": drawn.get(number, 0),
            "index": term.column,
            "words": words_of(explanation, term.program),
            "weight": term.weight,
            "place": explanation.place_score(term),
            "witness": list(term.places[0]) if term.places else None,
            "edges": None
            if term.witness is None
            else [[term.witness[edge.source], term.witness[edge.target]] for edge in term.program.edges],
        }
        for number, term in enumerate(explanation.listed, start=1)
    ]


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
        {"nodes": [], "programs": [], "words": [], "found": False}
        if explanation.is_empty or label != explanation.prediction
        else {
            "nodes": list(explanation.nodes),
            "programs": [term.column for term in explanation.terms],
            "words": [words_of(explanation, term.program) for term in explanation.terms],
            "found": True,
        }
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
