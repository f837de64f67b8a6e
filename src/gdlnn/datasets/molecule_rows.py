"""Gathering molecules row by row, from whichever file: what is skipped, the labels, the data set."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from gdlnn.errors import DatasetError
from gdlnn.graphs import Graph, GraphDataset
from gdlnn.graphs.dataset import SkippedRow
from gdlnn.graphs.molecules import chem, molecule_graph, molecule_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Fragments = Literal["keep", "largest"]
OnError = Literal["skip", "raise"]
logger = logging.getLogger(__name__)


class MoleculeRows:
    """The molecules of a file so far.

    Parameters
    ----------
    source, unit
        What to call the file and its rows in messages.
    name, classes
        What to call the data set and its classes.
    labelled
        Whether each row needs a label.
    fragments, on_error
        As for `load_smiles`.
    """

    def __init__(
        self,
        source: str,
        unit: str,
        name: str,
        *,
        labelled: bool,
        fragments: Fragments,
        on_error: OnError,
        classes: Mapping[Any, str] | None = None,
    ) -> None:
        for what, value, allowed in (
            ("fragments", fragments, ("keep", "largest")),
            ("on_error", on_error, ("skip", "raise")),
        ):
            if value not in allowed:
                raise DatasetError(f"{what}: expected {' or '.join(allowed)}, got {value!r}")
        self.source, self.unit, self.name = source, unit, name
        self.labelled, self.fragments, self.on_error = labelled, fragments, on_error
        self.schema = molecule_schema(classes)
        self.graphs: list[Graph] = []
        self.smiles: list[str] = []
        self.labels: list[str] = []
        self.ids: list[str] = []
        self.skipped: list[SkippedRow] = []

    def add(
        self, number: int, text: str, molecule: Any, reason: str, *, label: str = "", key: str = ""
    ) -> None:
        """Add one row: its molecule, or None and the reason why there is none."""
        if molecule is not None and self.labelled and not label:
            molecule, reason = None, "no label"
        if molecule is None:
            if self.on_error == "raise":
                raise DatasetError(f"{self.source}, {self.unit} {number}: {text!r} is not read: {reason}")
            self.skipped.append(SkippedRow(number, text, reason))
            return
        if self.fragments == "largest":
            pieces = chem("Reading molecules").GetMolFrags(molecule, asMols=True)
            molecule = max(pieces, key=lambda piece: piece.GetNumHeavyAtoms())
        name = key or f"{self.name}/{len(self.graphs)}"
        self.graphs.append(molecule_graph(molecule, schema=self.schema, name=name))
        self.smiles.append(text)
        self.labels.append(label)
        self.ids.append(key)

    def finish(self, min_classes: int, *, with_ids: bool) -> GraphDataset:
        """Return the data set, and say in the log what was not read."""
        total = len(self.graphs) + len(self.skipped)
        if not total:
            raise DatasetError(f"{self.source}: expected at least one {self.unit}, got none")
        if not self.graphs:
            row, value, reason = self.skipped[0]
            raise DatasetError(
                f"{self.source}: expected at least one {self.unit} that parses, got none of {total}; "
                f"the first is {self.unit} {row} ({value!r}: {reason})"
            )
        if self.skipped:
            first = self.skipped[0]
            logger.warning(
                "%s: %d of %d %ss are not read, the first is %s %d (%r: %s); `gdlnn datasets info` "
                "lists them, in Python `.skipped`",
                *(self.source, len(self.skipped), total, self.unit, self.unit),
                *first,
            )
        y = parse_labels(self.labels) if self.labelled else None
        if y is not None and len(np.unique(y)) < min_classes:
            raise DatasetError(
                f"{self.source}: expected at least {min_classes} classes, "
                f"got the label {y[0]} for every {self.unit}"
            )
        ids = self.ids if with_ids else None
        return GraphDataset(
            self.graphs, y, self.schema, self.name, ids=ids, smiles=self.smiles, skipped=self.skipped
        )


def parse_labels(labels: Sequence[str]) -> npt.NDArray[Any]:
    """Return labels as whole numbers where all are, else as the text they are."""
    try:
        numbers = np.array([float(label) for label in labels])
    except ValueError:
        return np.array(labels)
    if np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all():
        return numbers.astype(np.int64)
    return np.array(labels)
