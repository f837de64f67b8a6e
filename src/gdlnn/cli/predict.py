"""`gdlnn predict`: write a model's predictions for graphs as a table."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

from gdlnn.cli import options as opt
from gdlnn.cli.app import counted, echo, were
from gdlnn.errors import DatasetError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
        Path, opt.output("The .csv, .tsv or .jsonl file to write; -, the default, prints csv.")
    ] = Path("-"),
    smiles: opt.Smiles = None,
    id_: opt.Id = None,
    encoding: opt.Encoding = "utf-8",
    data_dir: opt.DataDir = None,
    jobs: opt.Jobs = -1,
    dask: opt.Dask = None,
    quiet: opt.Quiet = False,
) -> None:
    """Predict the class or the number of every graph, and write a table.

    The input's columns are kept; then follow the prediction, its probability, the probability of each class,
    and whether the graph is like the training graphs. Rows that do not parse are kept with the reason.
    Tables of SMILES, SDF files and JSON Lines are streamed, so they may be of any length.
    """
    _import_late("pandas", "scipy.stats")
    from gdlnn.model.model_folder import load_models
    from gdlnn.model.representation import stream_predictions
    from gdlnn.progress import progress_bar

    if not opt.is_stdout(output):
        opt.check_output(output, *opt.model_files(model), dataset)
        opt.check_ending(output, *ENDINGS)
    models = load_models(model)
    started = time.monotonic()
    with ExitStack() as stack:
        source = stack.enter_context(opt.given_input(dataset))
        first = next(iter(models.values()))
        data = _input(source, first, smiles, id=id_, encoding=encoding, root=data_dir)
        table = PredictionTable(models, data, ending=output.suffix.lower())
        stack.enter_context(opt.on_processes(dask, jobs))
        bar = progress_bar("predicting", wanted=not quiet)
        update = stack.enter_context(bar)
        write = stack.enter_context(opt.opened(output))
        write(table.header())
        for rows in stream_predictions(list(models.values()), data.batches):
            write(table.add(rows))
            update(text=f"{table.n_rows:,} rows")
        if not table.n_graphs:
            raise DatasetError(
                f"{dataset}: expected at least one row that parses, got none of {table.n_rows}"
            )
    seconds = time.monotonic() - started
    if not quiet:
        is_stdout = opt.is_stdout(output)
        for line in table.summary_lines("predictions" if is_stdout else output.name, seconds):
            echo(line, err=is_stdout)


class _LateModule(ModuleType):
    """Stands for a module until something of it is used; `importlib.util.LazyLoader` ends at `import`."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


def _import_late(*names: str) -> None:
    """Import modules when they are used: scikit-learn imports these, which a prediction does not need."""
    for name in names:
        if name not in sys.modules and (spec := importlib.util.find_spec(name)) is not None:
            sys.modules[name] = _LateModule(name)
            sys.modules[name].__spec__ = spec


def _input(source: str, model: GDLNNClassifier, smiles: str | None, **options: Any) -> BatchedInput:
    """Open the input; the column of the SMILES is that of training unless given."""
    from gdlnn.datasets.resolve import batched_dataset
    from gdlnn.graphs.structure import n_structure_features

    info = model.programs_.info
    widths = (info.n_node_features - n_structure_features(info.schema), info.n_edge_features)
    smiles = opt.smiles_as_trained(source, model, smiles, options["encoding"])
    return batched_dataset(source, BATCH, smiles=smiles, reading=model.reading, widths=widths, **options)


class PredictionTable:
    """Rows of predictions as text, and how many there are of each kind so far.

    The columns of the input are kept. Graphs without an identifier are called ``name/0``, ``name/1`` …
    """

    def __init__(self, models: Mapping[str, GDLNNClassifier], data: BatchedInput, *, ending: str) -> None:
        from gdlnn.model.representation import added_columns

        self._models = models
        self._name, self.ending = data.name, ending
        self._added, self._n_own = added_columns(data, models), len(data.columns)
        self.columns = [*data.columns, *(column.name for column in self._added)]
        self.n_rows = self.n_graphs = 0
        self._kinds: Counter[str] = Counter()
        self._labels: dict[str, Counter[Any]] = {label: Counter() for label in models}

    def header(self) -> bytes:
        """Return the first line of the table; JSON Lines have none."""
        return b"" if self.ending in LINES else self._text([self.columns])

    def add(self, rows: Sequence[PredictedRow]) -> bytes:
        """Return the lines of a batch, in the order of the input."""
        from gdlnn.model.representation import reason_of

        lines: list[list[Any]] = []
        for row, predictions in rows:
            cells = [*row.cells, *[""] * (self._n_own - len(row.cells))]
            own: dict[str, Any] = {"row": row.number, "id": "", "smiles": row.smiles or ""}
            own["reason"] = row.reason
            by_model: dict[str, Prediction] = {}
            if predictions:
                by_model = dict(zip(self._models, predictions, strict=True))
                own["id"] = f"{self._name}/{self.n_graphs}" if row.key is None else row.key
                own["reason"] = reason_of(predictions)
                self._count(by_model)
            lines.append([*cells, *(column.cell(own, by_model) for column in self._added)])
        self.n_rows += len(rows)
        return self._text(lines)

    def _count(self, predictions: Mapping[str, Prediction]) -> None:
        """Count the predictions of a graph."""
        for label, one in predictions.items():
            self._labels[label][one.label] += 1
        domains = {one.domain for one in predictions.values()}
        self._kinds[next((kind for kind in ("outside", "edge") if kind in domains), "inside")] += 1
        self._kinds["trained on"] += any(one.seen for one in predictions.values())
        self.n_graphs += 1

    def _text(self, lines: list[list[Any]]) -> bytes:
        from gdlnn.io.frames import table_text

        if self.ending in LINES:
            rows = (dict(zip(self.columns, line, strict=True)) for line in lines)
            return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
        return table_text(lines, "\t" if self.ending == ".tsv" else ",").encode()

    # --- the summary --------------------------------------------------------------------------------

    def summary_lines(self, name: str, seconds: float) -> Iterator[str]:
        """Give the summary in words."""
        from gdlnn.graphs import Schema

        for label, model in self._models.items():
            schema = model.schema_ or Schema()
            counts = sorted(self._labels[label].items(), key=str)
            text = ", ".join(f"{schema.class_name(one)}: {count:,}" for one, count in counts)
            if not hasattr(model, "classes_"):
                low, high = min(self._labels[label]), max(self._labels[label])
                text = f"from {low:.4g} to {high:.4g} {getattr(model, 'unit', '')}".rstrip()
            yield f"{name}: {label}: {text}" if label else f"{name}: {counted(self.n_rows, 'row')}: {text}"
            if decision := getattr(model, "decision_", None):
                rare = schema.class_name(model.classes_.tolist()[decision.code])
                yield f"{rare} is predicted from a probability of {decision.threshold:.0%} on"
        yield f"{seconds:.1f} s, {self.n_rows / max(seconds, 1e-9):,.0f} rows per second"
        if n := self._kinds["trained on"]:
            yield f"{were(n, 'graph')} in the training data; such predictions do not test the model"
        outside, edge = self._kinds["outside"], self._kinds["edge"]
        if outside or edge:
            yield (
                f"outside the model's domain: {counted(outside, 'graph')}, at its edge: {edge:,}; "
                "the column reason says why"
            )
        if self.n_rows > self.n_graphs:
            yield f"{were(self.n_rows - self.n_graphs, 'row')} skipped; the table gives the reasons"
