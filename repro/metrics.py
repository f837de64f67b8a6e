"""Metrics of explanations, each with its formula in its docstring and in docs/explanations-metrics.md.

- The paper's own: `sparsity` and `fidelity`, exactly as its appendix defines them.
- As in PyTorch Geometric (GraphFramEx, GraphXAI): `fidelity_plus`, `fidelity_minus`, `characterization`,
  `unfaithfulness`.
- Agreement with a known truth: `overlap`, `auc`, `jaccard`.
- Of programs on graphs that they were not mined from: `program_quality`. Of several runs: `stability`.
- `measure` and `measure_model` give all metrics of a model's explanations at once.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ExplanationError
from gdlnn.matching import Graphs, as_graph_set, match

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Sized

    from gdlnn.explain.explanation import Explanation
    from gdlnn.gdl.program import Program
    from gdlnn.graphs import Graph, GraphDataset


def _same_length(metric: str, **columns: Sized) -> None:
    """Check that the columns are not empty and have equal lengths."""
    sizes = {name: len(column) for name, column in columns.items()}
    if len(set(sizes.values())) > 1:
        got = ", ".join(f"{size} of {name}" for name, size in sizes.items())
        raise ExplanationError(f"{metric}: expected one value per graph in every column, got {got}")
    if not next(iter(sizes.values()), 0):
        raise ExplanationError(f"{metric}: expected at least one graph, got none")


# --- faithfulness -----------------------------------------------------------------------------------------


def sparsity(sizes: npt.ArrayLike, whole: npt.ArrayLike) -> float:
    """Return the mean over graphs of ``1 − |m| / |M|``: how much of a graph is left out. Higher is better.

    Parameters
    ----------
    sizes
        Number of nodes of each explanation.
    whole
        Number of nodes of each graph. A graph without nodes counts as 1.
    """
    kept, total = np.asarray(sizes, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    _same_length("sparsity", sizes=kept, whole=total)
    return float(np.mean(1 - kept / np.maximum(total, 1)))


def fidelity(y: npt.ArrayLike, predicted: npt.ArrayLike, predicted_subgraph: npt.ArrayLike) -> float:
    """Return the mean of ``1[ŷ = y] − 1[ŷ of the explanation = y]``. Lower is better; it may be negative.

    All graphs count, including those that the model gets wrong.

    Parameters
    ----------
    y
        The labels.
    predicted
        What the model predicts for the graphs.
    predicted_subgraph
        What it predicts for the subgraph explanations.
    """
    truth, whole, part = np.asarray(y), np.asarray(predicted), np.asarray(predicted_subgraph)
    _same_length("fidelity", y=truth, predicted=whole, predicted_subgraph=part)
    return float(np.mean((whole == truth).astype(float) - (part == truth).astype(float)))


def fidelity_plus(
    predicted: npt.ArrayLike, predicted_rest: npt.ArrayLike, y: npt.ArrayLike | None = None
) -> float:
    """Return how often removing the explanation changes the answer. Higher is better.

    Without labels, of the model: ``1 − mean(1[ŷ of the rest = ŷ])``. With labels, of the phenomenon:
    ``mean |1[ŷ = y] − 1[ŷ of the rest = y]|``.

    Parameters
    ----------
    predicted
        What the model predicts for the graphs.
    predicted_rest
        What it predicts for the graphs without the explanation.
    y
        The labels.
    """
    return _changed("fidelity_plus", predicted, predicted_rest, y)


def fidelity_minus(
    predicted: npt.ArrayLike, predicted_subgraph: npt.ArrayLike, y: npt.ArrayLike | None = None
) -> float:
    """Return how often the explanation alone gives another answer. Lower is better.

    The formulas are those of `fidelity_plus` with the explanation in place of the rest.
    """
    return _changed("fidelity_minus", predicted, predicted_subgraph, y)


def _changed(metric: str, predicted: npt.ArrayLike, other: npt.ArrayLike, y: npt.ArrayLike | None) -> float:
    whole, part = np.asarray(predicted), np.asarray(other)
    _same_length(metric, predicted=whole, other=part)
    if y is None:
        return float(1 - np.mean(part == whole))
    truth = np.asarray(y)
    _same_length(metric, predicted=whole, y=truth)
    return float(np.mean((whole == truth) != (part == truth)))


def characterization(plus: float, minus: float, plus_weight: float = 0.5, minus_weight: float = 0.5) -> float:
    """Return the weighted harmonic mean of fidelity+ and 1 − fidelity−. Higher is better.

    ``(w₊ + w₋) / (w₊ / fid₊ + w₋ / (1 − fid₋))``; zero if one of the two is zero.
    """
    if not np.isclose(plus_weight + minus_weight, 1.0):
        raise ExplanationError(
            f"characterization: expected weights that add up to 1, got {plus_weight} and {minus_weight}"
        )
    if plus <= 0 or minus >= 1:
        return 0.0
    return 1.0 / (plus_weight / plus + minus_weight / (1.0 - minus))


def unfaithfulness(probabilities: npt.ArrayLike, subgraph_probabilities: npt.ArrayLike) -> float:
    """Return the mean of ``1 − exp(−KL(p̂ ‖ p))``, p of the graph, p̂ of its explanation. Lower is better.

    This is the direction of the divergence that PyTorch Geometric computes.

    Parameters
    ----------
    probabilities, subgraph_probabilities
        Graphs × classes.
    """
    p = np.asarray(probabilities, dtype=np.float64)
    q = np.asarray(subgraph_probabilities, dtype=np.float64)
    _same_length("unfaithfulness", probabilities=p, subgraph_probabilities=q)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(q > 0, q * (np.log(q) - np.log(p)), 0.0)
    return float(np.mean(1 - np.exp(-terms.sum(axis=1))))


# --- agreement with a known truth -------------------------------------------------------------------------


class Overlap(NamedTuple):
    """How explanations agree with the truth, as means over graphs.

    Attributes
    ----------
    precision
        ``|E ∩ T| / |E|``; 0 for an empty explanation.
    recall
        ``|E ∩ T| / |T|``.
    jaccard
        ``|E ∩ T| / |E ∪ T|``.
    inside
        Share of explanations that are not empty and lie in the truth.
    auc
        Chance that a part of the truth scores above one outside, ties counting half; NaN if no graph has
        both.
    n_graphs
        Graphs that have a truth; the others are left out.
    jaccard_at_size
        Jaccard index of the parts with the largest scores, as many as the truth has.
    """

    precision: float
    recall: float
    jaccard: float
    inside: float
    auc: float
    n_graphs: int
    jaccard_at_size: float


def overlap(
    masks: Sequence[npt.ArrayLike],
    truths: Sequence[npt.ArrayLike | None],
    scores: Sequence[npt.ArrayLike] | None = None,
) -> Overlap:
    """Compare explanations with the truth.

    Parameters
    ----------
    masks
        Per graph which nodes (or edges) are in the explanation.
    truths
        Per graph which nodes (or edges) matter; None, or one without any, leaves the graph out.
    scores
        Per graph the importance of each node (or edge), for the AUC; by default the masks.
    """
    _same_length("overlap", masks=masks, truths=truths)
    rows, areas = [], []
    for index, (mask, truth) in enumerate(zip(masks, truths, strict=True)):
        expected = np.zeros(0, dtype=bool) if truth is None else np.asarray(truth, dtype=bool)
        if not expected.any():
            continue
        given = np.asarray(mask, dtype=bool)
        if given.shape != expected.shape:
            raise ExplanationError(
                f"overlap: graph {index}: expected a mask of {len(expected)} values, got {len(given)}"
            )
        both, either = (given & expected).sum(), (given | expected).sum()
        size = given.sum()
        ranked = mask if scores is None else scores[index]
        at_size = jaccard_at_size(ranked, expected)
        precision = both / size if size else 0.0
        rows.append((precision, both / expected.sum(), both / either, 0 < size == both, at_size))
        area = auc(ranked, expected)
        if not np.isnan(area):
            areas.append(area)
    if not rows:
        raise ExplanationError("overlap: no graph has a ground truth")
    precision, recall, index_, inside, at_size = np.array(rows, dtype=np.float64).mean(axis=0).tolist()
    area = float(np.mean(areas)) if areas else float("nan")
    return Overlap(precision, recall, index_, inside, area, len(rows), at_size)


def auc(scores: npt.ArrayLike, truth: npt.ArrayLike) -> float:
    """Return the area under the ROC curve, or NaN if the truth holds everything or nothing."""
    from scipy.stats import rankdata

    inside = np.asarray(truth, dtype=bool)
    n_in, n_out = int(inside.sum()), int((~inside).sum())
    if not n_in or not n_out:
        return float("nan")
    ranks = rankdata(np.asarray(scores, dtype=np.float64))
    return float((ranks[inside].sum() - n_in * (n_in + 1) / 2) / (n_in * n_out))


def jaccard_at_size(scores: npt.ArrayLike, truth: npt.ArrayLike) -> float:
    """Return the Jaccard index of the truth and as many nodes with the largest scores; NaN without a truth.

    Nodes that tie for the last places count by their share, so that how nodes are numbered does not matter.
    """
    values, inside = np.asarray(scores, dtype=np.float64), np.asarray(truth, dtype=bool)
    size = int(inside.sum())
    if not size:
        return float("nan")
    last = np.partition(values, len(values) - size)[len(values) - size]
    above, tied = values > last, values == last
    hits = (above & inside).sum() + (tied & inside).sum() * (size - above.sum()) / tied.sum()
    return float(hits / (2 * size - hits))


def jaccard(first: Sequence[int] | set[int], second: Sequence[int] | set[int]) -> float:
    """Return ``|A ∩ B| / |A ∪ B|``; 1 if both are empty."""
    a, b = set(first), set(second)
    return len(a & b) / len(a | b) if a | b else 1.0


# --- programs and stability -------------------------------------------------------------------------------


class ProgramQuality(NamedTuple):
    """How well a program fits its label on some graphs.

    Attributes
    ----------
    generality
        ``|matched graphs of the label| / |graphs of the label|``; NaN if there are none.
    precision
        ``|matched graphs of the label| / |matched graphs|``; NaN if it matches nothing.
    n_matched
        How many graphs it matches.
    """

    generality: float
    precision: float
    n_matched: int


def program_quality(
    programs: Sequence[Program],
    labels: Sequence[Any],
    graphs: Graphs,
    y: npt.ArrayLike,
    *,
    step_budget: int | None = None,
    n_jobs: int | None = 1,
) -> list[ProgramQuality]:
    """Measure programs, each for its label, on labelled graphs."""
    encoded, truth = as_graph_set(graphs), np.asarray(y)
    _same_length("program_quality: graphs", graphs=encoded, y=truth)
    if programs:
        _same_length("program_quality: programs", programs=programs, labels=labels)
    matched, _ = match(programs, encoded, n_jobs, step_budget, return_unknown=True)
    found = []
    for column, label in zip(matched.T, labels, strict=True):
        of_label = truth == label
        both, n, size = int((column & of_label).sum()), int(column.sum()), int(of_label.sum())
        found.append(
            ProgramQuality(both / size if size else float("nan"), both / n if n else float("nan"), n)
        )
    return found


class Stability(NamedTuple):
    """Mean Jaccard index over graphs and pairs of runs: of the important programs, and of the nodes."""

    programs: float
    nodes: float


def stability(runs: Sequence[Sequence[Explanation]]) -> Stability:
    """Compare explanations of the same graphs from runs with other seeds; 1 means they never differ."""
    if len(runs) < 2 or not runs[0]:
        raise ExplanationError(f"stability: expected two runs or more over some graphs, got {len(runs)}")
    if len({len(run) for run in runs}) > 1:
        raise ExplanationError("stability: expected runs over the same graphs, got runs of several lengths")
    pairs = [(a, b) for first, second in combinations(runs, 2) for a, b in zip(first, second, strict=True)]
    return Stability(
        float(np.mean([jaccard(a.indices, b.indices) for a, b in pairs])),
        float(np.mean([jaccard(a.nodes, b.nodes) for a, b in pairs])),
    )


# --- all at once ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measures:
    """The metrics of some explanations.

    `nodes` and `edges` are None if the data has no truth, `unfaithfulness` if the model gives no
    probabilities. `median_share` is the median share of a graph's nodes that are in the explanation.
    `with_reason` is the share of explanations with a reason, `supporting` and `opposing` are mean numbers of
    listed programs for and against the class; they are None for techniques without a baseline.
    """

    n_graphs: int
    accuracy: float
    sparsity: float
    fidelity: float
    fidelity_plus: float
    fidelity_minus: float
    fidelity_plus_phenomenon: float
    fidelity_minus_phenomenon: float
    characterization: float
    unfaithfulness: float | None
    empty: float
    seconds_per_graph: float | None
    nodes: Overlap | None
    edges: Overlap | None
    median_share: float
    with_reason: float | None
    supporting: float | None
    opposing: float | None

    def to_json(self) -> dict[str, Any]:
        """Return the metrics as plain JSON values."""
        values = asdict(self)
        for name, found in (("nodes", self.nodes), ("edges", self.edges)):
            values[name] = None if found is None else found._asdict()
        return values


def measure(
    model: Any,
    explanations: Sequence[Explanation],
    y: npt.ArrayLike,
    *,
    node_masks: Sequence[Any] | None = None,
    edge_masks: Sequence[Any] | None = None,
    seconds: float | None = None,
) -> Measures:
    """Compute the metrics of explanations of labelled graphs.

    Subgraphs and rests are induced subgraphs with unchanged features, predicted again by the model.

    Parameters
    ----------
    model
        The model that is explained: it has `predict` and, for `unfaithfulness`, `predict_proba`.
    explanations
        One explanation per graph.
    y
        The labels.
    node_masks, edge_masks
        The truth per graph, where it is known.
    seconds
        How long explaining took.
    """
    truth = np.asarray(y)
    _same_length("measure", explanations=explanations, y=truth)
    graphs = [e.graph for e in explanations]
    parts = [e.subgraph for e in explanations]
    rests = [e.graph.subgraph(np.flatnonzero(~e.node_mask)) for e in explanations]
    whole, part, rest = (np.asarray(model.predict(some)) for some in (graphs, parts, rests))
    plus, minus = fidelity_plus(whole, rest), fidelity_minus(whole, part)
    proba = getattr(model, "predict_proba", None)
    scores = [e.node_scores for e in explanations]
    return Measures(
        n_graphs=len(truth),
        accuracy=float(np.mean(whole == truth)),
        sparsity=sparsity([len(e.nodes) for e in explanations], [g.n_nodes for g in graphs]),
        fidelity=fidelity(truth, whole, part),
        fidelity_plus=plus,
        fidelity_minus=minus,
        fidelity_plus_phenomenon=fidelity_plus(whole, rest, truth),
        fidelity_minus_phenomenon=fidelity_minus(whole, part, truth),
        characterization=characterization(plus, minus),
        unfaithfulness=None if proba is None else unfaithfulness(proba(graphs), proba(parts)),
        empty=float(np.mean([e.is_empty for e in explanations])),
        seconds_per_graph=None if seconds is None else seconds / len(truth),
        nodes=_overlap([e.node_mask for e in explanations], node_masks, scores),
        edges=_overlap([e.edge_mask for e in explanations], edge_masks, None),
        median_share=float(np.median([len(e.nodes) / max(1, e.graph.n_nodes) for e in explanations])),
        **_sides(explanations),
    )


def _sides(explanations: Sequence[Explanation]) -> dict[str, float | None]:
    """Return the mean numbers of programs for and against, if all explanations have a baseline."""
    if any(getattr(e, "baseline_probability", None) is None for e in explanations):
        return dict.fromkeys(("with_reason", "supporting", "opposing"))
    return {
        "with_reason": float(np.mean([e.has_reason for e in explanations])),
        "supporting": float(np.mean([len(e.supporting) for e in explanations])),
        "opposing": float(np.mean([len(e.opposing) for e in explanations])),
    }


def measure_model(
    model: Any, dataset: GraphDataset, explain: Callable[[Any, list[Graph]], list[Explanation]]
) -> Measures:
    """Explain the graphs of a dataset with `explain(model, graphs)`, time it, and compute the metrics."""
    start = time.perf_counter()
    explanations = explain(model, dataset.graphs)
    seconds = time.perf_counter() - start
    assert dataset.y is not None
    masks: dict[str, Any] = {"node_masks": dataset.node_masks, "edge_masks": dataset.edge_masks}
    return measure(model, explanations, dataset.y, **masks, seconds=seconds)


def _overlap(
    masks: list[npt.NDArray[np.bool_]], truths: Sequence[Any] | None, scores: Sequence[Any] | None
) -> Overlap | None:
    if truths is None or not any(truth is not None and np.any(truth) for truth in truths):
        return None
    return overlap(masks, truths, scores)
