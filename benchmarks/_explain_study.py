"""How well explanations find what is known to matter: motifs in BA-2Motifs, NO2 and NH2 in Mutagenicity.

On BACE nothing is known; there techniques are compared with each other.

`python -m benchmarks explain --study BA-2Motifs --document FILE.md` puts a table between the marks of a
document, with the command that made it. Programs that were mined before are taken with `--programs`.
"""

from __future__ import annotations

import argparse
import logging
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks._explain_techniques import techniques_table
from gdlnn import Graph, GraphDataset, ProgramSet, load_dataset, mine
from gdlnn.drawing import write_text
from gdlnn.explain import closed_forms, explain, with_closed_forms
from gdlnn.explain.metrics import Overlap, overlap
from gdlnn.model import GDLNNClassifier
from gdlnn.studies.inputs import load_programs
from gdlnn.studies.tables import replace_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.explain import Explanation

N_FEATURES: tuple[Any, ...] = (1, 3, 5, 10, "enough")
DRAWS = 20
CLOSED = "lime_contribution"
"""The technique of the Mutagenicity study that is shown with closed forms and sets the random sizes."""
HEADER = "inside | precision | recall | Jaccard | edge Jaccard | AUC"


class Study(NamedTuple):
    """A model and what it is asked about."""

    model: GDLNNClassifier
    train: GraphDataset
    val: GraphDataset
    test: GraphDataset
    accuracy: float
    told: str


def run(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks explain")
    parser.add_argument("--study", choices=tuple(STUDIES), required=True)
    parser.add_argument("-o", "--output", type=Path, help="the Markdown file to write")
    parser.add_argument("--document", type=Path, help="a Markdown file with marks to put the table between")
    parser.add_argument("--programs", type=Path, help="programs mined from the training part, or a folder")
    parser.add_argument("--epsilon", default="0.1", help="ε of the score, where programs are mined")
    parser.add_argument("--pictures", type=Path, help="a folder for one picture of each class")
    parser.add_argument("--targets", type=int, help="graphs to mine from; all by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-j", "--jobs", type=int, default=1)
    options = parser.parse_args(list(words))
    logging.getLogger("gdlnn").setLevel(logging.ERROR)
    root = os.environ.get("GDLNN_DATA")
    if not root or not Path(root).is_dir():
        print("explain: GDLNN_DATA names no folder with the data sets; nothing is measured")
        return
    start = time.perf_counter()
    study = _study(load_dataset(options.study, root, download=False), options)
    lines = STUDIES[options.study](study, options)
    command = " ".join(("python -m benchmarks explain", *_without_paths(words)))
    head = f"`{command}`: {study.told}, test accuracy {study.accuracy:.3f}"
    text = "\n".join([f"{head}, {time.perf_counter() - start:.0f} s.", "", *lines]) + "\n"
    print(text)
    if options.output is not None:
        write_text(options.output, text)
    if options.document is not None:
        replace_part(options.document, f"explain-{options.study}", text)


def _without_paths(words: Sequence[str]) -> list[str]:
    """Return the command without where it wrote and read: paths are of one machine."""
    paths = ("-o", "--output", "--programs")
    skipped = {i + step for i, word in enumerate(words) if word in paths for step in (0, 1)}
    return [word for i, word in enumerate(words) if i not in skipped]


def _study(data: GraphDataset, options: Any) -> Study:
    """Mine and train on the graphs as they are; renumber the graphs to explain."""
    train, val, test = data.split("paper", options.seed)
    mined = _programs(train, options)
    model = GDLNNClassifier.paper(k=None, seed=options.seed, n_jobs=options.jobs, progress=False)
    model.fit(train, validation=val, programs=mined)
    accuracy = model.score(test)
    if data.node_masks is not None:
        val, test = renumbered(val, options.seed + 1), renumbered(test, options.seed)
    return Study(model, train, val, test, accuracy, _told(mined, train, model))


def _programs(train: GraphDataset, options: Any) -> list[ProgramSet]:
    """Mine programs, or read those of a file or of every file of a folder."""
    if options.programs is None:
        mined = mine(train, options.epsilon, targets=options.targets, n_jobs=options.jobs, progress=False)
        return [mined]
    files = sorted(options.programs.iterdir()) if options.programs.is_dir() else [options.programs]
    known = [file for file in files if file.suffix == ".gdl" or file.name.endswith(".json.gz")]
    sets = [ProgramSet.load(file) if file.suffix == ".gdl" else load_programs(file) for file in known]
    fitting = [found for found in sets if found.info.n_graphs == len(train)]
    if not fitting:
        raise SystemExit(f"explain: --programs: expected programs mined from {len(train)} graphs, got none")
    return fitting


def _told(mined: list[ProgramSet], train: GraphDataset, model: GDLNNClassifier) -> str:
    """Say what the model was made from; programs of some of the graphs alone are marked as a sample."""
    epsilons = ", ".join(f"{float(found.info.settings['epsilon']):g}" for found in mined)
    n_targets = max(found.info.n_targets for found in mined)
    sample = f", **a sample**: mined from {n_targets} of them" if n_targets < len(train) else ""
    return f"{len(train)} training graphs{sample}, ε = {epsilons}, {len(model.programs_)} programs"


def renumbered(data: GraphDataset, seed: int) -> GraphDataset:
    """Return the graphs with their nodes in random order, so that no answer can lie in the numbers."""
    rng = np.random.default_rng(seed)
    assert data.node_masks is not None
    graphs, masks = [], []
    for graph, mask in zip(data.graphs, data.node_masks, strict=True):
        place = rng.permutation(graph.n_nodes)
        back = np.argsort(place)
        features, edges = graph.node_features[back], place[graph.edges]
        graphs.append(Graph(features, edges, graph.edge_features, schema=graph.schema, name=graph.name))
        masks.append(None if mask is None else mask[back])
    return GraphDataset(graphs, data.y, data.schema, data.name, node_masks=masks, edge_masks=data.edge_masks)


# --- BA-2Motifs -----------------------------------------------------------------------------------------


def _motifs(study: Study, options: Any) -> list[str]:
    val, test = (_right(study.model, part) for part in (study.val, study.test))
    inside = {n: _overlaps(explain(study.model, val.graphs, n_features=n), val)[0].inside for n in N_FEATURES}
    best = max(N_FEATURES, key=lambda n: (inside[n], N_FEATURES.index(n)))
    shares = ", ".join(f"{n}: {share:.2f}" for n, share in inside.items())
    right = f"{len(test)} of {len(study.test)} test graphs are classified correctly and explained with LIME."
    lines = [
        f"Nodes renumbered at random; {right}",
        f"`n_features` = {best} is chosen on the validation part (share inside there: {shares}).",
        "",
        f"| n_features | subgraph | {HEADER} |",
        "|---|---|" + "---|" * 6,
    ]
    for n in N_FEATURES:
        found = explain(study.model, test.graphs, n_features=n, seed=options.seed)
        closed = _closed(study, found)
        mark = " (chosen)" if n == best else ""
        lines.append(f"| {n}{mark} | Algorithm 2 | {_cells(found, test)} |")
        lines.append(f"| {n}{mark} | closed forms | {_cells(closed, test)} |")
        if n == best and options.pictures is not None:
            _draw(found, closed, test, options.pictures)
    return lines


def _draw(found: list[Explanation], closed: list[Explanation], test: GraphDataset, folder: Path) -> None:
    """Draw the first graph of each class, plain and with closed forms."""
    assert test.y is not None
    folder.mkdir(parents=True, exist_ok=True)
    for label in np.unique(test.y).tolist():
        row = int(np.flatnonzero(test.y == label)[0])
        name = found[row].class_name(label)
        found[row].draw(folder / f"ba-2motifs-{name}.svg")
        closed[row].draw(folder / f"ba-2motifs-{name}-closed.svg")


def _right(model: GDLNNClassifier, part: GraphDataset) -> GraphDataset:
    return part[np.flatnonzero(model.predict(part) == part.y)]


# --- Mutagenicity ---------------------------------------------------------------------------------------


def _groups(study: Study, options: Any) -> list[str]:
    test = study.test
    assert test.node_masks is not None
    mutagen = next(label for label, name in test.schema.classes.items() if name == "mutagen")  # type: ignore[union-attr]
    marked = np.array([mask is not None and bool(mask.any()) for mask in test.node_masks])
    chosen = test[np.flatnonzero(marked & (study.model.predict(test) == mutagen))]
    lines = [
        f"{int(marked.sum())} of {len(test)} test graphs have an NO2 or NH2 group.",
        f"The {len(chosen)} of them that are predicted mutagenic are explained.",
        "",
        f"| explanation | n_features | {HEADER} |",
        "|---|---|" + "---|" * 6,
    ]
    for technique in ("lime", "lime_contribution", "integrated_gradients"):
        for n in N_FEATURES:
            found = explain(study.model, chosen.graphs, technique, n, seed=options.seed)
            lines.append(f"| {technique} | {n} | {_cells(found, chosen)} |")
            if technique == CLOSED:
                lines.append(f"| {technique}, closed forms | {n} | {_cells(_closed(study, found), chosen)} |")
    sizes = [len(e.nodes) for e in explain(study.model, chosen.graphs, CLOSED, 1, seed=options.seed)]
    draws = [_random(chosen, sizes, draw) for draw in range(DRAWS)]
    means = [float(np.nanmean([row[i] for row in draws])) for i in range(6)]
    lines.append(f"| random nodes, as many as {CLOSED} with 1 | – | {_joined(means)} |")
    masks = [_heteroatoms(graph) for graph in chosen.graphs]
    lines.append(f"| all heteroatoms | – | {_joined(_of_masks(chosen, masks))} |")
    return lines


def _heteroatoms(graph: Graph) -> Any:
    assert graph.schema is not None
    names = [graph.schema.node[0].value_name(value) for value in graph.node_features[:, 0].tolist()]
    return np.array([name not in ("C", "H") for name in names])


def _random(data: GraphDataset, sizes: list[int], seed: int) -> list[float]:
    rng = np.random.default_rng(seed)
    masks = []
    for graph, size in zip(data.graphs, sizes, strict=True):
        mask = np.zeros(graph.n_nodes, dtype=bool)
        mask[rng.permutation(graph.n_nodes)[:size]] = True
        masks.append(mask)
    return _of_masks(data, masks)


def _of_masks(data: GraphDataset, masks: list[Any]) -> list[float]:
    assert data.node_masks is not None
    assert data.edge_masks is not None
    of_edges = [mask[g.edges].all(axis=1) for mask, g in zip(masks, data.graphs, strict=True)]
    return _values(overlap(masks, data.node_masks), overlap(of_edges, data.edge_masks))


def _techniques(study: Study, _options: Any) -> list[str]:
    return techniques_table(study.model, study.val)


STUDIES = {"BA-2Motifs": _motifs, "Mutagenicity": _groups, "BACE": _techniques}


# --- rows -----------------------------------------------------------------------------------------------


def _closed(study: Study, found: list[Explanation]) -> list[Explanation]:
    used = [i for e in found for i, matched in zip(e.indices, e.matched, strict=True) if matched]
    closed = closed_forms(study.model.programs_, study.train, used)
    return with_closed_forms(found, closed)


def _overlaps(found: list[Explanation], data: GraphDataset) -> tuple[Overlap, Overlap]:
    assert data.node_masks is not None
    assert data.edge_masks is not None
    nodes = overlap([e.node_mask for e in found], data.node_masks, [e.node_scores for e in found])
    return nodes, overlap([e.edge_mask for e in found], data.edge_masks)


def _values(nodes: Overlap, edges: Overlap) -> list[float]:
    return [nodes.inside, nodes.precision, nodes.recall, nodes.jaccard, edges.jaccard, nodes.auc]


def _cells(found: list[Explanation], data: GraphDataset) -> str:
    return _joined(_values(*_overlaps(found, data)))


def _joined(values: Sequence[float]) -> str:
    return " | ".join(f"{value:.3f}" for value in values)
