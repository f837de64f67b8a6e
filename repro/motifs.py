"""The study of motifs: cycles and houses of BA-2Motifs, explained by GDLNN, SubgraphX and PL4XGL.

Its figure shows one graph of each class that all three models classify correctly; its table counts in how
many of them the motif was found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.drawing import Marks, Outline, Picture, draw_graph
from gdlnn.drawing.svg import text
from gdlnn.errors import GDLNNError
from gdlnn.explain.pictures import explanation_outlines
from repro.closed_form import closed_forms, with_closed_forms
from repro.curves import FOUND
from repro.explanations import (
    ExplanationPlan,
    compute_explanations,
    explain_graphs,
    explained_model,
    named_graphs,
)
from repro.inputs import SplitPlan, load_split
from repro.methods import EXPLAINERS
from repro.metrics import jaccard
from repro.study import Study
from repro.tables import markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gdlnn.graphs import Graph
    from gdlnn.graphs.splits import Split
    from repro.store import Protocol, Result, RunConfig, Task

SHOWN = {"gdlnn-paper": "GDLNN", "subgraphx": "GIN + SubgraphX", "pl4xgl": "PL4XGL"}
"""The explainers and their names in the figure."""
N_NODES = 5
"""Nodes of SubgraphX's explanation: those of a motif."""
WIDTH, HEIGHT, HEAD, FOOT = 300, 240, 26, 20


@dataclass(frozen=True)
class MotifPlan(ExplanationPlan):
    """Three models that predict the test set ("predict"), or explain some of its graphs ("motifs").

    Attributes
    ----------
    rows
        Positions in the test set of the graphs to explain.
    """

    protocol: Protocol = "repeated"
    rows: tuple[int, ...] = ()

    def splits(self) -> list[SplitPlan]:
        """Return a random split with the seed of the study."""
        return [SplitPlan(f"random-{self.seed}", (self.seed,))]

    def explained_rows(self, split: Split) -> tuple[int, ...]:
        """Return the given rows."""
        del split
        return self.rows

    @property
    def compute(self) -> Callable[[Task, RunConfig], Result]:
        """Fits a network, predicts, or explains."""
        return compute_motifs

    def describe(self, task: Task, result: Result) -> str:
        """Return what was done, or the reason of a failure."""
        if task.kind == "network" or result["status"] != "ok":
            return super().describe(task, result)
        done = f"{len(result['graphs'])} explained" if task.kind == "motifs" else "test set predicted"
        return f"{task.method}: {done}"


def compute_motifs(task: Task, config: RunConfig) -> Result:
    """Fit a network, predict the test set, or explain graphs and mark where each program matches."""
    if task.kind == "network":
        return compute_explanations(task, config)
    model, _ = explained_model(task, config)
    (train, _, test), _ = load_split(task.dataset, task.protocol, task.split, config)
    if task.kind == "predict":
        return {"predicted": np.asarray(model.predict(test)).tolist()}
    explainer, graphs = EXPLAINERS[task.method], named_graphs(task, config).graphs
    if explainer.way == "programs":
        explainer = replace(explainer, way="smallest")
    found = [
        explain_graphs(explainer, model, [graph], (N_NODES / graph.n_nodes,), task.seed)[0][0][0]
        for graph in graphs
    ]
    if explainer.way == "smallest":
        # A mined program is as short as possible; its closed form shows all that its training graphs share.
        found = with_closed_forms(found, closed_forms(model.programs_, train))
    shown = [
        _node_marks(one.graph, one.nodes) if explainer.way == "network" else _program_marks(one)
        for one in found
    ]
    return {"graphs": [{"row": row, **marks} for row, marks in zip(task.rows, shown, strict=True)]}


def _program_marks(explanation: Any) -> Result:
    """Return the nodes of an explanation, and which program matches which nodes and edges."""
    outlines = [outline for outline in explanation_outlines(explanation) if outline.drawn]
    nodes: dict[int, list[int]] = {}
    edges: dict[tuple[int, int], list[int]] = {}
    for number, outline in enumerate(outlines):
        for node in outline.nodes:
            nodes.setdefault(node, []).append(number)
        for edge in outline.edges:
            edges.setdefault(edge, []).append(number)
    return {
        "nodes": list(explanation.nodes),
        "node_programs": list(nodes.items()),
        "edge_programs": list(edges.items()),
    }


def _node_marks(graph: Graph, nodes: Sequence[int]) -> Result:
    """Return marks in one colour, as for a single program over all these nodes."""
    inside = set(nodes)
    edges = [(min(u, v), max(u, v)) for u, v in graph.edges.tolist() if u in inside and v in inside]
    return {
        "nodes": list(nodes),
        "node_programs": [(node, [0]) for node in nodes],
        "edge_programs": [(edge, [0]) for edge in edges],
    }


class MotifStudy:
    """Train three models on the same graphs and explain others.

    Parameters
    ----------
    n_graphs
        Number of generated graphs; four fifths are used for training.
    seed
        Seed of graphs, models and explanations.
    config
        The configuration of the run.
    report
        Called with the number of tasks done, the number of tasks, and a line on the last one.
    n_explained
        Number of graphs of each class that are explained.
    """

    def __init__(
        self,
        n_graphs: int,
        seed: int,
        config: RunConfig,
        report: Callable[[int, int, str], Any] | None = None,
        n_explained: int = 1,
    ) -> None:
        self._config, self._report = config, report
        plan = MotifPlan("predict", [f"synthetic:ba-2motifs:{n_graphs}:{seed}"], list(SHOWN), seed=seed)
        predicted = [cell["predicted"] for cell in self._run(plan)]
        (_, _, self._test), _ = load_split(plan.datasets[0], plan.protocol, plan.splits()[0].name, config)
        self._rows = self._right(predicted, n_explained)
        rows = tuple(sorted(row for several in self._rows.values() for row in several))
        cells = self._run(replace(plan, kind="motifs", rows=rows))
        self._found = {(cell["method"], graph["row"]): graph for cell in cells for graph in cell["graphs"]}

    def _run(self, plan: MotifPlan) -> list[Result]:
        study = Study(plan, self._config, self._report)
        failed = study.run()
        cells = [cell for cell in study.store.cells(plan.kind) if cell["dataset"] in plan.datasets]
        if failed:
            reasons = [cell["reason"] for cell in cells if cell["status"] != "ok"]
            raise GDLNNError(f"motifs: {failed} cell(s) failed: {'; '.join(dict.fromkeys(reasons))}")
        return cells

    def _right(self, predicted: list[list[Any]], n_explained: int) -> dict[Any, list[int]]:
        """Return by class the first test graphs that all models classify correctly."""
        truth = np.asarray(self._test.y)
        right = np.all([np.asarray(labels) == truth for labels in predicted], axis=0)
        found = {}
        for label in np.unique(truth).tolist():
            rows = np.flatnonzero(right & (truth == label))[:n_explained]
            if not len(rows):
                raise GDLNNError(
                    f"motifs: expected a test graph of class {label} that all three models classify "
                    f"correctly, got none among {len(truth)}; give more graphs"
                )
            found[label] = rows.tolist()
        return found

    def figure(self) -> str:
        """Return the explanations of the first graph of each class as an SVG figure."""
        body: list[str] = []
        for place, (label, rows) in enumerate(self._rows.items()):
            for column, (method, title) in enumerate(SHOWN.items()):
                row = rows[0]
                found, index = self._found[method, row], self._jaccard(method, row)
                said = f"{len(found['nodes'])} nodes, Jaccard with the motif {index:.2f}"
                said = said if found["nodes"] else "no node: that programs are absent decided"
                head = f"{self._class_name(label)}: {title}"
                body += _panel(self._test.graphs[row], found, head, said, column, place)
        height = 2 * (HEAD + HEIGHT + FOOT)
        figure = Picture((0, 0, 3 * WIDTH, height), "".join(body))
        return figure.document("BA-2Motifs explained by GDLNN, SubgraphX and PL4XGL")

    def counts(self) -> str:
        """Return a table of how well the motifs were found.

        It has the mean Jaccard index with the motif, and the share of graphs where it is at least 0.5.
        """
        lines = []
        for label, rows in self._rows.items():
            for method, title in SHOWN.items():
                values = [self._jaccard(method, row) for row in rows]
                share = np.mean(np.array(values) >= FOUND)
                name = self._class_name(label)
                lines.append([name, title, str(len(rows)), f"{np.mean(values):.2f}", f"{share:.2f}"])
        return markdown(["", "", "graphs", "mean Jaccard", f"Jaccard ≥ {FOUND:g}"], lines)

    def _jaccard(self, method: str, row: int) -> float:
        """Return how an explanation agrees with the motif."""
        assert self._test.node_masks is not None
        motif = np.flatnonzero(np.asarray(self._test.node_masks[row])).tolist()
        return jaccard(self._found[method, row]["nodes"], motif)

    def _class_name(self, label: Any) -> str:
        return str(label) if self._test.schema is None else self._test.schema.class_name(label)


def _panel(graph: Graph, found: Result, title: str, said: str, column: int, row: int) -> list[str]:
    x, y = column * WIDTH, row * (HEAD + HEIGHT + FOOT)
    numbers = sorted({number for _, programs in found["node_programs"] for number in programs})
    outlines = tuple(
        Outline(
            number + 1,
            tuple(node for node, programs in found["node_programs"] if number in programs),
            tuple((u, v) for (u, v), programs in found["edge_programs"] if number in programs),
        )
        for number in numbers
    )
    return [
        text(x + 12, y + 18, title, "head"),
        draw_graph(graph, Marks(outlines=outlines)).nested(x, y + HEAD, WIDTH, HEIGHT),
        text(x + 12, y + HEAD + HEIGHT + 8, said, "small soft"),
    ]
