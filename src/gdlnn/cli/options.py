"""Options that several commands share, and what every command does with them.

A type stands for an option that is the same everywhere; a function makes an option whose help text depends on
the command. --verbose and --debug, which every command takes, are added in `app`.
"""

from __future__ import annotations

import glob
import json
import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gdlnn.cluster import dask_executor
from gdlnn.datasets.resolve import SYNTHETIC
from gdlnn.datasets.tu import tu_prefix
from gdlnn.errors import WriteError
from gdlnn.graphs.splits import SplitKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Executor

    from gdlnn.graphs import GraphDataset

Dataset = Annotated[
    str,
    typer.Argument(
        metavar="DATASET",
        help=f"A name, {SYNTHETIC}, a TU folder, a SMILES table, SDF, JSON Lines, or a saved data set.",
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model that `gdlnn train` wrote.")]
Root = Annotated[Path | None, typer.Option(help="A folder to search before GDLNN_DATA and the cache.")]
Smiles = Annotated[str | None, typer.Option(help="The column with the SMILES.")]
Label = Annotated[str | None, typer.Option(help="The column with the label.")]
Id = Annotated[str | None, typer.Option("--id", help="The column with an identifier.")]
Features = Annotated[
    Literal["default", "ogb"],
    typer.Option(help="Features of atoms and bonds; ogb: the 9 and 3 of the Open Graph Benchmark."),
]
Fragments = Annotated[Literal["all", "largest"], typer.Option(help="What to keep of salts and mixtures.")]
Standardize = Annotated[
    Literal["none", "parent"], typer.Option(help="Read molecules as they are, or their neutral parent.")
]
Split = Annotated[
    SplitKind, typer.Option(help="How to split the data set; auto: as published, else at random.")
]
Part = Literal["train", "val", "test", "all"]
Smarts = Annotated[
    bool, typer.Option("--smarts", help="Mine only programs over molecules that can be said in SMARTS.")
]
Technique = Annotated[
    str | None,
    typer.Option(
        help="contribution, lime, lime_present, lime_contribution, kernel_shap, integrated_gradients "
        "or linear.",
        show_default="contribution",
    ),
]
Jobs = Annotated[int, typer.Option("-j", "--jobs", help="Threads; -1 for all processors.")]
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


Quiet = Annotated[bool, quiet("Say nothing of what is done.")]


def checkpoint(what: str) -> Any:
    """Return the option --checkpoint; `what` says what the file or folder is for."""
    return typer.Option(help=f"{what}; the same command goes on from it.")


def dask(verb: str) -> Any:
    """Return the option --dask of a command that does `verb`."""
    where = "N processes of this machine, or that of a scheduler's address"
    return typer.Option(metavar="local:N|ADDRESS", help=f"{verb} on a Dask cluster: {where}.")


# --- what commands do with them -----------------------------------------------------------------------------


def check_output(path: Path, *inputs: str | Path) -> None:
    """Refuse an output that is a folder, an input, or in a folder that cannot be written."""
    if path.is_dir():
        raise WriteError(f"{path.name}: expected a file to write, got a folder")
    for source in _files(inputs):
        if source.is_file() and path.is_file() and source.samefile(path):
            raise WriteError(f"{path.name}: expected another file to write than the input, got the same")
    if path.exists() and not path.is_file():
        return  # a pipe or a device
    nearest = next((folder for folder in path.absolute().parents if folder.exists()), Path())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        kind = "one that cannot be written" if nearest.is_dir() else "a file"
        raise WriteError(
            f"{path.name}: expected a folder to write into, got {nearest.name or nearest}, {kind}"
        )


def _files(inputs: Iterable[str | Path]) -> Iterator[Path]:
    """Yield the files that are read: inputs themselves, and the files of TU folders."""
    for path in map(Path, inputs):
        prefix = tu_prefix(path) if path.is_dir() else None
        yield from [path] if prefix is None else path.glob(f"{glob.escape(prefix)}_*.txt")


def part_of(data: GraphDataset, split: SplitKind, part: Part, seed: int) -> GraphDataset:
    """Return a part of a data set, or all of it."""
    if part == "all":
        return data
    return dict(zip(("train", "val", "test"), data.split(split, seed), strict=True))[part]


@contextmanager
def executor_of(dask: str | None, says: str = "") -> Iterator[Executor | None]:
    """Connect to the cluster of --dask and give its executor; give None without the option.

    Parameters
    ----------
    dask
        The value of the option.
    says
        What is done there, for a line on standard error; empty for none.
    """
    if dask is None:
        yield None
        return
    with dask_executor(dask) as (executor, where):
        if says:
            typer.echo(f"{says} on {where}", err=True)
        yield executor


def print_json(value: Any) -> None:
    """Print what --json asks for."""
    typer.echo(json.dumps(value, indent=2))


def timed_messages(quiet: bool) -> Callable[[str], None]:
    """Return a function that prints to standard error, with the seconds since now; silent with --quiet."""
    started = time.monotonic()

    def say(text: str) -> None:
        if not quiet:
            typer.echo(f"{time.monotonic() - started:6.1f} s  {text}", err=True)

    return say


def shortened(words: str, longest: int) -> str:
    """Return a text of at most `longest` characters."""
    return words if len(words) <= longest else words[: longest - 1] + "…"
