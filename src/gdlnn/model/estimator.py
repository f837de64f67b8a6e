"""GDLNNClassifier: mine, merge, take the best, train a head. A scikit-learn classifier over graphs."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from gdlnn.errors import ModelError
from gdlnn.graphs import GraphDataset
from gdlnn.mining import ProgramSet
from gdlnn.mining.settings import STEP_BUDGET
from gdlnn.model.columns import merged_columns
from gdlnn.model.display import DisplayMixin
from gdlnn.model.head import MLPHead
from gdlnn.model.inputs import GraphsLike, as_graphs, as_labelled, check_fits
from gdlnn.model.layer import Activation, GDLTransformer
from gdlnn.model.mined import MINING_PARAMETERS, Epsilons, mine_each
from gdlnn.model.pooling import any_quantity
from gdlnn.model.validation import MIN_VALIDATION, Validation, training_and_validation

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from gdlnn.mining.settings import Strategy, Targets

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
HEAD_PARAMETERS = (
    *("dropout", "input_dropout", "learning_rate", "weight_decay", "epochs", "patience"),
    *("batch_size", "teacher", "class_weight", "seed", "device"),
)
logger = logging.getLogger(__name__)


class GDLNNClassifier(DisplayMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify graphs by the programs they contain.

    Fitting mines programs from the training graphs, merges them, takes the best as the columns of the GDL
    layer and trains a head on what they find. It works on lists of `Graph` and on `GraphDataset`.

    Parameters
    ----------
    epsilon
        ε of the score, or a percentage of the training graphs such as ``"1%"``, or several, whose programs
        are put together. Larger ε asks for more support. "auto": 0.1, 1 and 1 %, without the last beyond
        2,000 training graphs.
    k
        How many programs to keep: a number, a fraction of the training graphs, or None for all.
    per_label
        Take the k best of every label instead of all together.
    merge_equal
        Leave one of the programs that match the same training graphs.
    activation, log_counts
        What the GDL layer gives, see `GDLTransformer`.
    pooled
        Whether the head sees pooled features beside the programs, see `PooledFeatures`. "auto": where some
        feature is a quantity. Elsewhere they add nothing to the accuracy, and without them what the model
        says of a graph rests on its programs alone.
    head
        "mlp", "linear" (exact attributions), or any scikit-learn classifier.
    hidden, dropout, input_dropout, learning_rate, weight_decay, epochs, patience, batch_size, members
        Of the head where it is ours, see `MLPHead`.
    teacher
        "auto", "forest" or None: whether the head doubts labels that a random forest doubts, see `MLPHead`.
    class_weight
        "balanced", weights by label, or None: see `MLPHead`.
    early_stopping
        Whether training ends when the validation part gets no better; "auto": where that part has at least
        `MIN_VALIDATION` graphs, since choices made on fewer are noise.
    validation_fraction
        Share of the training graphs that is held out for early stopping where `fit` is given no validation
        part, provided it comes to `MIN_VALIDATION` graphs: less than that tells too little.
    strategy, connected, targets, min_support, min_lift, ignore, restarts, step_budget, checkpoint
        Of mining, see `mine`; `checkpoint` is a folder.
    seed, n_jobs, device, progress
        Seed of everything random; threads of mining and matching; device of the head; whether to show a bar.

    Attributes
    ----------
    programs_
        The programs, one per column of the GDL layer.
    layer_, head_
        The fitted `GDLTransformer` and the fitted head.
    classes_
        The labels.
    history_
        Losses and accuracies of the head by epoch.
    schema_
        What features and classes are called, or None.
    """

    def __init__(
        self,
        epsilon: Epsilons = "auto",
        k: float | None = None,
        per_label: bool = False,
        merge_equal: bool = False,
        activation: Activation = "exists",
        log_counts: bool = False,
        pooled: bool | Literal["auto"] = "auto",
        head: Literal["mlp", "linear"] | Any = "mlp",
        hidden: Sequence[int] = (64,),
        dropout: float = 0.5,
        input_dropout: float = 0.5,
        learning_rate: float = 0.005,
        weight_decay: float = 5e-4,
        epochs: int = 80,
        patience: int = 30,
        batch_size: int = 128,
        members: int = 5,
        teacher: Literal["forest", "auto"] | None = "auto",
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
        early_stopping: bool | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        strategy: Strategy = "greedy",
        connected: bool = True,
        targets: Targets = None,
        min_support: int = 1,
        min_lift: float = 0,
        ignore: Sequence[str] = (),
        restarts: int = 0,
        step_budget: int = STEP_BUDGET,
        checkpoint: str | os.PathLike[str] | None = None,
        seed: int = 0,
        n_jobs: int | None = 1,
        device: str = "auto",
        progress: bool = True,
    ) -> None:
        self.epsilon = epsilon
        self.k = k
        self.per_label = per_label
        self.merge_equal = merge_equal
        self.activation = activation
        self.log_counts = log_counts
        self.pooled = pooled
        self.head = head
        self.hidden = hidden
        self.dropout = dropout
        self.input_dropout = input_dropout
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.epochs = epochs
        self.patience = patience
        self.batch_size = batch_size
        self.members = members
        self.teacher = teacher
        self.class_weight = class_weight
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.strategy = strategy
        self.connected = connected
        self.targets = targets
        self.min_support = min_support
        self.min_lift = min_lift
        self.ignore = ignore
        self.restarts = restarts
        self.step_budget = step_budget
        self.checkpoint = checkpoint
        self.seed = seed
        self.n_jobs = n_jobs
        self.device = device
        self.progress = progress

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """Return the paper's own recipe: one ε, the k best programs, one perceptron on 0/1 features.

        ε, k and the learning rate are meant to be chosen on a validation part: see `tune`.
        """
        recipe: dict[str, Any] = {
            "epsilon": 0.1,
            "k": 1.0,
            "pooled": False,
            "members": 1,
            "hidden": (64,),
            "dropout": 0.5,
            "learning_rate": 0.005,
            "weight_decay": 0.0,
            "input_dropout": 0.0,
            "teacher": None,
            "epochs": 500,
            "patience": 100,
            "early_stopping": True,
        }
        return cls(**{**recipe, **parameters})

    # --- fitting ------------------------------------------------------------------------------------------

    def fit(
        self,
        X: GraphsLike,
        y: npt.ArrayLike | None = None,
        *,
        validation: Validation = None,
        programs: ProgramSet | Sequence[ProgramSet] | None = None,
    ) -> Self:
        """Mine programs and train the head.

        Parameters
        ----------
        X, y
            Graphs and labels; without `y` those of the data set.
        validation
            The part that early stopping looks at: a fraction of the training graphs, ``(graphs, y)`` or a
            data set. It is neither mined nor trained on.
        programs
            Programs that were mined from these very graphs before, one set for each ε: nothing is mined.
        """
        data = as_labelled(X, y)
        if programs is not None and not isinstance(validation, GraphDataset | tuple | None):
            raise ModelError(
                "fit: validation: expected no fraction, since the given programs know all graphs"
            )
        fraction = 0.0 if programs is not None else self.validation_fraction
        train, val = training_and_validation(data, validation, fraction, self.seed)
        assert train.y is not None
        self.classes_ = np.unique(train.y)
        if len(self.classes_) < 2:
            raise ModelError(f"fit: y: expected at least two classes, got {self.classes_.tolist()}")
        pooled = self._pools(train)
        if programs is None:
            sets = mine_each(train, self.epsilon, self._mining_parameters(), self.checkpoint)
        else:
            sets = _given(programs, train)
        self.programs_ = self._columns(sets)
        if not len(self.programs_) and not pooled:
            raise ModelError("fit: expected at least one program, got none; lower min_support or min_lift")
        self.schema_ = train.schema
        self.metrics_: dict[str, Any] = {}
        self.layer_ = GDLTransformer(self.programs_, pooled=pooled, **self._layer_parameters()).fit(train)
        watched = val if self._watches(val) else None
        self._fit_head(train, watched)
        self.choice_ = self._choice(sets, val, watched)
        logger.info("fit: %s", ", ".join(f"{name} = {value}" for name, value in self.choice_.items()))
        return self

    def _watches(self, val: GraphDataset | None) -> bool:
        if self.early_stopping not in (True, False, "auto"):
            raise ModelError(f"early_stopping: expected True, False or auto, got {self.early_stopping!r}")
        if val is None or self.early_stopping is False:
            return False
        return self.early_stopping is True or len(val) >= MIN_VALIDATION

    def _choice(
        self, sets: Sequence[ProgramSet], val: GraphDataset | None, watched: GraphDataset | None
    ) -> dict[str, Any]:
        """Return in words what was settled while fitting."""
        epsilons = [float(programs.info.settings.get("epsilon", 0)) for programs in sets]
        if not isinstance(self.head_, MLPHead):
            training = type(self.head_).__name__
        elif watched is not None:
            training = f"early stopping on {len(watched)} graphs"
        else:
            training = f"{self.epochs} epochs"
            if val is not None:
                training += f", since {len(val)} validation graphs tell too little"
        return {
            "epsilon": epsilons,
            "k": "all" if self.k is None else self.k,
            "pooled": self.layer_.pooled,
            "training": training,
        }

    def _layer_parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("activation", "log_counts", "n_jobs")}

    def _mining_parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in MINING_PARAMETERS}

    def _columns(self, sets: Sequence[ProgramSet]) -> ProgramSet:
        columns = merged_columns(sets, merge_equal=self.merge_equal)
        if self.k is not None:
            columns = columns.top(self.k, per_label=self.per_label)
        return columns

    def _pools(self, train: GraphDataset) -> bool:
        if self.pooled not in (True, False, "auto"):
            raise ModelError(f"pooled: expected True, False or auto, got {self.pooled!r}")
        if self.pooled == "auto":
            return any_quantity(train)
        return bool(self.pooled)

    def _fit_head(self, train: GraphDataset, val: GraphDataset | None) -> None:
        assert train.y is not None
        if self.activation == "exists" and len(self.programs_):
            # Mining has already said which training graphs each program matches.
            table = self.layer_._with_pooled(train.graphs, self.programs_.supports.astype(np.float64))
        else:
            table = self.layer_.transform(train)
        self.head_ = self._make_head()
        codes = self._codes(train.y)
        if isinstance(self.head_, MLPHead) and val is not None:
            assert val.y is not None
            self.head_.fit(table, codes, validation=(self.layer_.transform(val), self._codes(val.y)))
        else:
            self.head_.fit(table, codes)
        self.history_ = getattr(self.head_, "history_", [])

    def _codes(self, y: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return the numbers of labels, which are what the head is trained on; -1 for one not seen."""
        number = {label: code for code, label in enumerate(self.classes_.tolist())}
        return np.array([number.get(label, -1) for label in y.tolist()], dtype=np.int64)

    def _make_head(self) -> Any:
        if self.head not in ("mlp", "linear"):
            if not hasattr(self.head, "fit") or not hasattr(self.head, "predict"):
                expected = "mlp, linear or a scikit-learn classifier"
                raise ModelError(f"head: expected {expected}, got {self.head!r}")
            return clone(self.head)
        options = {name: getattr(self, name) for name in HEAD_PARAMETERS}
        if isinstance(self.class_weight, Mapping):
            number = {label: code for code, label in enumerate(self.classes_.tolist())}
            options["class_weight"] = {number.get(k, -1): weight for k, weight in self.class_weight.items()}
        if self.head == "linear":
            return MLPHead(hidden=(), members=1, **options)
        return MLPHead(hidden=self.hidden, members=self.members, **options)

    # --- predicting ---------------------------------------------------------------------------------------

    def transform(self, X: GraphsLike) -> FloatArray:
        """Return the features the head sees: one column per program, pooled ones after them."""
        check_is_fitted(self, "head_")
        graphs = as_graphs(X)
        check_fits(graphs, self.programs_.info, "transform")
        return self.layer_.transform(graphs)

    def predict_proba(self, X: GraphsLike) -> FloatArray:
        """Return the probability of every class, in the order of `classes_`."""
        table = self.transform(X)
        if not len(table):
            return np.zeros((0, len(self.classes_)))
        return np.asarray(self.head_.predict_proba(table))

    def predict(self, X: GraphsLike) -> npt.NDArray[Any]:
        """Return the most probable label of every graph."""
        table = self.transform(X)
        codes = self.head_.predict(table) if len(table) else []
        return np.asarray(self.classes_[np.asarray(codes, dtype=np.int64)])

    def score(self, X: GraphsLike, y: npt.ArrayLike | None = None, sample_weight: Any = None) -> float:
        """Return the accuracy; without `y` on the labels of the data set."""
        from sklearn.metrics import accuracy_score

        data = as_labelled(X, y, "score")
        return float(accuracy_score(data.y, self.predict(data), sample_weight=sample_weight))

    def matched_nothing(self, X: GraphsLike) -> BoolArray:
        """Say which graphs no program matches: they lie outside what was learnt."""
        return np.asarray((self.transform(X)[:, : len(self.programs_)] == 0).all(axis=1))

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[Any]:
        """Return the names of the columns of `transform`."""
        check_is_fitted(self, "head_")
        return self.layer_.get_feature_names_out(input_features)

    # --- explaining and keeping ---------------------------------------------------------------------------

    def explain(
        self,
        graphs: Any,
        technique: Any = "lime",
        n_features: int | Literal["enough", "smallest"] = 5,
        target: Any = None,
        seed: int = 0,
        **options: Any,
    ) -> Any:
        """Explain predictions by the programs that decide them and the subgraphs these pick out.

        Parameters are those of `gdlnn.explain.explain`.
        """
        check_is_fitted(self, "head_")
        # The model knows nothing of its explanations: this is the one door, opened by name.
        explain = importlib.import_module("gdlnn.explain")
        return explain.explain(self, graphs, technique, n_features, target, seed, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model into one file that `load_model` reads; it holds no code."""
        from gdlnn.model.archive import save_model

        save_model(self, path)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "head_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


def _given(programs: ProgramSet | Sequence[ProgramSet], train: GraphDataset) -> list[ProgramSet]:
    sets = [programs] if isinstance(programs, ProgramSet) else list(programs)
    for given in sets:
        if given.info.n_graphs != len(train):
            raise ModelError(
                f"fit: programs: expected programs mined from these {len(train)} graphs, "
                f"got some mined from {given.info.n_graphs}"
            )
    return sets
