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
    Contributions,
    Explanation,
    Explanations,
    Method,
    Term,
    plain,
)
from gdlnn.explain.lime_shap import KernelShap, Lime
from gdlnn.explain.node_scores import Scored, extreme_images, flat_images, spread
from gdlnn.explain.places import Place, find_places, induced_program
from gdlnn.explain.subgraph import shrink
from gdlnn.gdl.place_names import place_name
from gdlnn.graphs import Graph, GraphDataset
from gdlnn.graphs.identity import canonical_order
from gdlnn.graphs.molecules import hidden_by_default
from gdlnn.matching import as_graph_set
from gdlnn.model.base import SelfExplaining
from gdlnn.model.inputs import Conversion, as_graphs, is_alone
from gdlnn.model.representation import Representation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gdlnn.explain.context import Attribution
    from gdlnn.explain.node_scores import Images
    from gdlnn.gdl.program import Program
    from gdlnn.model import GDLNNClassifier

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
GraphsLike = Graph | str | list[Any] | tuple[Any, ...] | GraphDataset | Representation
NReasons = int | Literal["smallest"]
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
MOST_BEHIND = 5
"""Maximum number of programs that are listed behind a place."""
logger = logging.getLogger(__name__)


@overload
def explain(
    model: Any,
    graphs: Graph | str,
    technique: TechniqueLike = None,
    n_reasons: NReasons = 5,
    class_label: Any = None,
    random_state: int = 0,
) -> Explanation: ...
@overload
def explain(
    model: Any,
    graphs: list[Any] | tuple[Any, ...] | GraphDataset | Representation,
    technique: TechniqueLike = None,
    n_reasons: NReasons = 5,
    class_label: Any = None,
    random_state: int = 0,
) -> Explanations: ...
def explain(
    model: Any,
    graphs: GraphsLike,
    technique: TechniqueLike = None,
    n_reasons: NReasons = 5,
    class_label: Any = None,
    random_state: int = 0,
) -> Explanation | Explanations:
    """Explain predictions: return the programs that decide, and the subgraph that they need.

    Parameters
    ----------
    model
        A fitted GDLNNClassifier, or a model that explains itself, see `SelfExplaining`: `technique`,
        `n_reasons`, `class_label` and `random_state` are then ignored.
    graphs
        One graph or molecule, or several: a list gives a list, and shares one pass. SMILES, RDKit molecules,
        PyG Data and NetworkX graphs are converted as in training. A `Representation` is not matched again.
    technique
        "contribution", "lime" or "kernel_shap", or a technique object such as ``Lime(n_samples=1000)``;
        None: `DEFAULT_TECHNIQUE`. LIME and KernelSHAP explain models with the activation "exists".
    n_reasons
        How many programs an explanation names; where the model has fewer, all of them. "smallest": the
        smallest subgraph of a program that alone gets the class, see `explain_smallest`.
    class_label
        The class to explain; by default the predicted one.
    random_state
        Seed of the technique; the same random_state gives the same explanation.
    """
    started = time.perf_counter()
    if random_state < 0:
        raise ExplanationError(f"seed: expected a whole number of at least 0, got {random_state}")
    if not hasattr(model, "represent"):
        kind = type(model).__name__
        raise ExplanationError(f"model: expected a fitted GDLNNClassifier, got a {kind}")
    representation = represented(model, graphs)
    if isinstance(model, SelfExplaining):
        found = model.explanations(representation)
    else:
        from gdlnn.explain.sufficient import explain_smallest

        wanted = _checked(n_reasons)
        explainer = Explainer(model, make_technique(technique), random_state)
        targets = target_codes(representation, class_label)
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


def _checked(n_reasons: Any) -> NReasons:
    if isinstance(n_reasons, str) and n_reasons == "smallest":
        return "smallest"
    whole = isinstance(n_reasons, int) or (isinstance(n_reasons, float) and n_reasons.is_integer())
    if not whole or n_reasons < 1:
        raise ExplanationError(
            f"n_reasons: expected a whole number of at least 1 (more than there are programs means all) "
            f"or 'smallest', got {n_reasons!r}"
        )
    return int(n_reasons)


def important(weights: FloatArray, n_reasons: int) -> IntArray:
    """Return the programs with the largest absolute weights, largest first, without those of weight zero."""
    order = np.argsort(-np.abs(weights), kind="stable")[:n_reasons]
    return np.asarray(order[weights[order] != 0], dtype=np.int64)


@dataclass(frozen=True)
class Explainer:
    """A model and a technique, which turn represented graphs into explanations."""

    model: GDLNNClassifier
    technique: Technique
    random_state: int = 0

    @property
    def programs(self) -> list[Program]:
        """The programs of the model, one per column."""
        return self.model.layer_.programs_

    def context(
        self,
        representation: Representation,
        targets: IntArray,
        n_reasons: int,
        *,
        matching_only: bool = False,
    ) -> Context:
        """Return the input of the technique."""
        return make_context(
            self.model, representation, targets, n_reasons, self.random_state, matching_only=matching_only
        )

    def explain(self, representation: Representation, targets: IntArray, n_reasons: int) -> list[Explanation]:
        """Explain each graph by its most important programs."""
        context = self.context(representation, targets, n_reasons)
        attribution = self.technique.attribute(context)
        if attribution.baseline is None:
            chosen = [important(row, n_reasons) for row in attribution.weights]
            return self.assemble(representation, targets, attribution, chosen)
        scored = self.scored(representation, attribution)
        return [
            self._by_places(representation, int(targets[row]), attribution, row, scored[row], n_reasons)
            for row in range(len(representation))
        ]

    def _by_places(
        self,
        representation: Representation,
        target: int,
        attribution: Attribution,
        row: int,
        scored: Scored,
        n_places: int,
    ) -> Explanation:
        """Explain a graph by the places that carry the most of its prediction."""
        graph = with_schema(representation.graphs[row], self.model.schema_)
        places = find_places(graph, scored.nodes, n_places)
        predicted = int(representation.codes[row])
        classes = representation.classes
        against = classes[1 - target] if len(classes) == 2 else classes[target]
        return Explanation(
            graph=graph,
            prediction=plain(classes[predicted]),
            probability=float(representation.probabilities[row, predicted]),
            target=plain(classes[target]),
            target_probability=float(representation.probabilities[row, target]),
            terms=tuple(
                self._place_term(
                    graph, place, scored, plain(classes[target] if place.points > 0 else against)
                )
                for place in places
            ),
            nodes=tuple(sorted(node for place in places if place.points > 0 for node in place.nodes)),
            method=Method(self.technique.name, dict(self.technique.options()), self.random_state),
            contributions=self._contributions(representation, attribution, row, scored, target),
            threshold=threshold_of(representation, target),
        )

    def _place_term(self, graph: Graph, place: Place, scored: Scored, label: Any) -> Term:
        """Return a place as a term: the program that it induces, its name, and the programs behind it."""
        inside = np.zeros(graph.n_nodes)
        inside[list(place.nodes)] = 1.0
        there, owner = flat_images(scored.images)
        sizes = np.maximum(np.bincount(owner, minlength=len(scored.images)), 1)
        shares = np.bincount(owner, inside[there], minlength=len(scored.images)) / sizes
        points = np.round(scored.weights * shares, 12)
        behind = tuple(
            Term(scored.programs[i], float(points[i]), (), scored.columns[i])
            for i in important(points, MOST_BEHIND).tolist()
        )
        program = induced_program(graph, place.nodes)
        name = place_name(graph, place.nodes, graph.schema)
        return Term(program, place.points, (place.nodes,), -1, label, name, behind)

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
    ) -> list[Explanation]:
        """Find the subgraphs of the chosen programs by Algorithm 2, and put everything into explanations.

        Parameters
        ----------
        representation, targets, attribution
            The graphs, the class of each to explain, and the weights of the programs.
        chosen
            Per graph the programs to list.
        scored
            What `scored` gives, for techniques with a baseline.
        """
        present = [
            columns[representation.matches[row, columns]].tolist() for row, columns in enumerate(chosen)
        ]
        scores = None if scored is None else [found.nodes for found in scored]
        used, left = self.subgraphs(representation.graphs, present, scores)
        place = {column: i for i, column in enumerate(used)}
        results = []
        for row, columns in enumerate(columns.tolist() for columns in chosen):
            predicted, target = int(representation.codes[row]), int(targets[row])
            found = {column: left[row].witnesses[place[column]] for column in present[row]}
            quality = None if attribution.quality is None else float(attribution.quality[row])
            results.append(
                Explanation(
                    graph=with_schema(representation.graphs[row], self.model.schema_),
                    prediction=plain(representation.classes[predicted]),
                    probability=float(representation.probabilities[row, predicted]),
                    target=plain(representation.classes[target]),
                    target_probability=float(representation.probabilities[row, target]),
                    terms=tuple(self._term(attribution.weights[row], c).at(found.get(c)) for c in columns),
                    nodes=left[row].nodes,
                    method=Method(
                        self.technique.name, dict(self.technique.options()), self.random_state, quality
                    ),
                    contributions=None
                    if scored is None
                    else self._contributions(representation, attribution, row, scored[row], target),
                    complete=left[row].complete,
                    threshold=0.5 if scored is None else threshold_of(representation, target),
                )
            )
        return results

    def _term(self, weights: FloatArray, column: int) -> Term:
        label = plain(self.model.programs_.labels[column])
        return Term(self.programs[column], float(weights[column]), (), column, label)

    def _contributions(
        self, representation: Representation, attribution: Attribution, row: int, scored: Scored, target: int
    ) -> Contributions:
        """Return what is added in a graph to the baseline of a class."""
        assert attribution.baseline is not None
        counts = dict(self.model.programs_.info.label_counts)
        label = plain(representation.classes[target])
        pooled = self._pooled(representation, attribution, row)
        baseline, added = float(attribution.baseline[row]), float(np.sort(scored.nodes).sum())
        others = sum(points for _, points in pooled)
        return Contributions(
            baseline=baseline,
            prior=counts.get(label, 0) / max(1, sum(counts.values())),
            added=added,
            pooled=pooled,
            left=float(representation.probabilities[row, target]) - baseline - added - others,
            scores=tuple(scored.nodes.tolist()),
            edge_scores=tuple(scored.edges.tolist()),
        )

    def _pooled(
        self, representation: Representation, attribution: Attribution, row: int
    ) -> tuple[tuple[str, float], ...]:
        """Return what pooled features add, with their values in words, the largest first."""
        pooled, others = self.model.layer_.pooled_, attribution.others
        if pooled is None or others is None:
            return ()
        weights = others[row, : len(pooled.names_)]
        values = representation.features[row, len(self.programs) :]
        order = np.argsort(-np.abs(weights), kind="stable").tolist()
        schema = self.model.schema_
        return tuple((pooled.text(i, values[i], schema), float(weights[i])) for i in order if weights[i])

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
            own = columns[part].tolist()
            some, images = [self.programs[column] for column in own], list(found.images[part])
            weights = attribution.weights[row, own].tolist()
            for column, program, places, weight in self._of_quantities(
                graph, representation, attribution, row
            ):
                own.append(column)
                some.append(program)
                images.append(places)
                weights.append(weight)
            values = np.array(weights, dtype=np.float64)
            results.append(Scored(*spread(graph, some, values, images), some, own, values, images))
        return results

    def _of_quantities(
        self, graph: Graph, representation: Representation, attribution: Attribution, row: int
    ) -> Iterator[tuple[int, Program, Images, float]]:
        """Yield the programs of quantities that are present, with the thresholds that decided for a graph."""
        quantities = self.model.layer_.quantities_
        if quantities is None or attribution.others is None or not len(quantities):
            return
        first = representation.features.shape[1] - len(quantities)
        weights = attribution.others[row, -len(quantities) :]
        info = self.model.programs_.info
        for number in np.flatnonzero(weights).tolist():
            extreme, value = quantities.columns[number], float(representation.features[row, first + number])
            threshold = self._threshold(first + number, value)
            width = info.n_node_features if extreme.of == "node" else info.n_edge_features
            program = extreme.program(threshold, width, directed=info.directed)
            yield first + number, program, extreme_images(graph, extreme, threshold), float(weights[number])

    def _threshold(self, column: int, value: float) -> float:
        """Return the threshold of a quantity that decided: the middle split that the value passes."""
        cache = model_cache(self.model).setdefault("thresholds", {})
        if column not in cache:
            forest = self.model.head_.forest_
            cache[column] = np.sort(forest.threshold[forest.feature == column].astype(np.float64))
        passed = cache[column][cache[column] < value]
        return float(passed[len(passed) // 2]) if len(passed) else value


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
