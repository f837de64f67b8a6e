"""GDLNNEstimator: what GDLNNClassifier and GDLNNRegressor share: vocabulary, table, records, explanations."""

from __future__ import annotations

import logging
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from gdlnn.errors import ModelError
from gdlnn.graphs.structure import fill_structure, structure_is_wanted
from gdlnn.mining import ProgramSet
from gdlnn.model.base import ProgramModel, StoredHead
from gdlnn.model.inputs import Conversion, as_graphs, check_direction, check_schemas
from gdlnn.model.layer import Activation, GDLTransformer
from gdlnn.model.training_graphs import TrainingRecord, report_missing
from gdlnn.model.vocabulary import Mined, Neighborhoods, RunOptions, Source, Vocabulary, make_sources, union
from gdlnn.progress import stage

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gdlnn.graphs import Graph, GraphDataset
    from gdlnn.model.inputs import GraphsLike
    from gdlnn.model.representation import Representation

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
logger = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class GDLNNEstimator(ProgramModel):
    """An estimator that finds programs, turns graphs into a table by them, and trains a head on it.

    Parameters
    ----------
    vocabulary
        Where programs come from: "neighborhoods" or ``Neighborhoods(...)``, "mined" or ``Mined(...)`` with
        options of the search, or several of these. "auto": neighborhoods. Only a classifier can mine.
    head
        What is trained on the table; each subclass lists its own.
    structure
        Whether degree and ring are added to the node features. "auto": if nodes have
        labels only, as in MUTAG, and no such feature yet.
    pooled
        Whether the head also gets pooled features, see `PooledFeatures`, and in a classifier with a forest
        the extremes of quantities, see `Quantities`. "auto": depends on the head.
    properties
        Whether pooled features include properties of the whole molecule. "auto": for molecules that were
        read from SMILES or the like.
    ignore
        Features of nodes and edges that are left out.
    checkpoint
        A folder for finished parts of the search; the same call resumes from it.
    random_state, n_jobs, verbose
        Random seed; number of threads, -1 for all CPU cores; whether to show a progress bar.

    Attributes
    ----------
    programs_
        The programs, one per column of the GDL layer.
    layer_, head_
        The fitted `GDLTransformer` and the fitted head.
    schema_
        The names of features and classes, or None; structure features are among them.
    training_
        What is known of the training graphs, see `TrainingRecord`; used by `seen` and `domain`.
    choice_, metrics_
        What was chosen while fitting, and the scores that `gdlnn train` measured.
    """

    vocabulary: Vocabulary = "auto"
    head: Any = "auto"
    structure: bool | Literal["auto"] = "auto"
    pooled: bool | Literal["auto"] = "auto"
    properties: bool | Literal["auto"] = "auto"
    ignore: Sequence[str] = ()
    checkpoint: str | os.PathLike[str] | None = None
    random_state: int = 0
    n_jobs: int | None = 1
    verbose: bool = True

    # --- steps of fitting -----------------------------------------------------------------------------------

    @abstractmethod
    def make_head(self) -> Any:
        """Return an unfitted head with the settings it inherits."""

    @abstractmethod
    def head_outputs(self, features: FloatArray) -> FloatArray:
        """Return what the head predicts: the probability of every class, or one column of values."""

    @abstractmethod
    def _layer(self, train: GraphDataset) -> GDLTransformer:
        """Return the fitted GDL layer, with the columns that the head takes."""

    @abstractmethod
    def _representation(self, **shared: Any) -> Representation:
        """Return a representation with the predictions of the head."""

    @abstractmethod
    def _folds(self, targets: npt.NDArray[Any]) -> Iterator[tuple[IntArray, IntArray]]:
        """Split the training graphs into folds: rows to train on, and rows to predict."""

    def _fitting(self, table: Any, weights: FloatArray | None) -> dict[str, Any]:  # noqa: ARG002
        """Return what the head is fitted with besides rows and targets: weights."""
        if weights is None:
            return {}
        name = "row_weights" if isinstance(self.head_, StoredHead) else "sample_weight"
        if not has_fit_parameter(self.head_, name):
            kind = type(self.head_).__name__
            raise ModelError(f"fit: sample_weight: expected a head that takes weights of rows, got {kind}")
        return {name: weights}

    def _cross_fitted(
        self, table: Any, targets: npt.NDArray[Any], weights: FloatArray | None, title: str
    ) -> FloatArray:
        """Return outputs for the training graphs, each by a head that was not trained on it."""
        found: FloatArray | None = None
        folds = list(self._folds(targets))
        for number, (inside, outside) in enumerate(folds, start=1):
            with stage(f"{title}, fold {number} of {len(folds)}"):
                of_fold = None if weights is None else weights[inside]
                head = self.make_head().fit(table[inside], targets[inside], **self._fitting(table, of_fold))
            outputs = getattr(head, "predict_proba", head.predict)(table[outside])
            found = np.zeros((len(targets), *outputs.shape[1:])) if found is None else found
            found[outside] = outputs
        assert found is not None
        return found

    def _chosen_head(self, heads: Mapping[str, Callable[[], Any]], expected: str) -> Any:
        """Return an unfitted copy of the head, or a new one of the given name, with seed and threads."""
        head = clone(self.head) if hasattr(self.head, "fit") else None
        if isinstance(self.head, str) and self.head in heads:
            head = heads[self.head]()
        if head is None or not hasattr(head, "predict"):
            raise ModelError(f"head: expected {', '.join(heads)}, {expected}, got {self.head!r}")
        if isinstance(head, StoredHead):
            if getattr(head, "random_state", 0) is None:
                head.set_params(random_state=self.random_state)
            if "n_jobs" in head.get_params():
                head.set_params(n_jobs=self.n_jobs)
        return head

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters, also those of a vocabulary that was given by its name: ``vocabulary__radius=2``."""
        named = isinstance(parameters.get("vocabulary", self.vocabulary), str)
        if named and any(name.startswith("vocabulary__") for name in parameters):
            (parameters["vocabulary"],) = make_sources(parameters.get("vocabulary", self.vocabulary))
        return super().set_params(**parameters)

    def _with_structure(self, train: GraphDataset) -> bool:
        """Return whether degree and ring are added to the node features."""
        return structure_is_wanted(self.structure, train.schema, train.n_node_features, ModelError)

    def _find_programs(
        self,
        train: GraphDataset,
        sources: Sequence[Source],
        programs: ProgramSet | Sequence[ProgramSet] | None = None,
    ) -> ProgramSet:
        if programs is None:
            run = RunOptions(
                self.random_state, self.n_jobs, self.verbose, self.checkpoint, tuple(self.ignore)
            )
            return union([source.find(train, run) for source in sources])
        given = [programs] if isinstance(programs, ProgramSet) else list(programs)
        for one in given:
            if one.info.n_graphs != len(train):
                raise ModelError(
                    f"fit: programs: expected programs mined from these {len(train)} graphs, "
                    f"got some mined from {one.info.n_graphs}"
                )
        if len(sources) == 1 and isinstance(sources[0], Mined):
            given = [sources[0].columns(one) for one in given]
        return union(given)

    def _make_layer(
        self, train: GraphDataset, activation: Activation, *, by_default: bool, quantities: bool
    ) -> GDLTransformer:
        """Return the fitted GDL layer.

        "auto" appends pooled features `by_default`, and the extremes of `quantities` with them.
        """
        for name in ("pooled", "properties"):
            if getattr(self, name) not in (True, False, "auto"):
                raise ModelError(f"{name}: expected True, False or auto, got {getattr(self, name)!r}")
        pooled = by_default if self.pooled == "auto" else bool(self.pooled)
        properties = pooled and train.reading is not None
        if self.properties != "auto":
            properties = bool(self.properties)
        layer = GDLTransformer(self.programs_, activation, pooled, properties, pooled and quantities)
        layer = layer.set_params(n_jobs=self.n_jobs, ignore=tuple(self.ignore)).fit(train)
        if not len(self.programs_) and layer.pooled_ is None:
            raise ModelError("fit: expected at least one program, got none; lower min_support")
        return layer

    def _table(self, train: GraphDataset, *, sparse: bool) -> Any:
        """Return the features of the training graphs, and record the medians of pooled ones."""
        rest = self.layer_.with_pooled(train.graphs, np.zeros((len(train), 0)))
        n_pooled = 0 if self.layer_.pooled_ is None else len(self.layer_.pooled_.names_)
        self.layer_.medians_ = np.median(rest[:, :n_pooled], axis=0)
        if self.layer_.activation == "exists":  # which graphs each program matches is known already
            programs = csr_array(self.programs_.supports, dtype=np.float64)
        else:
            programs = csr_array(self.layer_.activations(train.graphs))
        if not sparse:
            return np.hstack([programs.toarray(), rest])
        table = csr_array(hstack([programs, csr_array(rest)]))
        # scikit-learn's trees take indices of 32 bits only
        table.indices, table.indptr = table.indices.astype(np.int32), table.indptr.astype(np.int32)
        return table

    def baseline(self) -> FloatArray:
        """Return the row that explanations start from: no program, pooled features at their medians."""
        return self.layer_.baseline()[None]

    def _keep_selected(self, train: GraphDataset) -> None:
        """Keep only the programs of a scorecard, if the head is one and has no other columns."""
        if hasattr(self.head_, "drop_unselected") and self.layer_.pooled_ is None:
            self.programs_ = self.programs_.take(self.head_.drop_unselected())
            self.layer_ = self._layer(train)

    def baseline_outputs(self) -> FloatArray:
        """Return what the head gives for the baseline; it is computed once."""
        head, outputs = self.__dict__.get("_start", (None, None))
        if outputs is None or head is not self.head_:
            outputs = self.head_outputs(self.baseline())[0]
            self.__dict__["_start"] = self.head_, outputs
        return np.asarray(outputs)

    def _record(self, train: GraphDataset, val: GraphDataset | None = None) -> None:
        """Record what the model was trained on."""
        self.schema_ = train.schema
        self.metrics_: dict[str, Any] = {}
        if train.reading is not None:  # so that pictures show programs as parts of molecules
            with stage("finding examples"):
                self.programs_ = self.layer_.programs = self.programs_.with_examples(train)
        report_missing(train)
        with stage("recording the training graphs"):
            self.training_ = TrainingRecord.of(train, val, self.programs_)

    def _record_choice(self, sources: Sequence[Source], **more: Any) -> None:
        """Record the choices made while fitting, in words."""
        self.choice_: dict[str, Any] = {
            "vocabulary": " and programs ".join(map(_described, sources)),
            "programs": len(self.programs_),
            "pooled": self.layer_.pooled,
            **more,
        }
        logger.info("fit: %s", ", ".join(f"{name} = {value}" for name, value in self.choice_.items()))

    # --- predicting -----------------------------------------------------------------------------------------

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
        self.training_.domain.values.report_new(graphs)
        return graphs, features

    def represent(self, X: GraphsLike) -> Representation:
        """Match the programs against graphs once, and return features, matches and predictions."""
        graphs, features = self._featured(X)
        return self._representation(
            graphs=graphs,
            features=features,
            matches=features[:, : len(self.programs_)] > 0,
            training=self.training_,
        )

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[Any]:
        """Return the names of the columns of `transform`."""
        check_is_fitted(self, "head_")
        return self.layer_.get_feature_names_out(input_features)

    # --- explaining and keeping -----------------------------------------------------------------------------

    def explain(
        self,
        graphs: Any,
        technique: Any = None,
        n_reasons: int | Literal["smallest"] = 5,
        class_label: Any = None,
        random_state: int = 0,
    ) -> Any:
        """Explain predictions by the programs that decide and the subgraphs they match.

        Parameters are those of `gdlnn.explain.explain`.
        """
        check_is_fitted(self, "head_")
        return self._explain(graphs, technique, n_reasons, class_label, random_state)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model to one file without code, which `load_model` reads."""
        from gdlnn.model.model_file import save_model

        save_model(self, path)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "head_")


def _described(source: Source) -> str:
    """Return in words where programs come from."""
    if isinstance(source, Neighborhoods):
        return f"neighborhoods up to radius {source.radius}"
    return f"mined with ε = {source.epsilon}"


def first_equal(features: FloatArray) -> npt.NDArray[np.intp]:
    """Return for every row the number of the first row that equals it.

    The last bits of a product of matrices depend on the position of a row: equal rows share their prediction.
    """
    if len(features) == 1:
        return np.zeros(1, dtype=np.intp)
    first: dict[bytes, int] = {}
    rows = (row.tobytes() for row in np.ascontiguousarray(features) + 0.0)  # -0.0 becomes 0.0
    return np.array([first.setdefault(row, i) for i, row in enumerate(rows)], dtype=np.intp)
