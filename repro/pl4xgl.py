"""PL4XGLClassifier: the classifier that GDL comes from. The best-scoring matching program decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from gdlnn.errors import ModelError
from gdlnn.explain import Explanation, shrink
from gdlnn.explain.explanation import Method, Reason, plain
from gdlnn.graphs.schema import label_codes
from gdlnn.matching import ProgramPlan, as_graph_set
from gdlnn.mining import ProgramSet, mine
from gdlnn.mining.settings import FINAL_BUDGET, resolved_epsilon
from gdlnn.model.base import GraphClassifier
from gdlnn.model.inputs import (
    Conversion,
    GraphsLike,
    Validation,
    as_graphs,
    as_labeled,
    check_fits,
    training_and_validation,
)
from gdlnn.model.representation import Representation

if TYPE_CHECKING:
    from gdlnn.graphs import GraphDataset
    from gdlnn.graphs.molecules import MoleculeReader
    from gdlnn.mining import MinedProgram
    from gdlnn.mining.settings import Strategy

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
FACTORS = (1.0, 0.98, 0.94, 0.92, 0.90)
STEPS = (0, 1, 2, 3, 4)


class _Setting(NamedTuple):
    """The settings chosen on the validation set."""

    threshold: int
    default: int
    penalized: int
    factor: float


@dataclass(eq=False, repr=False)
class PL4XGLClassifier(GraphClassifier):
    """Classify a graph by the best-scoring program that matches it; that program is the explanation.

    Every label gets the best score among its programs that match the graph, and the largest wins (the first
    label of equals). A graph that no program matches gets the default label: the commonest label among such
    graphs of the validation set, or the first label if there are none, as in PL4XGL. Without a validation
    set it is the commonest label of the training graphs.

    Two settings are chosen on the validation set by accuracy, one after the other, the last of equals.
    First, the scores of the label that is most often predicted wrongly are multiplied by 1, .98, .94, .92
    or .90; with several classes it is the label predicted for most graphs of other labels. Second, programs
    that match fewer than t validation graphs are dropped, with t out of int(ε·{0, 1, 2, 3, 4}).

    Mining is by default PL4XGL's cheaper search; programs with a smaller support than `min_support`, or whose
    score is below `min_lift` times their label's share, are dropped. The other parameters are those of
    `GDLNNClassifier`.
    """

    epsilon: float | str = 0.1
    strategy: Strategy = "sequential"
    min_support: int = 2
    min_lift: float = 1.2
    validation_fraction: float = 0.1
    random_state: int = 0
    n_jobs: int | None = 1
    verbose: bool = True

    @property
    def reading(self) -> MoleculeReader | None:
        """How the training molecules were converted to graphs, or None."""
        return self._reading

    def fit(
        self,
        X: GraphsLike,
        y: npt.ArrayLike | None = None,
        *,
        validation: Validation = None,
        programs: ProgramSet | None = None,
    ) -> Self:
        """Mine programs, or take those given, and choose the settings on the validation set.

        Programs that are given were mined from exactly these graphs. The validation set is a fraction of the
        training graphs, ``(graphs, y)`` or a dataset.
        """
        data = as_labeled(X, y)
        self._reading = data.reading
        fraction = 0.0 if programs is not None else self.validation_fraction
        train, val = training_and_validation(data, validation, fraction, self.random_state)
        assert train.y is not None
        self.classes_, counts = np.unique(train.y, return_counts=True)
        if len(self.classes_) < 2:
            raise ModelError(f"fit: y: expected at least two classes, got {self.classes_.tolist()}")
        if programs is None:
            programs = mine(
                train,
                epsilon=self.epsilon,
                strategy=self.strategy,
                nominal="interval",
                min_support=self.min_support,
                n_jobs=self.n_jobs,
                verbose=self.verbose,
            )
        programs = filtered(programs, self.min_support, self.min_lift)
        setting = _Setting(0, int(counts.argmax()), 0, 1.0)
        if val is not None and len(val):
            programs, setting = self._choose(programs, val, len(train))
        self.programs_, self.schema_ = programs, train.schema
        self.default_label_ = self.classes_[setting.default]
        self.penalized_label_ = self.classes_[setting.penalized]
        self.threshold_, self.factor_ = setting.threshold, setting.factor
        return self

    def _choose(self, programs: ProgramSet, val: GraphDataset, n_train: int) -> tuple[ProgramSet, _Setting]:
        assert val.y is not None
        table = self._match(programs, val.graphs)
        codes = label_codes(val.y, self.classes_)
        scores, labels = programs.scores, self._label_numbers(programs)

        def best_scores(threshold: int) -> FloatArray:
            kept = table.sum(axis=0) >= threshold
            return _best_scores(table[:, kept], scores[kept], labels[kept], len(self.classes_))[0]

        def n_right(setting: _Setting) -> int:
            by_label = _penalize(best_scores(setting.threshold), setting)
            return int((_predicted(by_label, setting.default) == codes).sum())

        by_label = best_scores(0)
        default = _default_label(codes, by_label, len(self.classes_))
        penalized = _most_often_wrong(codes, by_label, len(self.classes_))
        epsilon = resolved_epsilon(self.epsilon, n_train)
        thresholds = sorted({int(epsilon * step) for step in STEPS})
        # As in the public program: first the factor, then the threshold, the last of equals.
        factor = max(reversed(FACTORS), key=lambda f: n_right(_Setting(0, default, penalized, f)))
        threshold = max(reversed(thresholds), key=lambda t: n_right(_Setting(t, default, penalized, factor)))
        chosen = programs.take(np.flatnonzero(table.sum(axis=0) >= threshold))
        return chosen, _Setting(threshold, default, penalized, factor)

    def _match(self, programs: ProgramSet, graphs: list[Any]) -> BoolArray:
        if not graphs:
            return np.zeros((0, len(programs)), dtype=bool)
        check_fits(graphs, programs.info, "graphs")
        encoded = as_graph_set(graphs)
        found = ProgramPlan(programs.programs, encoded).match(encoded, self.n_jobs, FINAL_BUDGET)
        return found.table()

    def _label_numbers(self, programs: ProgramSet) -> IntArray:
        return label_codes(programs.labels, self.classes_, known=True)

    def _setting(self) -> _Setting:
        place = self.classes_.tolist().index
        return _Setting(
            self.threshold_, place(self.default_label_), place(self.penalized_label_), self.factor_
        )

    def _decide(self, matches: BoolArray) -> tuple[FloatArray, IntArray]:
        """Return per graph and label the best score, 0 for none, and the program that has it, -1 for none."""
        by_label, which = _best_scores(
            matches, self.programs_.scores, self._label_numbers(self.programs_), len(self.classes_)
        )
        return _penalize(by_label, self._setting()), which

    def represent(self, X: GraphsLike) -> Representation:
        """Match the programs against graphs once.

        The probabilities are the labels' scores scaled to add up to 1: an order to rank graphs by, not
        calibrated.
        """
        check_is_fitted(self, "programs_")
        graphs = as_graphs(X, convert=Conversion.of_model(self))
        matches = self._match(self.programs_, graphs)
        by_label, _ = self._decide(matches)
        nothing = by_label.max(axis=1, initial=0) == 0
        by_label[nothing, self._setting().default] = 1.0
        probabilities = np.asarray(by_label / by_label.sum(axis=1, keepdims=True))
        return Representation(graphs, matches.astype(np.float64), matches, probabilities, self.classes_)

    def deciding_columns(self, seen: Representation) -> list[int | None]:
        """Return for every graph the column of the program that decided, or None where nothing matched."""
        _, which = self._decide(seen.matches)
        columns = which[np.arange(len(seen)), seen.codes].tolist()
        return [None if column < 0 else column for column in columns]

    def deciding_programs(self, X: GraphsLike) -> list[MinedProgram | None]:
        """Return for every graph the program that decided, or None where nothing matched."""
        columns = self.deciding_columns(self.represent(X))
        return [None if column is None else self.programs_[column] for column in columns]

    def explanations(self, representation: Representation) -> list[Explanation]:
        """Explain each graph by the program that decided: its weight is its score, its witness the subgraph.

        A graph that no program matches has the default label and an empty explanation.
        """
        results = []
        for row, column in enumerate(self.deciding_columns(representation)):
            graph, columns = representation.graphs[row], () if column is None else (column,)
            deciding = [self.programs_[column] for column in columns]
            (left,) = shrink([graph], [item.program for item in deciding], step_budget=FINAL_BUDGET)
            label = plain(representation.labels[row])
            chance = float(representation.probabilities[row].max())
            results.append(
                Explanation(
                    graph=graph,
                    prediction=label,
                    probability=chance,
                    target=label,
                    target_probability=chance,
                    reasons=tuple(
                        Reason(item.program, float(item.score), places, column, plain(item.label))
                        for item, column, places in zip(deciding, columns, left.places, strict=True)
                    ),
                    nodes=left.nodes,
                    method=Method("pl4xgl", complete=left.complete),
                )
            )
        return results

    def strongest(self, n_programs: int) -> list[tuple[MinedProgram, Any, str]]:
        """Return the programs with the highest scores."""
        best = self.programs_.top(n_programs)
        return [(mined, mined.label, f"score {mined.score:.3f}") for mined in best]

    def explain(self, graphs: Any) -> Any:
        """Explain one graph, or each of a list, by the program that decided; its witness is the subgraph.

        A graph that no program matches has an empty explanation.
        """
        check_is_fitted(self, "programs_")
        return self._explain(graphs)


def filtered(programs: ProgramSet, min_support: int, min_lift: float) -> ProgramSet:
    """Return the programs that match enough graphs, with a score well above their label's share of graphs."""
    shares = {label: count / programs.info.n_graphs for label, count in programs.info.label_counts}
    enough = programs.filter(min_support)
    return enough.take([i for i, p in enumerate(enough) if p.score >= min_lift * shares[p.label]])


def _best_scores(
    table: BoolArray, scores: FloatArray, labels: IntArray, n_labels: int
) -> tuple[FloatArray, IntArray]:
    """Return per graph and label the best score of a matching program and its column, or 0 and -1."""
    best = np.zeros((len(table), n_labels))
    which = np.full((len(table), n_labels), -1, dtype=np.int64)
    for label in range(n_labels):
        columns = np.flatnonzero(labels == label)
        if not len(columns) or not len(table):
            continue
        masked = np.where(table[:, columns], scores[columns], 0.0)
        at = masked.argmax(axis=1)
        best[:, label] = masked[np.arange(len(table)), at]
        which[:, label] = np.where(table[:, columns].any(axis=1), columns[at], -1)
    return best, which


def _penalize(by_label: FloatArray, setting: _Setting) -> FloatArray:
    result = by_label.copy()
    result[:, setting.penalized] *= setting.factor
    return result


def _predicted(by_label: FloatArray, default: int) -> IntArray:
    return np.where(by_label.max(axis=1, initial=0) == 0, default, by_label.argmax(axis=1))


def _default_label(codes: IntArray, by_label: FloatArray, n_labels: int) -> int:
    """Return the commonest label among the graphs that nothing matched, the first where there are none."""
    unmatched = codes[(by_label.max(axis=1, initial=0) == 0) & (codes >= 0)]
    return int(np.bincount(unmatched, minlength=n_labels).argmax())


def _most_often_wrong(codes: IntArray, by_label: FloatArray, n_labels: int) -> int:
    """Return the label that most graphs of other labels are taken for, unmatched graphs aside."""
    matched = by_label.max(axis=1, initial=0) > 0
    predicted = by_label.argmax(axis=1)
    wrong = predicted[matched & (predicted != codes)]
    return int(np.bincount(wrong, minlength=n_labels).argmax())
