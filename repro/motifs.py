"""The study of motifs: cycles and houses of BA-2Motifs, explained by GDLNN, SubgraphX and PL4XGL.

Its figure shows one graph of each class that all three models classify correctly.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from gdlnn.drawing import Marks, Outline, Picture, draw_graph
from gdlnn.drawing.svg import text
from gdlnn.errors import GDLNNError
from gdlnn.explain.pictures import explanation_outlines
from repro import options as opt
from repro.cells import Study, Task
from repro.explainers import EXPLAINERS, explain_graphs, explained_model, named_graphs, run_tasks
from repro.inputs import load_split
from repro.metrics import jaccard
from repro.tables import write_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from gdlnn.graphs import Graph
    from repro.cells import Result, RunConfig

SHOWN = {"gdlnn-paper": "GDLNN", "subgraphx": "GIN + SubgraphX", "pl4xgl": "PL4XGL"}
"""The explainers and their names in the figure."""
N_NODES = 5
"""Nodes of SubgraphX's explanation: those of a motif."""
WIDTH, HEIGHT, HEAD, FOOT = 300, 240, 26, 20


def motifs(
    output: Annotated[Path, typer.Option("-o", "--output", help="The SVG file to write.")] = Path(
        "motifs.svg"
    ),
    graphs: Annotated[
        int, typer.Option("--graphs", min=20, help="Number of BA-2Motifs graphs to generate.")
    ] = 1000,
    seed: opt.Seed = 0,
    jobs: opt.Jobs = None,
) -> None:
    """Draw how GDLNN, SubgraphX and PL4XGL explain a cycle and a house of BA-2Motifs, side by side.

    Example: python -m repro motifs -o motifs.svg
    """
    if output.is_dir():
        raise GDLNNError(f"{output} is a folder; expected a file to write")
    with tempfile.TemporaryDirectory() as folder:
        config = opt.run_config(Path(folder), None, "cpu", jobs)
        study = MotifStudy(graphs, seed, config, opt.report)
    write_file(output, study.figure())
    typer.echo(f"Picture: {output}")


def compute_prediction(task: Task, config: RunConfig) -> Result:
    """Predict the test set."""
    model, _ = explained_model(task, config)
    test = load_split(task.dataset, task.protocol, task.split, config.data)[0].test
    return {"predicted": np.asarray(model.predict(test)).tolist()}


def compute_motifs(task: Task, config: RunConfig) -> Result:
    """Explain graphs and mark where each program matches."""
    model, _ = explained_model(task, config)
    explainer, graphs = EXPLAINERS[task.method], named_graphs(task, config).graphs
    if explainer.way == "programs":
        explainer = replace(explainer, way="smallest")
    found = [
        explain_graphs(explainer, model, [graph], (N_NODES / graph.n_nodes,), task.seed)[0][0][0]
        for graph in graphs
    ]
    marked = [_outlines(one, explainer.way == "network") for one in found]
    graphs_found = zip(task.rows, found, marked, strict=True)
    return {"graphs": [{"row": row, "nodes": list(e.nodes), "outlines": o} for row, e, o in graphs_found]}


def _outlines(explanation: Any, is_network: bool) -> list[Result]:
    """Return the nodes and edges of each program, or of an explanation by nodes as a whole."""
    if not is_network:
        drawn = [outline for outline in explanation_outlines(explanation) if outline.drawn]
        return [{"nodes": outline.nodes, "edges": outline.edges} for outline in drawn]
    inside = set(explanation.nodes)
    edges = [pair for pair in explanation.graph.edges.tolist() if inside >= set(pair)]
    return [{"nodes": list(explanation.nodes), "edges": [sorted(pair) for pair in edges]}]


class MotifStudy:
    """Train three models on four fifths of generated graphs, and explain one of each class of the others."""

    def __init__(
        self, n_graphs: int, seed: int, config: RunConfig, report: Callable[[str], Any] | None = None
    ) -> None:
        split = f"random-{seed}"
        name = f"synthetic:ba-2motifs:{n_graphs}:{seed}"
        (_, _, self._test), fingerprint = load_split(name, "repeated", split, config.data)
        tasks = [
            Task("predict", name, method, dict(EXPLAINERS[method].method.quick), seed, "repeated", split)
            for method in SHOWN
        ]
        tasks = [replace(task, fingerprint=fingerprint) for task in tasks]
        with Study("motifs", config, report) as study:
            predicted = [cell["predicted"] for cell in _fine(run_tasks(study, tasks, compute_prediction))]
            self._rows = self._right(predicted)
            rows = tuple(sorted(self._rows.values()))
            tasks = [replace(task, study="motifs", rows=rows) for task in tasks]
            cells = _fine(run_tasks(study, tasks, compute_motifs))
        self._found = {(cell["method"], graph["row"]): graph for cell in cells for graph in cell["graphs"]}

    def _right(self, predicted: list[list[Any]]) -> dict[Any, int]:
        """Return by class the first test graph that all models classify correctly."""
        truth = np.asarray(self._test.y)
        right = np.all([np.asarray(labels) == truth for labels in predicted], axis=0)
        found = {}
        for label in np.unique(truth).tolist():
            rows = np.flatnonzero(right & (truth == label)).tolist()
            if not rows:
                raise GDLNNError(
                    f"motifs: expected a test graph of class {label} that all three models classify "
                    f"correctly, got none among {len(truth)}; give more graphs"
                )
            found[label] = rows[0]
        return found

    def figure(self) -> str:
        """Return the explanations of the first graph of each class as an SVG figure."""
        body: list[str] = []
        for place, (label, row) in enumerate(self._rows.items()):
            for column, (method, title) in enumerate(SHOWN.items()):
                found, index = self._found[method, row], self._jaccard(method, row)
                words = f"{len(found['nodes'])} nodes, Jaccard with the motif {index:.2f}"
                words = words if found["nodes"] else "no node: that programs are absent decided"
                head = f"{self._class_name(label)}: {title}"
                body += _panel(self._test.graphs[row], found, head, words, column, place)
        height = 2 * (HEAD + HEIGHT + FOOT)
        figure = Picture((0, 0, 3 * WIDTH, height), "".join(body))
        return figure.document("BA-2Motifs explained by GDLNN, SubgraphX and PL4XGL")

    def _jaccard(self, method: str, row: int) -> float:
        """Return how an explanation agrees with the motif."""
        assert self._test.node_masks is not None
        motif = np.flatnonzero(np.asarray(self._test.node_masks[row])).tolist()
        return jaccard(self._found[method, row]["nodes"], motif)

    def _class_name(self, label: Any) -> str:
        return str(label) if self._test.schema is None else self._test.schema.class_name(label)


def _fine(cells: list[Result]) -> list[Result]:
    """Return cells that all have a result; raise an error if some failed."""
    reasons = [cell["reason"] for cell in cells if cell["status"] != "ok"]
    if reasons:
        raise GDLNNError(f"motifs: {len(reasons)} cell(s) failed: {'; '.join(dict.fromkeys(reasons))}")
    return cells


def _panel(graph: Graph, found: Result, title: str, words: str, column: int, row: int) -> list[str]:
    x, y = column * WIDTH, row * (HEAD + HEIGHT + FOOT)
    outlines = tuple(
        Outline(number, tuple(one["nodes"]), tuple((u, v) for u, v in one["edges"]))
        for number, one in enumerate(found["outlines"], start=1)
    )
    return [
        text(x + 12, y + 18, title, "head"),
        draw_graph(graph, Marks(outlines=outlines)).nested(x, y + HEAD, WIDTH, HEIGHT),
        text(x + 12, y + HEAD + HEIGHT + 8, words, "small soft"),
    ]
