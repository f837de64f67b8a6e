"""The study of motifs: a cycle and a house of BA-2Motifs, explained by GDLNN, SubgraphX and PL4XGL.

Its figure shows one graph of each class that all three models classify correctly.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gdlnn.drawing import Marks, Outline, Picture, draw_graph
from gdlnn.drawing.svg import text
from gdlnn.errors import GDLNNError
from repro import options as opt
from repro.cells import Study
from repro.explain import compute_scores, points_of, truth_table
from repro.explainers import EXPLAINERS, SHOWN, run_explanations
from repro.inputs import load_split
from repro.tables import page, write_results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs import Graph, GraphDataset
    from repro.cells import Result

SETTINGS = {"gdlnn": SHOWN, "subgraphx": 0.2, "pl4xgl": 1}
"""The explainers, and which of their explanations is drawn; a fifth of the nodes is the size of a motif."""
WIDTH, HEIGHT, HEAD, FOOT = 300, 240, 26, 20


def motifs(
    graphs: Annotated[
        int, typer.Option("--graphs", min=20, help="Number of BA-2Motifs graphs to generate.")
    ] = 1000,
    sample: opt.Sample = 10,
    seed: opt.Seed = 0,
    out: opt.Out = Path("results"),
    jobs: opt.Jobs = None,
) -> None:
    """Draw how GDLNN, SubgraphX and PL4XGL explain a cycle and a house of BA-2Motifs, side by side.

    Example: python -m repro motifs --graphs 200
    """
    name = f"synthetic:ba-2motifs:{graphs}:{seed}"
    with Study("motifs", opt.run_config(out, None, "cpu", jobs), opt.report) as study:
        cells = run_explanations(study, [name], list(SETTINGS), compute_scores, sample or None, seed)
    if all(cell["status"] == "ok" for cell in cells):
        points = points_of(cells)
        curves = {(name, method): points.loc[name, method] for method in SETTINGS}
        words = page({"Motifs": [truth_table(curves)]})
        picture = draw_motifs(load_split(name, "paper", "paper", None)[0].test, cells)
        words = write_results(out, "motifs", cells, words, points.reset_index(), picture.encode())
    else:
        words = "There is no figure: it needs the cells of all three explainers.\n"
    opt.finish(words, out, cells)


def draw_motifs(test: GraphDataset, cells: Sequence[Result]) -> str:
    """Return the explanations of the first graph of each class that all models classify correctly."""
    found = {(cell["method"], graph["row"]): graph for cell in cells for graph in cell["graphs"]}
    rows: dict[str, int] = {}
    for row in sorted({row for _, row in found}):
        answers = [found[method, row] for method in SETTINGS]
        if all(one["predicted"] == one["truth"] for one in answers):
            label = answers[0]["truth"]
            rows.setdefault(str(label) if test.schema is None else test.schema.class_name(label), row)
    if len(rows) < 2:
        raise GDLNNError(
            "motifs: no graph of each class is classified correctly by all models; give a larger --sample"
        )
    body = []
    for place, (label, row) in enumerate(sorted(rows.items())):
        for column, (method, setting) in enumerate(SETTINGS.items()):
            point = next(one for one in found[method, row]["points"] if one["setting"] == setting)
            x, y = column * WIDTH, place * (HEAD + HEIGHT + FOOT)
            words = f"{len(point['nodes'])} nodes, Jaccard with the motif {point['truth']['jaccard']:.2f}"
            body += [
                text(x + 12, y + 18, f"{label}: {EXPLAINERS[method].title}", "head"),
                marked(test.graphs[row], point["nodes"]).nested(x, y + HEAD, WIDTH, HEIGHT),
                text(x + 12, y + HEAD + HEIGHT + 8, words, "small soft"),
            ]
    figure = Picture((0, 0, 3 * WIDTH, 2 * (HEAD + HEIGHT + FOOT)), "".join(body))
    return figure.document("BA-2Motifs explained by GDLNN, SubgraphX and PL4XGL")


def marked(graph: Graph, nodes: Sequence[int]) -> Picture:
    """Return the picture of a graph with an outline around the nodes of its explanation."""
    edges = tuple((u, v) for u, v in graph.edges.tolist() if u in nodes and v in nodes)
    return draw_graph(graph, Marks(outlines=(Outline(1, tuple(nodes), edges),)))
