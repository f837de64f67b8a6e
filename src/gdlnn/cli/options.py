"""Options that several commands share, and the functions that handle them.

An option that is the same everywhere is a type; a function makes an option whose help text depends on
the command. --verbose and --debug, which every command takes, are added in `app`.
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
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gdlnn.cli.terminal import echo
from gdlnn.datasets.resolve import SYNTHETIC, resolve_dataset, trained_smiles_column
from gdlnn.datasets.tu import tu_prefix
from gdlnn.errors import DatasetError, MiningError, WorkerError, WriteError, require
from gdlnn.gdl.smarts import NOT_IN_SMARTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gdlnn.graphs import GraphDataset

DASK_SECONDS = 30
"""How long to wait for a scheduler to answer."""
Dataset = Annotated[
    str,
    typer.Argument(
        metavar="DATASET",
        help=f"A name, {SYNTHETIC}, a TU folder, a SMILES table (.csv, .tsv, .smi, .xlsx, .parquet), SDF, "
        "JSON Lines, a saved dataset, or - for a table on standard input.",
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file written by `gdlnn train`.")]
Models = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model file, or a folder of models (one per label).")
]
Root = Annotated[Path | None, typer.Option(help="A folder to search before GDLNN_DATA and the cache.")]
Smiles = Annotated[
    str | None, typer.Option(help="The column with the SMILES; without a header, its number, counted from 1.")
]
Label = Annotated[str | None, typer.Option(help="The column with the label.")]
Id = Annotated[str | None, typer.Option("--id", help="The column with an identifier.")]
Missing = Annotated[
    str | None,
    typer.Option(
        help="More words for a missing label, separated by commas; empty cells, NA, nan and ? always are."
    ),
]
Threshold = Annotated[
    str | None,
    typer.Option(metavar="NUMBER|median", help="Split a numeric column into two classes at this value."),
]
Encoding = Annotated[str, typer.Option(help="The encoding of a text table, such as latin-1.")]
Duplicates = Literal["keep", "first", "drop-conflicting"]
Features = Annotated[
    Literal["default", "ogb"],
    typer.Option(help="Features of atoms and bonds; ogb: the 9 and 3 of the Open Graph Benchmark."),
]
Fragments = Annotated[
    Literal["all", "largest"], typer.Option(help="Which fragments of salts and mixtures to keep.")
]
Standardize = Annotated[
    Literal["none", "parent"], typer.Option(help="Read molecules as given, or their neutral parent.")
]
SPLIT_HELP = (
    "auto (as published, else stratified), paper, stratified, scaffold, random, time:COLUMN or column:COLUMN"
)
Split = Annotated[str, typer.Option(metavar="SPLIT", help=f"How to split the dataset: {SPLIT_HELP}.")]
SplitAsTrained = Annotated[
    str | None,
    typer.Option(metavar="SPLIT", help=f"How to split: {SPLIT_HELP}.", show_default="as in training"),
]
Part = Literal["train", "val", "test", "all"]
HeldOutPart = Annotated[
    Part | None,
    typer.Option(help="Which part to use.", show_default="test of the training table, else all"),
]
Smarts = Annotated[bool, typer.Option("--smarts", help="Mine only programs that can be written as SMARTS.")]
Technique = Annotated[
    str | None,
    typer.Option(help="contribution, lime or kernel_shap.", show_default="contribution"),
]
Jobs = Annotated[int, typer.Option("-j", "--jobs", help="Number of threads; -1 for all CPU cores.")]
Dask = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Run on the Dask cluster with this scheduler: tcp://HOST:8786."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def output(help_text: str) -> Any:
    """Return the option --output."""
    return typer.Option("-o", "--output", help=help_text)


def seed(help_text: str = "Seed of the split and of the technique.") -> Any:
    """Return the option --seed."""
    return typer.Option(min=0, help=help_text)


def quiet(help_text: str) -> Any:
    """Return the option --quiet."""
    return typer.Option("-q", "--quiet", help=help_text)


Quiet = Annotated[bool, quiet("Print no progress messages.")]


def checkpoint(what: str) -> Any:
    """Return the option --checkpoint; `what` says what the file or folder is for."""
    return typer.Option(help=f"{what}; run the same command again to resume.")


# --- what commands do with them -----------------------------------------------------------------------------


def check_output(path: Path, *inputs: str | Path, checkpoint: Path | None = None) -> None:
    """Refuse an output that is a folder, an input, the checkpoint, or in a folder that cannot be written."""
    # Path.resolve() raises on a loop of links before Python 3.13.
    if checkpoint is not None and os.path.realpath(checkpoint) == os.path.realpath(path):
        raise WriteError(f"{path.name}: the output would overwrite the checkpoint; choose another --output")
    if path.is_dir():
        raise WriteError(f"{path.name} is a folder; expected a file to write")
    for source in _files(inputs):
        if source.is_file() and path.is_file() and source.samefile(path):
            raise WriteError(f"{path.name} would overwrite the input; choose another --output")
    if path.exists() and not path.is_file():
        return  # a pipe or a device
    nearest = next((folder for folder in path.absolute().parents if folder.exists()), Path())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        kind = "a folder without write permission" if nearest.is_dir() else "a file"
        raise WriteError(f"{path.name}: cannot write there: {nearest.name or nearest} is {kind}")


def check_ending(path: Path, *endings: str) -> None:
    """Refuse a file name with another ending than the given ones; pipes and devices may have any."""
    if path.suffix.lower() not in endings and (path.is_file() or not path.exists()):
        listed = ", ".join(endings[:-1]) + f" or {endings[-1]}" if len(endings) > 1 else endings[0]
        raise WriteError(f"{path.name}: expected a name that ends in {listed}")


@contextmanager
def given_input(text: str) -> Iterator[str]:
    """Give DATASET unchanged; for -, copy standard input to a temporary file."""
    if text != "-":
        yield text
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stdin.csv"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        with path.open("rb") as file:
            begin = file.read(4)
        suffix = {b"PK\x03\x04": ".xlsx", b"PAR1": ".parquet"}.get(begin, ".csv")
        yield str(path.rename(path.with_suffix(suffix)))


def label_options(missing: str | None, threshold: str | None) -> dict[str, Any]:
    """Return --missing and --threshold in the form that readers take."""
    words = [word.strip() for word in (missing or "").split(",") if word.strip()]
    if threshold is None or threshold == "median":
        return {"missing": words, "threshold": threshold}
    try:
        return {"missing": words, "threshold": float(threshold)}
    except ValueError:
        raise DatasetError(f"--threshold: expected a number or median, got {threshold!r}") from None


def read_as_trained(
    dataset: str,
    model: Any,
    *,
    split: str | None,
    seed: int | None,
    part: Part | None,
    with_labels: bool = True,
    **given: Any,
) -> GraphDataset:
    """Read a dataset as in training, split it the same way, and return one part.

    Without a part: the test set of the training table, or all of another dataset.

    Given options override those stored in the model: columns, missing labels, threshold, duplicates, split,
    seed. To repeat the split of training, the dataset must be complete, so labels are read even if unused.
    """
    known = model.provenance_
    given["smiles"] = smiles_as_trained(dataset, model, given.get("smiles"), given.get("encoding", "utf-8"))
    split = known.get("split", "auto") if split is None else split
    seed = known.get("seed", 0) if seed is None else seed
    if with_labels or part != "all":
        for name in ("label", "missing", "threshold"):
            if not given.get(name) and known.get(name) is not None:
                given[name] = known[name]
    if part != "all":
        given["columns"] = split_columns(split)
    data = resolve_dataset(dataset, reading=model.reading_, **given)
    if model.schema_ is not None and data.schema is not None and not data.schema.classes:
        data = data.with_schema(replace(data.schema, classes=model.schema_.classes))
    if part == "all":
        return data
    kept = data
    if known.get("duplicates") and data.provenance.get("label"):
        kept = without_duplicates(data, known["duplicates"])
    if part is not None:
        return part_of(kept, split, part, seed)
    test = _test_set(kept, split, seed, model)
    return data if test is None else test


def _test_set(data: GraphDataset, split: str, seed: int, model: Any) -> GraphDataset | None:
    """Return the test set of the training table, or None for another dataset.

    It is the training table if its training set has as many graphs of each class as the model was trained on.
    """
    if split == "none":
        return None
    try:
        train, _, test = data.split(split, seed)
    except DatasetError:  # too few graphs of a class to split
        return None
    counts = Counter(() if train.y is None else train.y.tolist())
    return test if counts == dict(model.programs_.info.label_counts) else None


def split_columns(split: str) -> list[str]:
    """Return the columns of a table that a split needs."""
    method, _, column = split.partition(":")
    return [column] if method in ("time", "column") and column else []


def smiles_as_trained(dataset: str, model: Any, given: str | None, encoding: str) -> str | None:
    """Return the column with the SMILES: the given one, else that of training if the table has it."""
    return trained_smiles_column(Path(dataset), model.provenance_.get("smiles"), given, encoding)


def without_duplicates(data: GraphDataset, duplicates: Duplicates) -> GraphDataset:
    """Return the dataset that --duplicates asks for."""
    if duplicates == "keep":
        return data
    return data.drop_duplicates("drop" if duplicates == "drop-conflicting" else "first")


def _files(inputs: Iterable[str | Path]) -> Iterator[Path]:
    """Yield the files that are read: inputs themselves, and the files of TU folders."""
    for path in map(Path, inputs):
        prefix = tu_prefix(path) if path.is_dir() else None
        yield from [path] if prefix is None else path.glob(f"{glob.escape(prefix)}_*.txt")


def part_of(data: GraphDataset, split: str, part: Part, seed: int) -> GraphDataset:
    """Return a part of a dataset, or all of it."""
    if part == "all" or split == "none":
        return data
    return dict(zip(("train", "val", "test"), data.split(split, seed), strict=True))[part]


def not_in_smarts(data: GraphDataset) -> tuple[str, ...]:
    """Return the features that --smarts leaves out; the default ones can all be written as SMARTS."""
    if data.schema is None or data.schema.domain != "molecule":
        raise MiningError(f"--smarts: expected molecules, got other graphs: {data.name}")
    return tuple(f.name for f in (*data.schema.node, *data.schema.edge) if f.name in NOT_IN_SMARTS)


@contextmanager
def on_processes(dask: str | None, jobs: int = 1) -> Iterator[None]:
    """Set joblib's processes: those of the cluster of --dask, else `jobs` of this machine."""
    import joblib  # late: --help need not wait for it

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


def timed_messages(quiet: bool) -> Callable[[str], None]:
    """Return a function that prints to standard error with the elapsed seconds; silent with --quiet."""
    started = time.monotonic()

    def say(text: str) -> None:
        if not quiet:
            echo(f"{time.monotonic() - started:6.1f} s  {text}", err=True)

    return say
