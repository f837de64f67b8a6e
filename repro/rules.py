"""How well explanations find the truth, where it is known: `python -m repro rules`.

Labels are planted on the molecules of BBBP by rules of groups, and on synthetic graphs by motifs (see
`repro.planted`); Mutagenicity and BA-2Motifs have a truth of their own. A rule is learned from labels alone;
nothing is chosen on the test set.
"""

from __future__ import annotations

import atexit
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pandas as pd
import typer

from gdlnn import load_dataset
from repro import options as opt
from repro.cells import Study, Task
from repro.explainers import EXPLAINERS, explain_network
from repro.methods import find_method
from repro.metrics import overlap
from repro.planted import RULES, Planted, plant, renumbered
from repro.tables import markdown, page, write_results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn import Graph, GraphDataset
    from repro.cells import Result, RunConfig

OF_KNOWN = {"Mutagenicity": "NO2 or NH2", "BA-2Motifs": "a cycle or a house"}
COLUMNS = {
    "accuracy": "accuracy",
    "misled_accuracy": "… decoy lies",
    "auc": "AUC",
    "at_size": "Jaccard at size",
    "jaccard": "Jaccard",
    "precision": "precision",
    "recall": "recall",
}
AUC_AIM, JACCARD_AIM = 0.95, 0.75


NETWORK_GRAPHS, SUBGRAPHX_GRAPHS = 40, 5
"""Graphs of each rule that explainers of GIN explain; SubgraphX takes ten seconds for each."""
GIN = {"gradients": NETWORK_GRAPHS, "gnnexplainer": NETWORK_GRAPHS, "subgraphx": SUBGRAPHX_GRAPHS}
GIN_OPTIONS = {"epochs": 100, "patience": 30}
OURS = ("gdlnn", "gdlnn-linear", "gdlnn-scorecard")
TITLES = {
    **{name: find_method(name).title for name in OURS},
    **{name: EXPLAINERS[name].title for name in GIN},
    "random": "random nodes",
    "heteroatoms": "all heteroatoms",
}
"""The methods in the order of the tables; the last two need no model."""
DEFAULT = ("gdlnn", *GIN, "random", "heteroatoms")


def rules(
    names: Annotated[str, typer.Option("--rules", help="Rules, separated by commas.")] = "all",
    methods: Annotated[str, typer.Option(help=f"Some of {', '.join(TITLES)}.")] = ",".join(DEFAULT),
    graphs: Annotated[
        int | None, typer.Option(help="Most graphs that are scored for each rule; default all.")
    ] = None,
    seed: opt.Seed = 0,
    out: opt.Out = Path("results"),
    jobs: opt.Jobs = 1,
) -> None:
    """Compare explanations with the nodes that decide, where these are known.

    Example: python -m repro rules --rules made-ring --methods gdlnn,random --graphs 20
    """
    chosen = opt.read_names("--methods", methods, list(TITLES))
    tasks = [
        Task("rules", rule, method, {"graphs": graphs}, seed)
        for rule in opt.read_names("--rules", names, [*RULES, *OF_KNOWN])
        for method in chosen
        if applies(method, rule)
    ]
    with Study("rules", opt.run_config(out, None, "cpu", jobs), opt.report) as study:
        cells = study.run(tasks, compute_scores)
    opt.finish(write_rules(out, cells), out, cells)


def applies(method: str, rule: str) -> bool:
    """Say whether a method can explain the graphs of a rule: heteroatoms are those of molecules."""
    of_molecules = RULES[rule].kind == "molecules" if rule in RULES else rule == "Mutagenicity"
    return method != "heteroatoms" or of_molecules


# --- problems ---------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def load_problem(name: str, seed: int) -> Planted:
    """Plant a rule, or take a dataset with a truth."""
    if name in RULES:
        molecules = load_dataset("BBBP", download=False) if RULES[name].kind == "molecules" else None
        return plant(RULES[name], seed, molecules)
    train, val, test = load_dataset(name, download=False).split("paper", seed)
    return Planted(train, val, renumbered(test, seed))


def wanted_label(name: str, test: GraphDataset) -> Any:
    """Return the prediction with which explanations are scored: NO2 and NH2 explain only "mutagen"."""
    if name != "Mutagenicity":
        return test.y
    assert test.schema is not None
    return next(label for label, title in test.schema.classes.items() if title == "mutagen")


# --- measuring --------------------------------------------------------------------------------------------


@lru_cache(maxsize=3)
def fitted(rule: str, name: str, seed: int) -> Any:
    """Return the model of a rule; explainers of GIN, which needs few epochs here, share it."""
    train, val, *_ = load_problem(rule, seed)
    method = find_method(name)
    options = {**method.quick, **(GIN_OPTIONS if name == "gin" else {})}
    return method.make(options, seed, "cpu").fit(train, validation=val)


atexit.register(load_problem.cache_clear)  # as in `inputs.forget`
atexit.register(fitted.cache_clear)


def compute_scores(task: Task, config: RunConfig) -> Result:  # noqa: ARG001
    """Return what a method reached, as in `COLUMNS`; what cannot be measured is left out."""
    rule, name, seed = task.dataset, task.method, task.seed
    kind = name if name in OURS else "gin" if name in GIN else None
    model = None if kind is None else fitted(rule, kind, seed)
    test, misled = load_problem(rule, seed)[2:]
    # Without a model all graphs of the rule's class are scored.
    predicted = np.asarray(test.y if model is None else model.predict(test))
    marked = np.array([mask is not None and bool(mask.any()) for mask in test.node_masks or ()])
    kept = np.flatnonzero(marked & (predicted == wanted_label(rule, test)))
    limits = (task.configuration["graphs"], GIN.get(name))
    kept = kept[: min([limit for limit in limits if limit is not None], default=None)]
    row: Result = {"n_graphs": len(kept)}
    if model is not None:
        right = predicted == test.y
        row["accuracy"] = float(right.mean())
        row["misled_accuracy"] = None if misled is None else float(right[misled].mean())
    if not len(kept):
        return row
    chosen = test.take(kept)
    truths = [np.asarray(mask) for mask in chosen.node_masks or ()]
    sizes = [int(truth.sum()) for truth in truths]
    masks, node_scores = explanations(name, model, chosen.graphs, sizes, seed)
    scores = overlap(masks, truths, node_scores)
    return {
        **row,
        "auc": scores.auc,
        # Explainers of networks are asked for as many nodes as the truth has.
        "at_size": scores.jaccard if name in GIN else scores.jaccard_at_size,
        "jaccard": scores.jaccard,
        "precision": scores.precision,
        "recall": scores.recall,
        "nodes": float(np.mean([np.sum(mask) for mask in masks])),
    }


def explanations(
    name: str, model: Any, graphs: Sequence[Graph], sizes: Sequence[int], seed: int
) -> tuple[list[Any], list[Any]]:
    """Return the nodes that a method gives for each graph, as masks, and the scores of all nodes."""
    if name == "random":
        rng = np.random.default_rng(seed)
        scores = [rng.random(graph.n_nodes) for graph in graphs]
        return [np.argsort(np.argsort(-s)) < size for s, size in zip(scores, sizes, strict=True)], scores
    if name == "heteroatoms":
        masks = [heteroatoms(graph) for graph in graphs]
        return masks, [mask.astype(float) for mask in masks]
    if name in GIN:
        both = zip(graphs, sizes, strict=True)
        found = [explain_network(name, model, graph, [size], seed, 3)[0][0] for graph, size in both]
    else:
        found = model.explain(list(graphs), random_state=seed)
    return [e.node_mask for e in found], [e.node_scores for e in found]


def heteroatoms(graph: Graph) -> Any:
    """Return which atoms are neither carbon nor hydrogen."""
    assert graph.schema is not None
    names = [graph.schema.node[0].value_name(value) for value in graph.node_features[:, 0].tolist()]
    return np.array([name not in ("C", "H") for name in names])


# --- tables -----------------------------------------------------------------------------------------------


def write_rules(out: Path | str, cells: Sequence[Result]) -> str:
    """Write ``rules.md`` and ``.csv`` of the cells there are; return the tables."""
    order = [*RULES, *OF_KNOWN], list(TITLES)
    rows = sorted(
        (cell for cell in cells if cell["status"] == "ok"),
        key=lambda cell: (order[0].index(cell["dataset"]), order[1].index(cell["method"])),
    )
    text = page({"Known truths": [summary(rows), aims(rows)], "All methods": [table(rows)]})
    numbers = pd.DataFrame(rows).reindex(columns=["dataset", "method", "n_graphs", *COLUMNS, "nodes"])
    return write_results(out, "rules", cells, text, numbers)


def table(rows: Sequence[Result]) -> str:
    """Return the rows as a Markdown table; a rule is named in its first row."""
    lines, before = [], ""
    for row in rows:
        first = "" if row["dataset"] == before else row["dataset"]
        figures = [_cell(row, name) for name in COLUMNS]
        nodes = f"{row['nodes']:.1f}" if "nodes" in row else "–"
        lines.append([first, TITLES[row["method"]], str(row["n_graphs"]), *figures, nodes])
        before = row["dataset"]
    return markdown(["rule", "method", "graphs", *COLUMNS.values(), "nodes"], lines)


def summary(rows: Sequence[Result]) -> str:
    """Return a table with one row per rule: GDLNN next to GIN's best explainer and simple guesses."""
    ours, theirs, lines = ("auc", "at_size", "jaccard"), ("auc", "at_size"), []
    for rule in dict.fromkeys(row["dataset"] for row in rows):
        of = {row["method"]: row for row in rows if row["dataset"] == rule}
        best = _best_rival(rows, rule)
        cells = [_cell(of.get("gdlnn"), name) for name in ours] + [_cell(best, name) for name in theirs]
        cells += [_cell(of.get(name), "at_size") for name in ("heteroatoms", "random")]
        lines.append([rule, RULES[rule].words if rule in RULES else OF_KNOWN[rule], *cells])
    header = ["rule", "what decides", *(COLUMNS[name] for name in ours)]
    header += [*(f"GIN: {COLUMNS[name]}" for name in theirs), "heteroatoms", "random"]
    return markdown(header, lines)


def _cell(row: Result | None, name: str) -> str:
    value = None if row is None else row.get(name)
    return "–" if value is None or np.isnan(value) else f"{value:.3f}"


def _best_rival(rows: Sequence[Result], rule: str) -> Result | None:
    """Return GIN with the explainer that finds most of the truth."""
    rivals = [row for row in rows if row["dataset"] == rule and row["method"] in GIN]
    return max(rivals, key=_at_size, default=None)


def _at_size(row: Result) -> float:
    return row.get("at_size") or 0.0


def aims(rows: Sequence[Result]) -> str:
    """Say on how many noiseless rules the aims hold, and where GDLNN is ahead of GIN's best explainer."""
    lines = []
    for name in dict.fromkeys(row["method"] for row in rows if row["method"].startswith("gdlnn")):
        noiseless = [rule.name for rule in RULES.values() if rule.noiseless]
        own = [row for row in rows if row["method"] == name and row["dataset"] in noiseless]
        if not own:
            continue
        reached = sum((row.get("auc") or 0) >= AUC_AIM and _at_size(row) >= JACCARD_AIM for row in own)
        pairs = [(row, rival) for row in own if (rival := _best_rival(rows, row["dataset"])) is not None]
        ahead = sum(_at_size(rival) < _at_size(row) for row, rival in pairs)
        against = f"; ahead of GIN with its best explainer on {ahead} of {len(pairs)}" if pairs else ""
        lines.append(
            f"- {TITLES[name]}: AUC ≥ {AUC_AIM} and Jaccard at size ≥ {JACCARD_AIM} on {reached} of "
            f"{len(own)} rules without decoys or flipped labels{against}."
        )
    return "\n".join(lines)
