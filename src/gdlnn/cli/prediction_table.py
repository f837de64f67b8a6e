"""The table that `gdlnn predict` writes, batch by batch, what is counted on the way, and its checkpoint."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gdlnn.errors import ModelError
from gdlnn.graphs import Schema
from gdlnn.io.journal import Journal
from gdlnn.version import package_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gdlnn.model import GDLNNClassifier
    from gdlnn.model.representation import BatchAnswer

KIND = "gdlnn prediction checkpoint"
FORMAT = 1
_NAMES = {
    "model": "the model",
    "input": "the input",
    "columns": "the columns of the table",
    "version": "the version of gdlnn",
    "format": "the format of the file",
}
_COUNTS = ("n_rows", "n_graphs", "matched_nothing", "not_read")


class PredictionTable:
    """Rows of predictions as text, and how many there are of each kind so far.

    Parameters
    ----------
    model
        The model that predicts.
    name
        What to call graphs without an identifier: ``name/0``, ``name/1`` …
    has_smiles
        Whether rows have a SMILES.
    as_lines
        Write JSON Lines in place of csv.
    """

    def __init__(self, model: GDLNNClassifier, name: str, has_smiles: bool, *, as_lines: bool) -> None:
        self._classes: list[Any] = model.classes_.tolist()
        self._schema = model.schema_ or Schema()
        self._name, self._has_smiles, self._as_lines = name, has_smiles, as_lines
        self.columns = ["row", "id", *(["smiles"] if has_smiles else []), "label", "probability"]
        self.columns += [f"p({label})" for label in self._classes]
        self.columns += ["matched_nothing", "reason"]
        self.n_batches = self.n_rows = self.n_graphs = self.matched_nothing = self.not_read = 0
        self._labels: Counter[int] = Counter()

    def header(self) -> bytes:
        """Return the first line of the table; JSON Lines have none."""
        return b"" if self._as_lines else self._text([self.columns])

    def add(self, answer: BatchAnswer) -> bytes:
        """Return the lines of a batch, in the order of the input."""
        chosen = answer.probabilities.argmax(axis=1).tolist() if len(answer.probabilities) else []
        graph = 0
        lines: list[list[Any]] = []
        for row in answer.rows:
            cells: list[Any] = [row.number, "", *([row.smiles or ""] if self._has_smiles else [])]
            if not row.has_graph:
                lines.append([*cells, *[""] * (len(self.columns) - len(cells) - 1), row.reason])
                continue
            cells[1] = f"{self._name}/{self.n_graphs}" if row.key is None else row.key
            chances = answer.probabilities[graph].tolist()
            nothing = answer.matched_nothing[graph]
            cells += [self._classes[chosen[graph]], max(chances), *chances, "yes" if nothing else "no", ""]
            lines.append(cells)
            self._labels[chosen[graph]] += 1
            self.matched_nothing += nothing
            self.n_graphs += 1
            graph += 1
        self.n_batches += 1
        self.n_rows += len(answer.rows)
        self.not_read += len(answer.rows) - graph
        return self._text(lines)

    def _text(self, lines: list[list[Any]]) -> bytes:
        text = io.StringIO()
        if self._as_lines:
            for line in lines:
                text.write(json.dumps(dict(zip(self.columns, line, strict=True)), ensure_ascii=False) + "\n")
        else:
            csv.writer(text, lineterminator="\n").writerows(lines)
        return text.getvalue().encode()

    # --- what a checkpoint keeps ----------------------------------------------------------------------------

    def record(self, text: bytes) -> dict[str, Any]:
        """Return a batch and the counts up to it."""
        counts = {name: getattr(self, name) for name in _COUNTS}
        return {
            "text": text.decode(),
            **counts,
            "labels": [self._labels[i] for i in range(len(self._classes))],
        }

    def restore(self, record: Any) -> bytes:
        """Take over the counts of a batch that an earlier run finished; return its lines."""
        try:
            self._labels = Counter(dict(enumerate(map(int, record["labels"]))))
            for name in _COUNTS:
                setattr(self, name, int(record[name]))
            text = str(record["text"]).encode()
        except (TypeError, KeyError, ValueError) as error:
            raise ModelError(
                f"checkpoint: expected finished rows, got a record of another kind: {error}"
            ) from error
        self.n_batches += 1
        return text

    # --- what is told ---------------------------------------------------------------------------------------

    def summary(self) -> dict[str, Any]:
        """Return the counts as plain JSON values."""
        labels = {str(self._classes[i]): count for i, count in sorted(self._labels.items()) if count}
        return {"rows": self.n_rows, "labels": labels} | {
            "matched_nothing": self.matched_nothing,
            "not_read": self.not_read,
        }

    def told(self, name: str, seconds: float, before: int) -> Iterator[str]:
        """Give the summary in words."""
        counts = ((self._classes[i], count) for i, count in self._labels.items() if count)
        told = ", ".join(
            f"{self._schema.class_name(label)} {count}" for label, count in sorted(counts, key=str)
        )
        yield f"{name}: {self.n_rows} rows: {told}"
        rate = (self.n_rows - before) / max(seconds, 1e-9)
        resumed = f" ({before:,} rows were done before)" if before else ""
        yield f"{seconds:.1f} s, {rate:,.0f} rows per second{resumed}"
        if self.matched_nothing:
            yield f"{self.matched_nothing} graphs match no program: they lie outside what was learnt"
        if self.not_read:
            yield f"{self.not_read} rows were not read; the table says why"


class PredictionCheckpoint(Journal):
    """Finished batches of `gdlnn predict`, in order."""

    def finished(self) -> Iterator[Any]:
        """Give the batches that an earlier run finished."""
        for _, value in self.read():
            yield value


def prediction_checkpoint(
    path: Path, model: Path, dataset: str, options: Mapping[str, Any], table: PredictionTable
) -> PredictionCheckpoint:
    """Open a checkpoint; one of another model, input or option is refused."""
    source = Path(dataset)
    header = {
        "format": FORMAT,
        "version": package_version(),
        "model": _digest(model),
        "input": _digest(source) if source.is_file() else dataset,
        "columns": table.columns,
        "lines": table._as_lines,
        **options,
    }
    return PredictionCheckpoint(path, KIND, header, _NAMES, ModelError)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
