"""Base classes of estimators over graphs, and of the heads that they train: what all of them can do."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from gdlnn.model.inputs import Conversion, as_labeled, is_alone, listed, unreadable

if TYPE_CHECKING:
    from gdlnn.graphs.molecules import MoleculeReader
    from gdlnn.mining import MinedProgram, ProgramSet
    from gdlnn.model.domain import DomainAnswer
    from gdlnn.model.inputs import GraphsLike, OnError
    from gdlnn.model.layer import GDLTransformer
    from gdlnn.model.representation import Representation
    from gdlnn.model.training_graphs import TrainingRecord

    # scikit-learn has no types, and subclasses of untyped classes are not checked: declare what is used.

    class BaseEstimator:
        """Parameters by name."""

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...  # noqa: D102
        def set_params(self, **parameters: Any) -> Self: ...  # noqa: D102
        def __getstate__(self) -> dict[str, Any]: ...
        def __sklearn_tags__(self) -> Any: ...
        def _repr_html_(self) -> str: ...

    class ClassifierMixin:
        """Marks a classifier."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...  # noqa: D102

    class RegressorMixin:
        """Marks a regressor."""

    class TransformerMixin:
        """Marks a transformer."""

        def fit_transform(self, X: Any, y: Any = None, **parameters: Any) -> Any: ...  # noqa: D102

else:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin  # noqa: F401

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Tensors = Mapping[str, npt.NDArray[Any]]


class OverGraphs(BaseEstimator):
    """A scikit-learn estimator whose rows are graphs."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


class GraphEstimator(ClassifierMixin, OverGraphs):
    """A scikit-learn classifier whose rows are graphs. A subclass provides `fit` and `predict`."""

    def predict(self, X: GraphsLike) -> npt.NDArray[Any]:
        """Return the most probable label of every graph."""
        raise NotImplementedError

    def score(self, X: GraphsLike, y: npt.ArrayLike | None = None, sample_weight: Any = None) -> float:
        """Return the accuracy; without `y` on the labels of the dataset."""
        from sklearn.metrics import accuracy_score

        convert = Conversion.of_model(self) if hasattr(self, "programs_") else None
        data = as_labeled(X, y, "score", convert)
        return float(accuracy_score(data.y, self.predict(data), sample_weight=sample_weight))


class ProgramModel(OverGraphs):
    """An estimator over graphs that predicts by programs.

    A subclass provides `fit` and `represent`, from which every prediction follows.
    """

    programs_: ProgramSet
    layer_: GDLTransformer
    head_: Any
    training_: TrainingRecord

    @property
    def reading(self) -> MoleculeReader | None:
        """How the training molecules were converted to graphs, or None; SMILES are read the same way."""
        return self.training_.reading

    def represent(self, X: GraphsLike) -> Representation:
        """Match the programs against graphs once, and return features, matches and predictions."""
        raise NotImplementedError

    def predict(self, X: GraphsLike, *, on_error: OnError = "raise") -> npt.NDArray[Any]:
        """Return the prediction of every graph: the label of a class, or the value of a regressor.

        With `on_error` "skip", that of a molecule that cannot be read is None; "raise" is an error.
        """
        graphs, reasons = self._readable(X, on_error)
        labels = self.represent(graphs).labels
        if not reasons:
            return labels
        found = np.full(len(labels) + len(reasons), None, dtype=object)
        found[[i not in reasons for i in range(len(found))]] = labels
        return found

    def predict_frame(self, X: GraphsLike, *, on_error: OnError = "skip") -> Any:
        """Return the predictions as a pandas DataFrame, a row per graph, with the index of a pandas column.

        With `on_error` "skip", a molecule that cannot be read is a row with the reason; "raise" is an error.
        """
        graphs, reasons = self._readable(X, on_error)
        table = self.represent(graphs).to_frame()
        if reasons:
            rows = range(len(table) + len(reasons))
            table.index = [i for i in rows if i not in reasons]
            table = table.astype({"label": object}).reindex(rows)  # whole numbers stay whole
        table["reason"] = [reasons.get(i, "") for i in range(len(table))]
        if hasattr(X, "iloc"):
            table.index = X.index  # type: ignore[union-attr]
        return table

    def _readable(self, X: GraphsLike, on_error: OnError) -> tuple[GraphsLike, dict[int, str]]:
        """Return the items that can be read, and why others cannot, by their position."""
        X = listed(X)
        reasons = unreadable(X, Conversion.of_model(self), on_error)
        items = [X] if is_alone(X) else X
        return [item for i, item in enumerate(items) if i not in reasons] if reasons else X, reasons

    def seen(self, X: GraphsLike) -> list[bool | None]:
        """Return which graphs were in the training or validation set; None if unknown."""
        return self.represent(X).in_training

    def domain(self, X: GraphsLike) -> list[DomainAnswer]:
        """Return whether each graph is like the training graphs: inside, edge or outside, and why."""
        return self.represent(X).domains

    def _explain(self, graphs: Any, *options: Any, **named: Any) -> Any:
        """Call `gdlnn.explain.explain`, imported by name: this package does not depend on explanations."""
        return importlib.import_module("gdlnn.explain").explain(self, graphs, *options, **named)

    # Which of the three methods a notebook calls depends on it and on the version of scikit-learn;
    # `sklearn.set_config(display="text")` turns all of them off.

    def _html_repr(self) -> str:
        from sklearn.utils import estimator_html_repr

        parameters = str(estimator_html_repr(self))
        if not hasattr(self, "programs_"):
            return parameters
        drawing = importlib.import_module("gdlnn.drawing.notebook")
        return str(drawing.model_html(self)) + parameters

    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, str]:
        from sklearn import get_config

        shown = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            shown["text/html"] = self._html_repr()
        return shown


class GraphClassifier(ProgramModel, GraphEstimator):
    """A classifier over graphs that decides by programs."""

    def predict_proba(self, X: GraphsLike) -> npt.NDArray[np.float64]:
        """Return the probability of every class, in the order of `classes_`."""
        return self.represent(X).probabilities


@runtime_checkable
class SelfExplaining(Protocol):
    """A classifier that names the programs that decided by itself, without a technique.

    `gdlnn.explain` and notebooks ask it for its own reasons.
    """

    def explanations(self, representation: Representation) -> list[Any]:
        """Return an `Explanation` for each graph."""

    def strongest(self, n_programs: int) -> list[tuple[MinedProgram, Any, str]]:
        """Return a few programs with the class each speaks for, and how strongly in words."""


# --- heads ------------------------------------------------------------------------------------------------


class StoredHead(BaseEstimator, ABC):
    """An estimator of rows that says what each column adds to its output, and that a model file can hold."""

    @abstractmethod
    def contributions(self, X: FloatArray, baseline: FloatArray, wanted: IntArray) -> FloatArray:
        """Return what each column adds on the way from the baseline to each row, rows × columns.

        Parameters
        ----------
        X
            Rows × columns.
        baseline
            The row that the sum starts from: without any program, pooled features at their medians.
        wanted
            For each row the number of the class whose probability is explained; a regressor has one value.
        """

    @abstractmethod
    def tensors(self) -> Tensors:
        """Return what was learned as arrays by name."""

    @abstractmethod
    def restore(self, tensors: Tensors, n_features: int, n_classes: int) -> None:
        """Set what was learned; raise a ValueError where the arrays do not fit. A regressor has one class."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def joined_tensors(parts: Mapping[str, Any]) -> Tensors:
    """Return the arrays of the members of a head, named after them; None is no member."""
    known = {part: member.tensors() for part, member in parts.items() if member is not None}
    return {f"{part}.{name}": array for part, arrays in known.items() for name, array in arrays.items()}


def part_tensors(tensors: Tensors, part: str) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of one member, from what `joined_tensors` gave."""
    return {
        name.removeprefix(f"{part}."): array for name, array in tensors.items() if name.startswith(f"{part}.")
    }


def check_shapes(tensors: Tensors, shapes: Mapping[str, tuple[int, ...]], dtype: Any) -> None:
    """Compare arrays of a file with what is expected, before anything is made of them."""
    if shapes.keys() != tensors.keys():
        raise ValueError(f"unexpected weights: {min(shapes.keys() ^ tensors.keys())!r:.60}")
    for name, tensor in tensors.items():
        if tensor.shape != shapes[name] or tensor.dtype != dtype:
            raise ValueError(
                f"{name}: expected {np.dtype(dtype).name} of shape {shapes[name]}, got {tensor.shape}"
            )
        if not np.isfinite(tensor).all():
            raise ValueError(f"{name}: expected finite numbers, got NaN or infinity")
