"""Convert columns of numbers or words to named features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.errors import GraphError
from gdlnn.graphs.schema import Feature, numbered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gdlnn.graphs.graph import FloatArray

MOST_NAMED = 5
"""Maximum number of value names that an error lists."""


def columns_of(table: Any, what: str) -> dict[str, Any]:
    """Return the columns of a pandas DataFrame, of a dictionary of columns or of a list of dictionaries."""
    if hasattr(table, "columns"):
        return {str(name): table[name] for name in table.columns}
    if isinstance(table, Mapping):
        columns = {str(name): list(values) for name, values in table.items()}
        lengths = {name: len(values) for name, values in columns.items()}
        if len(set(lengths.values())) > 1:
            raise GraphError(f"{what}: expected columns of one length, got {lengths}")
        return columns
    rows = list(table)
    names = list(rows[0]) if rows else []
    for i, row in enumerate(rows):
        missing = next((name for name in names if name not in row), None)
        if missing is not None:
            raise GraphError(f"{what}: row {i}: expected a value of {missing!r}, got none")
    return {str(name): [row[name] for row in rows] for name in names}


def infer_feature(name: str, values: Any) -> Feature:
    """Infer the feature of a column: words and booleans are nominal, all else must be numbers.

    Words are numbered in alphabetical order. A pandas column of categories keeps theirs, and is ordinal where
    they are ordered.
    """
    categories = getattr(getattr(values, "dtype", None), "categories", None)
    if categories is not None:
        kind = "ordinal" if values.dtype.ordered else "nominal"
        return Feature(name, kind, numbered(map(str, categories)))  # type: ignore[arg-type]
    listed = list(values)
    if listed and all(isinstance(value, bool | np.bool_) for value in listed):
        return Feature(name, "nominal", numbered(("no", "yes")))
    if listed and all(isinstance(value, str) for value in listed):
        return Feature(name, "nominal", numbered(sorted(set(listed))))
    return Feature(name)


def encode(feature: Feature, values: Iterable[Any], where: Callable[[int], str]) -> FloatArray:
    """Return a column as numbers: words as the codes of the feature's values.

    `where` returns the name of a row for errors.
    """
    codes = {name: value for value, name in feature.values.items()}
    listed = list(values)
    result = np.empty(len(listed))
    for i, value in enumerate(listed):
        if codes and isinstance(value, str | bool | np.bool_):
            word = value if isinstance(value, str) else ("yes" if value else "no")
            if word not in codes:
                raise GraphError(
                    f"{where(i)}: {feature.name}: expected {_one_of(list(codes))}, got {value!r}"
                )
            result[i] = codes[word]
            continue
        try:
            result[i] = float(value)
        except (TypeError, ValueError) as error:
            raise GraphError(f"{where(i)}: {feature.name}: expected a number, got {value!r}") from error
    return result


def _one_of(names: Sequence[str]) -> str:
    listed = ", ".join(names[:MOST_NAMED])
    return f"one of {listed}" + (" …" if len(names) > MOST_NAMED else "")
