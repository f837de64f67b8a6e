"""How good models are on graphs inside, at the edge of and outside what was learnt, on scaffold splits.

`python -m benchmarks domain --seeds 5 --document FILE.md` puts the table between the marks of a document.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from gdlnn import GDLNNClassifier, load_smiles
from gdlnn.model.domain import DomainName
from gdlnn.model.metrics import classification_scores
from repro.tables import replace_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn import GraphDataset

DATA = {"BBBP": ("BBBP/BBBP.csv", "p_np"), "BACE": ("BACE/bace.csv", "Class")}
"""Files under `GDLNN_DATA`, and their columns of labels."""
HEADER = "| dataset | domain | test graphs | accuracy | balanced accuracy | ROC-AUC | majority class |"


def run(options: Sequence[str] = ("--seeds", "1", "--data", "BACE", "--limit", "300")) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks domain")
    parser.add_argument("--data", nargs="+", choices=sorted(DATA), default=list(DATA))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--split", choices=("scaffold", "stratified"), default="scaffold")
    parser.add_argument("--limit", type=int, help="Take the first graphs only.")
    parser.add_argument("--document", type=Path)
    asked = parser.parse_args(list(options))
    lines = [HEADER, "|---|---|---|---|---|---|---|"]
    for name in asked.data:
        file, label = DATA[name]
        data = load_smiles(Path(os.environ["GDLNN_DATA"]) / file, label=label)
        lines += _rows(name, data[: asked.limit], asked.split, asked.seeds)
    table = "\n".join(lines)
    print(table)
    if asked.document is not None:
        replace_part(asked.document, "domain", table)


def _rows(name: str, data: GraphDataset, split: Any, n_seeds: int) -> list[str]:
    """Return a row for each domain, the test graphs of all splits taken together."""
    truth, proba, labels, domains = [], [], [], []
    for seed in range(n_seeds):
        train, val, test = data.split(split, seed)
        model = GDLNNClassifier(seed=seed, n_jobs=-1, progress=False).fit(train, validation=val)
        found = model.represent(test)
        truth.append(np.asarray(test.y))
        proba.append(found.probabilities)
        labels.append(found.labels)
        started = time.process_time()
        domains += [str(where.domain) for where in found.domains]
        spent = (time.process_time() - started) / len(test)
        started = time.process_time()
        n_seen = sum(map(bool, found.seen))
        print(
            f"{name}, seed {seed}: domain {1e6 * spent:.0f} µs and seen "
            f"{1e6 * (time.process_time() - started) / len(test):.0f} µs per graph; {n_seen} twins"
        )
    y, chances, said = np.concatenate(truth), np.concatenate(proba), np.concatenate(labels)
    where = np.array(domains)
    rows = []
    for domain in ("all", *get_args(DomainName)):
        own = np.ones(len(y), dtype=bool) if domain == "all" else where == domain
        if not own.any():
            continue
        scores = classification_scores(y[own], chances[own], model.classes_, said[own])
        shown = [
            "–" if scores[key] is None else f"{scores[key]:.3f}"
            for key in ("accuracy", "balanced_accuracy", "roc_auc")
        ]
        majority = max(float((y[own] == label).mean()) for label in model.classes_)
        rows.append(f"| {name} | {domain} | {own.sum()} | {' | '.join(shown)} | {majority:.3f} |")
    return rows
