"""explain(): from a model and graphs to explanations, through context, attribution and subgraph."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ExplanationError
from gdlnn.explain.contribution import contributions_of
from gdlnn.explain.explanation import (
    LEAST_SHOWN,
    Contributions,
    Explanation,
    Explanations,
    Method,
    Reason,
    Value,
    plain,
)
from gdlnn.explain.lime_shap import Context, KernelShap, Lime
from gdlnn.explain.node_scores import MOST_PLACES, extreme_nodes, score_nodes
from gdlnn.explain.places import connected_parts, find_places, induced_program, sorted_places
from gdlnn.explain.subgraph import shrink
from gdlnn.explain.words import what_it_contains
from gdlnn.gdl.place_names import counted_name, named_groups, place_name
from gdlnn.graphs import Graph, GraphDataset
from gdlnn.graphs.identity import canonical_order
from gdlnn.graphs.molecules import hidden_by_default
from gdlnn.matching import as_graph_set
from gdlnn.model.base import SelfExplaining
from gdlnn.model.inputs import Conversion, as_graphs, is_alone
from gdlnn.model.representation import Representation, ValueRepresentation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gdlnn.explain.contribution import Attribution
    from gdlnn.explain.node_scores import Scored
    from gdlnn.explain.places import Place
    from gdlnn.gdl.program import Program
    from gdlnn.model.quantities import Extreme

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
GraphsLike = Graph | str | list[Any] | tuple[Any, ...] | GraphDataset | Representation
NReasons = int | Literal["smallest"]
Technique = Lime | KernelShap
TechniqueLike = str | Technique | None
DEFAULT_TECHNIQUE = "contribution"
"""The default technique in Python, on the command line, in the report and on the server."""
TECHNIQUES = (DEFAULT_TECHNIQUE, Lime.name, KernelShap.name)
"""The names of the techniques."""
MOST_TERMS = 5
"""Maximum number of programs that are listed behind a place."""
logger = logging.getLogger(__name__)


def explain(
    model: Any,
    graphs: GraphsLike,
    technique: TechniqueLike = None,
    n_reasons: NReasons = 5,
    class_label: Any = None,
    random_state: int = 0,
) -> Any:
    """Explain predictions: return the places that decide, with what each adds to the probability.

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
        How many places an explanation names at most, or programs where the technique has no baseline.
        "smallest": a small subgraph that alone gets the class, see `sufficient_nodes`.
    class_label
        The class to explain; by default the predicted one.
    random_state
        Seed of the technique; the same random_state gives the same explanation.
    """
    started = time.perf_counter()
    if random_state < 0:
        raise ExplanationError(f"random_state: expected a whole number of at least 0, got {random_state}")
    if not hasattr(model, "represent"):
        kind = type(model).__name__
        raise ExplanationError(f"model: expected a fitted GDLNNClassifier, got a {kind}")
    representation = represented(model, graphs)
    if isinstance(model, SelfExplaining):
        found = model.explanations(representation)
    else:
        explainer = Explainer(model, make_technique(technique), random_state)
        found = explainer.explain(
            representation, target_codes(representation, class_label), _checked(n_reasons)
        )
    if isinstance(graphs, GraphDataset):
        found = with_smiles(found, graphs.smiles)
    seconds = time.perf_counter() - started
    name = found[0].method.technique if found else "no technique"
    logger.info("explain: %d graph(s) by %s in %.3f s", len(found), name, seconds)
    return found[0] if is_alone(graphs) else Explanations(found)


def make_technique(technique: TechniqueLike) -> Technique | None:
    """Return the technique with a name, or the given one; None for contributions, the default."""
    given: object = technique
    if given is None or given == DEFAULT_TECHNIQUE:
        return None
    if isinstance(given, Technique):
        return given
    for known in (Lime, KernelShap):
        if given == known.name:
            return known()
    got = repr(given) if isinstance(given, str) else f"a {type(given).__name__}"
    names = ", ".join(TECHNIQUES)
    raise ExplanationError(f"technique: expected one of {names}, or an object such as Lime(), got {got}")


def with_smiles(found: list[Explanation], smiles: Sequence[str] | None) -> list[Explanation]:
    """Return explanations of the first graphs that know how their molecules were written."""
    if smiles is None:
        return found
    return [replace(one, smiles=text) for one, text in zip(found, smiles, strict=False)]


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


def target_codes(representation: Representation, class_label: Any) -> IntArray:
    """Return per graph the position of the class to explain: a given one, or the predicted one for None."""
    if class_label is None:
        return representation.codes
    labels = representation.classes.tolist()
    if plain(class_label) not in labels:
        known = ", ".join(map(repr, labels))
        raise ExplanationError(f"class_label: expected one of the classes {known}, got {class_label!r}")
    return np.full(len(representation), labels.index(plain(class_label)), dtype=np.int64)


class Attributed(NamedTuple):
    """Represented graphs with the class to explain in each, and what programs add to it and to each node."""

    representation: Representation
    targets: IntArray
    attribution: Attribution
    scored: Sequence[Scored]


@dataclass(frozen=True)
class Explainer:
    """A model and a technique, which turn represented graphs into explanations; None: contributions."""

    model: Any
    technique: Technique | None = None
    random_state: int = 0

    @property
    def programs(self) -> list[Program]:
        """The programs of the model, one per column."""
        programs: list[Program] = self.model.layer_.programs_
        return programs

    def attributed(
        self, representation: Representation, targets: IntArray, known: Attribution | None = None
    ) -> Attributed:
        """Return what programs add in each graph, computed unless it is known, and to each of its nodes."""
        attribution = known or contributions_of(self.model, representation, targets)
        scored = self.scored(representation, attribution)
        return Attributed(representation, targets, attribution, scored)

    def explain(
        self, representation: Representation, targets: IntArray, n_reasons: NReasons
    ) -> list[Explanation]:
        """Explain each graph by places, or by programs where the technique has no baseline."""
        if n_reasons == "smallest" and self.technique is not None:
            raise ExplanationError(
                f"n_reasons: expected a number, got 'smallest', which only technique 'contribution' has, not "
                f"{self.technique.name!r}"
            )
        if n_reasons == "smallest" and isinstance(representation, ValueRepresentation):
            raise ExplanationError("n_reasons: expected a number, got 'smallest', which needs a class")
        if self.technique is not None:
            assert isinstance(n_reasons, int)
            return self._by_programs(representation, targets, n_reasons, self.technique)
        return self.by_places(self.attributed(representation, targets), n_reasons)

    def _named(self, graph: Graph) -> Graph:
        return with_schema(graph, self.model.schema_)

    def _explanation(
        self, representation: Representation, row: int, target: int, **parts: Any
    ) -> Explanation:
        """Return an explanation with what is known of every graph."""
        predicted, where = int(representation.codes[row]), representation.domains[row]
        return Explanation(
            graph=self._named(representation.graphs[row]),
            prediction=plain(representation.labels[row]),
            probability=float(representation.probabilities[row, predicted]),
            target=plain(representation.classes[target]),
            target_probability=float(representation.probabilities[row, target]),
            domain=where.domain,
            domain_reason=where.reason,
            value=self._value(representation, row),
            **parts,
        )

    def _value(self, representation: Representation, row: int) -> Value | None:
        """Return the interval and unit of a regressor's prediction; None for a classifier."""
        if not isinstance(representation, ValueRepresentation):
            return None
        lower, upper = representation.intervals[row].tolist()
        return Value(lower, upper, self.model.unit, Value.step_of(self.model.training_.labels))

    # --- places -------------------------------------------------------------------------------------------

    def by_places(self, attributed: Attributed, n_reasons: NReasons) -> list[Explanation]:
        """Explain each graph by the places that its node scores give, or that are enough for its class."""
        places: Sequence[Sequence[Place] | None] = [None] * len(attributed.scored)
        if n_reasons == "smallest":
            places = self._sufficient(attributed)
        return [self._by_places(attributed, n_reasons, row, own) for row, own in enumerate(places)]

    def _by_places(
        self, attributed: Attributed, n_reasons: NReasons, row: int, places: Sequence[Place] | None
    ) -> Explanation:
        """Explain a graph by given places, or those found; a value by groups, those of one name together."""
        representation, scored = attributed.representation, attributed.scored[row]
        target = int(attributed.targets[row])
        graph, classes = self._named(representation.graphs[row]), representation.classes
        most = None if n_reasons == "smallest" else n_reasons
        if isinstance(representation, ValueRepresentation):
            reasons = merged_reasons(self._groups(graph, scored, plain(classes[0])))[:most]
            shown = reasons
        else:
            against = plain(classes[1 - target] if len(classes) == 2 else classes[target])
            reasons = [
                self._place_reason(
                    graph, place, scored, plain(classes[target]) if place.points > 0 else against
                )
                for place in (find_places(graph, scored.nodes)[:most] if places is None else places)
            ]
            # All of a sufficient subgraph is needed, whatever its parts add.
            shown = [reason for reason in reasons if places is not None or reason.weight > 0]
        return self._explanation(
            representation,
            row,
            target,
            reasons=tuple(reasons),
            nodes=tuple(sorted({node for reason in shown for node in reason.nodes})),
            method=Method(DEFAULT_TECHNIQUE, {}, self.random_state),
            contributions=self._contributions(attributed, row),
            threshold=representation.threshold(target),
        )

    def _groups(self, graph: Graph, scored: Scored, label: Any) -> list[Reason]:
        """Return the named groups of a graph as reasons; where there are none, its places."""
        groups = named_groups(graph)
        if not groups:  # places are found in units of one percentage point
            scores = scored.nodes * 0.01 / Value.step_of(self.model.training_.labels)
            groups = [("", place.nodes) for place in find_places(graph, scores)]
        names = {nodes: name for name, nodes in groups}
        places = sorted_places(graph, scored.nodes, list(names))
        return [self._place_reason(graph, place, scored, label, names[place.nodes]) for place in places]

    def _place_reason(self, graph: Graph, place: Place, scored: Scored, label: Any, name: str = "") -> Reason:
        """Return a place as a reason: the program that it induces, its name, and the programs behind it."""
        points = scored.shares(place.nodes)
        terms = tuple(
            Reason(
                self._program(scored.columns[i], scored.thresholds), float(points[i]), (), scored.columns[i]
            )
            for i in important(points, MOST_TERMS).tolist()
            if abs(points[i]) >= LEAST_SHOWN
        )
        program, schema = induced_program(graph, place.nodes), graph.schema
        edge, share = None, terms[0].weight / place.points if terms else 0.0
        if share > 0 and len(program.edges) == len(terms[0].program.edges) == 1:
            edge = terms[0].program.edges[0].intervals  # what of its values matters
        elif share >= 0.5 and terms[0].column >= len(self.programs):  # a quantity decides
            name = what_it_contains(terms[0].program.describe(schema, directed=graph.directed))
        name = name or place_name(graph, place.nodes, schema, edge)
        return Reason(program, place.points, (place.nodes,), -1, plain(label), name, terms)

    def _sufficient(self, attributed: Attributed) -> list[list[Place]]:
        """Return the connected parts of a small subgraph of each graph that alone gets its class."""
        from gdlnn.explain.counterfactual import sufficient_nodes

        found = sufficient_nodes(self.model, attributed)
        return [
            sorted_places(graph, own.nodes, connected_parts(graph, nodes))
            for graph, own, nodes in zip(
                attributed.representation.graphs, attributed.scored, found, strict=True
            )
        ]

    # --- programs -----------------------------------------------------------------------------------------

    def _by_programs(
        self, representation: Representation, targets: IntArray, n_reasons: int, technique: Technique
    ) -> list[Explanation]:
        """Explain graphs by the most important programs and the subgraph that Algorithm 2 leaves of them."""
        if self.model.activation != "exists":
            raise ExplanationError(
                f"technique {technique.name!r}: expected a model with the activation 'exists', got one that "
                "counts matches; use 'contribution'"
            )
        asked = Context.of(self.model, representation, targets, n_reasons, self.random_state)
        weights, quality = technique.attribute(asked)
        chosen = [important(row, n_reasons) for row in weights]
        matches = representation.matches
        used = np.unique(np.concatenate([*chosen, np.zeros(0, dtype=np.int64)]))
        use = np.stack([np.isin(used, columns) for columns in chosen]) & matches[:, used] if chosen else None
        left = shrink(
            representation.graphs,
            [self.programs[column] for column in used.tolist()],
            use,
            order=[
                canonical_order(self._named(g), hidden_by_default(self.model.schema_))
                for g in representation.graphs
            ],
            step_budget=self.model.layer_.step_budget,
            n_jobs=self.model.n_jobs,
        )
        results, labels = [], self.model.programs_.labels
        for row, part in enumerate(left):
            found = dict(zip(used.tolist(), part.places, strict=True))
            reasons = [
                Reason(self.programs[i], float(weights[row, i]), found[i], i, plain(labels[i]))
                for i in chosen[row].tolist()
            ]
            fit = None if quality is None else float(quality[row])
            method = Method(technique.name, dict(technique.options()), self.random_state, fit, part.complete)
            known = {"nodes": part.nodes, "method": method}
            target = int(targets[row])
            results.append(self._explanation(representation, row, target, reasons=tuple(reasons), **known))
        return results

    # --- what is added ------------------------------------------------------------------------------------

    def _contributions(self, attributed: Attributed, row: int) -> Contributions:
        """Return what is added in a graph to the baseline of a class."""
        representation, target = attributed.representation, int(attributed.targets[row])
        attribution, scored = attributed.attribution, attributed.scored[row]
        counts = dict(self.model.programs_.info.label_counts)
        label = plain(representation.classes[target])
        pooled = self._pooled(representation, attribution, row)
        baseline, added = float(attribution.baseline[row]), float(np.sort(scored.nodes).sum())
        others = sum(points for _, points in pooled)
        prior = counts.get(label, 0) / max(1, sum(counts.values()))
        if isinstance(representation, ValueRepresentation):
            prior = float(self.model.training_.labels.mean())
        return Contributions(
            baseline=baseline,
            prior=prior,
            added=added,
            pooled=pooled,
            left=float(representation.probabilities[row, target]) - baseline - added - others,
            scores=tuple(scored.nodes.tolist()),
        )

    def _pooled(
        self, representation: Representation, attribution: Attribution, row: int
    ) -> tuple[tuple[str, float], ...]:
        """Return what pooled features add, with their values in words, the largest first."""
        pooled = self.model.layer_.pooled_
        if pooled is None:
            return ()
        weights = attribution.others[row, : len(pooled.names_)]
        values = representation.features[row, len(self.programs) :]
        order = np.argsort(-np.abs(weights), kind="stable").tolist()
        schema = self.model.schema_
        return tuple((pooled.text(i, values[i], schema), float(weights[i])) for i in order if weights[i])

    def scored(self, representation: Representation, attribution: Attribution) -> list[Scored]:
        """Return per graph what present programs add to its nodes."""
        rows, columns = np.nonzero(np.where(representation.matches, attribution.weights, 0.0))
        encoded = as_graph_set(representation.graphs)
        plan = self.model.layer_.plan_for(encoded)
        found = plan.witnesses(encoded, rows, columns, MOST_PLACES, self.model.n_jobs)
        results = []
        start = np.searchsorted(rows, np.arange(len(representation) + 1))
        for row, graph in enumerate(representation.graphs):
            part = slice(int(start[row]), int(start[row + 1]))
            own, weights = columns[part].tolist(), attribution.weights[row, columns[part]].tolist()
            bounds = found.at[part.start : part.stop + 1]
            sizes, there = np.diff(bounds).tolist(), [found.nodes[bounds[0] : bounds[-1]]]
            thresholds = {}
            for column, weight in self._of_quantities(attribution, row):
                value = float(representation.features[row, column])
                thresholds[column] = self._threshold(column, value)
                there.append(extreme_nodes(graph, self._extreme(column), thresholds[column]))
                sizes.append(there[-1].size)
                own.append(column)
                weights.append(weight)
            all_there = np.concatenate(there).astype(np.int64)
            results.append(score_nodes(graph.n_nodes, own, np.array(weights), all_there, sizes, thresholds))
        return results

    def _of_quantities(self, attribution: Attribution, row: int) -> Iterator[tuple[int, float]]:
        """Yield the columns of quantities that are present in a graph, with what they add."""
        quantities = self.model.layer_.quantities_
        if quantities is None or not len(quantities):
            return
        first = self.model.layer_.n_columns - len(quantities)
        weights = attribution.others[row, -len(quantities) :]
        yield from ((first + i, float(weights[i])) for i in np.flatnonzero(weights).tolist())

    def _extreme(self, column: int) -> Extreme:
        """Return the quantity of a column."""
        quantities = self.model.layer_.quantities_
        found: Extreme = quantities.columns[column - self.model.layer_.n_columns + len(quantities)]
        return found

    def _program(self, column: int, thresholds: Mapping[int, float]) -> Program:
        """Return the program of a column, for a quantity with the threshold that decided."""
        if column < len(self.programs):
            return self.programs[column]
        extreme, info = self._extreme(column), self.model.programs_.info
        width = info.n_node_features if extreme.of == "node" else info.n_edge_features
        return extreme.program(thresholds[column], width, directed=info.directed)

    def _threshold(self, column: int, value: float) -> float:
        """Return the threshold of a quantity that decided: the middle split that the value passes."""
        splits = self.model.head_.splits(column)
        passed = splits[splits < value]
        return float(passed[len(passed) // 2]) if len(passed) else value


def with_schema(graph: Graph, schema: Any) -> Graph:
    """Return a graph with the feature names of the training graphs, if it has none and they fit."""
    widths = (graph.node_features.shape[1], graph.edge_features.shape[1])
    if graph.schema is not None or schema is None or (len(schema.node), len(schema.edge)) != widths:
        return graph
    return graph._renamed(schema, graph.name)


def merged_reasons(reasons: Sequence[Reason]) -> list[Reason]:
    """Join reasons with the same name into one that says how many there are, the largest first."""
    by_name: dict[str, list[Reason]] = {}
    for reason in reasons:
        by_name.setdefault(reason.name, []).append(reason)
    found = [
        some[0]._replace(
            name=counted_name(name, len(some)),
            weight=sum(one.weight for one in some),
            places=tuple(place for one in some for place in one.places),
        )
        for name, some in by_name.items()
    ]
    return sorted(found, key=lambda reason: -abs(round(reason.weight, 9)))
