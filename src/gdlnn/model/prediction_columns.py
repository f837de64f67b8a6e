"""The columns of a table of predictions: those of the input, then those that are added, under free names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gdlnn.model.representation import Prediction

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gdlnn.datasets.resolve import BatchedInput

_MAIN = ("label", "probability", "probabilities")


class AddedColumn(NamedTuple):
    """A column that predicting adds to a table.

    Attributes
    ----------
    name
        What it is called: a name that the input has already gets the prefix ``gdlnn_``.
    value
        What it holds: ``row``, ``id``, ``smiles``, ``reason`` or a value of `Prediction`.
    model
        The label column that the model predicts; empty for a model alone, None where it is of no model.
    code
        The position of the class that a probability is of, else None.
    """

    name: str
    value: str
    model: str | None = None
    code: int | None = None

    def cell(self, own: Mapping[str, Any], said: Mapping[str, Prediction]) -> Any:
        """Return the cell of a row.

        Parameters
        ----------
        own
            ``row``, ``id``, ``smiles`` and ``reason``.
        said
            The predictions by model; empty for a row that was not read.
        """
        if self.model is None:
            return own[self.value]
        if not said:
            return ""
        value = getattr(said[self.model], self.value)
        value = value if self.code is None else value[self.code]
        if isinstance(value, bool) and self.value != "label":
            return "yes" if value else "no"
        return "" if value is None else value


def added_columns(data: BatchedInput, classes: Mapping[str, Sequence[Any]]) -> list[AddedColumn]:
    """Return the columns that predicting adds to an input.

    Parameters
    ----------
    data
        The input.
    classes
        The classes of each model, by the label that it is for; one model alone has the empty name.
    """
    found = [AddedColumn("row", "row")]
    if data.id != "id" and (data.id or data.smiles is None):
        found.append(AddedColumn("id", "id"))
    if data.has_smiles and data.smiles != "smiles":
        found.append(AddedColumn("smiles", "smiles"))
    for model, labels in classes.items():
        begin = f"{model}_" if model else ""
        found += [AddedColumn(begin + value, value, model) for value in _MAIN[:2]]
        found += [
            AddedColumn(f"{begin}p({label})", "probabilities", model, code)
            for code, label in enumerate(labels)
        ]
        found += [
            AddedColumn(begin + value, value, model) for value in Prediction._fields if value not in _MAIN
        ]
    found.append(AddedColumn("reason", "reason"))
    names = _free([column.name for column in found], data.columns)
    return [column._replace(name=name) for column, name in zip(found, names, strict=True)]


def _free(names: Iterable[str], taken: Sequence[str]) -> list[str]:
    """Return names that no column of the input has: one that is taken gets a prefix."""
    found: list[str] = []
    for name in names:
        while name in taken or name in found:
            name = f"gdlnn_{name}"
        found.append(name)
    return found
