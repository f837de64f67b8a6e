"""`gdlnn predict`: the labels and probabilities that a model gives to graphs, as a table; its checkpoint."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gdlnn.cli import options as opt
from gdlnn.datasets.resolve import batched_dataset
from gdlnn.errors import DatasetError, ModelError
from gdlnn.graphs import Schema
from gdlnn.graphs.structure import n_structure_features
from gdlnn.io.atomic import atomic_write
from gdlnn.io.journal import Journal
from gdlnn.progress import progress_bar
from gdlnn.version import package_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gdlnn.model import GDLNNClassifier
    from gdlnn.model.representation import BatchAnswer

BATCH = 1024
"""Rows that are read and predicted together."""
KIND = "gdlnn prediction checkpoint"
FORMAT = 1
_NAMES = {
    "model": "the model",
    "input": "the input",
    "columns": "the columns of the table",
    "version": "the version of gdlnn",
    "format": "the format of the file",
}
_COUNTS = ("n_rows", "n_graphs", "seen", "edge", "outside", "not_read")


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.")],
    dataset: opt.Dataset,
    output: Annotated[Path, opt.output("The .csv or .jsonl file to write.")],
    smiles: opt.Smiles = None,
    id_: opt.Id = None,
    root: opt.Root = None,
    jobs: opt.Jobs = -1,
    dask: Annotated[str | None, opt.dask("Predict")] = None,
    checkpoint: Annotated[Path | None, opt.checkpoint("A file for finished rows")] = None,
    as_json: opt.Json = False,
    quiet: Annotated[bool, opt.quiet("No bar, no summary.")] = False,
) -> None:
    """Predict the label of every graph and write a table.

    Rows that do not parse are kept, with the reason. The table says which graphs the model was trained on,
    and which are unlike the training graphs, and why. Tables of SMILES, SDF files and JSON Lines are read as
    they are used: they may be of any length.
    """
    from gdlnn.model import load_model
    from gdlnn.model.representation import stream_predictions

    opt.check_output(output, model, dataset)
    fitted = load_model(model).set_params(n_jobs=jobs)
    started = time.monotonic()
    info = fitted.programs_.info
    widths = (info.n_node_features - n_structure_features(info.schema), info.n_edge_features)
    data = batched_dataset(
        dataset, BATCH, smiles=smiles, id=id_, root=root, reading=fitted.reading_, widths=widths
    )
    table = PredictionTable(fitted, data.name, data.has_smiles, as_lines=output.suffix.lower() == ".jsonl")
    with ExitStack() as stack:
        saved = None
        if checkpoint is not None:
            options = {"smiles": smiles, "id": id_, "batch": BATCH}
            saved = stack.enter_context(prediction_checkpoint(checkpoint, model, dataset, options, table))
        executor = stack.enter_context(opt.executor_of(dask, "" if quiet else "predicting"))
        advance = stack.enter_context(_progress(not quiet and not as_json))
        file = stack.enter_context(atomic_write(output))
        file.write(table.header())
        for record in saved.finished() if saved is not None else ():
            file.write(table.restore(record))
        before = table.n_rows
        rest = islice(data.batches, table.n_batches, None)
        for answer in stream_predictions(fitted, rest, executor):
            text = table.add(answer)
            file.write(text)
            if saved is not None:
                saved.append([table.record(text)])
            advance(table.n_rows, before)
        if not table.n_graphs:
            raise DatasetError(
                f"{dataset}: expected at least one row that parses, got none of {table.n_rows}"
            )
    seconds = time.monotonic() - started
    if as_json:
        opt.print_json({"predictions": str(output), **table.summary(), "seconds": seconds})
    elif not quiet:
        for line in table.told(output.name, seconds, before):
            typer.echo(line)


@contextmanager
def _progress(wanted: bool) -> Iterator[Callable[[int, int], Any]]:
    """Show rows done and rows per second in a terminal; how many there are is not known beforehand."""
    with progress_bar("predicting", style="rows", wanted=wanted) as update:
        started = time.monotonic()

        def advance(rows: int, before: int) -> None:
            rate = (rows - before) / max(1e-9, time.monotonic() - started)
            update(says=f"{rows:,} rows, {rate:,.0f} per second")

        yield advance


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
        self.columns += ["seen", "domain", "domain_reason", "reason"]
        self.n_batches = self.n_rows = self.n_graphs = self.not_read = 0
        self.seen = self.edge = self.outside = 0
        self._labels: Counter[Any] = Counter()

    def header(self) -> bytes:
        """Return the first line of the table; JSON Lines have none."""
        return b"" if self._as_lines else self._text([self.columns])

    def add(self, answer: BatchAnswer) -> bytes:
        """Return the lines of a batch, in the order of the input."""
        predictions = iter(answer.predictions)
        lines: list[list[Any]] = []
        for row in answer.rows:
            cells: list[Any] = [row.number, "", *([row.smiles or ""] if self._has_smiles else [])]
            if not row.has_graph:
                lines.append([*cells, *[""] * (len(self.columns) - len(cells) - 1), row.reason])
                continue
            cells[1] = f"{self._name}/{self.n_graphs}" if row.key is None else row.key
            said = next(predictions)
            cells += [said.label, said.probability, *said.probabilities]
            seen = "" if said.seen is None else "yes" if said.seen else "no"
            lines.append([*cells, seen, said.domain or "", said.domain_reason, ""])
            self._labels[said.label] += 1
            self.seen += said.seen is True
            self.edge += said.domain == "edge"
            self.outside += said.domain == "outside"
            self.n_graphs += 1
        self.n_batches += 1
        self.n_rows += len(answer.rows)
        self.not_read += len(answer.rows) - len(answer.predictions)
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
            "labels": [self._labels[label] for label in self._classes],
        }

    def restore(self, record: Any) -> bytes:
        """Take over the counts of a batch that an earlier run finished; return its lines."""
        try:
            counts = map(int, record["labels"])
            self._labels = Counter(dict(zip(self._classes, counts, strict=True)))
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
        return {
            "rows": self.n_rows,
            "labels": {str(label): self._labels[label] for label in self._classes if self._labels[label]},
            "seen": self.seen,
            "domain": {"edge": self.edge, "outside": self.outside},
            "not_read": self.not_read,
        }

    def told(self, name: str, seconds: float, before: int) -> Iterator[str]:
        """Give the summary in words."""
        counts = ((label, count) for label, count in self._labels.items() if count)
        told = ", ".join(
            f"{self._schema.class_name(label)} {count}" for label, count in sorted(counts, key=str)
        )
        yield f"{name}: {self.n_rows} rows: {told}"
        rate = (self.n_rows - before) / max(seconds, 1e-9)
        resumed = f" ({before:,} rows were done before)" if before else ""
        yield f"{seconds:.1f} s, {rate:,.0f} rows per second{resumed}"
        if self.seen:
            yield f"{self.seen} graphs were trained on; what the model says of them is no test of it"
        if self.edge or self.outside:
            yield (
                f"{self.outside} graphs lie outside what was learnt and {self.edge} at its edge; the column "
                "domain_reason says why"
            )
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
