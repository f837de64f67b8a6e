"""`gdlnn predict`: write a model's labels and probabilities for graphs as a table."""

from __future__ import annotations

import csv
import io
import json
import sys
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from pathlib import Path  # noqa: TC003  (typer reads the annotations)
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gdlnn.cli import options as opt
from gdlnn.cli.terminal import counted, echo, were
from gdlnn.datasets.resolve import batched_dataset
from gdlnn.errors import DatasetError, WriteError
from gdlnn.graphs import Schema
from gdlnn.graphs.structure import n_structure_features
from gdlnn.io.atomic import atomic_write
from gdlnn.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gdlnn.datasets.resolve import BatchedInput
    from gdlnn.model import GDLNNClassifier
    from gdlnn.model.representation import PredictedRow, Prediction

ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson")
LINES = (".jsonl", ".ndjson")
BATCH = 1024
"""Number of rows read and predicted at a time."""


def predict(
    model: opt.Models,
    dataset: opt.Dataset,
    output: Annotated[
        Path, opt.output("The .csv, .tsv or .jsonl file to write; - writes csv to standard output.")
    ],
    smiles: opt.Smiles = None,
    id_: opt.Id = None,
    encoding: opt.Encoding = "utf-8",
    root: opt.Root = None,
    jobs: Annotated[
        int, typer.Option("-j", "--jobs", help="Number of processes for a large table; -1: one per CPU core.")
    ] = -1,
    dask: opt.Dask = None,
    as_json: opt.Json = False,
    quiet: Annotated[bool, opt.quiet("Print no progress bar and no summary.")] = False,
) -> None:
    """Predict the label of every graph and write a table.

    The input's columns are kept; the columns of the prediction follow. Rows that do not parse are kept with
    the reason. Two columns flag graphs from the training data and graphs unlike it. Tables of SMILES, SDF
    files and JSON Lines are streamed, so they may be of any length.
    """
    from gdlnn.model.model_folder import load_models
    from gdlnn.model.representation import stream_predictions

    _check_output(output, model, dataset, as_json=as_json)
    models = load_models(model)
    started = time.monotonic()
    with ExitStack() as stack:
        source = stack.enter_context(opt.given_input(dataset))
        data = _input(source, next(iter(models.values())), smiles, id_, encoding, root)
        table = PredictionTable(models, data, ending=_ending(output))
        stack.enter_context(opt.on_processes(dask, jobs))
        advance = stack.enter_context(_progress(not quiet and not as_json))
        write = stack.enter_context(_opened(output))
        write(table.header())
        for rows in stream_predictions(list(models.values()), data.batches):
            write(table.add(rows))
            advance(table.n_rows)
        if not table.n_graphs:
            raise DatasetError(
                f"{dataset}: expected at least one row that parses, got none of {table.n_rows}"
            )
    seconds = time.monotonic() - started
    if as_json:
        opt.print_json({"predictions": str(output), **table.summary(), "seconds": seconds})
    elif not quiet:
        for line in table.told(output.name, seconds):
            echo(line, err=_is_standard(output))


def _is_standard(output: Path) -> bool:
    return str(output) == "-"


def _check_output(output: Path, model: Path, dataset: str, *, as_json: bool) -> None:
    if _is_standard(output):
        if as_json:
            raise WriteError("--json: the table goes to standard output too; write it to a file with -o")
        return
    inputs = [model] if model.is_file() else model.glob("*")
    opt.check_output(output, *inputs, dataset)
    opt.check_ending(output, *ENDINGS)


def _ending(output: Path) -> str:
    return output.suffix.lower() if output.suffix.lower() in ENDINGS else ".csv"


@contextmanager
def _opened(output: Path) -> Iterator[Callable[[bytes], object]]:
    """Give a function that writes the table: a file appears when complete, standard output is streamed."""
    if not _is_standard(output):
        with atomic_write(output) as file:
            yield file.write
        return
    if sys.stdout.isatty():  # a pipe or a file gets the bytes as they are
        yield lambda data: echo(data.decode(errors="replace"), nl=False)
        return
    yield sys.stdout.buffer.write
    sys.stdout.buffer.flush()


def _input(
    source: str,
    model: GDLNNClassifier,
    smiles: str | None,
    id_: str | None,
    encoding: str,
    root: Path | None,
) -> BatchedInput:
    """Open the input; the column of the SMILES is that of training unless given."""
    info = model.programs_.info
    widths = (info.n_node_features - n_structure_features(info.schema), info.n_edge_features)
    smiles = opt.smiles_as_trained(source, model, smiles, encoding)
    return batched_dataset(
        source,
        BATCH,
        smiles=smiles,
        id=id_,
        root=root,
        reading=model.reading_,
        widths=widths,
        encoding=encoding,
    )


@contextmanager
def _progress(wanted: bool) -> Iterator[Callable[[int], Any]]:
    """Show the rows done and their rate in a terminal; the total is not known beforehand."""
    with progress_bar("predicting", style="rows", wanted=wanted) as update:
        started = time.monotonic()

        def advance(rows: int) -> None:
            rate = rows / max(1e-9, time.monotonic() - started)
            update(says=f"{rows:,} rows, {rate:,.0f} per second")

        yield advance


class PredictionTable:
    """Rows of predictions as text, and how many there are of each kind so far.

    Parameters
    ----------
    models
        The models that predict, by the label that each is for; one alone has the empty name.
    data
        The input, whose columns are kept. Graphs without an identifier are called ``name/0``, ``name/1`` …
    ending
        What to write: .csv, .tsv or .jsonl.
    """

    def __init__(self, models: Mapping[str, GDLNNClassifier], data: BatchedInput, *, ending: str) -> None:
        from gdlnn.model.representation import added_columns

        self._models = models
        self._name, self.ending = data.name, ending
        classes = {label: model.classes_.tolist() for label, model in models.items()}
        self._added, self._n_cells = added_columns(data, classes), len(data.columns)
        self.columns = [*data.columns, *(column.name for column in self._added)]
        self.n_rows = self.n_graphs = self.not_read = 0
        self.seen = self.edge = self.outside = 0
        self._labels: dict[str, Counter[Any]] = {label: Counter() for label in models}

    def header(self) -> bytes:
        """Return the first line of the table; JSON Lines have none."""
        return b"" if self.ending in LINES else self._text([self.columns])

    def add(self, rows: Sequence[PredictedRow]) -> bytes:
        """Return the lines of a batch, in the order of the input."""
        lines: list[list[Any]] = []
        for row, predictions in rows:
            cells = [*row.cells, *[""] * (self._n_cells - len(row.cells))]
            own: dict[str, Any] = {
                "row": row.number,
                "id": "",
                "smiles": row.smiles or "",
                "reason": row.reason,
            }
            by_model: dict[str, Prediction] = {}
            if predictions:
                own["id"] = f"{self._name}/{self.n_graphs}" if row.key is None else row.key
                by_model = dict(zip(self._models, predictions, strict=True))
                self._tally(by_model)
            lines.append([*cells, *(column.cell(own, by_model) for column in self._added)])
            self.not_read += not predictions
        self.n_rows += len(rows)
        return self._text(lines)

    def _tally(self, by_model: Mapping[str, Prediction]) -> None:
        """Count the predictions of a graph."""
        for label, one in by_model.items():
            self._labels[label][one.label] += 1
        self.seen += any(one.seen for one in by_model.values())
        domains = {one.domain for one in by_model.values()}
        self.outside += "outside" in domains
        self.edge += "edge" in domains and "outside" not in domains
        self.n_graphs += 1

    def _text(self, lines: list[list[Any]]) -> bytes:
        text = io.StringIO()
        if self.ending in LINES:
            for line in lines:
                text.write(json.dumps(dict(zip(self.columns, line, strict=True)), ensure_ascii=False) + "\n")
        else:
            delimiter = "\t" if self.ending == ".tsv" else ","
            csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(lines)
        return text.getvalue().encode()

    # --- the summary --------------------------------------------------------------------------------

    def summary(self) -> dict[str, Any]:
        """Return the counts as plain JSON values."""
        labels = {
            name: {str(label): count for label, count in sorted(counts.items(), key=str) if count}
            for name, counts in self._labels.items()
        }
        return {
            "rows": self.n_rows,
            "labels": labels.get("", labels),
            "seen": self.seen,
            "domain": {"edge": self.edge, "outside": self.outside},
            "not_read": self.not_read,
        }

    def told(self, name: str, seconds: float) -> Iterator[str]:
        """Give the summary in words."""
        for label, model in self._models.items():
            schema = model.schema_ or Schema()
            counts = ((said, count) for said, count in self._labels[label].items() if count)
            told = ", ".join(f"{schema.class_name(said)} {count}" for said, count in sorted(counts, key=str))
            yield f"{name}: {label}: {told}" if label else f"{name}: {counted(self.n_rows, 'row')}: {told}"
            if decision := model.decision_:
                rare = schema.class_name(model.classes_.tolist()[decision.code])
                yield f"{rare} is predicted from a probability of {decision.threshold:.0%} on"
        yield f"{seconds:.1f} s, {self.n_rows / max(seconds, 1e-9):,.0f} rows per second"
        if self.seen:
            seen = were(self.seen, "graph")
            yield f"{seen} in the training data; such predictions do not test the model"
        if self.edge or self.outside:
            yield (
                f"outside the model's domain: {counted(self.outside, 'graph')}, at its edge: {self.edge:,}; "
                "the column domain_reason says why"
            )
        if self.not_read:
            yield f"{were(self.not_read, 'row')} skipped; the table gives the reasons"
