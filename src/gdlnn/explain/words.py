"""Explanations in words: what was predicted, and which programs speak for and against it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from gdlnn.explain.explanation import Explanation
    from gdlnn.gdl.program import Program

SHORT_NAME = 24
"""Most letters of a name that is written into a picture."""


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
    """Say in a few lines what was predicted, and which programs speak for and against it."""
    lines = [headline(explanation)]
    if explanation.contributions is None:
        for number, term in enumerate(explanation.listed, start=1):
            state = "present" if term.places else "absent"
            words = term.program.describe(explanation.schema, directed=explanation.graph.directed)
            lines.append(f"  P{number} {term.weight:+.4f} {state}: {words}")
    else:
        lines.append(f"  {baseline_line(explanation)}{' In log odds:' if explanation.listed else ''}")
        for number, term in enumerate(explanation.listed, start=1):
            figures = f"{term.weight:+.2f}, its {nodes_word(explanation)} {explanation.figure(term):+.2f}"
            words = words_of(explanation, term.program)
            lines.append(f"  P{number} {term.side} {figures}: {words}")
        lines += [f"  {line}" for line in further_lines(explanation)]
    return "\n".join([*lines, subgraph_line(explanation)])


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
    """Say what the model predicts without any pattern, and whether a pattern is the reason; "" if unknown."""
    found = explanation.contributions
    if found is None:
        return ""
    shares = f"{found.baseline:.0%}, and {found.prior:.0%} of the training graphs are of this class."
    if explanation.has_reason:
        return f"Without any pattern the model says {shares}"
    return f"No pattern speaks strongly for it: without any pattern the model says {shares}"


def subgraph_line(explanation: Explanation) -> str:
    """Say how large the subgraph is, or why there is none."""
    if explanation.contributions is not None and not explanation.nodes:
        return "Nothing is highlighted: no listed program speaks strongly for the class."
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


def further_lines(explanation: Explanation, shown: Callable[[float], str] = "{:+.2f}".format) -> list[str]:
    """Say what absent programs and pooled features add, and what the contributions miss.

    Parameters
    ----------
    explanation
        The explanation.
    shown
        How numbers are written.
    """
    found = explanation.contributions
    if found is None:
        return []
    lines = []
    for item in found.absent:
        words = words_of(explanation, item.program)
        lines.append(f"absent, which speaks {item.side} it ({shown(item.weight)}): {words}")
    if abs(found.others) >= 0.005:
        lines.append(f"pooled features {shown(found.others)}")
    if explanation.missed is not None:
        lines.append(f"The contributions miss what the model says by {shown(explanation.missed)} log odds.")
    return lines
