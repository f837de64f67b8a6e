"""The accuracy of the model on the nine data sets: cells that are kept, and the table they make.

``python -m benchmarks.accuracy DIR`` computes what DIR lacks and goes on where it stopped; programs are mined
once for each part and ε. ``--table docs/accuracy.md`` writes the table from the cells that are there. Test
parts are read once, by the finished model; every choice is made on validation parts.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gdlnn.datasets import load_dataset
from gdlnn.graphs import GraphDataset
from gdlnn.graphs.storage import atomic_write
from gdlnn.mining import mine
from gdlnn.mining.miner import package_version
from gdlnn.model.estimator import GDLNNClassifier
from gdlnn.model.mined import checkpoint_name, listed_epsilons
from gdlnn.model.pl4xgl import PL4XGLClassifier
from gdlnn.model.selection import EPSILONS, tune

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gdlnn.graphs import Split
    from gdlnn.mining import ProgramSet

SEEDS = range(5)


class Protocol(NamedTuple):
    """What is split how, with which seeds, and what is aimed at in %."""

    dataset: str
    split: str
    split_seeds: Sequence[int]
    model_seeds: Sequence[int]
    aim: float | None = None


PROTOCOLS = (
    Protocol("MUTAG", "published", (0,), SEEDS, 95),
    Protocol("BBBP", "published", (0,), SEEDS, 89.5),
    Protocol("BACE", "published", (0,), SEEDS, 85.5),
    Protocol("MUTAG", "random", SEEDS, (0,), 89),
    Protocol("PTC_MR", "random", SEEDS, (0,), 67),
    Protocol("ENZYMES", "random", SEEDS, (0,), 70),
    Protocol("PROTEINS", "random", SEEDS, (0,), 78),
    Protocol("BA-2Motifs", "random", SEEDS, (0,), 100),
    Protocol("Mutagenicity", "random", (0,), (0,), 81.1),
    Protocol("NCI1", "random", (0,), (0,), 83.3),
)


class Cell(NamedTuple):
    """One figure: a recipe on one split with one seed."""

    dataset: str
    split: str
    split_seed: int
    model_seed: int
    recipe: str

    @property
    def file(self) -> str:
        """The name of the file that keeps it."""
        return "-".join(map(str, self)) + ".json"


def run() -> None:
    """Say how to run it: hours are too long for `make bench`."""
    print("accuracy: hours of work; run `python -m benchmarks.accuracy DIR`")


# --- recipes ----------------------------------------------------------------------------------------------


class Bench:
    """Where cells and programs are kept, and what computes them."""

    def __init__(self, folder: Path, data: Path | None, jobs: int, device: str) -> None:
        self.folder, self.data, self.jobs, self.device = folder, data, jobs, device
        self._datasets: dict[str, GraphDataset] = {}

    def dataset(self, name: str) -> GraphDataset:
        """Return a data set: saved as NAME.gdlds in the folder with data, or by its name."""
        if name not in self._datasets:
            saved = None if self.data is None else self.data / f"{name}.gdlds"
            if saved is not None and saved.is_file():
                self._datasets[name] = GraphDataset.load(saved)
            else:
                self._datasets[name] = load_dataset(name, self.data)
        return self._datasets[name]

    def parts(self, cell: Cell) -> Split:
        """Return train, val and test."""
        kind = "paper" if cell.split == "published" else "random"
        parts = self.dataset(cell.dataset).split(kind, cell.split_seed)  # type: ignore[arg-type]
        if cell.split == "published" and parts.train.split_source != "published":
            raise SystemExit(f"{cell.dataset}: expected the published split beside the data, got none")
        return parts

    def programs(self, cell: Cell, train: GraphDataset, epsilons: Any, **options: Any) -> list[ProgramSet]:
        """Return the programs of each ε; a finished checkpoint is read, not mined again."""
        kind = "-".join([cell.dataset, cell.split, str(cell.split_seed), *map(str, options.values())])
        folder = self.folder / "programs" / kind
        folder.mkdir(parents=True, exist_ok=True)
        return [
            mine(train, epsilon, checkpoint=folder / checkpoint_name(epsilon), n_jobs=self.jobs, **options)
            for epsilon in listed_epsilons(epsilons, len(train))
        ]


def default(bench: Bench, cell: Cell, parts: Split, **changes: Any) -> Any:
    model = GDLNNClassifier(seed=cell.model_seed, n_jobs=bench.jobs, device=bench.device, **changes)
    sets = bench.programs(cell, parts.train, model.epsilon)
    return model.fit(parts.train, validation=parts.val, programs=sets)


def without_pooled(bench: Bench, cell: Cell, parts: Split) -> Any:
    return default(bench, cell, parts, pooled=False)


def paper(bench: Bench, cell: Cell, parts: Split) -> Any:
    base = GDLNNClassifier.paper(seed=cell.model_seed, n_jobs=bench.jobs, device=bench.device)
    sets = bench.programs(cell, parts.train, EPSILONS)
    directory = bench.folder / "tune" / cell.file.removesuffix(".json")
    return tune(parts.train, parts.val, base, directory=directory, programs=sets).best_estimator


def pl4xgl(bench: Bench, cell: Cell, parts: Split) -> Any:
    model = PL4XGLClassifier(n_jobs=bench.jobs)
    (programs,) = bench.programs(cell, parts.train, model.epsilon, strategy="sequential")
    return model.fit(parts.train, validation=parts.val, programs=programs)


RECIPES: dict[str, Callable[[Bench, Cell, Split], Any]] = {
    "default": default,
    "no-pooled": without_pooled,
    "paper": paper,
    "pl4xgl": pl4xgl,
}


def compute(bench: Bench, cell: Cell) -> dict[str, Any]:
    """Fit a recipe and read the test part, once."""
    start = time.monotonic()
    parts = bench.parts(cell)
    model = RECIPES[cell.recipe](bench, cell, parts)
    assert parts.train.y is not None
    assert parts.test.y is not None
    labels, counts = np.unique(parts.train.y, return_counts=True)
    choice = getattr(model, "choice_", {})
    return {
        **cell._asdict(),
        "val_accuracy": model.score(parts.val),
        "test_accuracy": model.score(parts.test),
        "majority": float((parts.test.y == labels[counts.argmax()]).mean()),
        "n_test": len(parts.test),
        "n_programs": len(model.programs_),
        "choice": {name: str(value) for name, value in choice.items()},
        "seconds": round(time.monotonic() - start, 1),
        "gdlnn": package_version(),
    }


def cells(protocols: Sequence[Protocol], recipes: Sequence[str]) -> Iterator[Cell]:
    for protocol in protocols:
        for split_seed in protocol.split_seeds:
            for recipe in recipes:
                seeds = protocol.model_seeds if recipe != "pl4xgl" else (0,)
                for model_seed in seeds:
                    yield Cell(protocol.dataset, protocol.split, split_seed, model_seed, recipe)


# --- the table --------------------------------------------------------------------------------------------


def table(folder: Path, command: str) -> str:
    """Return the table of all cells that are there, as Markdown."""
    found = [json.loads(file.read_text()) for file in sorted((folder / "cells").glob("*.json"))]
    used = [recipe for recipe in RECIPES if any(row["recipe"] == recipe for row in found)]
    lines = [
        "# Accuracy",
        "",
        "Test accuracy in %, mean ± standard deviation over five model seeds on a published split, or over",
        "five random 80/10/10 splits (one for Mutagenicity and NCI1). `default` is `GDLNNClassifier()`,",
        "`no-pooled` the same without pooled features, `paper` the paper's recipe with ε, k and learning",
        "rate by validation accuracy (`tune`), `pl4xgl` is `PL4XGLClassifier()`. The",
        "number of figures behind each entry stands in brackets.",
        "",
        f"Made by `{command}`.",
        "",
        f"| | split | {' | '.join(used)} | majority | aim |",
        f"|---|---|{'---|' * (len(used) + 2)}",
    ]
    for protocol in PROTOCOLS:
        rows = [row for row in found if (row["dataset"], row["split"]) == protocol[:2]]
        if not rows:
            continue
        shown = [_entry([r["test_accuracy"] for r in rows if r["recipe"] == recipe]) for recipe in used]
        splits = {row["split_seed"]: row["majority"] for row in rows}
        majority = f"{100 * np.mean(list(splits.values())):.1f}"
        aim = "–" if protocol.aim is None else f"≥ {protocol.aim:g}"
        lines.append(f"| {protocol.dataset} | {protocol.split} | {' | '.join(shown)} | {majority} | {aim} |")
    return "\n".join(lines) + "\n"


def _entry(values: list[float]) -> str:
    if not values:
        return "–"
    spread = f" ± {100 * np.std(values):.1f}" if len(values) > 1 else ""
    return f"{100 * np.mean(values):.1f}{spread} ({len(values)})"


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy")
    parser.add_argument("folder", type=Path, help="where cells and programs are kept")
    parser.add_argument("--datasets", help="names with commas; all by default")
    parser.add_argument("--recipes", default="default,no-pooled,paper,pl4xgl")
    parser.add_argument("--data", type=Path, help="a folder with NAME.gdlds, or with the data sets")
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--table", type=Path, help="write the table there, and compute nothing")
    given = parser.parse_args(arguments)
    if given.table is not None:
        with atomic_write(given.table) as file:
            file.write(table(given.folder, "python -m benchmarks.accuracy DIR").encode())
        return
    logging.getLogger("gdlnn").setLevel(logging.ERROR)
    wanted = given.datasets.split(",") if given.datasets else {p.dataset for p in PROTOCOLS}
    bench = Bench(given.folder, given.data, given.jobs, given.device)
    (given.folder / "cells").mkdir(parents=True, exist_ok=True)
    for cell in cells([p for p in PROTOCOLS if p.dataset in wanted], given.recipes.split(",")):
        file = given.folder / "cells" / cell.file
        if file.is_file():
            continue
        row = compute(bench, cell)
        with atomic_write(file) as handle:
            handle.write(json.dumps(row, indent=1).encode())
        print(f"{cell.file:50} test {row['test_accuracy']:.4f}  {row['seconds']:8.1f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
