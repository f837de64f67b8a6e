"""explain(): from a model and graphs to explanations, through context, attribution and subgraph."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ExplanationError
from gdlnn.explain.context import Context, make_context, model_cache, target_codes
from gdlnn.explain.contribution import Contribution
from gdlnn.explain.explanation import (
    LEAST_REASON,
    Contributions,
    Explanation,
    Explanations,
    Method,
    Term,
    plain,
)
from gdlnn.explain.lime_shap import KernelShap, Lime
from gdlnn.explain.node_scores import Scored, as_graph, carried_by_the_smallest, spread
from gdlnn.explain.subgraph import shrink
from gdlnn.graphs import Graph, GraphDataset
from gdlnn.graphs.identity import canonical_order
from gdlnn.graphs.molecules import hidden_by_default
from gdlnn.matching import as_graph_set
from gdlnn.mining.settings import FINAL_BUDGET
from gdlnn.model.base import SelfExplaining
from gdlnn.model.inputs import Conversion, as_graphs, is_alone
from gdlnn.model.representation import Representation

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gdlnn.explain.context import Attribution
    from gdlnn.gdl.program import Program
    from gdlnn.model import GDLNNClassifier

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
GraphsLike = Graph | str | list[Any] | tuple[Any, ...] | GraphDataset | Representation
NFeatures = int | Literal["smallest"]
Technique = Contribution | Lime | KernelShap
TechniqueLike = str | Technique | None
TECHNIQUES: dict[str, type[Technique]] = {
    "contribution": Contribution,
    "lime": Lime,
    "kernel_shap": KernelShap,
}
"""The class of each technique, by name."""
DEFAULT_TECHNIQUE = "contribution"
"""The default technique in Python, on the command line, in the report and on the server."""
MOST_ABSENT = 2
"""Maximum number of absent programs that an explanation names."""
logger = logging.getLogger(__name__)


@overload
def explain(
    model: Any,
    graphs: Graph | str,
    technique: TechniqueLike = None,
    n_features: NFeatures = 5,
    target: Any = None,
    seed: int = 0,
) -> Explanation: ...
@overload
def explain(
    model: Any,
    graphs: list[Any] | tuple[Any, ...] | GraphDataset | Representation,
    technique: TechniqueLike = None,
    n_features: NFeatures = 5,
    target: Any = None,
    seed: int = 0,
) -> Explanations: ...
def explain(
    model: Any,
    graphs: GraphsLike,
    technique: TechniqueLike = None,
    n_features: NFeatures = 5,
    target: Any = None,
    seed: int = 0,
) -> Explanation | Explanations:
    """Explain predictions: return the programs that decide, and the subgraph that they need.

    Parameters
    ----------
    model
        A fitted GDLNNClassifier, or a model that explains itself, see `SelfExplaining`: `technique`,
        `n_features`, `target` and `seed` are then ignored.
    graphs
        One graph or molecule, or several: a list gives a list, and shares one pass. SMILES, RDKit molecules,
        PyG Data and NetworkX graphs are converted as in training. A `Representation` is not matched again.
    technique
        "contribution", "lime" or "kernel_shap", or a technique object such as ``Lime(n_samples=1000)``;
        None: `DEFAULT_TECHNIQUE`. LIME and KernelSHAP explain models with the activation "exists".
    n_features
        How many programs an explanation names; where the model has fewer, all of them. "smallest": the
        smallest subgraph of a program that alone gets the class, see `explain_smallest`.
    target
        The class to explain; by default the predicted one.
    seed
        Seed of the technique; the same seed gives the same explanation.
    """
    started = time.perf_counter()
    if seed < 0:
        raise ExplanationError(f"seed: expected a whole number of at least 0, got {seed}")
    if not hasattr(model, "represent"):
        kind = type(model).__name__
        raise ExplanationError(f"model: expected a fitted GDLNNClassifier, got a {kind}")
    representation = represented(model, graphs)
    if isinstance(model, SelfExplaining):
        found = model.explanations(representation)
    else:
        from gdlnn.explain.sufficient import explain_smallest

        wanted = _checked(n_features)
        explainer = Explainer(model, make_technique(technique), seed)
        targets = target_codes(representation, target)
        if wanted == "smallest":
            found = explain_smallest(explainer, representation, targets)
        else:
            found = explainer.explain(representation, targets, wanted)
    if isinstance(graphs, GraphDataset) and graphs.smiles is not None:
        found = with_smiles(found, graphs.smiles)
    seconds = time.perf_counter() - started
    name = found[0].method.technique if found else "no technique"
    logger.info("explain: %d graph(s) by %s in %.3f s", len(found), name, seconds)
    return found[0] if is_alone(graphs) else Explanations(found)


def make_technique(technique: TechniqueLike) -> Technique:
    """Return the technique with a name, the default for None, or the given technique."""
    given: object = DEFAULT_TECHNIQUE if technique is None else technique
    if isinstance(given, Technique):
        return given
    if isinstance(given, str) and given in TECHNIQUES:
        return TECHNIQUES[given]()
    got = repr(given) if isinstance(given, str) else f"a {type(given).__name__}"
    known = ", ".join(TECHNIQUES)
    raise ExplanationError(f"technique: expected one of {known}, or an object such as Lime(), got {got}")


def with_smiles(found: Sequence[Explanation], smiles: Sequence[str]) -> list[Explanation]:
    """Return explanations that know how their molecules were written."""
    return [replace(one, smiles=text) for one, text in zip(found, smiles, strict=True)]


def represented(model: Any, graphs: GraphsLike) -> Representation:
    """Return a model's representation of one graph or several, unless it is given."""
    if isinstance(graphs, Representation):
        return graphs
    convert = Conversion.of_model(model) if hasattr(model, "programs_") else None
    listed = as_graphs(graphs, error=ExplanationError, convert=convert)
    found: Representation = model.represent(listed)
    return found


def _checked(n_features: Any) -> NFeatures:
    if isinstance(n_features, str) and n_features == "smallest":
        return "smallest"
    whole = isinstance(n_features, int) or (isinstance(n_features, float) and n_features.is_integer())
    if not whole or n_features < 1:
        raise ExplanationError(
            f"n_features: expected a whole number of at least 1 (more than there are programs means all) "
            f"or 'smallest', got {n_features!r}"
        )
    return int(n_features)


def important(weights: FloatArray, n_features: int) -> IntArray:
    """Return the programs with the largest absolute weights, largest first, without those of weight zero."""
    order = np.argsort(-np.abs(weights), kind="stable")[:n_features]
    return np.asarray(order[weights[order] != 0], dtype=np.int64)


@dataclass(frozen=True)
class Explainer:
    """A model and a technique, which turn represented graphs into explanations."""

    model: GDLNNClassifier
    technique: Technique
    seed: int = 0

    @property
    def programs(self) -> list[Program]:
        """The programs of the model, one per column."""
        return self.model.layer_.programs_

    def context(
        self,
        representation: Representation,
        targets: IntArray,
        n_features: int,
        *,
        matching_only: bool = False,
    ) -> Context:
        """Return the input of the technique."""
        return make_context(
            self.model, representation, targets, n_features, self.seed, matching_only=matching_only
        )

    def explain(
        self, representation: Representation, targets: IntArray, n_features: int
    ) -> list[Explanation]:
        """Explain each graph by its most important programs."""
        context = self.context(representation, targets, n_features)
        attribution = self.technique.attribute(context)
        if attribution.baseline is None:
            chosen = [important(row, n_features) for row in attribution.weights]
            return self.assemble(representation, targets, attribution, chosen)
        scored = self.scored(representation, attribution)
        chosen = [
            carried_by_the_smallest(context, row, weights, found.strongest(n_features), self._contained)
            for row, (weights, found) in enumerate(zip(attribution.weights, scored, strict=True))
        ]
        return self.assemble(representation, targets, attribution, chosen, scored)

    def subgraphs(
        self,
        graphs: list[Graph],
        columns: Sequence[Sequence[int]],
        scores: Sequence[FloatArray] | None = None,
    ) -> tuple[list[int], list[Any]]:
        """Run Algorithm 2 for some programs of each graph; return all columns used and what is left.

        With scores of nodes, those that add least are removed first, so that of several places of a program
        the one that matters stays.
        """
        used = sorted({column for several in columns for column in several})
        place = {column: i for i, column in enumerate(used)}
        use = np.zeros((len(graphs), len(used)), dtype=bool)
        for row, several in enumerate(columns):
            use[row, [place[column] for column in several]] = True
        order = [self._removal_order(graph) for graph in graphs]
        if scores is not None:  # rounded: sums of equal scores differ in their last bits with the numbering
            order = [
                nodes[np.argsort(np.round(own[nodes], 9), kind="stable")]
                for nodes, own in zip(order, scores, strict=True)
            ]
        return used, shrink(
            graphs,
            [self.programs[column] for column in used],
            use,
            order=order,
            step_budget=self.model.layer_.step_budget,
            n_jobs=self.model.n_jobs,
        )

    def _contained(self, column: int) -> IntArray:
        """Return the programs that a program contains, including itself; only exact ones are known."""
        cache = model_cache(self.model).setdefault("contained", {})
        if column not in cache:
            info, program = self.model.programs_.info, self.programs[column]
            graph = as_graph(program, info.n_node_features, info.n_edge_features, directed=info.directed)
            cache[column] = np.array([column], dtype=np.int64)
            if graph is not None:
                encoded = as_graph_set([graph])
                found = self.model.layer_.plan_for(encoded).match(encoded, step_budget=FINAL_BUDGET).of(0)
                smaller = [c for c in found.tolist() if len(self.programs[c].nodes) < len(program.nodes)]
                cache[column] = np.array([column, *smaller], dtype=np.int64)
        kept: IntArray = cache[column]
        return kept

    def _removal_order(self, graph: Graph) -> npt.NDArray[np.int32]:
        """Return the nodes in an order that does not depend on how they are numbered."""
        schema = self.model.schema_
        return canonical_order(with_schema(graph, schema), hidden_by_default(schema))

    def assemble(
        self,
        representation: Representation,
        targets: IntArray,
        attribution: Attribution,
        chosen: Sequence[IntArray],
        scored: Sequence[Scored] | None = None,
        sufficient: Collection[int] = (),
    ) -> list[Explanation]:
        """Find the subgraphs of the chosen programs, and put everything into explanations.

        Parameters
        ----------
        representation, targets, attribution
            The graphs, the class of each to explain, and the weights of the programs.
        chosen
            Per graph the programs to list.
        scored
            What `scored` gives, for techniques with a baseline.
        sufficient
            Rows whose chosen programs are sufficient together: the subgraph is that of all of them.
            Elsewhere it is that of the programs that speak for the class.
        """
        present = [
            columns[representation.matches[row, columns]].tolist() for row, columns in enumerate(chosen)
        ]
        scores = None
        if scored is not None:
            scores = [found.nodes for found in scored]
            present = [
                [c for c in columns if row in sufficient or attribution.weights[row, c] > 0]
                for row, columns in enumerate(present)
            ]
        used, left = self.subgraphs(representation.graphs, present, scores)
        place = {column: i for i, column in enumerate(used)}
        results = []
        for row, columns in enumerate(columns.tolist() for columns in chosen):
            predicted, target = int(representation.codes[row]), int(targets[row])
            found = {column: left[row].witnesses[place[column]] for column in present[row]}
            if scored is not None:
                found = {c: found.get(c) or self._where(scored[row], c) for c in columns}
            quality = None if attribution.quality is None else float(attribution.quality[row])
            explanation = Explanation(
                graph=with_schema(representation.graphs[row], self.model.schema_),
                prediction=plain(representation.classes[predicted]),
                probability=float(representation.probabilities[row, predicted]),
                target=plain(representation.classes[target]),
                target_probability=float(representation.probabilities[row, target]),
                terms=tuple(self._term(attribution.weights[row], c).at(found.get(c)) for c in columns),
                nodes=left[row].nodes,
                method=Method(self.technique.name, dict(self.technique.options()), self.seed, quality),
                contributions=None
                if scored is None
                else self._contributions(attribution, row, scored[row], representation.classes[target]),
                complete=left[row].complete,
                threshold=0.5 if scored is None else threshold_of(representation, target),
            )
            results.append(explanation.without_reason())
        return results

    def _term(self, weights: FloatArray, column: int) -> Term:
        label = plain(self.model.programs_.labels[column])
        return Term(self.programs[column], float(weights[column]), (), column, label)

    def _contributions(self, attribution: Attribution, row: int, scored: Scored, label: Any) -> Contributions:
        """Return what present programs add in a graph to the baseline of a class."""
        assert attribution.baseline is not None
        counts = dict(self.model.programs_.info.label_counts)
        return Contributions(
            baseline=float(1 / (1 + np.exp(-attribution.baseline[row]))),
            prior=counts.get(plain(label), 0) / max(1, sum(counts.values())),
            added=float(scored.weights.sum()),
            others=0.0 if attribution.others is None else float(attribution.others[row]),
            scores=tuple(scored.nodes.tolist()),
            edge_scores=tuple(scored.edges.tolist()),
            absent=self._absent(attribution, row, scored),
        )

    def _absent(self, attribution: Attribution, row: int, scored: Scored) -> tuple[Term, ...]:
        """Return programs whose absence weighs at least as much as any program that is present."""
        if attribution.absent is None:
            return ()
        weights = attribution.absent[row]
        least = max(LEAST_REASON, float(np.abs(scored.weights).max(initial=0.0)))
        return tuple(
            Term(self.programs[column], float(weights[column]), (), column)
            for column in important(weights, MOST_ABSENT).tolist()
            if abs(weights[column]) >= least
        )

    def _where(self, scored: Scored, column: int) -> dict[str, int] | None:
        """Return the place of a present program with the highest score; None if it is absent."""
        at = np.flatnonzero(scored.columns == column)
        if not len(at) or not len(scored.images[at[0]]):
            return None
        places = scored.images[at[0]]
        sums = np.sign(scored.weights[at[0]]) * np.round(scored.nodes[places].sum(axis=1), 9)
        return dict(zip(self.programs[column].variables, places[int(sums.argmax())].tolist(), strict=True))

    def scored(self, representation: Representation, attribution: Attribution) -> list[Scored]:
        """Return per graph what present programs add to its nodes and edges."""
        rows, columns = np.nonzero(np.where(representation.matches, attribution.weights, 0.0))
        encoded = as_graph_set(representation.graphs)
        plan = self.model.layer_.plan_for(encoded)
        found = plan.witnesses(encoded, rows, columns, n_jobs=self.model.n_jobs)
        results = []
        start = np.searchsorted(rows, np.arange(len(representation) + 1))
        for row, graph in enumerate(representation.graphs):
            part = slice(int(start[row]), int(start[row + 1]))
            weights = attribution.weights[row, columns[part]]
            some = [self.programs[column] for column in columns[part].tolist()]
            nodes, edges = spread(graph, some, weights, found.images[part])
            places = found.images[part]
            results.append(Scored(nodes, edges, columns[part], weights, places, graph.edges))
        return results


def threshold_of(representation: Representation, target: int) -> float:
    """Return the probability of a class above which it is predicted."""
    if representation.decision is None:
        return 0.5
    return (
        representation.decision.threshold
        if target == representation.decision.code
        else 1 - representation.decision.threshold
    )


def with_schema(graph: Graph, schema: Any) -> Graph:
    """Return a graph with the feature names of the training graphs, if it has none and they fit."""
    widths = (graph.node_features.shape[1], graph.edge_features.shape[1])
    if graph.schema is not None or schema is None or (len(schema.node), len(schema.edge)) != widths:
        return graph
    return Graph._trusted(
        graph.node_features, graph.edges, graph.edge_features, graph.directed, schema, graph.name
    )
