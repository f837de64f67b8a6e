"""Patterns of a report: what programs add on held-out graphs, with their variants and an example."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.drawing import Marks, draw_graph
from gdlnn.explain.explanation import plain
from gdlnn.explain.pictures import program_outline
from gdlnn.model.scores import wilson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.explain import Explanation
    from gdlnn.model import GDLNNClassifier

BoolArray = npt.NDArray[np.bool_]
SAME = 0.6
"""Share of matched training graphs that variants of one pattern have in common at least."""
LEAST_PATTERN = 0.01
"""Share of the heaviest pattern's weight under which a pattern is left out."""


def pattern_groups(rows: Sequence[dict[str, Any]], model: GDLNNClassifier) -> list[list[int]]:
    """Return programs by index, variants of one pattern together, the heaviest patterns and variants first.

    Variants speak for the same class and match nearly the same training graphs.
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
    kept = [head for head in heads if weight[head] >= LEAST_PATTERN * largest]
    return [
        [columns[place] for place in groups[head]]
        for head in sorted(kept, key=lambda head: (-weight[head], head))
    ]


def pattern_cards(
    rows: Sequence[dict[str, Any]],
    model: GDLNNClassifier,
    explained: Sequence[Explanation],
    matches: BoolArray,
    truth: Sequence[Any],
) -> list[dict[str, Any]]:
    """Return the patterns: their programs, the strongest variant first, and where an example graph has it.

    Parameters
    ----------
    rows
        What `program_rows` gives.
    model
        The fitted model.
    explained
        Explanations of the graphs of the gallery, from which the example is.
    matches, truth
        Which programs (columns) match the graphs of the gallery, and the labels of these.
    """
    by_index = {row["index"]: row for row in rows}
    cards = []
    for group in pattern_groups(rows, model):
        head = by_index[group[0]]
        hits = np.flatnonzero(matches[:, group[0]]).tolist() if len(matches) else []
        wanted = head["speaks_for"]
        order = sorted(
            hits,
            key=lambda i: (
                plain(truth[i]) != wanted,
                explained[i].prediction != wanted,
                explained[i].graph.n_nodes,
                i,
            ),
        )
        example = None
        if order:
            program = model.programs_[group[0]].program
            example = _example(explained[order[0]], program, order[0])
        cards.append({"programs": group, "label": wanted, "example": example})
    return cards


def _example(explanation: Explanation, program: Any, row: int) -> dict[str, Any] | None:
    """Return the row of a graph, and the line around the program in its picture."""
    witness = program.find(explanation.graph)
    if witness is None:
        return None
    marks = Marks(outlines=(program_outline(program, witness),))
    picture = draw_graph(explanation.graph, marks, explanation.smiles)
    line = re.search(r"<path class='o p1 o1'[^>]* d='([^']*)'", picture.body)
    if line is None or picture.n_shown < explanation.graph.n_nodes:
        return None
    return {"row": row, "nodes": sorted(set(witness.values())), "line": line[1]}


def precision(matched: int, own: int) -> dict[str, Any]:
    """Return the share of a class among matched graphs, with Wilson's 95 % interval; None without any."""
    if not matched:
        return {"precision": None, "precision_interval": None}
    return {"precision": own / matched, "precision_interval": list(wilson(own, matched))}
