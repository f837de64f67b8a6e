"""Schema: names and kinds of features, the meaning of their values, and names and codes of classes."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from gdlnn.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gdlnn.graphs.graph import IntArray

FeatureKind = Literal["numeric", "ordinal", "nominal"]


MAX_LABEL = 200
"""Maximum length of a label, in characters."""
MOST_VALUES = 64
"""A numeric feature with more values, or with fractional values, is a quantity."""


def _frozen(mapping: Mapping[Any, str]) -> Mapping[Any, str]:
    return MappingProxyType(dict(mapping))


def first_repeated(names: Iterable[Any]) -> Any:
    """Return the alphabetically first name that is repeated, or None."""
    counts = Counter(names)
    return min((name for name, count in counts.items() if count > 1), default=None)


def numbered(names: Iterable[str], start: int = 0) -> dict[float, str]:
    """Return value names for the codes `start`, `start` + 1 and so on."""
    return {float(code): name for code, name in enumerate(names, start)}


@dataclass(frozen=True)
class Feature:
    """One feature: its name, its kind, and the names of its values.

    A value without a name keeps its number.
    """

    name: str
    kind: FeatureKind = "numeric"
    values: Mapping[float, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in get_args(FeatureKind):
            kinds = ", ".join(get_args(FeatureKind))
            raise GraphError(f"feature {self.name!r}: expected a kind out of {kinds}, got {self.kind!r}")
        names = list(self.values.values())
        twice = first_repeated(names)
        if twice is not None:
            raise GraphError(f"feature {self.name!r}: the value name {twice!r:.60} is given to two values")
        values = {float(value): str(name) for value, name in self.values.items()}
        if not all(map(math.isfinite, values)):
            raise GraphError(f"feature {self.name!r}: expected finite numbers as values, got NaN or infinity")
        object.__setattr__(self, "values", _frozen(values))

    def value_name(self, value: float) -> str:
        """Return the name of a value, or the number itself where it has none."""
        name = "missing" if math.isnan(value) else self.values.get(float(value))
        return f"{value:g}" if name is None else name

    def __hash__(self) -> int:
        return hash((self.name, self.kind, tuple(self.values.items())))

    def __reduce__(self) -> tuple[Any, ...]:
        return Feature, (self.name, self.kind, dict(self.values))


@dataclass(frozen=True)
class Schema:
    """Names and kinds of the node and edge features, and the names of the classes.

    ``domain`` says what the graphs are ("molecule" lets programs become SMARTS and graphs be drawn as
    molecules); empty where nothing is known.
    """

    node: tuple[Feature, ...] = ()
    edge: tuple[Feature, ...] = ()
    classes: Mapping[Any, str] = field(default_factory=dict)
    domain: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "node", tuple(self.node))
        object.__setattr__(self, "edge", tuple(self.edge))
        object.__setattr__(self, "classes", _frozen(self.classes))
        for what, features in (("node", self.node), ("edge", self.edge)):
            name = first_repeated([feature.name for feature in features])
            if name is not None:
                raise GraphError(f"schema: two {what} features are called {name!r:.60}")
        twice = first_repeated(self.classes.values())
        if twice is not None:
            raise GraphError(f"schema: two classes are called {twice!r:.60}")

    def check_widths(self, n_node_features: int, n_edge_features: int, where: str = "") -> None:
        """Refuse other numbers of features; `where` begins the error."""
        for of, features, got in (("node", self.node, n_node_features), ("edge", self.edge, n_edge_features)):
            if len(features) != got:
                raise GraphError(
                    f"{where}expected {len(features)} {of} feature(s), as in the schema, got {got}"
                )

    def class_name(self, label: Any) -> str:
        """Return the name of a class, or the label itself where it has none."""
        return self.classes.get(label, str(label))

    def to_json(self) -> dict[str, Any]:
        """Return the schema as plain JSON values."""

        def features(items: tuple[Feature, ...]) -> list[dict[str, Any]]:
            return [
                {"name": f.name, "kind": f.kind, "values": [list(pair) for pair in f.values.items()]}
                for f in items
            ]

        return {
            "node": features(self.node),
            "edge": features(self.edge),
            "classes": [[label, name] for label, name in self.classes.items()],
            "domain": self.domain,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Schema:
        """Build a schema from what `to_json` gave.

        Raises
        ------
        GraphError
            Where the data is anything else.
        """

        def features(items: list[dict[str, Any]]) -> tuple[Feature, ...]:
            return tuple(Feature(_text(i["name"]), i["kind"], _pairs(i["values"])) for i in items)

        try:
            return cls(
                features(data["node"]),
                features(data["edge"]),
                _pairs(data["classes"]),
                _text(data.get("domain", "")),
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            if isinstance(error, GraphError):
                raise
            raise GraphError(f"schema: expected names and kinds of features: {error}") from error

    def __hash__(self) -> int:
        return hash((self.node, self.edge, tuple(self.classes.items()), self.domain))

    def __reduce__(self) -> tuple[Any, ...]:
        return Schema, (self.node, self.edge, dict(self.classes), self.domain)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} in place of text")
    return value


def _pairs(pairs: Any) -> dict[Any, str]:
    """Return pairs of a value and its name as a dictionary; no value has two names."""
    found = {value: _text(name) for value, name in pairs}
    if len(found) != len(pairs):
        raise ValueError("two names for one value")
    return found


def label_array(labels: Any, where: str, *, missing: bool = False) -> npt.NDArray[Any]:
    """Return labels as an array in which different labels stay different.

    Parameters
    ----------
    labels
        The labels.
    where
        What the error begins with.
    missing
        Whether NaN may mark an unknown label; nothing can be mined from such a graph.

    Raises
    ------
    GraphError
        Where a label is not finite or out of range, or the labels are of kinds that NumPy would merge.
    """
    if isinstance(labels, list | tuple):  # before there is an array, with room for the longest everywhere
        _check_texts(dict.fromkeys(text for text in labels if isinstance(text, str)), where)
    found = np.asarray(labels)
    if isinstance(labels, list | tuple) or found.dtype.kind == "O":
        values = found.tolist() if found.dtype.kind == "O" else list(labels)
        _check_kinds(values, where)
        found = np.asarray(values) if found.ndim == 1 else found
    if found.dtype.kind not in "biufU":
        kinds = sorted({type(value).__name__ for value in found.ravel()[:1000].tolist()})
        raise GraphError(f"{where}: y: expected numbers or text, got values of type {', '.join(kinds)}")
    if found.dtype.kind == "u" and found.size and int(found.max()) >= 2**63:
        raise GraphError(f"{where}: y: expected whole numbers below 2^63, got {found.max()}")
    if found.dtype.kind == "f":
        strange = found[np.isinf(found) if missing else ~np.isfinite(found)]
        if strange.size:
            raise GraphError(f"{where}: y: expected finite labels, got {strange.flat[0]}")
    if found.dtype.kind == "U":
        _check_texts(np.unique(found).tolist(), where)
    return found


def _check_texts(texts: Iterable[str], where: str) -> None:
    bad = next((text for text in texts if _text_problem(text)), None)
    if bad is not None:
        raise GraphError(f"{where}: y: expected {_text_problem(bad)}, got {bad!r:.60}")


def _text_problem(text: str) -> str:
    """Return what is expected in place of a text that a file could not hold, or ""."""
    if len(text) > MAX_LABEL:
        return f"text of at most {MAX_LABEL} characters"
    if "\0" in text:
        return "text without NUL characters"
    return "" if text.isprintable() or is_unicode(text) else "Unicode text"


def is_unicode(text: str) -> bool:
    """Say whether a text can be written to a file: JSON may hold half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_kinds(labels: Sequence[Any], where: str) -> None:
    """Refuse labels that an array would not hold, or not apart from each other."""
    kinds = {type(label) for label in labels}
    words = sorted({_kind_in_words(kind) for kind in kinds})
    if len(words) > 1:
        raise GraphError(f"{where}: y: expected labels of one kind, got {' and '.join(words)}")
    if any(isinstance(label, str) and "\0" in label for label in labels):
        raise GraphError(f"{where}: y: expected text without NUL characters")
    most = 2**63 if kinds == {int} else 2**53  # with other numbers they become doubles
    for label in labels if int in kinds else ():
        if isinstance(label, int) and not -most <= label < most:
            raise GraphError(f"{where}: y: expected whole numbers of at most 64 bits, got {label!r:.60}")


def _kind_in_words(kind: type) -> str:
    if issubclass(kind, str):
        return "text"
    return "booleans" if issubclass(kind, bool | np.bool_) else "numbers"


def is_quantity(column: npt.NDArray[np.float64], feature: Feature | None) -> bool:
    """Return whether a feature is numeric with many or fractional values, which never repeat exactly."""
    if feature is not None and feature.kind != "numeric":
        return False
    values = np.unique(column[~np.isnan(column)])
    return len(values) > MOST_VALUES or bool((values != np.floor(values)).any())


def label_codes(labels: Iterable[Any], classes: Iterable[Any], *, known: bool = False) -> IntArray:
    """Return the position of each label among the classes.

    A label that is not one of the classes gets -1, or is a KeyError if all labels must be `known`.
    """
    code = {label: i for i, label in enumerate(_python_values(classes))}
    found = (code[label] if known else code.get(label, -1) for label in _python_values(labels))
    return np.fromiter(found, dtype=np.int64)


def _python_values(values: Iterable[Any]) -> Iterable[Any]:
    """Return values without NumPy's types: its numbers are slow to hash."""
    return values.tolist() if isinstance(values, np.ndarray) else values
