"""The qualitative figure: one cycle and one house of BA-2Motifs, explained by GDLNN, SubgraphX and PL4XGL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.baselines import GINClassifier
from gdlnn.baselines.subgraphx import SubgraphX
from gdlnn.datasets import make_ba_2motifs
from gdlnn.drawing.graph_picture import Highlights, graph_picture
from gdlnn.drawing.svg import INK, QUIET, document, text
from gdlnn.errors import GDLNNError
from gdlnn.evaluation.curves import FOUND
from gdlnn.evaluation.tables import markdown
from gdlnn.explain import closed_forms, explain, with_closed_forms
from gdlnn.explain.metrics import jaccard
from gdlnn.explain.pictures import highlights, program_colours
from gdlnn.model import GDLNNClassifier, PL4XGLClassifier

if TYPE_CHECKING:
    from collections.abc import Callable

    from gdlnn.graphs import Graph

N_NODES = 5
"""Nodes of SubgraphX's explanation: those of a motif."""
WIDTH, HEIGHT, HEAD, FOOT = 300, 240, 26, 20


class MotifStudy:
    """Three models trained on the same graphs, and how they explain others.

    Parameters
    ----------
    n_graphs
        Graphs that are made; four fifths are trained on.
    seed
        Seed of graphs and models.
    report
        Called with words on what is being done.
    n_jobs
        Threads of mining.
    """

    def __init__(
        self,
        n_graphs: int = 1000,
        seed: int = 0,
        report: Callable[[str], None] = lambda _: None,
        n_jobs: int = 1,
    ) -> None:
        self.seed, self.report = seed, report
        train, val, self.test = make_ba_2motifs(n_graphs, seed=seed).split("random", seed=seed)
        report("mining and training GDLNN")
        self.ours = GDLNNClassifier.paper(seed=seed, progress=False, n_jobs=n_jobs)
        self.ours.set_params(head__device="cpu")
        self.ours.fit(train, validation=val)
        report("training GIN")
        self.network = GINClassifier(weight_decay=5e-5, seed=seed, device="cpu").fit(train, validation=val)
        report("mining PL4XGL's programs")
        self.rival = PL4XGLClassifier(seed=seed, progress=False, n_jobs=n_jobs).fit(train, validation=val)
        # A mined program is as short as can be; its closed form shows all that its training graphs share.
        self.closed = closed_forms(self.ours.programs_, train)

    def figure(self) -> str:
        """Explain the first test graph of each class that all three get right, and return an SVG figure."""
        body: list[str] = []
        for place, rows in enumerate(self._right(1).values()):
            (row,) = rows
            graph = self.test.graphs[row]
            for column, (title, marks, nodes) in enumerate(self._explained(row)):
                found = jaccard(nodes, self._motif(row))
                said = f"{len(nodes)} nodes, Jaccard with the motif {found:.2f}"
                said = said if nodes else "no node: that programs are absent decided"
                body += _panel(graph, marks, f"{self._class_name(row)}: {title}", said, column, place)
        height = 2 * (HEAD + HEIGHT + FOOT)
        return document(3 * WIDTH, height, body, "BA-2Motifs explained by GDLNN, SubgraphX and PL4XGL")

    def counts(self, n_graphs: int) -> str:
        """Explain so many test graphs of each class that all three get right, and return a table.

        It has the mean Jaccard index with the motif, and the share of graphs where it is at least 0.5.
        """
        lines = []
        for rows in self._right(n_graphs).values():
            found: dict[str, list[float]] = {}
            for row in rows:
                for title, _, nodes in self._explained(row):
                    found.setdefault(title, []).append(jaccard(nodes, self._motif(row)))
            name = self._class_name(rows[0])
            for title, values in found.items():
                share = np.mean(np.array(values) >= FOUND)
                lines.append([name, title, str(len(rows)), f"{np.mean(values):.2f}", f"{share:.2f}"])
        return markdown(["", "", "graphs", "mean Jaccard", f"Jaccard ≥ {FOUND:g}"], lines)

    def _explained(self, row: int) -> list[tuple[str, Highlights, tuple[int, ...]]]:
        graph = self.test.graphs[row]
        self.report(f"explaining graph {row}")
        (ours,) = with_closed_forms(
            [explain(self.ours, graph, "lime", "smallest", seed=self.seed)], self.closed
        )
        search = SubgraphX(self.network, seed=self.seed, progress=False).search(graph)
        return [
            ("GDLNN", *_by_programs(ours)),
            ("GIN + SubgraphX", *_by_nodes(graph, search.best(N_NODES).nodes)),
            ("PL4XGL", *_by_programs(explain(self.rival, graph))),
        ]

    def _right(self, n_graphs: int) -> dict[Any, list[int]]:
        """Return by class the first test graphs that all models classify correctly."""
        test = self.test
        models = (self.ours, self.network, self.rival)
        right = np.all([np.asarray(model.predict(test)) == test.y for model in models], axis=0)
        found = {}
        for label in np.unique(np.asarray(test.y)).tolist():
            rows = np.flatnonzero(right & (np.asarray(test.y) == label))[:n_graphs]
            if not len(rows):
                raise GDLNNError(
                    f"motifs: expected a test graph of class {label} that all three models classify "
                    f"correctly, got none among {len(test)}; give more graphs"
                )
            found[label] = rows.tolist()
        return found

    def _motif(self, row: int) -> list[int]:
        assert self.test.node_masks is not None
        motif: list[int] = np.flatnonzero(np.asarray(self.test.node_masks[row])).tolist()
        return motif

    def _class_name(self, row: int) -> str:
        assert self.test.y is not None
        label = self.test.y.tolist()[row]
        return str(label) if self.test.schema is None else self.test.schema.class_name(label)


def _by_programs(explanation: Any) -> tuple[Highlights, tuple[int, ...]]:
    return highlights(explanation, program_colours(explanation)), explanation.nodes


def _by_nodes(graph: Graph, nodes: tuple[int, ...]) -> tuple[Highlights, tuple[int, ...]]:
    """Return marks in one colour, as for a single program over all these nodes."""
    inside = set(nodes)
    edges = {(min(u, v), max(u, v)): [0] for u, v in graph.edges.tolist() if u in inside and v in inside}
    return Highlights(frozenset(nodes), {node: [0] for node in nodes}, edges), nodes


def _panel(graph: Graph, marks: Highlights, title: str, said: str, column: int, row: int) -> list[str]:
    x, y = column * WIDTH, row * (HEAD + HEIGHT + FOOT)
    return [
        text(x + 12, y + 18, title, 13, INK, weight="bold"),
        f"<g transform='translate({x} {y + HEAD})'>",
        *graph_picture(graph, marks, WIDTH, HEIGHT),
        "</g>",
        text(x + 12, y + HEAD + HEIGHT + 8, said, 11, QUIET),
    ]
