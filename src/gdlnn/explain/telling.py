"""Explanations in words: programs in the order, and with the numbers, of texts, pages and pictures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from gdlnn.explain.explanation import Explanation
    from gdlnn.gdl.program import Program

LEAST_TOLD = 0.01
"""Share of the largest contribution under which a program is not listed."""


class Told(NamedTuple):
    """A program of an explanation as texts and pages list it.

    Attributes
    ----------
    number
        From 1, without gaps: those that speak for the target first.
    program, column, label
        The program, its column in the GDL layer, and the class it was found for.
    weight
        What it adds by itself.
    place
        What its nodes add in all programs; None for techniques without a baseline.
    witness
        Where it is; None where it is absent.
    words
        What it is, such as "a nitro group".
    """

    number: int
    program: Program
    column: int
    label: Any
    weight: float
    place: float | None
    witness: dict[str, int] | None
    words: str

    @property
    def side(self) -> str:
        """Whether it speaks "for" the target or "against" it."""
        return "for" if self.weight > 0 else "against"

    @property
    def figure(self) -> float:
        """The figure that a picture shows: what its nodes add, where that is known."""
        return self.weight if self.place is None else self.place

    @property
    def short(self) -> str:
        """Its name where that is short, such as "nitro group"; else its number, as in "P2"."""
        name = self.words.rstrip(".")
        for article in ("a ", "an "):
            name = name.removeprefix(article)
        return name if len(name) <= SHORT_NAME else f"P{self.number}"


SHORT_NAME = 24
"""Most letters of a name that is written into a picture."""


def told_programs(explanation: Explanation) -> tuple[Told, ...]:
    """Return the programs of an explanation in the order of texts and pages.

    With a baseline these are the present ones, for the target first. Those that are tiny compared with the
    largest are left out.
    """
    place = explanation.places
    order = [i for i, weight in enumerate(explanation.weights) if weight]
    if explanation.baseline_probability is not None:
        least = LEAST_TOLD * max((abs(weight) for weight in explanation.weights), default=0.0)
        order = [i for i in order if explanation.matched[i] and abs(explanation.weights[i]) >= least]
        order.sort(key=lambda i: explanation.weights[i] < 0)
    return tuple(
        Told(
            number,
            explanation.programs[i],
            explanation.indices[i],
            explanation.labels[i],
            explanation.weights[i],
            place[i],
            explanation.witnesses[i] if explanation.matched[i] else None,
            words_of(explanation, explanation.programs[i]),
        )
        for number, i in enumerate(order, start=1)
    )


def words_of(explanation: Explanation, program: Program) -> str:
    """Return what a program is, without "Molecules that contain", which every line would repeat."""
    return what_it_contains(program.describe(explanation.schema, directed=explanation.graph.directed))


def what_it_contains(words: str) -> str:
    """Return a program in words without "Molecules that contain"."""
    start, found, rest = words.partition(" that contain ")
    return rest if found and " " not in start else words


def nodes_word(explanation: Explanation) -> str:
    """Return what the nodes are called: atoms or nodes."""
    schema = explanation.schema
    return "atoms" if schema is not None and schema.domain == "molecule" else "nodes"


# --- lines ------------------------------------------------------------------------------------------------


def describe(explanation: Explanation) -> str:
    """Say in a few lines what was predicted, and which programs speak for and against it."""
    lines = [headline(explanation)]
    nodes = nodes_word(explanation)
    if explanation.baseline_probability is None:
        for told in explanation.told:
            state = "absent" if told.witness is None else "present"
            words = told.program.describe(explanation.schema, directed=explanation.graph.directed)
            lines.append(f"  P{told.number} {told.weight:+.4f} {state}: {words}")
        return "\n".join([*lines, explanation.subgraph_line()])
    lines.append(f"  {explanation.baseline_line()}{' In log odds:' if explanation.told else ''}")
    for told in explanation.told:
        figures = f"{told.weight:+.2f}, its {nodes} {told.figure:+.2f}"
        lines.append(f"  P{told.number} {told.side} {figures}: {told.words}")
    return "\n".join(
        [*lines, *(f"  {line}" for line in further_lines(explanation)), explanation.subgraph_line()]
    )


def headline(explanation: Explanation) -> str:
    """Say what was predicted, how probable it is, and where the class was not decided at one half."""
    told = f"{explanation.class_name(explanation.prediction)} ({chance_text(explanation)})"
    if explanation.target != explanation.prediction:
        target = explanation.class_name(explanation.target)
        told += f"; explained: {target} ({explanation.target_probability:.1%})"
    return told


def chance_text(explanation: Explanation) -> str:
    """Return the probability of the prediction, with the threshold where that is not one half."""
    told = f"{explanation.probability:.1%}"
    threshold = explanation.threshold
    if explanation.target != explanation.prediction:
        threshold = 1 - threshold  # of two classes; with more there is no other than one half
    return told if abs(threshold - 0.5) < 0.005 else f"{told}, predicted from {threshold:.0%} on"


def plain_number(value: float) -> str:
    """Return a number as texts for terminals have it."""
    return f"{value:+.2f}"


def spaced(text: str) -> str:
    """Return a text as pages show it: the sign of a percentage apart from its number, on the same line."""
    return re.sub(r"(?<=\d)%", "\u00a0%", text)


def further_lines(explanation: Explanation, shown: Callable[[float], str] = plain_number) -> list[str]:
    """Say what absent programs and pooled features add, and what the contributions miss.

    Parameters
    ----------
    explanation
        The explanation.
    shown
        How numbers are written.
    """
    lines = []
    for item in explanation.absent:
        side = "for" if item.contribution > 0 else "against"
        words = words_of(explanation, item.program)
        lines.append(f"absent, which speaks {side} it ({shown(item.contribution)}): {words}")
    if abs(explanation.others) >= 0.005:
        lines.append(f"pooled features {shown(explanation.others)}")
    if explanation.missed is not None:
        lines.append(f"The contributions miss what the model says by {shown(explanation.missed)} log odds.")
    return lines
