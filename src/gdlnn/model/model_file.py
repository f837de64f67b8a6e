"""The model file: one zip with JSON and safetensors. Reading it runs no code.

docs/file-formats.md describes the format.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import numpy.typing as npt

from gdlnn.errors import GDLNNError, MissingExtraError, ModelError
from gdlnn.graphs import Schema
from gdlnn.graphs.schema import label_array, label_codes
from gdlnn.io import bounded
from gdlnn.io.bounded import BadArchiveError, read_members, write_members
from gdlnn.mining import program_files
from gdlnn.model.base import StoredHead
from gdlnn.model.head import MLPHead
from gdlnn.model.layer import Activation, GDLTransformer
from gdlnn.model.linear import LinearHead
from gdlnn.model.mixture import ForestHead, MixtureHead
from gdlnn.model.quantities import Quantities
from gdlnn.model.regression import RidgeForestHead, RidgeHead, ShortTableHead
from gdlnn.model.representation import HalfWidth
from gdlnn.model.scorecard import ScorecardHead
from gdlnn.model.threshold import Decision
from gdlnn.model.training_graphs import TrainingRecord
from gdlnn.model.vocabulary import Mined, Neighborhoods
from gdlnn.version import package_version

if TYPE_CHECKING:
    import os

    from gdlnn.model.classifier import GDLNNClassifier
    from gdlnn.model.estimator import GDLNNEstimator
    from gdlnn.model.regressor import GDLNNRegressor

FORMAT = "gdlnn-model"
VERSION = 4
MODEL, PROGRAMS, WEIGHTS = "model.json", "programs.json", "head.safetensors"
MAX_BYTES = {MODEL: 256 << 20, PROGRAMS: 1 << 30, WEIGHTS: 2 << 30}
"""Maximum size of an unpacked member, in bytes."""
# Settings of the machine on which a model was made are not stored.
_LEFT_OUT = ("checkpoint", "n_jobs", "verbose", "device")
_PARTS = (
    *(Mined, Neighborhoods, MixtureHead, ForestHead, MLPHead, LinearHead, ScorecardHead),
    *(RidgeForestHead, RidgeHead, ShortTableHead),
)
"""Parameters of an estimator that have parameters of their own."""
_LABEL_KINDS = "biufUO"


def save_model(model: GDLNNEstimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted model; the file appears when it is complete. Equal models give equal bytes."""
    from safetensors.numpy import save
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model, "head_")
    if not isinstance(model.head_, StoredHead):
        kind = type(model.head_).__name__
        raise ModelError(
            f"save: head: expected auto, linear, scorecard or another head of gdlnn, got {kind}, which a "
            "model file without code cannot hold; joblib.dump(model, path) keeps it"
        )
    members = {
        MODEL: json.dumps(_description(model), ensure_ascii=False, indent=1).encode(),
        PROGRAMS: json.dumps(program_files.to_json(model.programs_), ensure_ascii=False).encode(),
        WEIGHTS: save(dict(model.head_.tensors())),
    }
    write_members(Path(path), members.items())


def _description(model: Any) -> dict[str, Any]:
    """Return all but programs and weights as plain JSON values."""
    pooled, quantities = model.layer_.pooled_, model.layer_.quantities_
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": type(model).__name__,
        "versions": {"gdlnn": package_version()},
        "parameters": _parameters_json(model),
        "choice": _as_json(model.choice_),
        **(_classifier_json(model) if hasattr(model, "classes_") else _regressor_json(model)),
        "schema": None if model.schema_ is None else model.schema_.to_json(),
        **_as_json(model.training_.to_json()),
        "pooled": None if pooled is None else pooled.to_json(),
        "quantities": None if quantities is None else quantities.to_json(),
        "medians": model.layer_.medians_.tolist(),
        "dataset": model.programs_.info.dataset,
        "fingerprint": model.programs_.info.fingerprint,
        "metrics": _as_json(model.metrics_),
    }


def _classifier_json(model: GDLNNClassifier) -> dict[str, Any]:
    """Return what only a classifier has; the classes of the training graphs as numbers."""
    codes = label_codes(model.training_.labels, model.classes_).tolist()
    return {
        "classes": {"kind": model.classes_.dtype.kind, "values": _as_json(model.classes_)},
        "training_labels": " ".join(map(str, codes)),
        "decision": None if model.decision_ is None else model.decision_.to_json(),
        "history": _as_json(getattr(model.head_, "history_", [])),
    }


def _regressor_json(model: GDLNNRegressor) -> dict[str, Any]:
    """Return what only a regressor has."""
    return {"training_labels": model.training_.labels.tolist(), "half_width": list(model.half_width_)}


def _parameters_json(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator as JSON values; those that are estimators themselves by kind."""
    found: dict[str, Any] = {}
    for name, value in estimator.get_params(deep=False).items():
        if name in _LEFT_OUT:
            continue
        if isinstance(value, _PARTS):
            found[name] = {"kind": type(value).__name__, **_parameters_json(value)}
        elif isinstance(value, list | tuple) and value and all(isinstance(one, _PARTS) for one in value):
            found[name] = [{"kind": type(one).__name__, **_parameters_json(one)} for one in value]
        elif name == "class_weight" and isinstance(value, Mapping):  # labels cannot be keys in JSON
            found[name] = [[_as_json(label), weight] for label, weight in value.items()]
        else:
            found[name] = _as_json(value)
    return found


def _as_json(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    if value is None or isinstance(value, str | int | float):
        return value
    raise ModelError(f"save: expected parameters that JSON can hold, got a {type(value).__name__}")


# --- reading ----------------------------------------------------------------------------------------------


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote: a `GDLNNClassifier` or a `GDLNNRegressor`.

    Raises
    ------
    ModelError
        Where the file is damaged, of another kind, or of a version that is not known here.
    """
    file = Path(path)
    if file.is_dir():
        raise ModelError(f"{file.name}: expected a model file, got a folder; name one of the models in it")
    if not file.is_file():
        raise ModelError(f"{file.name}: no such file; expected a model file")
    collects = gc.isenabled()
    gc.disable()  # no garbage is made, and the collector would take a quarter of the time to find none
    try:
        members = _read_members(file)
        description = _read_description(members[MODEL], file.name)
        return _assemble(description, members, file.name)
    except (ModelError, MissingExtraError):
        raise
    except MemoryError as error:
        raise ModelError(f"{file.name}: the model does not fit into memory") from error
    except (
        *(GDLNNError, ValueError, LookupError, TypeError, RuntimeError, AttributeError),
        OverflowError,
    ) as error:
        raise _damaged(file.name, error) from error
    finally:
        if collects:
            gc.enable()


def _damaged(name: str, error: object) -> ModelError:
    return ModelError(f"{name}: not a model file, or damaged: {error}")


def _read_members(file: Path) -> dict[str, bytes]:
    try:
        members = read_members(file, MAX_BYTES)
    except (BadArchiveError, OSError) as error:
        raise _damaged(file.name, error) from error
    if MODEL not in members:
        raise ModelError(f"{file.name}: not a model file, but another kind of zip file")
    return members


def _read_description(data: bytes, name: str) -> dict[str, Any]:
    description = bounded.loads(data)
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise ModelError(f"{name}: not a model file")
    version = description.get("version")
    if version != VERSION:
        raise ModelError(
            f"{name}: expected version {VERSION} of the format, got {version!r}; train the model again, or "
            "use the version of gdlnn that wrote it"
        )
    return description


def _assemble(description: dict[str, Any], members: Mapping[str, bytes], name: str) -> Any:
    from gdlnn.model.classifier import GDLNNClassifier
    from gdlnn.model.pooling import PooledFeatures
    from gdlnn.model.regressor import GDLNNRegressor

    kinds: dict[Any, type[Any]] = {kind.__name__: kind for kind in (GDLNNClassifier, GDLNNRegressor)}
    kind = kinds.get(description.get("kind"))
    if kind is None:
        raise ModelError(f"{name}: expected {' or '.join(kinds)}, got {description.get('kind')!r}")
    model = kind(**_read_parameters(kind, description["parameters"], name))
    model.programs_ = program_files.from_json(bounded.loads(members[PROGRAMS]), PROGRAMS)
    model.schema_ = None if description["schema"] is None else Schema.from_json(description["schema"])
    info = model.programs_.info
    widths = {"node": info.n_node_features, "edge": info.n_edge_features}
    if model.schema_ and {of: len(getattr(model.schema_, of)) for of in widths} != widths:
        raise ModelError("schema: expected the features of the programs")
    own: Any = _read_classifier if kind is GDLNNClassifier else _read_regressor
    labels = own(model, description)
    model.training_ = TrainingRecord.from_json(description, labels, model.programs_, model.schema_)
    model.choice_, model.metrics_ = dict(description["choice"]), dict(description["metrics"])
    pooled, quantities = description["pooled"], description["quantities"]
    if model.activation not in get_args(Activation):  # refused here, not at the first prediction
        raise _damaged(name, f"activation {model.activation!r:.60}")
    layer = GDLTransformer(model.programs_, model.activation, pooled is not None, n_jobs=model.n_jobs)
    layer.programs_ = model.programs_.programs
    layer.n_programs_ = len(layer.programs_)
    layer.pooled_ = None if pooled is None else PooledFeatures.from_json(pooled)
    layer.quantities_ = None if quantities is None else Quantities.from_json(quantities, widths)
    layer.medians_ = _read_medians(description["medians"], layer)
    model.layer_ = layer
    _read_head(model, members[WEIGHTS], name)
    if hasattr(model.head_, "history_"):
        model.head_.history_ = list(description["history"])
    return model


def _read_classifier(model: GDLNNClassifier, description: Mapping[str, Any]) -> npt.NDArray[Any]:
    """Set what only a classifier has; return the labels of the training graphs."""
    model.classes_ = _read_classes(description["classes"])
    codes = np.array(description["training_labels"].split(), dtype=np.int64)
    n, n_classes = model.programs_.info.n_graphs, len(model.classes_)
    if len(codes) != n or (n and not 0 <= codes.min() <= codes.max() < n_classes):
        raise ModelError(f"training_labels: expected {n} numbers from 0 to {n_classes - 1}")
    decision = description["decision"]
    model.decision_ = None if decision is None else Decision.from_json(decision)
    return np.asarray(model.classes_[codes])


def _read_regressor(model: GDLNNRegressor, description: Mapping[str, Any]) -> npt.NDArray[Any]:
    """Set what only a regressor has; return the values of the training graphs."""
    values = np.array(description["training_labels"], dtype=np.float64)
    model.half_width_ = HalfWidth(*map(float, description["half_width"]))
    n = model.programs_.info.n_graphs
    if values.shape != (n,) or not np.isfinite([*values, *model.half_width_]).all():
        raise ModelError(f"training_labels: expected {n} finite numbers, and a finite half_width")
    return values


def _read_medians(values: Any, layer: GDLTransformer) -> npt.NDArray[np.float64]:
    medians = np.array(values, dtype=np.float64)
    expected = 0 if layer.pooled_ is None else len(layer.pooled_.names_)
    if medians.shape != (expected,) or not np.isfinite(medians).all():
        raise ValueError(f"medians: expected {expected} finite numbers")
    return medians


def _read_parameters(kind: type[Any], given: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the parameters of an estimator, those that are estimators themselves included."""
    known = set(kind().get_params(deep=False)) - set(_LEFT_OUT)
    unknown = sorted(set(given) - known)
    if unknown:
        raise ModelError(f"{name}: expected parameters of {kind.__name__}, got {unknown[0]!r}")
    parameters: dict[str, Any] = {}
    for key, value in given.items():
        if key == "class_weight" and isinstance(value, list):
            parameters[key] = dict(_tuples(value))
        elif isinstance(value, Mapping):
            parameters[key] = _read_part(value, name)
        elif isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
            parameters[key] = [_read_part(one, name) for one in value]
        else:
            parameters[key] = _tuples(value)
    return parameters


def _read_part(value: Mapping[str, Any], name: str) -> Any:
    kind = {part.__name__: part for part in _PARTS}[value["kind"]]
    options = {option: item for option, item in value.items() if option != "kind"}
    return kind(**_read_parameters(kind, options, name))


def _tuples(value: Any) -> Any:
    """Return lists as the tuples they were."""
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def _read_classes(data: Mapping[str, Any]) -> npt.NDArray[Any]:
    kind, values = data["kind"], data["values"]
    if kind not in tuple(_LABEL_KINDS) or len(values) < 2:
        raise ModelError(
            f"classes: expected at least two labels of a known kind, got {len(values)} of {kind!r}"
        )
    if len(set(values)) < len(values) or any(value != value for value in values):  # NaN
        raise ModelError(f"classes: expected different labels, got {values!r:.200}")
    return label_array(np.array(values, dtype=object) if kind == "O" else list(values), "classes")


def _read_head(model: Any, data: bytes, name: str) -> None:
    """Build the head and give it its arrays, which must fit programs, classes and parameters."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        tensors = load(data)
    except SafetensorError as error:
        raise _damaged(name, f"{WEIGHTS}: {error}") from error
    head = model.make_head()
    if not isinstance(head, StoredHead):
        raise _damaged(name, f"head: expected one that a file can hold, got {type(head).__name__}")
    try:
        head.restore(tensors, model.layer_.n_columns, len(getattr(model, "classes_", "1")))
    except (ValueError, KeyError) as error:
        raise _damaged(name, f"{WEIGHTS}: {error}") from error
    model.head_ = head
