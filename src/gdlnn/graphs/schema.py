"""Schema: names and kinds of features, the meaning of their values, and names and codes of classes."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from gdlnn.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gdlnn.graphs.graph import IntArray

FeatureKind = Literal["numeric", "ordinal", "nominal"]


def _frozen(mapping: Mapping[Any, str]) -> Mapping[Any, str]:
    return MappingProxyType(dict(mapping))


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
        if len(set(names)) != len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise GraphError(f"feature {self.name!r}: the value name {twice[0]!r} stands for two values")
        object.__setattr__(self, "values", _frozen({float(k): str(v) for k, v in self.values.items()}))

    def value_name(self, value: float) -> str:
        """Return the name of a value, or the number itself where it has none."""
        return self.values.get(float(value), f"{value:g}")

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
            names = [feature.name for feature in features]
            for name in names:
                if names.count(name) > 1:
                    raise GraphError(f"schema: two {what} features are called {name!r}")

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
        """Build a schema from what `to_json` gave."""

        def features(items: list[dict[str, Any]]) -> tuple[Feature, ...]:
            return tuple(Feature(i["name"], i["kind"], dict(map(tuple, i["values"]))) for i in items)

        return cls(
            features(data["node"]),
            features(data["edge"]),
            dict(map(tuple, data["classes"])),
            data.get("domain", ""),
        )

    def __hash__(self) -> int:
        return hash((self.node, self.edge, tuple(self.classes.items()), self.domain))

    def __reduce__(self) -> tuple[Any, ...]:
        return Schema, (self.node, self.edge, dict(self.classes), self.domain)


def label_codes(labels: Iterable[Any], classes: Iterable[Any], *, known: bool = False) -> IntArray:
    """Return the position of each label among the classes.

    A label that is not one of the classes gets -1, or is a KeyError if all labels must be `known`.
    """
    code = {label: i for i, label in enumerate(_plain(classes))}
    found = (code[label] if known else code.get(label, -1) for label in _plain(labels))
    return np.fromiter(found, dtype=np.int64)


def _plain(values: Iterable[Any]) -> Iterable[Any]:
    """Return values without NumPy's types: its numbers are slow to hash."""
    return values.tolist() if isinstance(values, np.ndarray) else values
