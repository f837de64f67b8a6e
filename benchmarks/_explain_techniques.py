"""How techniques differ on a model with hundreds of programs: emptiness, size, faithfulness, stability.

`python -m benchmarks explain --study BACE --document FILE.md` puts the table between the marks of a document,
with the command that made it.
"""

from __future__ import annotations

import argparse
import logging
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn import load_dataset, mine
from gdlnn.drawing import write_text
from gdlnn.explain import Explanation, Lime, explain
from gdlnn.model import GDLNNClassifier
from repro.metrics import fidelity, sparsity, stability
from repro.tables import replace_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn import GraphDataset

SEEDS = (0, 1, 2)
HEADER = "empty | programs that match | nodes | sparsity | fidelity | same prediction | stability | R²"


def run(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks explain")
    parser.add_argument("--study", choices=("BACE",), required=True)
    parser.add_argument("-o", "--output", type=Path, help="the Markdown file to write")
    parser.add_argument("--document", type=Path, help="a Markdown file with marks to put the table between")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    options = parser.parse_args(list(words))
    logging.getLogger("gdlnn").setLevel(logging.ERROR)
    root = os.environ.get("GDLNN_DATA")
    if not root or not Path(root).is_dir():
        print("explain: GDLNN_DATA names no folder with the datasets; nothing is measured")
        return
    start = time.perf_counter()
    train, val, test = load_dataset(options.study, root, download=False).split("paper")
    model = GDLNNClassifier.paper(k=None, n_jobs=options.jobs, progress=False)
    model.fit(train, validation=val, programs=mine(train, 0.1, n_jobs=options.jobs, progress=False))
    told = f"{len(train)} training graphs, ε = 0.1, {len(model.programs_)} programs"
    head = f"`python -m benchmarks explain --study {options.study}`: {told}"
    lines = [f"{head}, test accuracy {model.score(test):.3f}, {{:.0f}} s.", "", *techniques_table(model, val)]
    text = "\n".join(lines).format(time.perf_counter() - start) + "\n"
    print(text)
    if options.output is not None:
        write_text(options.output, text)
    if options.document is not None:
        replace_part(options.document, f"explain-{options.study}", text)


def techniques_table(model: GDLNNClassifier, val: GraphDataset) -> list[str]:
    """Return a table of techniques over the validation graphs, `n_features` as it is by default."""
    asked: tuple[tuple[str, Any, Any], ...] = (
        ("lime", Lime(), 5),
        ("lime, 20,000 samples", Lime(20_000), 5),
        ("lime_present", Lime(present_only=True), 5),
        ("lime_contribution", Lime(contributions=True), 5),
        ("lime_contribution", Lime(contributions=True), "enough"),
        ("integrated_gradients", "integrated_gradients", 5),
    )
    lines = [
        f"{len(val)} validation graphs, {len(model.programs_)} programs.",
        "",
        f"| technique | n_features | {HEADER} |",
        "|---|---|" + "---|" * 8,
    ]
    for name, technique, n_features in asked:
        runs = [explain(model, val.graphs, technique, n_features, seed=seed) for seed in SEEDS]
        lines.append(f"| {name} | {n_features} | {_row(model, val, runs)} |")
    return lines


def _row(model: GDLNNClassifier, val: GraphDataset, runs: Sequence[list[Explanation]]) -> str:
    found = runs[0]
    assert val.y is not None
    predicted, alone = model.predict(val), model.predict([e.subgraph for e in found])
    quality = [e.quality for e in found if e.quality is not None]
    values = [
        float(np.mean([e.is_empty for e in found])),
        float(np.mean([sum(e.matched) for e in found])),
        float(np.mean([len(e.nodes) for e in found])),
        sparsity([len(e.nodes) for e in found], [e.graph.n_nodes for e in found]),
        fidelity(val.y, predicted, alone),
        float(np.mean(predicted == alone)),
        stability(runs).programs,
    ]
    return " | ".join([*(f"{value:.3f}" for value in values), f"{np.mean(quality):.3f}" if quality else "–"])
