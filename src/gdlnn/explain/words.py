"""Explanations in words: what was predicted, and what speaks for and against it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdlnn.explain.places import connected_parts
from gdlnn.gdl.place_names import place_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.explain.explanation import Explanation, Reason
    from gdlnn.graphs import Graph

SHORT_NAME = 36
"""Most letters of a name that is written into a picture."""
MOST_NODES = 8
"""Most nodes of a place that a text lists."""
MOST_LINES = 5
"""Most places that a text lists."""
MOST_POOLED = 3
"""Most pooled features that a text names."""
DOMAINS = {"outside": "outside what was learned", "edge": "at the edge of what was learned"}
"""What is said of a graph that is unlike the training graphs."""


def what_it_contains(words: str) -> str:
    """Return a program in words without "Molecules that contain", which every line would repeat."""
    start, found, rest = words.rstrip(".").partition(" that contain ")
    return rest if found and " " not in start else start + found + rest


def short_name(words: str, number: int) -> str:
    """Return a name where it is short, such as "nitro group"; else the number of the program, as in "P2"."""
    name = words.rstrip(".")
    for article in ("a ", "an "):
        name = name.removeprefix(article)
    return name if len(name) <= SHORT_NAME else f"P{number}"


def nodes_word(graph: Graph) -> str:
    """Return what the nodes are called: atoms or nodes."""
    return "atoms" if graph.schema is not None and graph.schema.domain == "molecule" else "nodes"


# --- lines ------------------------------------------------------------------------------------------------


def describe(explanation: Explanation) -> str:
    """Say in a few lines what was predicted, and what speaks for and against it."""
    lines = ["; ".join(filter(None, (headline(explanation), domain_note(explanation))))]
    if explanation.contributions is None:
        for number, reason in enumerate(explanation.listed, start=1):
            state = "present" if reason.places else "absent"
            words = reason.program.describe(explanation.schema, directed=explanation.graph.directed)
            lines.append(f"  P{number} {reason.weight:+.4f} {state}: {words}")
        return "\n".join([*lines, subgraph_line(explanation)])
    lines.append(f"  {baseline_line(explanation)}")
    lines += [
        f"  {figure(explanation, reason)} {reason_words(explanation, reason)} "
        f"({nodes_text(explanation.graph, reason.nodes)})"
        for reason in explanation.listed[:MOST_LINES]
    ]
    return "\n".join([*lines, *(f"  {line}" for line in further_lines(explanation))])


def points(value: float) -> str:
    """Return a change of a probability in percentage points, with its sign."""
    return f"{'−' if round(100 * value) < 0 else '+'}{abs(100 * value):.0f}"


def amount(explanation: Explanation, value: float) -> str:
    """Return what something adds, with its sign: in percentage points, or in the unit of a regressor."""
    return points(value) if explanation.value is None else explanation.value.text(value, sign=True)


def figure(explanation: Explanation, reason: Reason) -> str:
    """Return the weight of a reason as it is shown: what it adds, or a number without a baseline."""
    if explanation.contributions is None:
        return f"{reason.weight:+.3g}"
    return amount(explanation, reason.weight)


def reason_words(explanation: Explanation, reason: Reason) -> str:
    """Return what a reason is: the name of a place, or a program in words."""
    schema, directed = explanation.schema, explanation.graph.directed
    return reason.name or what_it_contains(reason.program.describe(schema, directed=directed))


def nodes_text(graph: Graph, nodes: Sequence[int]) -> str:
    """Return nodes by their names, or as people count them, from 1."""
    word, names = nodes_word(graph), graph.node_names
    some = sorted(nodes)[:MOST_NODES]
    shown = ", ".join(str(node + 1) if names is None else names[node] for node in some)
    more = f" and {len(nodes) - MOST_NODES} more" if len(nodes) > MOST_NODES else ""
    return f"{word if len(nodes) > 1 else word[:-1]} {shown}{more}"


def named_parts(graph: Graph, nodes: Sequence[int]) -> list[str]:
    """Return the names of the connected parts of some nodes, each with its nodes."""
    parts = connected_parts(graph, nodes)
    return [f"{place_name(graph, part)} ({nodes_text(graph, part)})" for part in parts]


def headline(explanation: Explanation) -> str:
    """Say what was predicted, how probable it is, and where the class was not decided at one half."""
    if explanation.value is not None:
        return chance_text(explanation)
    line = f"{explanation.class_name(explanation.prediction)} ({chance_text(explanation)})"
    if explanation.target != explanation.prediction:
        target = explanation.class_name(explanation.target)
        line += f"; explained: {target} ({explanation.target_probability:.1%})"
    return line


def domain_note(explanation: Explanation) -> str:
    """Say whether the graph is unlike the training graphs, and why; "" if it is not."""
    where = DOMAINS.get(explanation.domain or "")
    return f"{where}: {explanation.domain_reason}" if where else ""


def chance_text(explanation: Explanation) -> str:
    """Return the probability of the prediction, with the threshold where that is not one half.

    Of a regressor: the value and its interval.
    """
    if value := explanation.value:
        unit = f" {value.unit}" if value.unit else ""
        bounds = f"90% interval {value.text(value.lower)} to {value.text(value.upper)}"
        return f"{value.text(explanation.prediction)}{unit} ({bounds})"
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
    if value := explanation.value:
        start = f"starts at {value.text(found.baseline)} (the training mean is {value.text(found.prior)})"
        return f"{start}; what raises (+) and lowers (−) it, {nodes_word(explanation.graph)} counted from 1:"
    prior = f"{found.prior:.0%} of the training graphs are of this class"
    start = f"starts at {found.baseline:.0%} ({prior})"
    if not explanation.has_reason:
        some = any(reason.weight > 0 for reason in explanation.listed)
        start = f"{'little' if some else 'nothing'} here speaks for it: {start}"
    if not explanation.listed and not further_lines(explanation):
        return f"{start}; nothing in it adds or takes a point"
    return f"{start}; points for it (+) and against it (−), {nodes_word(explanation.graph)} counted from 1:"


def subgraph_line(explanation: Explanation) -> str:
    """Say how large the subgraph of a technique without a baseline is, or why there is none."""
    if explanation.contributions is not None:
        return ""
    if not explanation.reasons:
        return "No program matters here, so there is no subgraph."
    if not any(reason.places for reason in explanation.reasons):
        return "None of the important programs matches, so there is no subgraph: absence decided."
    nodes = nodes_text(explanation.graph, explanation.nodes)
    more = "" if explanation.method.complete else " (it may be larger than needed: a search ran out of steps)"
    return f"Subgraph: {nodes} of {explanation.graph.n_nodes}, counted from 1{more}."


def further_lines(explanation: Explanation) -> list[str]:
    """Say what the rest of the graph and pooled features add, so that all lines give the probability."""
    found = explanation.contributions
    if found is None:
        return []
    lines = []
    whole = "molecule" if nodes_word(explanation.graph) == "atoms" else "graph"
    rest = found.added - sum(reason.weight for reason in explanation.listed[:MOST_LINES])
    if abs(rest) >= explanation.least_shown:
        lines.append(f"{amount(explanation, rest)} everything else in the {whole}")
    if abs(found.others) >= explanation.least_shown:
        largest = [
            f"{text} ({amount(explanation, added)})"
            for text, added in found.pooled[:MOST_POOLED]
            if abs(added) >= explanation.least_shown
        ]
        names = f": {', '.join(largest)}" if largest else ""
        lines.append(f"{amount(explanation, found.others)} the {whole} as a whole{names}")
    return lines
