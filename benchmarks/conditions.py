"""Compare version 0.1's model with the same model with today's conditions, on random splits.

::

    python -m benchmarks conditions [--datasets BBBP BACE MUTAG PTC_MR] [--seeds 301 … 310] [--workers 16]
        [--out FILE.jsonl] [--summary FILE.jsonl]

*Old* is version 0.1's default. *New* has the same head and the same search, but asks nominal features for a
value instead of an interval, hides features of molecules by default, and adds structure where nodes carry
labels only. Both are fitted on the training set, and scored on the validation and test sets together and on
the test set alone. From `MIN_VALIDATION` graphs on, the validation set is used for early stopping.

Every fit is one task for each ε and one for the head, in processes of one thread. Each fit becomes a line of
`--out` once done, so that a run may be stopped at any time; `--summary` prints the table of such a file.
BBBP and BACE take 5 to 8 minutes of a processor per fit: their first seeds go first, further ones last.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import time
import warnings
from collections import defaultdict, deque
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks._mining_report import markdown_table
from gdlnn.datasets import load_dataset
from gdlnn.graphs.structure import wants_structure
from gdlnn.model import GDLNNClassifier, Mined, MLPHead
from gdlnn.model.metrics import classification_scores
from gdlnn.model.vocabulary import AUTO_EPSILONS, RunOptions, listed_epsilons
from repro.methods import first_classifier
from repro.statistics import t_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gdlnn import GraphDataset, ProgramSet

NAMES = ("BBBP", "BACE", "MUTAG", "PTC_MR")
SEEDS = range(301, 311)
LARGE = ("BBBP", "BACE")
FIRST_SEEDS = 4
"""This many seeds of large datasets go before all others, the rest after them."""
OLD, NEW = "old", "new"


class Fit(NamedTuple):
    """One model on one split."""

    name: str
    seed: int
    conditions: str


class Mining(NamedTuple):
    """What one ε gave."""

    programs: ProgramSet
    cpu_seconds: float


def run(argv: Sequence[str] | None = None) -> None:
    """Compare; without arguments on two splits of MUTAG."""
    parser = argparse.ArgumentParser("python -m benchmarks conditions")
    parser.add_argument("--datasets", nargs="+", default=NAMES if argv is not None else ["MUTAG"])
    seeds = SEEDS if argv is not None else SEEDS[:2]
    parser.add_argument("--seeds", nargs="+", type=int, default=list(seeds))
    parser.add_argument("--workers", type=int, default=os.cpu_count() if argv is not None else 1)
    parser.add_argument("--out", type=Path, help="a file for the results, a line of JSON for each fit")
    parser.add_argument("--summary", type=Path, help="print the table of such a file; nothing is fitted")
    options = parser.parse_args([] if argv is None else list(argv))
    if options.summary is not None:
        print(summary(map(json.loads, options.summary.read_text().splitlines())))
        return
    root = os.environ.get("GDLNN_DATA")
    if not root or not Path(root).is_dir():
        print("conditions: GDLNN_DATA names no folder with the datasets; nothing is measured")
        return
    rows = []
    for row in results(in_order(options.datasets, options.seeds), options.workers):
        rows.append(row)
        if options.out is not None:
            with options.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
    print(summary(rows))


def in_order(names: Sequence[str], seeds: Sequence[int]) -> list[Fit]:
    """Return all fits: the first seeds of large datasets, all of the others, further seeds."""
    large = [name for name in names if name in LARGE]
    small = [name for name in names if name not in LARGE]
    parts = ((large, seeds[:FIRST_SEEDS]), (small, seeds), (large, seeds[FIRST_SEEDS:]))
    return [
        Fit(name, seed, conditions)
        for part, own_seeds in parts
        for seed in own_seeds
        for name in part
        for conditions in (OLD, NEW)
    ]


# --- fitting ----------------------------------------------------------------------------------------------


def results(fits: Sequence[Fit], workers: int) -> Iterable[dict[str, Any]]:
    """Give what each fit came to, once done.

    Tasks are handed over when a worker is free, so that the head of a fit goes before further mining.
    """
    # The largest ε first within a fit, as it takes longest.
    todo: deque[tuple[Fit, int | None]] = deque(
        (fit, number) for fit in fits for number in reversed(range(len(AUTO_EPSILONS)))
    )
    found: dict[Fit, dict[int, Mining | None]] = defaultdict(dict)
    running: dict[Future[Any], tuple[Fit, int | None]] = {}
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"  # the workers read them when they start
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_quiet) as pool:
        while todo or running:
            while todo and len(running) < workers:
                fit, number = todo.popleft()
                if number is None:
                    mined = [one for _, one in sorted(found.pop(fit).items()) if one is not None]
                    running[pool.submit(_fit, fit, mined)] = fit, number
                else:
                    running[pool.submit(_mine, fit, number)] = fit, number
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                fit, number = running.pop(future)
                if number is None:
                    yield future.result()
                    continue
                found[fit][number] = future.result()
                if len(found[fit]) == len(AUTO_EPSILONS):
                    todo.appendleft((fit, None))


def _quiet() -> None:
    import torch

    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)


def _classifier(conditions: str) -> GDLNNClassifier:
    if conditions == OLD:
        model: GDLNNClassifier = first_classifier(n_jobs=1, progress=False, device="cpu")
        return model
    head = MLPHead(soft_labels="auto", linear_share=0, device="cpu")
    return GDLNNClassifier(Mined(), head, structure="auto", n_jobs=1, progress=False)


def _split(fit: Fit) -> list[GraphDataset]:
    data = load_dataset(fit.name, os.environ["GDLNN_DATA"], download=False)
    return list(data.split("random", seed=fit.seed))


def _mine(fit: Fit, number: int) -> Mining | None:
    """Mine with one ε as the model would; None where it equals an earlier one, or there is none."""
    model, train = _classifier(fit.conditions), _split(fit)[0]
    if model.structure == "auto" and wants_structure(train.schema, train.n_node_features):
        train = train.with_structure()
    source = model.vocabulary
    assert isinstance(source, Mined)
    epsilons = listed_epsilons(source.epsilon, len(train))
    if number >= len(epsilons):
        return None
    start = time.process_time()
    (programs,) = source.set_params(epsilon=epsilons[number]).find(train, RunOptions(progress=False))
    return Mining(programs, time.process_time() - start)


def _fit(fit: Fit, mined: Sequence[Mining]) -> dict[str, Any]:
    train, val, test = _split(fit)
    start = time.process_time()
    model = _classifier(fit.conditions).fit(train, validation=val, programs=[one.programs for one in mined])
    head_seconds = time.process_time() - start
    both, y = [*val.graphs, *test.graphs], np.concatenate([np.asarray(val.y), np.asarray(test.y)])
    probabilities = model.predict_proba(both)
    scores = classification_scores(y, probabilities, model.classes_)
    of_test = classification_scores(y[len(val) :], probabilities[len(val) :], model.classes_)
    mining_seconds = sum(one.cpu_seconds for one in mined)
    return {
        **fit._asdict(),
        "n_train": len(train),
        "n": len(y),
        "accuracy": scores["accuracy"],
        "roc_auc": scores["roc_auc"],
        "test_accuracy": of_test["accuracy"],
        "test_roc_auc": of_test["roc_auc"],
        "mining_cpu": mining_seconds,
        "fit_cpu": mining_seconds + head_seconds,
        "programs": len(model.programs_),
    }


# --- the table --------------------------------------------------------------------------------------------


def summary(rows: Iterable[dict[str, Any]]) -> str:
    """Return the table of pairs: accuracies, their differences with t-intervals, seconds and programs."""
    pairs: dict[str, dict[int, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        pairs[row["name"]][row["seed"]][row["conditions"]] = row
    header = [
        "dataset", "splits", "accuracy old", "new", "difference", "of test sets", "ROC-AUC old", "new",
        "difference", "mining CPU s old", "new", "fit CPU s old", "new", "programs old", "new",
    ]  # fmt: skip
    lines, differences = [], []
    for name, splits in pairs.items():
        both = [split for _, split in sorted(splits.items()) if len(split) == 2]
        if not both:
            continue
        old, new = ({key: _values(both, which, key) for key in both[0][which]} for which in (OLD, NEW))
        line = [name, str(len(both))]
        for key in ("accuracy", "test_accuracy", "roc_auc"):
            if key != "test_accuracy":
                line += [f"{100 * np.mean(values[key]):.1f}" for values in (old, new)]
            line.append(_difference(old[key], new[key]))
        for key in ("mining_cpu", "fit_cpu", "programs"):
            line += [f"{np.mean(values[key]):.0f}" for values in (old, new)]
        lines.append(line)
        differences.append(float(np.mean(new["accuracy"]) - np.mean(old["accuracy"])))
    if not lines:
        return "no split with both"
    overall = f"{100 * np.mean(differences):+.1f} points of accuracy"
    return f"{markdown_table(header, lines)}\n\nMean difference over the datasets: {overall}."


def _values(both: Sequence[dict[str, Any]], which: str, key: str) -> list[Any]:
    return [split[which][key] for split in both]


def _difference(old: Sequence[float], new: Sequence[float]) -> str:
    points = [100 * (after - before) for before, after in zip(old, new, strict=True)]
    half = t_interval(points)
    return f"{np.mean(points):+.1f}" + ("" if half is None else f" ± {half:.1f}")
