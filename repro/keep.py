"""Kept cells: `python -m repro keep FILE` sorts cells into repro/results and makes all tables there again.

A file there is named by study and version. Tables of the present version have its own cells, and of earlier
versions those of methods that give the same since and of GDLNN's default.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from repro.cells import read_cells, versions
from repro.statistics import OURS
from repro.tables import write_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from repro.cells import Result

FOLDER = Path(__file__).parent / "results"
STUDIES = ("accuracy", "ablation", "regression", "chemprop", "rules", "explain", "cost", "stability")
"""Kinds of cells that are kept."""
UNCHANGED = ("majority", "wl", "wl-oa", "ecfp-rf", "pooled-rf", "pl4xgl", "gdlnn-paper")
"""Methods that give what they gave in version 0.2."""
LEFT_OUT = ("key", "truth", "predicted", "traceback")


def keep(
    files: Annotated[list[Path] | None, typer.Argument(exists=True, help="Cells.")] = None,
    out: Annotated[Path, typer.Option("--out", help="The folder of kept cells.")] = FOLDER,
) -> None:
    """Sort cells of studies into repro/results, in place of those they repeat, and write all tables there.

    Without files, only the tables are written. Cells that failed are not kept.

    Example: python -m repro keep results/accuracy.jsonl
    """
    for name, n in sorted(sort_cells(files or (), out).items()):
        typer.echo(f"{name}: {n} cells")
    write_tables(out)
    typer.echo(f"Tables: {out}")


def sort_cells(files: Sequence[Path], out: Path = FOLDER) -> Counter[str]:
    """Add the cells of files to the kept ones; return how many went where."""
    kept: dict[str, dict[str, Result]] = defaultdict(dict)
    counts: Counter[str] = Counter()
    for file in files:
        for cell in read_cells(file):
            if cell["status"] not in ("ok", "late"):
                counts[f"not kept, {cell['status']}"] += 1
            elif cell["study"] in STUDIES:
                name = f"{cell['study']}-{short(cell['versions']['gdlnn'])}.jsonl"
                if name not in kept:
                    kept[name] = {place(one): one for one in read_lines(out / name)}
                kept[name][place(cell)] = shortened(cell)
                counts[name] += 1
    for name, cells in kept.items():
        lines = [json.dumps(cells[at], separators=(",", ":"), default=list) for at in sorted(cells)]
        write_file(out / name, "".join(f"{line}\n" for line in lines))
    return counts


def place(cell: Result) -> str:
    """Return what a cell is of. A cell with another configuration takes its place."""
    names = ("dataset", "method", "protocol", "split", "seed", "n_configurations")
    return json.dumps([*(cell.get(name) for name in names), list(cell.get("rows", ()))])


def shortened(cell: Result) -> Result:
    """Return a cell without what no table needs."""
    kept = {name: value for name, value in cell.items() if name not in LEFT_OUT}
    if kept["status"] == "ok":
        del kept["status"]
    return {"version": cell["versions"]["gdlnn"], **kept}


def short(version: str) -> str:
    """Return a version without what follows the second number."""
    return ".".join(version.split(".")[:2])


def read_lines(file: Path) -> list[Result]:
    """Return the lines of a file; none if it is not there."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.is_file() else []


def kept_cells(study: str, folder: Path = FOLDER) -> list[Result]:
    """Return the kept cells of a study that tables of this version show."""
    now, found = short(versions()["gdlnn"]), []
    for file in sorted(folder.glob(f"{study}-*.jsonl")):
        for cell in read_lines(file):
            version = cell.pop("version")
            if short(version) != now:
                if study != "accuracy" or cell["method"] not in (*UNCHANGED, OURS):
                    continue
                cell["version"] = version
            found.append({"status": "ok", **cell})
    return found


def write_tables(out: Path = FOLDER) -> None:
    """Write the tables of all studies that have cells."""
    from repro.accuracy_tables import write_ablation, write_accuracy
    from repro.chemprop import write_chemprop
    from repro.cost import write_cost
    from repro.explain import write_explain
    from repro.inputs import TARGETS
    from repro.regression import write_regression
    from repro.rules import write_rules
    from repro.stability import write_stability

    accuracy, chemprop = kept_cells("accuracy", out), kept_cells("chemprop", out)
    for protocol in ("repeated", "paper"):
        write_accuracy(out, accuracy, protocol)
    if ablation := kept_cells("ablation", out):
        write_ablation(out, [*ablation, *accuracy], "repeated")
    of_numbers = [*kept_cells("regression", out), *(cell for cell in chemprop if cell["dataset"] in TARGETS)]
    if of_numbers:
        write_regression(out, of_numbers)
    others = (
        (write_chemprop, "chemprop"),
        (write_rules, "rules"),
        (write_explain, "explain"),
        (write_cost, "cost"),
        (write_stability, "stability"),
    )
    for write, study in others:
        if cells := kept_cells(study, out):
            write(out, cells)
