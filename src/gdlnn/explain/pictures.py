"""Explanations as pictures and pages: the graph with the programs on it, a legend, and tables."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from gdlnn.drawing.graph_picture import Highlights, graph_picture
from gdlnn.drawing.molecule_picture import picture
from gdlnn.drawing.program_picture import draw_program
from gdlnn.drawing.svg import FAINT, INK, PAPER, QUIET, colour, document, num, text, weight_text, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.explain.counterfactual import Counterfactual
    from gdlnn.explain.explanation import Explanation
    from gdlnn.explain.global_explanation import GlobalExplanation, GlobalProgram

WIDTH, HEIGHT = 560, 380
_HEAD, _LETTERS = 34, 74


def draw_explanation(explanation: Explanation, *, legend: bool = True) -> str:
    """Return the picture of an explanation as SVG."""
    numbers = program_colours(explanation)
    body = [f"<g transform='translate(0 {_HEAD})'>"]
    body += picture(explanation.graph, highlights(explanation, numbers), WIDTH, HEIGHT)
    body.append("</g>")
    name = explanation.class_name(explanation.target)
    body.append(text(14, 23, f"{name} ({explanation.target_probability:.1%})", 16, INK, weight="bold"))
    size = f"{len(explanation.nodes)} of {explanation.graph.n_nodes} nodes"
    body.append(text(WIDTH - 14, 23, size, 12, QUIET, "end"))
    height = float(_HEAD + HEIGHT)
    if legend:
        rows, height = _legend(explanation, numbers, height)
        body += rows
    return document(WIDTH, height, body, explanation.describe())


def draw_counterfactual(counterfactual: Counterfactual) -> str:
    """Return the picture of a counterfactual as SVG: the nodes to remove are crossed out."""
    graph = counterfactual.graph
    names = graph.schema.class_name if graph.schema else str
    title = f"{names(counterfactual.prediction)} → {names(counterfactual.new_prediction)}"
    nodes = frozenset(counterfactual.nodes)
    body = [f"<g transform='translate(0 {_HEAD})'>"]
    body += graph_picture(graph, Highlights(nodes=nodes, removed=nodes), WIDTH, HEIGHT)
    body += ["</g>", text(14, 23, title, 16, INK, weight="bold")]
    return document(WIDTH, _HEAD + HEIGHT, body, f"{title} without the nodes {sorted(nodes)}")


def program_colours(explanation: Explanation) -> dict[int, int]:
    """Return the colours of the programs that match, by their number; absent ones have none."""
    present = [i for i, found in enumerate(explanation.matched) if found]
    return {program: number for number, program in enumerate(present)}


def highlights(explanation: Explanation, numbers: dict[int, int]) -> Highlights:
    """Return which nodes and edges which program stands on."""
    nodes: dict[int, list[int]] = {}
    edges: dict[tuple[int, int], list[int]] = {}
    for program, number in numbers.items():
        witness = explanation.witnesses[program] or {}
        for node in witness.values():
            nodes.setdefault(node, []).append(number)
        for edge in explanation.programs[program].edges:
            u, v = witness[edge.source], witness[edge.target]
            pair = (min(u, v), max(u, v))
            if number not in edges.setdefault(pair, []):
                edges[pair].append(number)
    return Highlights(frozenset(explanation.nodes), nodes, edges)


def _legend(explanation: Explanation, numbers: dict[int, int], top: float) -> tuple[list[str], float]:
    """Return a row per program: colour or an empty ring, weight as a bar, state and words."""
    body = [f"<line x1='14' y1='{num(top)}' x2='{WIDTH - 14}' y2='{num(top)}' stroke='{FAINT}'/>"]
    largest = max((abs(w) for w in explanation.weights), default=1.0) or 1.0
    y = top + 8
    for i, (program, weight) in enumerate(zip(explanation.programs, explanation.weights, strict=True)):
        words = program.describe(explanation.schema, directed=explanation.graph.directed)
        lines = wrapped(words, _LETTERS, 3)
        if i in numbers:
            body.append(
                f"<circle cx='24' cy='{num(y + 10)}' r='8' fill='{colour(numbers[i])}' stroke='{INK}'/>"
            )
        else:
            body.append(
                f"<circle cx='24' cy='{num(y + 10)}' r='8' fill='none' stroke='{QUIET}' "
                "stroke-dasharray='3 2'/>"
            )
        body.append(text(38, y + 14, f"P{i + 1}", 12, INK, weight="bold"))
        length = 46 * abs(weight) / largest
        fill = INK if weight > 0 else QUIET
        body.append(f"<rect x='62' y='{num(y + 4)}' width='{num(max(length, 1))}' height='5' fill='{fill}'/>")
        state = "present" if i in numbers else "absent"
        body.append(text(62, y + 22, weight_text(weight), 10, INK))
        body.append(text(118, y + 12, f"{state}, speaks {'for' if weight > 0 else 'against'}", 10, QUIET))
        for number, words_line in enumerate(lines):
            body.append(text(118, y + 25 + 13 * number, words_line, 11, INK))
        y += 32 + 13 * max(len(lines) - 1, 0)
    for part in wrapped(explanation.subgraph_line(), _LETTERS + 16, 3):
        body.append(text(14, y + 14, part, 11, QUIET))
        y += 14
    return body, y + 14


# --- pages ------------------------------------------------------------------------------------------------

_STYLE = """
.gdlnn { font: 15px/1.45 system-ui, sans-serif; color: #1a1a1a; background: #fff; }
.gdlnn { max-width: 60rem; margin: 0 auto; }
.gdlnn section { border-top: 1px solid #d4d4d4; padding: 1rem 0; }
.gdlnn h2 { margin: 0 0 .5rem; font-size: 1.25rem; }
.gdlnn .columns { display: flex; flex-wrap: wrap; gap: 1.5rem; align-items: flex-start; }
.gdlnn .picture { flex: 1 1 22rem; min-width: 0; }
.gdlnn .picture svg { width: 100%; height: auto; }
.gdlnn table { border-collapse: collapse; flex: 1 1 22rem; }
.gdlnn td, .gdlnn th { padding: .3rem .6rem; text-align: left; vertical-align: top; }
.gdlnn td { border-bottom: 1px solid #eee; }
.gdlnn .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.gdlnn .dot { display: inline-block; width: .9em; height: .9em; border-radius: 50%; }
.gdlnn .dot { border: 1px solid #1a1a1a; }
.gdlnn .absent .dot { border: 1px dashed #8c8c8c; }
.gdlnn .absent { color: #595959; }
.gdlnn pre { background: #f6f6f6; padding: .5rem; overflow-x: auto; font-size: .85em; }
.gdlnn .diagram svg { max-width: 100%; height: auto; }
"""


def explanation_page(explanations: Sequence[Explanation], title: str = "Explanations") -> str:
    """Return a page with a section per explanation."""
    return _page(title, "".join(_section(explanation) for explanation in explanations))


def explanation_section(explanation: Explanation) -> str:
    """Return one explanation as a piece of a page, styles included: what a notebook shows."""
    return f"<style>{_STYLE}</style><div class='gdlnn'>{_section(explanation)}</div>"


def global_page(found: GlobalExplanation, n: int = 10) -> str:
    """Return a page with the most important programs of every class, and graphs that show them."""
    names = found.schema.class_name if found.schema else str
    parts = []
    for label, programs in found.classes.items():
        rows = "".join(_global_program(found, item) for item in programs[:n])
        head = f"<h2>{escape(names(label))}</h2><p>{found.counts[label]} graphs are predicted as it.</p>"
        parts.append(f"<section>{head}{rows or '<p>No program matters for it.</p>'}</section>")
    return _page("What the model goes by", "".join(parts))


def _page(title: str, body: str) -> str:
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(title)}</title><style>body {{ margin: 1.5rem; }}{_STYLE}</style></head>"
        f"<body><div class='gdlnn'><h1>{escape(title)}</h1>{body}</div></body></html>\n"
    )


def _section(explanation: Explanation) -> str:
    name = explanation.graph.name or "graph"
    tables, told = _table(explanation), explanation.subgraph_line()
    return (
        f"<section><h2>{escape(name)}: {escape(explanation.class_name(explanation.prediction))} "
        f"({explanation.probability:.1%})</h2><div class='columns'><div class='picture'>"
        f"{draw_explanation(explanation, legend=False)}</div>{tables}</div><p>{escape(told)}</p></section>"
    )


def _table(explanation: Explanation) -> str:
    numbers = program_colours(explanation)
    rows = []
    for i, (program, weight) in enumerate(zip(explanation.programs, explanation.weights, strict=True)):
        state = "present" if i in numbers else "absent"
        fill = f" style='background:{colour(numbers[i])}'" if i in numbers else ""
        words = program.describe(explanation.schema, directed=explanation.graph.directed)
        label = explanation.class_name(explanation.labels[i])
        rows.append(
            f"<tr class='{state}'><td><span class='dot'{fill}></span> P{i + 1}</td>"
            f"<td class='number'>{weight_text(weight)}</td><td>{state}</td>"
            f"<td>{escape(words)}<details><summary>GDL, mined for {escape(label)}</summary>"
            f"<pre>{escape(str(program))}</pre></details></td></tr>"
        )
    target = explanation.class_name(explanation.target)
    quality = "" if explanation.quality is None else f", R² {explanation.quality:.2f}"
    return (
        f"<table><caption>Programs that speak for {escape(target)} (+) or against it (−), by "
        f"{escape(explanation.technique)}{quality}</caption>"
        f"<tr><th>program</th><th class='number'>weight</th><th>state</th><th>in words</th></tr>"
        f"{''.join(rows)}</table>"
    )


def _global_program(found: GlobalExplanation, item: GlobalProgram) -> str:
    directed = bool(found.explanations) and found.explanations[0].graph.directed
    words = item.program.describe(found.schema, directed=directed)
    examples = "".join(
        f"<div class='picture'>{draw_explanation(found.explanations[row], legend=False)}</div>"
        for row in item.examples[:2]
    )
    return (
        f"<div class='columns'><div class='diagram'>"
        f"{draw_program(item.program, found.schema, directed=directed, fill=PAPER)}</div>"
        f"<p>{escape(words)}<br>Mean weight {weight_text(item.mean_weight)}; matches {item.coverage:.0%} "
        f"of these graphs; important for {item.frequency:.0%} of them.</p>{examples}</div>"
    )
