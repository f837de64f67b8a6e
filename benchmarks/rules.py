"""How well explanations find the truth, where it is known.

Labels are planted on the molecules of BBBP by rules of groups, and on made graphs by motifs (see
`repro.planted`); Mutagenicity and BA-2Motifs have a truth of their own. A rule is learnt from
labels alone; nothing is chosen on the test set.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks._truth_methods import DEFAULT, METHODS, MODELS, Effort, TruthMethod
from gdlnn import GraphDataset, load_dataset
from gdlnn.drawing import write_text
from repro.metrics import overlap
from repro.planted import RULES, plant, renumbered
from repro.tables import markdown, replace_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

OF_KNOWN = {"Mutagenicity": "NO2 or NH2", "BA-2Motifs": "a cycle or a house"}
KNOWN = tuple(OF_KNOWN)
OURS = "GDLNN"
HEADER = (
    *("rule", "method", "graphs", "accuracy", "… decoy lies", "AUC", "Jaccard at size", "Jaccard"),
    *("precision", "recall", "nodes"),
)
AUC_AIM, JACCARD_AIM = 0.95, 0.75
QUICK = {"molecules": 500, "made": 200, "graphs": 5}
"""Sizes of a quick run."""


class Problem(NamedTuple):
    """Graphs with a truth, and which of the test graphs are scored.

    Attributes
    ----------
    name
        The name on the command line.
    train, val, test
        The parts; ``node_masks`` of the test set is the truth.
    scored
        From predicted labels to which test graphs are scored.
    misled
        Which test graphs have a decoy that speaks for the other label, or None.
    """

    name: str
    train: GraphDataset
    val: GraphDataset
    test: GraphDataset
    scored: Callable[[Any], Any]
    misled: Any = None


class Row(NamedTuple):
    """What one method reached on one problem; None where there is nothing to measure."""

    rule: str
    method: str
    n_graphs: int
    accuracy: float | None
    misled_accuracy: float | None
    auc: float | None = None
    at_size: float | None = None
    jaccard: float | None = None
    precision: float | None = None
    recall: float | None = None
    nodes: float | None = None


def run(words: Sequence[str] = ("--quick",)) -> None:
    options = _options(words)
    logging.getLogger("gdlnn").setLevel(logging.ERROR)
    root = os.environ.get("GDLNN_DATA")
    if not root or not Path(root).is_dir():
        print("rules: GDLNN_DATA names no folder with the datasets; nothing is measured")
        return
    effort = Effort(options.seed, options.jobs, options.quick)
    kept = Kept(options.keep, f"seed {options.seed}, graphs {options.graphs}, quick {options.quick}")
    for problem in () if options.tables_only else _problems(options, root):
        start = time.perf_counter()
        measure_problem(problem, options.methods, effort, options.graphs, kept)
        print(f"{problem.name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    rows = [row for rule in options.rules for name in options.methods if (row := kept.get(rule, name))]
    command = " ".join(("python -m benchmarks rules", *_without_paths(words)))
    short, whole = f"`{command}`\n\n{summary(rows)}\n\n{aims(rows)}", table(rows)
    print(f"{short}\n{whole}")
    if options.output is not None:
        write_text(options.output, f"{short}\n{whole}\n")
    for document in options.document:
        for name, text in (("rules", short), ("rules-all", whole)):
            if f"<!-- {name}:begin -->" in document.read_text(encoding="utf-8"):
                replace_part(document, name, text)


class Kept:
    """Rows that were measured before, by rule, method and settings, in a JSON file; without one, none."""

    def __init__(self, path: Path | None, settings: str) -> None:
        self._path, self._settings = path, settings
        found = json.loads(path.read_text()) if path is not None and path.exists() else {}
        self._rows: dict[str, list[Any]] = found

    def get(self, rule: str, method: str) -> Row | None:
        """Return a row that was kept, or None."""
        found = self._rows.get(f"{rule}, {method}, {self._settings}")
        return None if found is None else Row(*found)

    def put(self, method: str, row: Row) -> None:
        """Keep a row; the file is complete after every one."""
        self._rows[f"{row.rule}, {method}, {self._settings}"] = list(row)
        if self._path is not None:
            write_text(self._path, json.dumps(self._rows, indent=1))


def _options(words: Sequence[str]) -> Any:
    parser = argparse.ArgumentParser(prog="python -m benchmarks rules")
    known = [*RULES, *KNOWN]
    parser.add_argument("--rules", nargs="+", choices=known, default=known, metavar="RULE", help=str(known))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=DEFAULT, help="what is compared")
    parser.add_argument("--graphs", type=int, help="most graphs that are scored for each rule; default all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a small run, to see that everything works")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="a JSON file of rows: those in it are not measured again")
    parser.add_argument("--tables-only", action="store_true", help="measure nothing: tables of --keep's rows")
    parser.add_argument("-o", "--output", type=Path, help="the Markdown file to write")
    parser.add_argument(
        "--document",
        type=Path,
        action="append",
        default=[],
        help="a Markdown file with marks for the tables; may be repeated",
    )
    options = parser.parse_args(list(words))
    if options.quick and options.graphs is None:
        options.graphs = QUICK["graphs"]
    return options


def _without_paths(words: Sequence[str]) -> list[str]:
    """Return the command without the files it wrote: paths are of one machine."""
    paths = ("-o", "--output", "--document", "--keep", "-j", "--jobs")
    skipped = {i + step for i, word in enumerate(words) if word in paths for step in (0, 1)}
    return [word for i, word in enumerate(words) if i not in skipped and word != "--tables-only"]


# --- problems ---------------------------------------------------------------------------------------------


def _problems(options: Any, root: str) -> Iterator[Problem]:
    """Yield the problems one after another; graphs are read and labelled when they are asked for."""
    molecules = None
    for name in options.rules:
        if name in KNOWN:
            yield known_problem(load_dataset(name, root, download=False), options)
            continue
        if RULES[name].kind == "molecules" and molecules is None:
            molecules = load_dataset("BBBP", root, download=False)
            if options.quick:
                molecules = molecules.take(np.arange(QUICK["molecules"]))
        yield planted_problem(name, options, molecules)


def planted_problem(name: str, options: Any, molecules: GraphDataset | None) -> Problem:
    """Plant a rule; scored are the graphs that follow it and are predicted right."""
    rule = RULES[name]
    sizes = {"n_made": QUICK["made"]} if options.quick else {}
    train, val, test, misled = plant(rule, options.seed, molecules, **sizes)

    def scored(predicted: Any) -> Any:
        return (np.asarray(test.y) == 1) & (predicted == 1)

    return Problem(name, train, val, test, scored, misled)


def known_problem(data: GraphDataset, options: Any) -> Problem:
    """Take a dataset with a truth: NO2 and NH2 that are predicted mutagenic, motifs predicted right."""
    if options.quick:
        data = data.take(np.arange(len(data))[:: max(1, len(data) // QUICK["made"])])
    train, val, test = data.split("paper", options.seed)
    test = renumbered(test, options.seed)
    assert test.node_masks is not None
    marked = np.array([mask is not None and bool(mask.any()) for mask in test.node_masks])
    if data.name != "Mutagenicity":
        return Problem(data.name, train, val, test, lambda said: marked & (said == test.y))
    assert test.schema is not None
    mutagen = next(label for label, name in test.schema.classes.items() if name == "mutagen")
    return Problem(data.name, train, val, test, lambda said: marked & (said == mutagen))


# --- measuring --------------------------------------------------------------------------------------------


def measure_problem(
    problem: Problem,
    methods: Sequence[str],
    effort: Effort,
    most: int | None,
    kept: Kept,
) -> None:
    """Fit each model once, and score every method that explains it."""
    fitted: dict[str, tuple[Any, Any]] = {}
    for name in methods:
        method = METHODS[name]
        schema = problem.test.schema
        if name == "heteroatoms" and (schema is None or schema.domain != "molecule"):
            continue
        if kept.get(problem.name, name) is not None:
            continue
        if method.model is not None and method.model not in fitted:
            model = MODELS[method.model](problem.train, problem.val, effort)
            fitted[method.model] = model, np.asarray(model.predict(problem.test))
        model, predicted = fitted[method.model] if method.model is not None else (None, None)
        kept.put(name, _row(problem, method, model, predicted, effort, most))


def _row(
    problem: Problem, method: TruthMethod, model: Any, predicted: Any, effort: Effort, most: int | None
) -> Row:
    test = problem.test
    assert test.node_masks is not None
    right = None if predicted is None else predicted == test.y
    # Without a model all graphs of the rule's class are scored.
    mutagenic = test.y if predicted is None else predicted
    kept = np.flatnonzero(problem.scored(mutagenic))
    limits = [limit for limit in (most, method.most) if limit is not None]
    kept = kept[: min(limits)] if limits else kept
    row = Row(
        problem.name,
        method.title,
        len(kept),
        None if right is None else float(right.mean()),
        None if right is None or problem.misled is None else float(right[problem.misled].mean()),
    )
    if not len(kept):
        return row
    chosen = test.take(kept)
    truths = [np.asarray(mask) for mask in chosen.node_masks or []]
    found = method.explain(model, chosen.graphs, [int(truth.sum()) for truth in truths], effort)
    told = overlap(found.masks, truths, found.scores)
    at_size = told.jaccard_at_size if found.at_size is None else overlap(found.at_size, truths).jaccard
    return row._replace(
        auc=told.auc,
        at_size=at_size,
        jaccard=told.jaccard,
        precision=told.precision,
        recall=told.recall,
        nodes=float(np.mean([np.sum(mask) for mask in found.masks])),
    )


# --- the table --------------------------------------------------------------------------------------------


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table; a rule is named in its first row."""
    lines, before = [], ""
    for row in rows:
        figures = [_figure(value) for value in row[3:-1]]
        nodes = "–" if row.nodes is None else f"{row.nodes:.1f}"
        lines.append(["" if row.rule == before else row.rule, row.method, str(row.n_graphs), *figures, nodes])
        before = row.rule
    return markdown(list(HEADER), lines)


def _figure(value: float | None) -> str:
    return "–" if value is None or np.isnan(value) else f"{value:.3f}"


def summary(rows: Sequence[Row]) -> str:
    """Return a table with one row per rule: GDLNN next to GIN's best explainer and simple guesses."""
    lines = []
    for rule in dict.fromkeys(row.rule for row in rows):
        of = {row.method: row for row in rows if row.rule == rule}
        own, best = of.get(OURS), _best_rival(rows, rule)
        words = RULES[rule].words if rule in RULES else OF_KNOWN[rule]
        cells = [_cell(own, name) for name in ("accuracy", "misled_accuracy", "auc", "at_size", "jaccard")]
        cells += [_cell(best, name) for name in ("accuracy", "misled_accuracy", "auc", "at_size")]
        cells += [_cell(of.get(name), "at_size") for name in ("all heteroatoms", "random nodes")]
        lines.append([rule, words, *cells])
    header = ["rule", "what decides", "accuracy", "… decoy lies", "AUC", "Jaccard at size", "Jaccard"]
    header += ["GIN: accuracy", "… decoy lies", "AUC", "Jaccard at size", "all heteroatoms", "random nodes"]
    return markdown(header, lines)


def _cell(row: Row | None, name: str) -> str:
    return "–" if row is None else _figure(getattr(row, name))


def _best_rival(rows: Sequence[Row], rule: str) -> Row | None:
    """Return GIN with the explainer that finds most of the truth."""
    rivals = [row for row in rows if row.rule == rule and row.method.startswith("GIN")]
    return max(rivals, key=lambda row: row.at_size or 0, default=None)


def aims(rows: Sequence[Row]) -> str:
    """Say on how many noiseless rules the aims hold, and where GDLNN is ahead of GIN's best explainer."""
    lines = []
    for title in dict.fromkeys(row.method for row in rows if row.method.startswith("GDLNN")):
        own = [r for r in rows if r.method == title and r.rule in RULES and RULES[r.rule].noiseless]
        reached = sum((row.auc or 0) >= AUC_AIM and (row.at_size or 0) >= JACCARD_AIM for row in own)
        said = f"{title}: AUC ≥ {AUC_AIM} and Jaccard at size ≥ {JACCARD_AIM} on {reached} of {len(own)}"
        pairs = [(row, rival) for row in own if (rival := _best_rival(rows, row.rule)) is not None]
        ahead = sum((rival.at_size or 0) < (row.at_size or 0) for row, rival in pairs)
        against = f"; ahead of GIN with its best explainer on {ahead} of {len(pairs)}" if pairs else ""
        lines += [f"- {said} noiseless rules{against}."] if own else []
    return "\n".join(lines) + "\n"
