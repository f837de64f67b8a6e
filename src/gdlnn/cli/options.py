"""Options that several commands share, and the functions that handle them.

An option that is the same everywhere is a type; a function makes an option whose help text depends on
the command. --verbose, which every command takes, is added in `app`. Modules that are slow to import are
imported in functions: `gdlnn --help` imports every command.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from gdlnn.cli.app import echo
from gdlnn.errors import DatasetError, WorkerError, WriteError, require
from gdlnn.io.atomic import atomic_write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gdlnn.graphs import GraphDataset
    from gdlnn.graphs.molecules import MoleculeReader

DASK_SECONDS = 30
"""How long to wait for a scheduler to answer."""


Panel = Literal["Data", "Model", "Evaluation", "Advanced"]


def option(panel: Panel, help_text: str, *names: str, **settings: Any) -> Any:
    """Return an option in a panel of the help."""
    return typer.Option(*names, help=help_text, rich_help_panel=panel, **settings)


def output(help_text: str) -> Any:
    """Return the option --output."""
    return typer.Option("-o", "--output", help=help_text)


def checkpoint(what: str) -> Any:
    """Return the option --checkpoint; `what` says what the file or folder is for."""
    return option("Advanced", f"{what}; run the same command again to resume.")


DATASETS = (
    "A name, synthetic:ba-2motifs, a TU folder, a SMILES table (.csv, .tsv, .smi, .xlsx, .parquet), SDF, "
    "JSON Lines, or - for a table on standard input."
)
Dataset = Annotated[str, typer.Argument(metavar="DATASET", help=DATASETS)]
Models = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model file, or a folder of models (one per label).")
]
DataDir = Annotated[
    Path | None,
    option("Data", "A folder with datasets.", show_default="GDLNN_DATA, then the cache"),
]
Smiles = Annotated[
    str | None, option("Data", "The column with the SMILES; without a header, its number, counted from 1.")
]
Label = Annotated[str | None, option("Data", "The column with the label.")]
Id = Annotated[str | None, option("Data", "The column with an identifier.", "--id")]
Missing = Annotated[
    str | None,
    option("Data", "More words for a missing label besides NA, nan and ?, separated by commas."),
]
SplitAt = Annotated[
    str | None,
    option("Data", "Split a column of numbers into two classes here.", metavar="NUMBER|median"),
]
Encoding = Annotated[str, option("Data", "The encoding of a text table, such as latin-1.")]
Duplicates = Annotated[
    Literal["keep", "first", "drop-conflicting", "mean", "refuse"],
    option(
        "Data",
        "Which identical graphs to keep: all, the first, the first if all labels agree, the first with the "
        "mean of their numbers; refuse: none may be identical.",
    ),
]
Standardize = Annotated[
    Literal["none", "largest", "parent"],
    option("Data", "Read molecules as given, only their largest fragment, or its neutral parent."),
]
SPLIT_HELP = (
    "auto (as published, else stratified), paper, stratified, scaffold, random, time:COLUMN, or "
    "column:COLUMN with train, val or test in each row"
)
Part = Literal["train", "val", "test", "all"]
Positive = Annotated[
    str | None,
    option("Data", "The label in DATASET that means the model's second class, if it has other labels."),
]
HeldOutPart = Annotated[
    Part | None,
    option("Data", "Which part of the split to use.", show_default="test of the training table, else all"),
]
Jobs = Annotated[int, option("Advanced", "How many CPU cores to use.", "-j", "--jobs", show_default="all")]
Dask = Annotated[
    str | None,
    option("Advanced", "Run on the Dask cluster with this scheduler: tcp://HOST:8786.", metavar="ADDRESS"),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print no progress and no summary.")]


# --- what commands do with them -----------------------------------------------------------------------------


def check_output(path: Path, *inputs: str | Path, checkpoint: Path | None = None) -> None:
    """Refuse an output that is a folder, an input, the checkpoint, or that cannot be written."""
    # Path.resolve() raises on a loop of links before Python 3.13.
    if checkpoint is not None and os.path.realpath(checkpoint) == os.path.realpath(path):
        raise WriteError(f"{path.name}: the output would overwrite the checkpoint; choose another --output")
    if path.is_dir():
        raise WriteError(f"{path.name} is a folder; expected a file to write")
    for source in _files(inputs):
        if source.is_file() and path.is_file() and source.samefile(path):
            raise WriteError(f"{path.name} would overwrite the input; choose another --output")
    if path.is_file() or not path.exists():  # neither a pipe nor a device
        _try_to_write(path)


def _try_to_write(path: Path) -> None:
    """Create and remove a file and the folders that it lacks; an existing file is left alone."""
    file = Path(os.path.realpath(path))
    missing = [folder for folder in file.parents if not folder.exists()]
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists():
            tempfile.TemporaryFile(dir=file.parent).close()
        else:
            file.touch(exist_ok=False)
            file.unlink()
    except OSError as error:
        reason = f"{file.parent.name} is a file" if file.parent.is_file() else error.strerror
        raise WriteError(f"{path.name}: cannot be written: {reason}") from error
    finally:
        for folder in missing:
            with suppress(OSError):
                folder.rmdir()


def model_files(model: Path) -> list[Path]:
    """Return the files that a MODEL consists of."""
    return [*model.glob("*.gdlnn"), *model.glob("*.json")] if model.is_dir() else [model]


def is_stdout(path: Path) -> bool:
    """Return whether --output is -, for standard output."""
    return str(path) == "-"


@contextmanager
def opened(path: Path) -> Iterator[Callable[[bytes], object]]:
    """Give a function that writes the output: a file appears when complete, standard output is streamed."""
    if not is_stdout(path):
        with atomic_write(path) as file:
            yield file.write
        return
    if sys.stdout.isatty():  # a pipe or a file gets the bytes as they are
        yield lambda content: echo(content.decode(errors="replace"), nl=False)
        return
    yield sys.stdout.buffer.write
    sys.stdout.buffer.flush()


def check_ending(path: Path, *endings: str) -> None:
    """Refuse a file name with another ending than the given ones; pipes and devices may have any."""
    if path.suffix.lower() not in endings and (path.is_file() or not path.exists()):
        listed = ", ".join(endings[:-1]) + f" or {endings[-1]}" if len(endings) > 1 else endings[0]
        raise WriteError(f"{path.name}: expected a name that ends in {listed}")


@contextmanager
def given_input(text: str) -> Iterator[str]:
    """Give DATASET unchanged; copy standard input (-) and pipes to a temporary file: they are read twice."""
    if text != "-" and not _is_stream(Path(text)):
        yield text
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stdin.csv"
        with path.open("wb") as file, _stream(text) as source:
            shutil.copyfileobj(source, file)
        with path.open("rb") as file:
            begin = file.read(4)
        suffix = {b"PK\x03\x04": ".xlsx", b"PAR1": ".parquet"}.get(begin, Path(text).suffix or ".csv")
        yield str(path.rename(path.with_suffix(".jsonl" if begin.startswith(b"{") else suffix)))


def _stream(text: str) -> AbstractContextManager[IO[bytes]]:
    return nullcontext(sys.stdin.buffer) if text == "-" else Path(text).open("rb")


def _is_stream(path: Path) -> bool:
    """Say whether a path is a pipe or a device; /dev/stdin may be a file under another name."""
    from gdlnn.datasets.resolve import exists

    return exists(path) and not path.is_dir() and (not path.is_file() or path.parent == Path("/dev"))


def label_options(missing: str | None, threshold: str | None) -> dict[str, Any]:
    """Return --missing and --split-at in the form that readers take."""
    words = [word.strip() for word in (missing or "").split(",") if word.strip()]
    if threshold is None or threshold == "median":
        return {"missing": words, "threshold": threshold}
    try:
        return {"missing": words, "threshold": float(threshold)}
    except ValueError:
        raise DatasetError(f"--split-at: expected a number or median, got {threshold!r}") from None


def molecule_reader(standardize: str) -> MoleculeReader:
    """Return how --standardize reads molecules."""
    from gdlnn.graphs.molecules import MoleculeReader

    return {
        "none": MoleculeReader(),
        "largest": MoleculeReader(fragments="largest"),
        "parent": MoleculeReader(standardize="parent"),
    }[standardize]


def read_as_trained(
    dataset: str,
    model: Any,
    *,
    part: Part | None,
    with_labels: bool = True,
    positive: str | None = None,
    **given: Any,
) -> GraphDataset:
    """Read a dataset as in training, split it the same way, and return one part.

    Without a part: the test set of the training table, or all of another dataset. Given options override
    those stored in the model. To repeat the split of training, the dataset must be complete, so labels are
    read even if unused. `positive` is the label that means the model's second class.
    """
    known = model.training_.provenance
    given["encoding"] = given.get("encoding") or known.get("encoding", "utf-8")
    given["smiles"] = smiles_as_trained(dataset, model, given.get("smiles"), given["encoding"])
    header = table_header(dataset, given["encoding"])
    given["id"] = known["id"] if known.get("id") in header else None
    if with_labels or part != "all":
        for name in ("label", "missing", "threshold"):
            if not given.get(name) and known.get(name) is not None:
                given[name] = known[name]
    columns = split_columns(known.get("split", "auto")) if part != "all" else []
    data, whole = _read(dataset, model, columns, header, given)
    if model.schema_ is not None and data.schema is not None and not data.schema.classes:
        data = data.with_schema(replace(data.schema, classes=model.schema_.classes))
    if positive is not None:
        data.y = _mapped(data, model, positive)
    if part == "all":
        return data
    unique = data
    if known.get("duplicates") and data.provenance.get("label"):
        unique = without_duplicates(data, known["duplicates"])
    split, seed = known.get("split", "auto"), known.get("seed", 0)
    if part is not None:
        return unique if split == "none" else split_parts(unique, split, seed, whole)[part]
    test = _test_set(unique, split, seed, whole, model)
    return data if test is None else test


def _read(
    dataset: str, model: Any, columns: list[str], header: Sequence[str], given: dict[str, Any]
) -> tuple[GraphDataset, GraphDataset | None]:
    """Read a dataset; the table of a model of several labels also whole, as its split was made."""
    from gdlnn.datasets.resolve import resolve_dataset

    labels = model.training_.provenance.get("labels", ())
    if not labels or not set(labels) <= set(header) or given.get("label") not in labels:
        return resolve_dataset(dataset, reading=model.reading, columns=columns, **given), None
    of_labels = {"missing": given.pop("missing", ()), "threshold": given.pop("threshold", None)}
    label = given.pop("label")
    whole = resolve_dataset(dataset, reading=model.reading, columns=[*labels, *columns], **given)
    return whole.with_labels(label, where=Path(dataset).name, min_classes=1, **of_labels), whole


def _mapped(data: GraphDataset, model: Any, positive: str) -> Any:
    """Return the labels of a dataset as those of a model of two classes."""
    import numpy as np

    labels = [] if data.y is None else np.unique(data.y).tolist()
    if len(model.classes_) != 2 or len(labels) > 2 or positive not in map(str, labels):
        known = ", ".join(map(str, labels[:5]))
        raise DatasetError(f"--positive: expected one of two labels ({known}), got {positive!r}")
    is_positive = [str(label) == positive for label in np.asarray(data.y).tolist()]
    return model.classes_[np.array(is_positive, dtype=int)]


def _test_set(
    data: GraphDataset, split: str, seed: int, whole: GraphDataset | None, model: Any
) -> GraphDataset | None:
    """Return the test set of the training table, or None for another dataset.

    It is the training table if its training set has as many graphs of each class as the model was trained on.
    """
    if split == "none":
        return None
    try:
        parts = split_parts(data, split, seed, whole)
    except DatasetError:  # too few graphs of a class to split
        return None
    counts = Counter(() if parts["train"].y is None else parts["train"].y.tolist())
    return parts["test"] if counts == Counter(model.training_.labels.tolist()) else None


def split_columns(split: str) -> list[str]:
    """Return the columns of a table that a split needs."""
    method, _, column = split.partition(":")
    return [column] if method in ("time", "column") and column else []


def split_parts(
    data: GraphDataset, split: str, seed: int, whole: GraphDataset | None = None
) -> dict[Part, GraphDataset]:
    """Return train, val and test; with the whole table, rows are where the split of that puts them."""
    import numpy as np

    parts = dict(zip(get_args(Part), (whole or data).split(split, seed), strict=False))
    if whole is None:
        return parts
    rows, of_whole = data.file_rows, whole.file_rows
    for name, part in parts.items():
        parts[name] = data.take(np.isin(rows, of_whole[part.indices]))
        parts[name].split_source = part.split_source
        parts[name].provenance = {**data.provenance, "split": split, "seed": seed}
    return parts


def smiles_as_trained(dataset: str, model: Any, given: str | None, encoding: str) -> str | None:
    """Return the column with the SMILES: the given one, else that of training if the table has it."""
    from gdlnn.datasets.resolve import trained_smiles_column

    return trained_smiles_column(Path(dataset), model.training_.provenance.get("smiles"), given, encoding)


def table_header(dataset: str, encoding: str) -> Sequence[str]:
    """Return the columns of a table or the properties of an SDF file; nothing for any other dataset."""
    from gdlnn.datasets.molecules import sdf_properties
    from gdlnn.datasets.resolve import file_kind
    from gdlnn.datasets.tables import open_table

    path = Path(dataset)
    match file_kind(path):
        case "table":
            return open_table(path, (), encoding).header
        case "sdf":
            return sdf_properties(path)
    return ()


def without_duplicates(data: GraphDataset, duplicates: str) -> GraphDataset:
    """Return the dataset that --duplicates asks for."""
    if duplicates == "refuse" and (groups := data.duplicates().groups):
        raise DatasetError(
            f"{data.name}: expected no identical graphs, got {len(groups)} groups, the first: "
            f"{group_text(data, groups[0])}; choose another --duplicates"
        )
    conflicts: dict[str, Any] = {"drop-conflicting": "drop", "first": "first", "mean": "mean"}
    return data.drop_duplicates(conflicts[duplicates]) if duplicates in conflicts else data


def group_text(data: GraphDataset, group: Sequence[int]) -> str:
    """Return the rows of identical graphs with their labels."""
    labels = [] if data.y is None else data.y.tolist()
    rows = ", ".join(f"row {data.file_rows[i]} ({labels[i]})" for i in group)
    return rows if data.smiles is None else f"{rows}: {data.smiles[group[0]]}"


def _files(inputs: Iterable[str | Path]) -> Iterator[Path]:
    """Yield the files that are read: inputs themselves, and the files of TU folders."""
    from gdlnn.datasets.resolve import exists
    from gdlnn.datasets.tu import tu_prefix

    for path in filter(exists, map(Path, inputs)):
        prefix = tu_prefix(path) if path.is_dir() else None
        yield from [path] if prefix is None else path.glob(f"{glob.escape(prefix)}_*.txt")


@contextmanager
def on_processes(dask: str | None, jobs: int = 1) -> Iterator[None]:
    """Set joblib's processes: those of the cluster of --dask, else `jobs` of this machine."""
    import joblib

    if dask is None:
        with joblib.parallel_config("loky", n_jobs=jobs) if jobs != 1 else nullcontext():
            yield
        return
    distributed = require("distributed", "cluster", "Running on a Dask cluster")
    try:
        client = distributed.Client(dask, timeout=DASK_SECONDS)
    except (OSError, ValueError) as error:
        raise WorkerError(
            f"--dask: expected the address of a scheduler such as tcp://HOST:8786, got {dask!r}: {error}"
        ) from error
    with client, joblib.parallel_config("dask"):
        yield


def print_json(value: Any) -> None:
    """Print what --json asks for."""
    echo(json.dumps(value, indent=2))


def timed_messages(quiet: bool, *, err: bool = True) -> Callable[[str], None]:
    """Return a function that prints with the elapsed seconds; silent with --quiet."""
    started = time.monotonic()

    def say(text: str) -> None:
        if not quiet:
            echo(f"{time.monotonic() - started:6.1f} s  {text}", err=err)

    return say
