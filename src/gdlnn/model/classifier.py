"""GDLNNClassifier: a scikit-learn classifier over graphs, with programs as features."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from gdlnn.errors import ModelError
from gdlnn.graphs import GraphDataset, Schema
from gdlnn.graphs.schema import label_codes
from gdlnn.graphs.structure import fill_structure, structure_is_wanted
from gdlnn.mining import ProgramSet
from gdlnn.model.base import GraphClassifier
from gdlnn.model.calibration import (
    FEWEST_PER_CLASS,
    RARE,
    Calibration,
    checked_rule,
    choose_threshold,
    cross_fitted,
    honest_columns,
    rule_for,
)
from gdlnn.model.domain import Domain
from gdlnn.model.head import MLPHead, class_weights, linear_head
from gdlnn.model.inputs import (
    MIN_VALIDATION,
    Conversion,
    GraphsLike,
    Validation,
    as_graphs,
    as_labeled,
    as_weights,
    check_direction,
    check_schemas,
    training_and_validation,
)
from gdlnn.model.layer import Activation, GDLTransformer
from gdlnn.model.pooling import any_quantity
from gdlnn.model.representation import Representation
from gdlnn.model.scorecard import ScorecardHead
from gdlnn.model.training_graphs import TrainingGraphs, TrainingValues
from gdlnn.model.vocabulary import (
    Mined,
    Neighbourhoods,
    RunOptions,
    Source,
    Vocabulary,
    calibration_folds,
    make_sources,
    union,
)
from gdlnn.progress import stage, stages

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from gdlnn.graphs import Graph

FloatArray = npt.NDArray[np.float64]
_HEADS: dict[str, Callable[[], Any]] = {
    "mlp": MLPHead,
    "linear": linear_head,
    "scorecard": ScorecardHead,
}
logger = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class GDLNNClassifier(GraphClassifier):
    """Classify graphs by the programs they contain.

    `fit` finds programs in the training graphs, uses them as the columns of the GDL layer and trains a head
    on their matches. It takes lists of `Graph` or a `GraphDataset`.

    Parameters
    ----------
    vocabulary
        Where programs come from: "mined" or ``Mined(...)`` with options of the search, "neighbourhoods" or
        ``Neighbourhoods(...)``, or several of these. "auto": neighbourhoods, and in addition programs mined
        in bags if there are fewer than 1,000 training graphs that were not read as molecules.
    head
        "mlp", "linear" (exact attributions), "scorecard" (at most 30 programs, see `ScorecardHead`),
        ``MLPHead(...)`` or ``ScorecardHead(...)`` with their own options, or any scikit-learn classifier.
    structure
        Whether degree and ring are added to the node features. "auto": if nodes have
        labels only, as in MUTAG, and no such feature yet.
    pooled
        Whether the head also gets pooled features, see `PooledFeatures`. "auto": if some feature is a
        quantity. Elsewhere they do not improve accuracy, and without them predictions depend on programs
        alone.
    activation
        The values of the GDL layer, see `GDLTransformer`.
    class_weight
        "balanced", weights by label, or None: see `MLPHead`.
    calibrate
        Whether the probabilities of an `MLPHead` are calibrated on graphs that it was not trained on: the
        validation set, or without one the training graphs by four-fold cross-fitting.
    decide
        The threshold from which the rarer of two classes is predicted: a number, or the score by which it is
        chosen on held-out graphs: "balanced-accuracy" or "recall=0.9". "auto": 0.5, or balanced
        accuracy if the rarer class has less than 30 % of the training graphs.
    validation_fraction
        Share of the training graphs held out for early stopping if `fit` is given no validation set and the
        share is at least `MIN_VALIDATION` graphs.
    checkpoint
        A folder for finished parts of the search; the same call resumes from it.
    seed, n_jobs, progress
        Random seed; number of threads for mining and matching; whether to show a progress bar.

    Attributes
    ----------
    programs_
        The programs, one per column of the GDL layer.
    layer_, head_
        The fitted `GDLTransformer` and the fitted head.
    classes_
        The labels.
    calibration_, decision_
        How the head's probabilities are changed, and the threshold; None: the most probable class.
    history_
        Losses and accuracies of the head by epoch.
    schema_
        The names of features and classes, or None; structure features are among them.
    training_graphs_, training_values_, domain_
        Records of the training graphs, used by `seen` and `domain`.
    reading_
        How the training molecules were converted to graphs, or None; `predict` reads SMILES the same way.
    provenance_
        How the training table was read and split, see `GraphDataset`; a report repeats it.
    training_labels_
        The label of every training graph, in the order of the supports of `programs_`.
    """

    vocabulary: Vocabulary = "auto"
    head: Literal["mlp", "linear", "scorecard"] | Any = "mlp"
    structure: bool | Literal["auto"] = "auto"
    pooled: bool | Literal["auto"] = "auto"
    activation: Activation = "exists"
    class_weight: Literal["balanced"] | Mapping[Any, float] | None = None
    calibrate: bool = True
    decide: str | float = "auto"
    validation_fraction: float = 0.1
    checkpoint: str | os.PathLike[str] | None = None
    seed: int = 0
    n_jobs: int | None = 1
    progress: bool = True

    @classmethod
    def paper(
        cls,
        epsilon: float | str = 0.1,
        k: float | None = 1.0,
        epochs: int = 500,
        learning_rate: float = 0.005,
        hidden: Sequence[int] = (64,),
        **parameters: Any,
    ) -> Self:
        """Return a classifier with the paper's recipe: one ε, the k best programs, one perceptron.

        Other parameters of the classifier may be given too.
        """
        head = MLPHead(
            hidden=hidden,
            learning_rate=learning_rate,
            weight_decay=0.0,
            input_dropout=0.0,
            epochs=epochs,
            patience=100,
            early_stopping=True,
            ensemble_size=1,
            linear_share=0,
        )
        vocabulary = Mined(epsilon, k, ignore=(), nominal="interval")
        plain = {"structure": False, "pooled": False, "calibrate": False, "decide": 0.5}
        return cls(vocabulary=vocabulary, head=head, **{**plain, **parameters})

    # --- fitting ------------------------------------------------------------------------------------------

    def fit(
        self,
        X: GraphsLike,
        y: npt.ArrayLike | None = None,
        *,
        validation: Validation = None,
        programs: ProgramSet | Sequence[ProgramSet] | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Self:
        """Find programs and train the head.

        Parameters
        ----------
        X, y
            Graphs and labels; without `y` those of the dataset.
        validation
            The validation set for early stopping: a fraction of the training graphs, ``(graphs, y)`` or a
            dataset. It is neither mined nor trained on.
        programs
            Programs already mined from exactly these graphs, one set for each ε: nothing is mined.
        sample_weight
            The weight of each graph when the head is trained; not used for finding programs.
        """
        data = as_labeled(X, y)
        weights = as_weights(sample_weight, len(data))
        if programs is not None and not isinstance(validation, GraphDataset | tuple | None):
            raise ModelError(
                "fit: validation: no fraction can be held out: the given programs were mined from all graphs"
            )
        fraction = 0.0 if programs is not None else self.validation_fraction
        train, val = training_and_validation(data, validation, fraction, self.seed)
        if weights is not None:
            weights = weights[np.isin(data.indices, train.indices)]
        if structure_is_wanted(self.structure, train.schema, train.n_node_features, ModelError):
            train, val = train.with_structure(), None if val is None else val.with_structure()
        self.classes_ = np.unique(np.asarray(train.y))
        if len(self.classes_) < 2:
            raise ModelError(f"fit: y: expected at least two classes, got {self.classes_.tolist()}")
        self.head_ = self._make_head()
        sources, pooled = make_sources(self._vocabulary(), train), self._pools(train)
        with stages(wanted=self.progress):
            self.programs_ = self._find_programs(train, sources, programs)
            if not len(self.programs_) and not pooled:
                raise ModelError("fit: expected at least one program, got none; lower min_support")
            self.layer_ = GDLTransformer(self.programs_, self.activation, pooled, self.n_jobs).fit(train)
            table = self._table(train, sources)
            self._fit_head(table, train, val, weights)
            with stage("calibrating"):
                self._calibrate(table, train, val, sources, weights)
            self._record(train, val, sources)
        return self

    def _vocabulary(self) -> Vocabulary:
        """Return where programs come from; for a scorecard by default those found without labels."""
        card = isinstance(self.head_, ScorecardHead)
        return "neighbourhoods" if card and self.vocabulary == "auto" else self.vocabulary

    def _pools(self, train: GraphDataset) -> bool:
        if self.pooled not in (True, False, "auto"):
            raise ModelError(f"pooled: expected True, False or auto, got {self.pooled!r}")
        if self.pooled == "auto":
            return any_quantity(train) and not isinstance(self.head_, ScorecardHead)
        return bool(self.pooled)

    def _find_programs(
        self,
        train: GraphDataset,
        sources: Sequence[Source],
        programs: ProgramSet | Sequence[ProgramSet] | None,
    ) -> ProgramSet:
        if programs is None:
            run = RunOptions(self.seed, self.n_jobs, self.progress, self.checkpoint)
            return union([source.columns(source.find(train, run)) for source in sources])
        given = [programs] if isinstance(programs, ProgramSet) else list(programs)
        for one in given:
            if one.info.n_graphs != len(train):
                raise ModelError(
                    f"fit: programs: expected programs mined from these {len(train)} graphs, "
                    f"got some mined from {one.info.n_graphs}"
                )
        return sources[0].columns(given) if len(sources) == 1 else union(given)

    def _table(self, train: GraphDataset, sources: Sequence[Source]) -> Any:
        """Return the features of the training graphs; which of them each program matches is known already."""
        if self.activation != "exists" or not len(self.programs_):
            return self.layer_.transform(train)
        if self.layer_.pooled_ is None and any(isinstance(source, Neighbourhoods) for source in sources):
            table = self.programs_.supports.tocsr()  # of thousands of columns few are not zero
            # scikit-learn's trees take indices of 32 bits only
            table.indices, table.indptr = table.indices.astype(np.int32), table.indptr.astype(np.int32)
            return table
        return self.layer_.with_pooled(train.graphs, self.programs_.supports.toarray().astype(np.float64))

    def _fit_head(
        self, table: Any, train: GraphDataset, val: GraphDataset | None, weights: FloatArray | None
    ) -> None:
        fitting: dict[str, Any] = self._weighting(weights)
        if isinstance(self.head_, MLPHead) and val is not None and self.head_.stops_early(len(val)):
            with stage("matching the validation set"):
                held_out = self.layer_.transform(val)
            held_out = csr_array(held_out) if issparse(table) else held_out
            fitting["validation"] = (held_out, self._codes(val))
        with stage("training the head"):
            self.head_.fit(table, self._codes(train), **fitting)
        self.history_ = getattr(self.head_, "history_", [])

    def _weighting(self, weights: FloatArray | None) -> dict[str, Any]:
        """Return the weights of rows as the head takes them."""
        if weights is None:
            return {}
        if isinstance(self.head_, MLPHead):
            return {"row_weights": weights}
        if not has_fit_parameter(self.head_, "sample_weight"):
            kind = type(self.head_).__name__
            raise ModelError(f"fit: sample_weight: expected a head that takes weights of rows, got {kind}")
        return {"sample_weight": weights}

    def _calibrate(
        self,
        table: Any,
        train: GraphDataset,
        val: GraphDataset | None,
        sources: Sequence[Source],
        weights: FloatArray | None,
    ) -> None:
        """Fit the calibration, and choose the threshold, on graphs that the head was not trained on."""
        self.calibration_, self.decision_ = Calibration(), None
        codes = self._codes(train)
        counts = np.bincount(codes, minlength=len(self.classes_))
        rule = rule_for(checked_rule(self.decide), (counts / counts.sum()).tolist())
        changes = self.calibrate and isinstance(self.head_, MLPHead)
        cuts = len(counts) == 2 and rule != 0.5
        if not (changes or cuts) or not hasattr(self.head_, "predict_proba"):
            return
        if val is not None and len(val) >= MIN_VALIDATION:
            truth, weights = self._codes(val), None
            chances = np.asarray(self.head_.predict_proba(self.layer_.transform(val)), dtype=np.float64)
            chances, truth = chances[truth >= 0], truth[truth >= 0]
        else:
            truth = codes
            crossed = self._cross_fitted(table, train, sources, weights)
            if crossed is None:
                return
            chances = crossed
        if changes:
            of_classes = class_weights(self.head_, codes)
            shift = of_classes is not None or counts.min() < RARE * counts.sum()
            self.calibration_ = Calibration.fit(chances, truth, of_classes, shift=shift, row_weights=weights)
            chances = self.calibration_.apply(chances)
        self.decision_ = choose_threshold(rule, chances, truth, counts.tolist())

    def _cross_fitted(
        self, table: Any, train: GraphDataset, sources: Sequence[Source], weights: FloatArray | None
    ) -> FloatArray | None:
        """Return probabilities of the training graphs, each by a head that was not trained on it."""
        codes = self._codes(train)
        if np.bincount(codes).min() < FEWEST_PER_CLASS:
            return None
        return cross_fitted(
            self._make_head,
            table,
            codes,
            calibration_folds(sources, train, self.seed),
            lambda rows: honest_columns(self.programs_, rows, table.shape[1]),
            lambda rows: self._weighting(None if weights is None else weights[rows]),
        )

    def _record(self, train: GraphDataset, val: GraphDataset | None, sources: Sequence[Source]) -> None:
        """Record what the model was trained on, and the choices made while fitting."""
        if isinstance(self.head_, ScorecardHead) and self.layer_.pooled_ is None:
            self.programs_ = self.programs_.take(self.head_.drop_unselected())
            layer = GDLTransformer(self.programs_, self.activation, pooled=False, n_jobs=self.n_jobs)
            self.layer_ = layer.fit(train)
        self.schema_, self.reading_ = train.schema, train.reading
        self.provenance_: dict[str, Any] = dict(train.provenance)
        self.training_labels_: npt.NDArray[Any] = np.asarray(train.y)
        self.metrics_: dict[str, Any] = {}
        if train.reading is not None:  # so that pictures show programs as parts of molecules
            with stage("finding examples"):
                self.programs_ = self.layer_.programs = self.programs_.with_examples(train)
        with stage("recording the training graphs"):
            self.training_values_ = TrainingValues.of(train)
            self.training_graphs_ = TrainingGraphs.of(train, val)
            self.domain_ = Domain.of(train, self.programs_, self.training_values_)
        self.choice_ = self._choice(sources, val)
        logger.info("fit: %s", ", ".join(f"{name} = {value}" for name, value in self.choice_.items()))

    def _choice(self, sources: Sequence[Source], val: GraphDataset | None) -> dict[str, Any]:
        """Return the choices made while fitting, in words."""
        if not isinstance(self.head_, MLPHead):
            training = type(self.head_).__name__
        elif val is not None and self.head_.stops_early(len(val)):
            training = f"early stopping on {len(val)} graphs"
        else:
            training = f"{self.head_.epochs} epochs"
            if val is not None:
                training += f", since {len(val)} validation graphs are too few"
        found: dict[str, Any] = {
            "vocabulary": " and programs ".join(map(_described, sources)),
            "programs": len(self.programs_),
            "pooled": self.layer_.pooled,
            "training": training,
        }
        if not self.calibration_.is_identity:
            found["calibration"] = f"log odds × {self.calibration_.scale:.2f}"
        if self.decision_ is not None:
            rare = (self.schema_ or Schema()).class_name(self.classes_.tolist()[self.decision_.code])
            found["decision"] = f"{rare} from {self.decision_.threshold:.0%} on, by {self.decision_.rule}"
        return found

    def _codes(self, data: GraphDataset) -> npt.NDArray[np.int64]:
        """Return the codes of labels, on which the head is trained; -1 for an unknown label."""
        return label_codes(np.asarray(data.y), self.classes_)

    def _make_head(self) -> Any:
        """Return an unfitted head with the settings it inherits from the classifier."""
        head = clone(self.head) if hasattr(self.head, "fit") else None
        if isinstance(self.head, str) and self.head in _HEADS:
            head = _HEADS[self.head]()
        if head is None or not hasattr(head, "predict"):
            expected = "mlp, linear, scorecard, MLPHead(...) or a scikit-learn classifier"
            raise ModelError(f"head: expected {expected}, got {self.head!r}")
        if isinstance(head, MLPHead | ScorecardHead):
            head.seed = self.seed if head.seed is None else head.seed
        if isinstance(head, MLPHead):
            weights = self.class_weight if head.class_weight is None else head.class_weight
            if isinstance(weights, Mapping):
                codes = label_codes(weights, self.classes_).tolist()
                weights = dict(zip(codes, weights.values(), strict=True))
            head.class_weight = weights
        return head

    # --- predicting ---------------------------------------------------------------------------------------

    def transform(self, X: GraphsLike) -> FloatArray:
        """Return the features: one column per program, then pooled features."""
        return self._featured(X)[1]

    def _featured(self, X: GraphsLike) -> tuple[list[Graph], FloatArray]:
        """Return graphs with the structure features of training, and their features."""
        check_is_fitted(self, "head_")
        given = as_graphs(X, convert=Conversion.of_model(self))
        check_schemas(given, self.schema_, "transform")
        check_direction(given, self.programs_.info, "transform")  # structure features depend on it
        graphs = fill_structure(given, self.schema_)
        self.layer_.n_jobs = self.n_jobs
        features = self.layer_.transform(graphs)
        self.training_values_.report_new(graphs)
        return graphs, features

    def represent(self, X: GraphsLike) -> Representation:
        """Match the programs against graphs once, and return features, matches and probabilities."""
        graphs, features = self._featured(X)
        probabilities, members = self._head_probabilities(features)
        if members is not None:
            shape = members.shape
            members = self.calibration_.apply(members.reshape(-1, shape[2])).reshape(shape)
        return Representation(
            graphs=graphs,
            features=features,
            matches=features[:, : len(self.programs_)] > 0,
            probabilities=probabilities,
            classes=self.classes_,
            decision=self.decision_,
            trained_on=self.training_graphs_,
            domain=self.domain_,
            members=members,
        )

    def head_probabilities(self, features: FloatArray) -> FloatArray:
        """Return the head's probabilities for features; 0 and 1 for a head that only gives labels."""
        return self._head_probabilities(features)[0]

    def _head_probabilities(self, features: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Return the head's probabilities, and those of the members of its ensemble before calibration."""
        if not len(features):
            return np.zeros((0, len(self.classes_))), None
        if not hasattr(self.head_, "predict_proba"):
            codes = np.asarray(self.head_.predict(features), dtype=np.int64)
            return np.asarray(np.eye(len(self.classes_))[codes]), None
        members: FloatArray | None = None
        if isinstance(self.head_, MLPHead):
            found, members = self.head_.predict_with_members(features)
        else:
            found = np.asarray(self.head_.predict_proba(features), dtype=np.float64)
        # The last bits of a product of matrices depend on the position of a row: equal rows share theirs.
        return self.calibration_.apply(found[_first_equal(features)]), members

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[Any]:
        """Return the names of the columns of `transform`."""
        check_is_fitted(self, "head_")
        return self.layer_.get_feature_names_out(input_features)

    # --- explaining and keeping ---------------------------------------------------------------------------

    def explain(
        self,
        graphs: Any,
        technique: Any = None,
        n_features: int | Literal["smallest"] = 5,
        target: Any = None,
        seed: int = 0,
    ) -> Any:
        """Explain predictions by the programs that decide and the subgraphs they match.

        Parameters are those of `gdlnn.explain.explain`.
        """
        check_is_fitted(self, "head_")
        return self._explain(graphs, technique, n_features, target, seed)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model to one file without code, which `load_model` reads."""
        from gdlnn.model.model_file import save_model

        save_model(self, path)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "head_")


def _described(source: Source) -> str:
    """Return in words where programs come from."""
    if isinstance(source, Neighbourhoods):
        return f"neighbourhoods up to radius {source.radius}"
    given: Any = source.epsilon
    epsilon = ", ".join(map(str, given)) if isinstance(given, list | tuple) else given
    return f"mined with ε = {epsilon}{' in bags' if source.bags is not None else ''}"


def _first_equal(features: FloatArray) -> npt.NDArray[np.intp]:
    """Return for every row the number of the first row that equals it."""
    if len(features) == 1:
        return np.zeros(1, dtype=np.intp)
    first: dict[bytes, int] = {}
    rows = (row.tobytes() for row in np.ascontiguousarray(features) + 0.0)  # -0.0 becomes 0.0
    return np.array([first.setdefault(row, i) for i, row in enumerate(rows)], dtype=np.intp)
