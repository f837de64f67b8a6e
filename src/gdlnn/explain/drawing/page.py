"""Pages of explanations: one file of HTML, with pictures and styles inside and nothing fetched."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from gdlnn.explain.drawing.explanation_picture import draw_explanation, program_colours
from gdlnn.explain.drawing.program_picture import draw_program
from gdlnn.explain.drawing.svg import PAPER, colour, weight_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.explain.explanation import Explanation
    from gdlnn.explain.global_ import GlobalExplanation, GlobalProgram

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
    if explanation.instead is not None:
        tables = f"<div>{tables}{_table(explanation.instead)}</div>"
        told += f" By {explanation.instead.technique}: {explanation.instead.subgraph_line()}"
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
