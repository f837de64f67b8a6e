"""`gdlnn datasets`: list, inspect, download and convert datasets."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  (typer reads the annotations)
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from gdlnn.cli import options as opt
from gdlnn.cli.terminal import echo
from gdlnn.datasets.jsonl import save_jsonl
from gdlnn.datasets.load import fetch, find_folder, read_folder
from gdlnn.datasets.registry import REGISTRY, source_of
from gdlnn.datasets.resolve import SYNTHETIC, resolve_dataset
from gdlnn.errors import DatasetError
from gdlnn.graphs import GraphDataset, Schema
from gdlnn.graphs.molecules import MoleculeReader

if TYPE_CHECKING:
    from collections.abc import Sequence

app = typer.Typer(help="List, inspect, download and convert datasets.", no_args_is_help=False)


@app.callback(invoke_without_command=True)
def datasets(context: typer.Context) -> None:
    """List the datasets when no subcommand is given."""
    if context.invoked_subcommand is None:
        list_datasets()


@app.command("list", epilog="Example: gdlnn datasets list --json")
def list_datasets(root: opt.Root = None, as_json: opt.Json = False) -> None:
    """List the datasets of the paper, their sizes, and whether they are already downloaded."""
    rows = [
        {
            "name": source.name,
            "graphs": source.size[0],
            "avg_nodes": source.size[1],
            "avg_edges": source.size[2],
            "classes": source.size[3],
            "task": source.task,
            "at_hand": find_folder(source, root) is not None,
        }
        for source in REGISTRY.values()
    ]
    if as_json:
        opt.print_json(rows)
        return
    header = ("dataset", "graphs", "nodes", "edges", "classes", "at hand", "task")
    cells = [
        (
            str(row["name"]),
            str(row["graphs"]),
            f"{row['avg_nodes']:.2f}",
            f"{row['avg_edges']:.2f}",
            str(row["classes"]),
            "yes" if row["at_hand"] else "no",
            str(row["task"]),
        )
        for row in rows
    ]
    _table(header, cells)
    echo(f"\nGenerated: {SYNTHETIC}. Any other TU dataset is downloaded by name.")


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    for row in (header, *rows):
        left = (0, len(header) - 1)
        line = [
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        echo("  ".join(line).rstrip())


@app.command(epilog="Example: gdlnn datasets info mine.csv --smiles smiles --label active")
def info(
    dataset: opt.Dataset,
    root: opt.Root = None,
    smiles: opt.Smiles = None,
    label: opt.Label = None,
    id_: opt.Id = None,
    missing: opt.Missing = None,
    threshold: opt.Threshold = None,
    encoding: opt.Encoding = "utf-8",
    as_json: opt.Json = False,
) -> None:
    """Describe a dataset: sizes, features and their names, classes, splits and duplicates."""
    with opt.given_input(dataset) as source:
        data = resolve_dataset(
            source,
            smiles=smiles,
            label=label,
            id=id_,
            root=root,
            encoding=encoding,
            **opt.label_options(missing, threshold),
        )
    summary, twins, rows = data.describe(), data.duplicates(), data.file_rows
    if as_json:
        result: dict[str, Any] = summary.to_json()
        result["schema"] = None if data.schema is None else data.schema.to_json()
        result["published_split"] = (
            None if data.published_splits is None else {k: len(v) for k, v in data.published_splits.items()}
        )
        result["duplicates"] = {
            "groups": len(twins.groups),
            "extra": twins.n_extra,
            "conflicting": len(twins.conflicting),
            "conflicting_rows": [rows[list(group)].tolist() for group in twins.conflicting],
        }
        result["skipped"] = [row._asdict() for row in data.skipped]
        opt.print_json(result)
        return
    echo(str(summary))
    schema = data.schema or Schema()
    if summary.class_counts:
        counts = (f"{schema.class_name(label)}: {count}" for label, count in summary.class_counts.items())
        echo(f"classes: {', '.join(counts)}")
    for of, features in (("node", schema.node), ("edge", schema.edge)):
        for feature in features:
            names = list(feature.values.values())
            shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
            told = f"{of} feature {feature.name} ({feature.kind})" + (f": {shown}" if names else "")
            echo(told)
    if data.published_splits is not None:
        sizes = ", ".join(f"{name} {len(rows)}" for name, rows in data.published_splits.items())
        echo(f"published split: {sizes}")
    if data.edge_masks is not None:
        echo("ground truth: the nodes and edges that decide are known")
    echo(f"duplicates: {len(twins.groups)} groups, {twins.n_extra} redundant graphs", nl=False)
    echo(f", {len(twins.conflicting)} groups with conflicting labels")
    labels = np.asarray(data.y)
    for group in twins.conflicting:
        told = ", ".join(f"row {rows[i]}: {labels[i]}" for i in group)
        echo(f"  {told}" + (f" ({data.smiles[group[0]]})" if data.smiles is not None else ""))
    if data.skipped:
        echo(f"skipped rows: {len(data.skipped)}")
        for row in data.skipped[:10]:
            echo(f"  row {row.row}: {row.value}: {row.reason}")
        if len(data.skipped) > 10:
            echo(f"  and {len(data.skipped) - 10} more; use --json to list all")


@app.command(epilog="Example: gdlnn datasets download MUTAG PTC_MR")
def download(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...")] = None,
    force: Annotated[bool, typer.Option(help="Download even if the files are already there.")] = False,
    verify: Annotated[
        bool, typer.Option(help="Check the files of the nine against their SHA-256 checksums.")
    ] = True,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Download datasets into the cache; without a name, all nine of the paper."""
    told = []
    for name in names or list(REGISTRY):
        source = source_of(name)
        at_hand = not force and find_folder(source) is not None
        n_graphs = None if at_hand else len(read_folder(source, fetch(source, verify=verify)))
        told.append({"name": source.name, "fetched": not at_hand, "graphs": n_graphs})
        if not quiet and not as_json:
            echo(f"{source.name}: {'at hand' if at_hand else f'{n_graphs} graphs'}")
    if as_json:
        opt.print_json(told)


@app.command(epilog="Example: gdlnn datasets convert mine.csv mine.gdlds --label active --drop-duplicates")
def convert(
    dataset: opt.Dataset,
    output: Annotated[
        Path,
        typer.Argument(help="NAME.gdlds (saved dataset) or NAME.jsonl (JSON Lines)."),
    ],
    root: opt.Root = None,
    smiles: opt.Smiles = None,
    label: opt.Label = None,
    id_: opt.Id = None,
    missing: opt.Missing = None,
    threshold: opt.Threshold = None,
    encoding: opt.Encoding = "utf-8",
    features: opt.Features = "default",
    fragments: opt.Fragments = "all",
    standardize: opt.Standardize = "none",
    drop_duplicates: Annotated[
        bool, typer.Option(help="Keep one graph of each group of isomorphic graphs.")
    ] = False,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Write a dataset in another format."""
    opt.check_output(output, dataset)
    reading = MoleculeReader(features, fragments, standardize)
    with opt.given_input(dataset) as source:
        data = resolve_dataset(
            source,
            smiles=smiles,
            label=label,
            id=id_,
            root=root,
            reading=reading,
            encoding=encoding,
            **opt.label_options(missing, threshold),
        )
    if drop_duplicates:
        data = data.drop_duplicates()
    _write(data, output)
    if as_json:
        opt.print_json({"output": str(output), "graphs": len(data)})
    elif not quiet:
        echo(f"{output.name}: {len(data)} graphs")


def _write(data: GraphDataset, output: Path) -> None:
    suffix = output.suffix.lower()
    if suffix == ".gdlds":
        data.save(output)
    elif suffix in (".jsonl", ".ndjson"):
        save_jsonl(data, output)
    else:
        raise DatasetError(f"{output.name}: expected a name that ends in .gdlds or .jsonl")
