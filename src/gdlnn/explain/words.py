"""Explanations in words: what was predicted, and which programs speak for and against it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gdlnn.explain.explanation import Explanation, Term
    from gdlnn.gdl.program import Program

SHORT_NAME = 24
"""Most letters of a name that is written into a picture."""
MOST_NODES = 8
"""Most nodes of a place that a text lists."""
MOST_POOLED = 3
"""Most pooled features that a text names."""
LEAST_LINE = 0.005
"""Changes of a probability that round to zero points have no line."""


def words_of(explanation: Explanation, program: Program) -> str:
    """Return what a program is, without "Molecules that contain", which every line would repeat."""
    return what_it_contains(program.describe(explanation.schema, directed=explanation.graph.directed))


def what_it_contains(words: str) -> str:
    """Return a program in words without "Molecules that contain"."""
    start, found, rest = words.partition(" that contain ")
    return rest if found and " " not in start else words


def short_name(words: str, number: int) -> str:
    """Return a name where it is short, such as "nitro group"; else the number of the program, as in "P2"."""
    name = words.rstrip(".")
    for article in ("a ", "an "):
        name = name.removeprefix(article)
    return name if len(name) <= SHORT_NAME else f"P{number}"


def nodes_word(explanation: Explanation) -> str:
    """Return what the nodes are called: atoms or nodes."""
    schema = explanation.schema
    return "atoms" if schema is not None and schema.domain == "molecule" else "nodes"


# --- lines ------------------------------------------------------------------------------------------------


def describe(explanation: Explanation) -> str:
    """Say in a few lines what was predicted, and what speaks for and against it."""
    lines = [headline(explanation)]
    if explanation.contributions is None:
        for number, term in enumerate(explanation.listed, start=1):
            state = "present" if term.places else "absent"
            words = term.program.describe(explanation.schema, directed=explanation.graph.directed)
            lines.append(f"  P{number} {term.weight:+.4f} {state}: {words}")
        return "\n".join([*lines, subgraph_line(explanation)])
    lines.append(f"  {baseline_line(explanation)}")
    lines += [
        f"  {points(term.weight)} {term_words(explanation, term)} ({nodes_text(explanation, term)})"
        for term in explanation.listed
    ]
    return "\n".join([*lines, *(f"  {line}" for line in further_lines(explanation))])


def points(value: float) -> str:
    """Return a change of a probability in percentage points, with its sign."""
    return f"{'−' if round(100 * value) < 0 else '+'}{abs(100 * value):.0f}"


def figure(explanation: Explanation, term: Term) -> str:
    """Return the weight of a term as it is shown: in points, or as a number without a baseline."""
    return points(term.weight) if explanation.contributions is not None else f"{term.weight:+.3g}"


def term_words(explanation: Explanation, term: Term) -> str:
    """Return what a term is: the name of a place, or a program in words."""
    return term.name or words_of(explanation, term.program).rstrip(".")


def nodes_text(explanation: Explanation, term: Term) -> str:
    """Return the nodes of a term as people count them, from 1."""
    nodes = sorted({node for place in term.places for node in place})
    word = nodes_word(explanation)
    shown = ", ".join(str(node + 1) for node in nodes[:MOST_NODES])
    more = f" and {len(nodes) - MOST_NODES} more" if len(nodes) > MOST_NODES else ""
    return f"{word if len(nodes) > 1 else word[:-1]} {shown}{more}"


def headline(explanation: Explanation) -> str:
    """Say what was predicted, how probable it is, and where the class was not decided at one half."""
    line = f"{explanation.class_name(explanation.prediction)} ({chance_text(explanation)})"
    if explanation.target != explanation.prediction:
        target = explanation.class_name(explanation.target)
        line += f"; explained: {target} ({explanation.target_probability:.1%})"
    return line


def chance_text(explanation: Explanation) -> str:
    """Return the probability of the prediction, with the threshold where that is not one half."""
    chance = f"{explanation.probability:.1%}"
    threshold = explanation.threshold
    if explanation.target != explanation.prediction:
        threshold = 1 - threshold  # of two classes; with more there is no other than one half
    return chance if abs(threshold - 0.5) < 0.005 else f"{chance}, predicted from {threshold:.0%} on"


def baseline_line(explanation: Explanation) -> str:
    """Say what the model predicts without any pattern, and whether there is a reason; "" if unknown."""
    found = explanation.contributions
    if found is None:
        return ""
    prior = f"{found.prior:.0%} of the training graphs are of this class"
    if explanation.has_reason:
        return f"starts at {found.baseline:.0%} ({prior}); points for it (+) and against it (−):"
    return f"nothing here speaks for it: starts at {found.baseline:.0%} ({prior})"


def subgraph_line(explanation: Explanation) -> str:
    """Say how large the subgraph of a technique without a baseline is, or why there is none."""
    if explanation.contributions is not None:
        return ""
    if not explanation.terms:
        return "No program matters here, so there is no subgraph."
    if not any(term.places for term in explanation.terms):
        return "None of the important programs matches, so there is no subgraph: absence decided."
    nodes = ", ".join(map(str, explanation.nodes))
    more = "" if explanation.complete else " (it may be larger than needed: a search ran out of steps)"
    return f"Subgraph: {len(explanation.nodes)} of {explanation.graph.n_nodes} nodes ({nodes}){more}."


def spaced(text: str) -> str:
    """Return a text as pages show it: the sign of a percentage apart from its number, on the same line."""
    return re.sub(r"(?<=\d)%", "\u00a0%", text)


def further_lines(explanation: Explanation) -> list[str]:
    """Say what the rest of the graph and pooled features add, so that all lines give the probability."""
    found = explanation.contributions
    if found is None:
        return []
    lines = []
    rest = found.added - sum(term.weight for term in explanation.listed)
    if abs(rest) >= LEAST_LINE:
        lines.append(f"{points(rest)} everything else in the graph")
    if abs(found.others) >= LEAST_LINE:
        largest = [f"{text} {points(value)}" for text, value in found.pooled[:MOST_POOLED]]
        whole = "molecule" if nodes_word(explanation) == "atoms" else "graph"
        lines.append(f"{points(found.others)} the {whole} as a whole: {', '.join(largest)}")
    if abs(found.left) >= LEAST_LINE:
        lines.append(f"{points(found.left)} not divided")
    return lines
