"""The qualitative figure: one cycle and one house of BA-2Motifs, explained by GDLNN, SubgraphX and PL4XGL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.baselines import GINClassifier
from gdlnn.baselines.subgraphx import SubgraphX
from gdlnn.datasets import make_ba_2motifs
from gdlnn.errors import GDLNNError
from gdlnn.explain import explain
from gdlnn.explain.drawing.explanation_picture import highlights, program_colours
from gdlnn.explain.drawing.graph_picture import Highlights, graph_picture
from gdlnn.explain.drawing.svg import INK, QUIET, document, text
from gdlnn.explain.metrics import jaccard
from gdlnn.model import GDLNNClassifier, PL4XGLClassifier

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gdlnn.graphs import Graph, GraphDataset

N_FEATURES = 3
"""Programs that LIME names: the number that `docs/explanations.md` chooses on the validation part."""
N_NODES = 5
"""Nodes of SubgraphX's explanation: those of a motif."""
WIDTH, HEIGHT, HEAD, FOOT = 300, 240, 26, 20


def motif_figure(
    n_graphs: int = 1000, seed: int = 0, report: Callable[[str], None] = lambda _: None, n_jobs: int = 1
) -> str:
    """Train the three models, explain a graph of each class that all get right, and return the figure as SVG.

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
    train, val, test = make_ba_2motifs(n_graphs, seed=seed).split("random", seed=seed)
    report("mining and training GDLNN")
    ours = GDLNNClassifier.paper(seed=seed, progress=False, n_jobs=n_jobs, device="cpu")
    ours.fit(train, validation=val)
    report("training GIN")
    network = GINClassifier(weight_decay=5e-5, seed=seed, device="cpu").fit(train, validation=val)
    report("mining PL4XGL's programs")
    rival = PL4XGLClassifier(seed=seed, progress=False, n_jobs=n_jobs).fit(train, validation=val)
    masks = test.node_masks
    assert masks is not None
    body: list[str] = []
    for place, row in enumerate(_shown(test, [ours, network, rival])):
        graph = test.graphs[row]
        truth = np.flatnonzero(np.asarray(masks[row])).tolist()
        report(f"explaining graph {row}")
        search = SubgraphX(network, seed=seed, progress=False).search(graph)
        panels = (
            ("GDLNN", *_by_programs(explain(ours, graph, "lime", N_FEATURES, seed=seed))),
            ("GIN + SubgraphX", *_by_nodes(graph, search.best(N_NODES).nodes)),
            ("PL4XGL", *_by_programs(explain(rival, graph))),
        )
        name = (
            test.schema.class_name(_label(test, row)) if test.schema is not None else str(_label(test, row))
        )
        for column, (title, marks, nodes) in enumerate(panels):
            said = f"{len(nodes)} nodes, Jaccard with the motif {jaccard(nodes, truth):.2f}"
            said = said if nodes else "no node: that programs are absent decided"
            body += _panel(graph, marks, f"{name}: {title}", said, column, place)
    height = 2 * (HEAD + HEIGHT + FOOT)
    return document(3 * WIDTH, height, body, "BA-2Motifs explained by GDLNN, SubgraphX and PL4XGL")


def _label(data: GraphDataset, row: int) -> Any:
    assert data.y is not None
    return data.y.tolist()[row]


def _shown(test: GraphDataset, models: Sequence[Any]) -> list[int]:
    """Return the first test graph of each class that all models classify correctly."""
    right = np.all([np.asarray(model.predict(test)) == test.y for model in models], axis=0)
    found = []
    for label in np.unique(np.asarray(test.y)):
        rows = np.flatnonzero(right & (np.asarray(test.y) == label))
        if not len(rows):
            raise GDLNNError(
                f"motifs: expected a test graph of class {label} that all three models classify correctly, "
                f"got none among {len(test)}; give more graphs"
            )
        found.append(int(rows[0]))
    return found


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
