"""A researcher's own TU dataset: k folds, and how good predictions and explanations are on each.

    python examples/researcher.py FOLDER [FOLDS]

FOLDER holds NAME_A.txt, NAME_graph_indicator.txt, NAME_graph_labels.txt and whatever else there is of it.
"""

from __future__ import annotations

import sys
from statistics import mean, stdev
from typing import TYPE_CHECKING

import gdlnn

if TYPE_CHECKING:
    from pathlib import Path


def main(folder: str | Path, n_folds: int = 10) -> list[float]:
    data = gdlnn.load_tu(folder)
    print(data.describe())
    accuracies = []
    print("fold  accuracy  programs  sparsity")
    for fold, (train, test) in enumerate(data.folds(n_folds, random_state=0), start=1):
        model = gdlnn.GDLNNClassifier(verbose=False).fit(train)
        explained = model.explain(list(test)[:20])
        left_out = mean(1 - len(e.nodes) / e.graph.n_nodes for e in explained)
        accuracies.append(model.score(test))
        print(f"{fold:4}  {accuracies[-1]:8.1%}  {len(model.programs_):8}  {left_out:8.2f}")
    print(f"accuracy {mean(accuracies):.1%} ± {stdev(accuracies):.1%} over {n_folds} folds")
    return accuracies


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))
