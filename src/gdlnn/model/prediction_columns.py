"""The columns of a table of predictions: those of the input, then those that are added, under free names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gdlnn.datasets.resolve import BatchedInput
    from gdlnn.model.representation import Prediction

TRAINED_ON = "in the training set"


class AddedColumn(NamedTuple):
    """A column that predicting adds to a table.

    Attributes
    ----------
    name
        What it is called: a name that the input has already gets the prefix ``gdlnn_``.
    value
        What it holds: ``row``, ``id``, ``smiles``, ``reason`` or an attribute of `Prediction`.
    model
        The label column that the model predicts; empty for a model alone, None where it is of no model.
    code
        The position of the class that a probability is of, else None.
    """

    name: str
    value: str
    model: str | None = None
    code: int | None = None

    def cell(self, own: Mapping[str, Any], predictions: Mapping[str, Prediction]) -> Any:
        """Return the cell of a row; probabilities have four significant digits.

        Parameters
        ----------
        own
            ``row``, ``id``, ``smiles`` and ``reason``.
        predictions
            The predictions by model; empty for a row that was not read.
        """
        if self.model is None:
            return own[self.value]
        if not predictions:
            return ""
        value = getattr(predictions[self.model], self.value)
        if self.value == "label":
            return value
        if self.value == "domain":
            return value or ""
        return float(f"{value if self.code is None else value[self.code]:.4g}")


def reason_of(predictions: Iterable[Prediction]) -> str:
    """Return why to be careful with the predictions of a graph."""
    given = list(predictions)
    trained_on = TRAINED_ON if any(one.seen for one in given) else ""
    reasons = [trained_on, *(one.domain_reason for one in given)]
    return "; ".join(dict.fromkeys(reason for reason in reasons if reason))


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
        found.append(AddedColumn(f"{begin}prediction", "label", model))
        found.append(AddedColumn(f"{begin}probability", "probability", model))
        found += [
            AddedColumn(f"{begin}p({label})", "probabilities", model, code)
            for code, label in enumerate(labels)
        ]
        found.append(AddedColumn(f"{begin}domain", "domain", model))
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
