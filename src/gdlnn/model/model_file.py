"""The model file: one zip with JSON and safetensors. Reading it runs no code.

docs/model.md describes the format.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Mapping
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import numpy.typing as npt

from gdlnn.errors import GDLNNError, ModelError
from gdlnn.graphs import Schema
from gdlnn.graphs.molecules import MoleculeReader
from gdlnn.graphs.schema import label_array, label_codes
from gdlnn.io import bounded
from gdlnn.io.bounded import BadArchiveError, read_members, write_members
from gdlnn.mining import program_text
from gdlnn.model.calibration import Calibration, Decision
from gdlnn.model.domain import Domain
from gdlnn.model.head import MLPHead
from gdlnn.model.layer import Activation
from gdlnn.model.scorecard import ScorecardHead
from gdlnn.model.training_graphs import TrainingGraphs, TrainingValues
from gdlnn.model.vocabulary import Mined, Neighbourhoods
from gdlnn.version import package_version

if TYPE_CHECKING:
    import os

    from gdlnn.model.classifier import GDLNNClassifier

FORMAT = "gdlnn-model"
VERSION = 3
MODEL, PROGRAMS, WEIGHTS = "model.json", "programs.json", "head.safetensors"
MAX_BYTES = {MODEL: 256 << 20, PROGRAMS: 1 << 30, WEIGHTS: 2 << 30}
"""Maximum size of an unpacked member, in bytes."""
MAX_LAYERS = 4096
"""Maximum number of layers of all members of a head: each takes memory besides its weights."""
# Settings of the machine on which a model was made are not stored.
_LEFT_OUT = ("checkpoint", "n_jobs", "progress", "device")
_PARTS = (Mined, Neighbourhoods, MLPHead, ScorecardHead)
"""Parameters of a classifier that have parameters of their own."""
_LABEL_KINDS = "biufUO"


def save_model(model: GDLNNClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted model; the file appears when it is complete. Equal models give equal bytes."""
    from safetensors.numpy import save
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model, "head_")
    if not isinstance(model.head_, MLPHead | ScorecardHead):
        kind = type(model.head_).__name__
        raise ModelError(
            f"save: head: expected mlp, linear, scorecard or MLPHead, got {kind}, which a model file without "
            "code cannot hold; joblib.dump(model, path) keeps it"
        )
    tensors = {
        name: np.ascontiguousarray(value.cpu().numpy())
        for name, value in model.head_.network_.state_dict().items()
    }
    members = {
        MODEL: json.dumps(_description(model), ensure_ascii=False, indent=1).encode(),
        PROGRAMS: json.dumps(program_text.to_json(model.programs_), ensure_ascii=False).encode(),
        WEIGHTS: save(tensors),
    }
    write_members(Path(path), members.items())


def _description(model: GDLNNClassifier) -> dict[str, Any]:
    """Return all but programs and weights as plain JSON values."""
    pooled = model.layer_.pooled_
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": "GDLNNClassifier",
        "versions": {"gdlnn": package_version()},
        "parameters": _parameters_json(model),
        "choice": _as_json(model.choice_),
        "classes": {"kind": model.classes_.dtype.kind, "values": _as_json(model.classes_)},
        "schema": None if model.schema_ is None else model.schema_.to_json(),
        "reading": None if model.reading_ is None else model.reading_.to_json(),
        "provenance": _as_json(model.provenance_),
        "training_labels": _codes_text(model),
        "seen_values": model.training_values_.to_json(),
        "seen": model.training_graphs_.to_json(),
        "domain": model.domain_.to_json(),
        "pooled": None if pooled is None else pooled.to_json(),
        "dataset": model.programs_.info.dataset,
        "fingerprint": model.programs_.info.fingerprint,
        "calibration": asdict(model.calibration_),
        "decision": None if model.decision_ is None else model.decision_.to_json(),
        "metrics": _as_json(model.metrics_),
        "history": _as_json(model.history_),
    }


def _codes_text(model: GDLNNClassifier) -> str:
    """Return the class of every training graph as a number, separated by blanks."""
    return " ".join(map(str, label_codes(model.training_labels_, model.classes_).tolist()))


def _training_labels(text: str, model: GDLNNClassifier) -> npt.NDArray[Any]:
    codes = np.array(text.split(), dtype=np.int64)
    n, n_classes = model.programs_.info.n_graphs, len(model.classes_)
    if len(codes) != n or (n and not 0 <= codes.min() <= codes.max() < n_classes):
        raise ModelError(f"training_labels: expected {n} numbers from 0 to {n_classes - 1}")
    return np.asarray(model.classes_[codes])


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


def load_model(path: str | os.PathLike[str]) -> GDLNNClassifier:
    """Read a model that `save` wrote.

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
    except ModelError:
        raise
    except (
        *(GDLNNError, ValueError, LookupError, TypeError, RuntimeError, AttributeError),
        *(OverflowError, MemoryError),
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
    if description.get("kind") != "GDLNNClassifier":
        raise ModelError(f"{name}: expected a GDLNNClassifier, got {description.get('kind')!r}")
    return description


def _assemble(description: dict[str, Any], members: Mapping[str, bytes], name: str) -> GDLNNClassifier:
    from gdlnn.model.classifier import GDLNNClassifier
    from gdlnn.model.layer import GDLTransformer
    from gdlnn.model.pooling import PooledFeatures

    model = GDLNNClassifier(**_read_parameters(GDLNNClassifier, description["parameters"], name))
    model.classes_ = _read_classes(description["classes"])
    model.programs_ = program_text.from_json(bounded.loads(members[PROGRAMS]), PROGRAMS)
    model.schema_ = None if description["schema"] is None else Schema.from_json(description["schema"])
    reading = description["reading"]
    model.reading_ = None if reading is None else MoleculeReader.from_json(reading)
    model.provenance_ = dict(description["provenance"])
    model.training_labels_ = _training_labels(description["training_labels"], model)
    model.training_values_ = TrainingValues.from_json(description["seen_values"], model.schema_)
    widths = (model.programs_.info.n_node_features, model.programs_.info.n_edge_features)
    model.training_graphs_ = TrainingGraphs.from_json(description["seen"], model.schema_, widths)
    model.domain_ = Domain.from_json(
        description["domain"], model.programs_, model.training_values_, model.schema_
    )
    model.choice_, model.metrics_ = dict(description["choice"]), dict(description["metrics"])
    model.calibration_ = _read_calibration(description["calibration"])
    decision = description["decision"]
    model.decision_ = None if decision is None else Decision.from_json(decision)
    pooled = description["pooled"]
    if model.activation not in get_args(Activation):  # refused here, not at the first prediction
        raise _damaged(name, f"activation {model.activation!r:.60}")
    layer = GDLTransformer(model.programs_, model.activation, pooled is not None, model.n_jobs)
    layer.programs_ = model.programs_.programs
    layer.n_programs_ = len(layer.programs_)
    layer.pooled_ = None if pooled is None else PooledFeatures.from_json(pooled)
    model.layer_ = layer
    model.history_ = list(description["history"])
    _read_head(model, members[WEIGHTS], name)
    return model


def _read_calibration(data: Mapping[str, Any]) -> Calibration:
    found = Calibration(**{name: float(value) for name, value in data.items()})
    if not (0 < found.scale < np.inf and np.isfinite(found.offset)):
        raise ModelError(f"calibration: expected a scale above 0 and a finite offset, got {dict(data)}")
    return found


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


def _read_head(model: GDLNNClassifier, data: bytes, name: str) -> None:
    """Build the head and give it its weights, which must fit programs, classes and parameters."""
    import torch
    from safetensors import SafetensorError
    from safetensors.numpy import load

    from gdlnn.model.network import HeadNetwork, Perceptron, choose_device

    try:
        tensors = load(data)
    except SafetensorError as error:
        raise _damaged(name, f"{WEIGHTS}: {error}") from error
    head = model._make_head()
    n_features = len(model.layer_.get_feature_names_out())
    widths = (n_features, *head.hidden, len(model.classes_))
    expected = head.ensemble_size * sum((a + 1) * b for a, b in pairwise(widths)) + 2 * n_features
    if head.share_of_linear:
        expected += (n_features + 1) * len(model.classes_)
    got = sum(tensor.size for tensor in tensors.values())
    if got != expected:  # before memory is allocated for sizes that the file claims
        raise _damaged(name, f"{WEIGHTS}: expected {expected:,} weights, got {got:,}")
    if len(widths) * head.ensemble_size > MAX_LAYERS:
        raise _damaged(name, f"expected at most {MAX_LAYERS:,} layers in the head, got more")
    if isinstance(head, MLPHead):
        head._check_parameters()
    _check_tensors(head, tensors, widths, name)
    members = [
        Perceptron(n_features, head.hidden, len(model.classes_), head.dropout)
        for _ in range(head.ensemble_size)
    ]
    linear = Perceptron(n_features, (), len(model.classes_)) if head.share_of_linear else None
    network = HeadNetwork(
        torch.zeros(n_features), torch.ones(n_features), members, linear, head.share_of_linear
    )
    network.load_state_dict({key: torch.from_numpy(value) for key, value in tensors.items()})
    head.network_ = network.to(choose_device(head.device)).eval()
    head.classes_ = np.arange(len(model.classes_))
    head.n_features_in_, head.history_ = n_features, model.history_
    if isinstance(head, ScorecardHead):
        head.restore()
    model.head_ = head


def _check_tensors(
    head: MLPHead, tensors: Mapping[str, npt.NDArray[Any]], widths: tuple[int, ...], name: str
) -> None:
    """Compare the weights with what the head declares, one by one, before a network is made of them."""
    shapes: dict[str, tuple[int, ...]] = {"mean": widths[:1], "scale": widths[:1]}
    parts = {f"members.{member}": widths for member in range(head.ensemble_size)}
    if head.share_of_linear:
        parts["linear"] = (widths[0], widths[-1])
    for part, of_part in parts.items():
        for level, (inputs, outputs) in enumerate(pairwise(of_part)):
            place = f"{part}.layers.{3 * level}"  # behind each but the last are ReLU and dropout
            shapes |= {f"{place}.weight": (outputs, inputs), f"{place}.bias": (outputs,)}
    if shapes.keys() != tensors.keys():
        strange = min(shapes.keys() ^ tensors.keys())
        raise _damaged(name, f"{WEIGHTS}: unexpected weights: {strange!r:.60}")
    for key, tensor in tensors.items():
        if tensor.shape != shapes[key] or tensor.dtype != np.float32:
            raise _damaged(
                name, f"{WEIGHTS}: {key}: expected 32-bit numbers of shape {shapes[key]}, got {tensor.shape}"
            )
        if not np.isfinite(tensor).all():
            raise _damaged(name, f"{WEIGHTS}: {key}: expected finite numbers, got NaN or infinity")
    if not (tensors["scale"] >= np.finfo(np.float32).tiny).all():
        raise _damaged(name, f"{WEIGHTS}: scale: expected numbers above 0")
