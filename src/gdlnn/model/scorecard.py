"""ScorecardHead: an additive model of a few programs that fits in one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array

from gdlnn.errors import ModelError, printable
from gdlnn.jobs import one_thread
from gdlnn.model.inputs import is_whole
from gdlnn.model.linear import AdditiveHead

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs import GraphDataset
    from gdlnn.model.base import Tensors
    from gdlnn.model.classifier import GDLNNClassifier

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
N_FOLDS = 5
"""Folds of the cross-validation that decides how many programs there are."""
FEWEST_ROWS = 10
"""Minimum number of training graphs that a program must match, and must not match."""
PENALTY = 1.0
"""Strength of the L2 penalty on coefficients."""
MOST_POINTS = 10
"""Points of the strongest program where coefficients are rounded."""


@dataclass(eq=False, repr=False)
class ScorecardHead(AdditiveHead):
    """A logistic regression on a few features, chosen one by one by the largest gradient.

    Cross-validation decides how many. With several classes, each has a card against the rest.

    Parameters
    ----------
    max_programs
        Maximum number of programs, over all classes.
    points
        Round coefficients to whole points, at most ten for the strongest.
    random_state
        Seed of the folds. None: that of the classifier that the head belongs to, or 0.

    Attributes
    ----------
    selected_
        The chosen features, in the order in which they were chosen.
    coef_, intercept_
        The log odds that each feature adds to each class, and the constants; zero for features not chosen.
    classes_
        The labels.
    """

    max_programs: int = 30
    points: bool = False
    random_state: int | None = None

    @one_thread()
    def fit(self, X: Any, y: npt.ArrayLike) -> Self:
        """Choose features and fit their coefficients."""
        if not is_whole(self.max_programs, 1):
            raise ModelError(
                f"max_programs: expected a whole number of at least 1, got {self.max_programs!r}"
            )
        X, codes = self.checked(X, y)
        table = csc_array(X)
        wanted = range(1, 2) if len(self.classes_) == 2 else range(len(self.classes_))
        most = max(1, self.max_programs // len(wanted))
        coef = np.zeros((len(self.classes_), table.shape[1]))
        intercept = np.zeros(len(self.classes_))
        chosen: list[int] = []
        for code in wanted:
            own = (codes == code).astype(np.float64)
            *_, card = _grow(table, own, self._n_steps(table, own, most))
            card = _rounded(table, own, card) if self.points else card
            coef[code, card.columns], intercept[code] = card.coefficients, card.constant
            chosen += [column for column in card.columns if column not in chosen]
        if len(self.classes_) == 2:
            coef, intercept = coef[1:], intercept[1:]
        self.selected_: IntArray = np.array(chosen, dtype=np.int64)
        self.set_odds(coef, intercept)
        return self

    def _n_steps(self, table: csc_array, y: FloatArray, most: int) -> int:
        """Return the number of features with the least mean loss on rows left out."""
        rng = np.random.default_rng(self.random_state or 0)
        order = rng.permutation(len(y))
        order = order[np.argsort(y[order], kind="stable")]
        fold = np.empty(len(y), dtype=np.int64)
        fold[order] = np.arange(len(y)) % N_FOLDS
        rows = table.tocsr()
        losses = np.zeros(most + 1)
        for number in range(min(N_FOLDS, len(y))):
            outside = fold == number
            if not 0 < y[~outside].sum() < (~outside).sum():
                return min(most, 1)
            cards = list(_grow(csc_array(rows[~outside]), y[~outside], most))
            cards += [cards[-1]] * (most + 1 - len(cards))
            held_out = csc_array(rows[outside])
            losses += [_loss(held_out, y[outside], card) for card in cards]
        return int(np.argmin(losses))

    def drop_unselected(self) -> IntArray:
        """Drop the features that were not chosen; return the previous indices of the others.

        If none was chosen, the first one stays, without weight: tables need a column.
        """
        chosen = self.selected_
        columns = chosen if len(chosen) else np.zeros(1, dtype=np.int64)
        self.set_odds(self.coef_[:, columns], self.intercept_)
        self.selected_ = np.arange(len(chosen))
        return columns

    def restore(self, tensors: Tensors, n_features: int, n_classes: int) -> None:
        """Set coefficients and constants."""
        super().restore(tensors, n_features, n_classes)
        self.selected_ = np.flatnonzero(self.coef_.any(axis=0))


# --- growing a card ---------------------------------------------------------------------------------------


class _Card(NamedTuple):
    """Features with their coefficients, and a constant."""

    columns: list[int]
    coefficients: FloatArray
    constant: float


def _grow(table: csc_array, y: FloatArray, most: int) -> Any:
    """Yield the card without features, then one after each feature that is added."""
    share = np.clip(y.mean(), 1e-6, 1 - 1e-6)
    card = _Card([], np.zeros(0), float(np.log(share / (1 - share))))
    yield card
    least = min(FEWEST_ROWS, max(2, len(y) // 20))
    counts = np.diff(table.indptr)
    transposed = table.T.tocsr()
    squared = transposed.multiply(transposed).tocsr()
    marks = np.asarray((squared - transposed).multiply(squared - transposed).sum(axis=1)).reshape(-1) == 0
    # Of zeros and ones both must be there.
    allowed = (counts >= least) & ((counts <= len(y) - least) | ~marks)
    for _ in range(most):
        chances = 1 / (1 + np.exp(-_scores(table, card)))
        spread = chances * (1 - chances)
        gradient = transposed @ (y - chances)
        weight = transposed @ spread
        # Rao's score: the gradient over its deviation, the constant taken into account.
        information = squared @ spread - weight**2 / max(spread.sum(), 1e-12) + PENALTY
        merit = np.where(allowed, gradient**2 / information, 0.0)
        best = int(np.argmax(merit))
        if merit[best] <= 0:
            return
        allowed[best] = False
        card = _fitted(table, y, [*card.columns, best], [*card.coefficients, 0.0], card.constant)
        yield card


def _dense(table: csc_array, columns: Sequence[int]) -> FloatArray:
    return np.asarray(table[:, list(columns)].toarray())


def _scores(table: csc_array, card: _Card) -> FloatArray:
    if not card.columns:
        return np.full(table.shape[0], card.constant)
    return np.asarray(_dense(table, card.columns) @ card.coefficients + card.constant)


def _fitted(
    table: csc_array, y: FloatArray, columns: list[int], start: Sequence[float], constant: float
) -> _Card:
    """Fit the coefficients of some features by Newton's method."""
    design = np.hstack([np.ones((len(y), 1)), _dense(table, columns)])
    weights = np.array([constant, *start])
    penalty = np.full(len(weights), PENALTY)
    penalty[0] = 0
    for _ in range(20):
        chances = 1 / (1 + np.exp(-(design @ weights)))
        gradient = design.T @ (y - chances) - penalty * weights
        hessian = (design * (chances * (1 - chances))[:, None]).T @ design + np.diag(penalty + 1e-9)
        step = np.linalg.solve(hessian, gradient)
        weights += np.clip(step, -5, 5)
        if np.abs(step).max() < 1e-8:
            break
    return _Card(columns, weights[1:], float(weights[0]))


def _loss(table: csc_array, y: FloatArray, card: _Card) -> float:
    scores = _scores(table, card)
    return float(np.mean(np.logaddexp(0, scores) - y * scores))


def _rounded(table: csc_array, y: FloatArray, card: _Card) -> _Card:
    """Round the coefficients to whole points, and fit the constant again."""
    if not card.columns:
        return card
    unit = float(np.abs(card.coefficients).max()) / MOST_POINTS
    points = np.round(card.coefficients / unit) * unit
    offset = _dense(table, card.columns) @ points
    constant = card.constant
    for _ in range(30):
        chances = 1 / (1 + np.exp(-(offset + constant)))
        constant += float(np.clip((y - chances).sum() / max((chances * (1 - chances)).sum(), 1e-9), -5, 5))
    return _Card(card.columns, points, constant)


# --- the table --------------------------------------------------------------------------------------------


class ScorecardRow(NamedTuple):
    """A program of a scorecard, what it adds to the log odds of a class, and how it did on held-out graphs.

    ``matched`` and ``right`` count held-out graphs that it matches, and those of them that are of the class
    it speaks for; None without held-out graphs.
    """

    column: int
    words: str
    label: Any
    contribution: float
    matched: int | None = None
    right: int | None = None


def scorecard_rows(model: GDLNNClassifier, held_out: GraphDataset | None = None) -> list[ScorecardRow]:
    """Return all rows of a model with an additive head, the strongest programs first.

    Parameters
    ----------
    model
        A fitted model with a scorecard or another linear head.
    held_out
        Labeled graphs that it was not trained on.
    """
    coef = np.asarray(model.head_.coef_)
    if len(coef) == 1:
        coef = np.concatenate([-coef, coef]) / 2
    two = len(model.classes_) == 2
    matches = None if held_out is None else model.represent(held_out).matches
    truth = None if held_out is None else np.asarray(held_out.y)
    rows = []
    for column, item in enumerate(model.programs_):
        if isinstance(model.head_, ScorecardHead) and not coef[:, column].any():
            continue  # the only column of a card without programs
        best = int(np.argmax(coef[:, column]))
        label = model.classes_[best]
        added = float(coef[best, column] - coef[1 - best, column]) if two else float(coef[best, column])
        words = item.program.describe(model.schema_, directed=model.programs_.info.directed)
        counts: tuple[int | None, int | None] = (None, None)
        if matches is not None and truth is not None:
            here = matches[:, column]
            counts = int(here.sum()), int((truth[here] == label).sum())
        rows.append(ScorecardRow(column, words, label, added, *counts))
    return sorted(rows, key=lambda row: (-abs(row.contribution), row.column))


def scorecard_text(model: GDLNNClassifier, held_out: GraphDataset | None = None) -> str:
    """Return a scorecard as lines of text: log odds, class, program, and held-out counts."""
    from gdlnn.graphs import Schema

    names = (model.schema_ or Schema()).class_name
    rows = scorecard_rows(model, held_out)
    lines = [f"{len(rows)} programs, in log odds:"]
    for row in rows:
        line = f"{row.contribution:+.2f} for {names(row.label)}: {row.words}"
        if row.matched is not None:
            line += f" Held out: {row.right} of {row.matched}."
        lines.append(line)
    constants = scorecard_constants(model)
    labels = model.classes_[-len(constants) :]
    words = (f"{value:+.2f} for {names(label)}" for label, value in zip(labels, constants, strict=True))
    return "\n".join(map(printable, [*lines, f"constant: {', '.join(words)}"])) + "\n"


def scorecard_constants(model: GDLNNClassifier) -> list[float]:
    """Return the log odds without any program: of two classes those of the last, else those of each."""
    constants = np.asarray(model.head_.intercept_, dtype=float)
    return [float(constants[1] - constants[0])] if len(constants) == 2 else constants.tolist()
