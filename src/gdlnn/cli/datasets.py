"""`gdlnn datasets`: list datasets, describe one, or write it in another format."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  (typer reads the annotations)
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gdlnn.cli import options as opt
from gdlnn.cli.app import counted, echo
from gdlnn.errors import DatasetError

if TYPE_CHECKING:
    from gdlnn.graphs import GraphDataset, Schema

MOST_LISTED = 10
"""How many skipped rows and names of values are printed; --json has all."""


def datasets(
    dataset: Annotated[
        str | None, typer.Argument(metavar="[DATASET]", help=f"{opt.DATASETS} Without one, all are listed.")
    ] = None,
    output: Annotated[
        Path | None, opt.output("The .jsonl file to write; - writes to standard output.")
    ] = None,
    label: opt.Label = None,
    smiles: opt.Smiles = None,
    id_: opt.Id = None,
    missing: opt.Missing = None,
    split_at: opt.SplitAt = None,
    encoding: opt.Encoding = "utf-8",
    standardize: opt.Standardize = "none",
    duplicates: opt.Duplicates = "keep",
    data_dir: opt.DataDir = None,
    as_json: opt.Json = False,
) -> None:
    """List the datasets of the paper, describe a dataset, or write it in another format.

    A dataset of the paper is downloaded when its name is first used.
    """
    from gdlnn.datasets.resolve import resolve_dataset

    if dataset is None:
        if output is not None:
            raise DatasetError(f"{output.name}: expected a DATASET to write, got none")
        _list(data_dir, as_json=as_json)
        return
    if output is not None and not opt.is_stdout(output):
        opt.check_output(output, dataset)
        opt.check_ending(output, ".jsonl", ".ndjson")
    with opt.given_input(dataset) as source:
        data = resolve_dataset(
            source,
            smiles=smiles,
            label=label,
            id=id_,
            root=data_dir,
            reading=opt.molecule_reader(standardize),
            encoding=encoding,
            **opt.label_options(missing, split_at),
        )
    data = opt.without_duplicates(data, duplicates)
    if output is not None:
        with opt.opened(output) as write:
            for line in data.json_lines():
                write(line)
        echo(f"{output.name}: {len(data)} graphs", err=opt.is_stdout(output))
    elif as_json:
        opt.print_json(_as_json(data))
    else:
        _describe(data)


def _list(root: Path | None, *, as_json: bool) -> None:
    from gdlnn.datasets.load import find_dataset
    from gdlnn.datasets.registry import REGISTRY

    names = ("name", "graphs", "avg_nodes", "avg_edges", "classes", "task", "at_hand")
    rows = [
        (source.name, *source.size, source.task, find_dataset(source, root) is not None)
        for source in REGISTRY.values()
    ]
    if as_json:
        opt.print_json([dict(zip(names, row, strict=True)) for row in rows])
        return
    line = "{:14}{:>7}{:>8}{:>8}{:>9}  {:9}{}"
    echo(line.format("dataset", "graphs", "nodes", "edges", "classes", "at hand", "task"))
    for *cells, task, at_hand in rows:
        echo(line.format(*cells, "yes" if at_hand else "no", task))
    echo("Generated: synthetic:ba-2motifs.")


def _as_json(data: GraphDataset) -> dict[str, Any]:
    twins, splits = data.duplicates(), data.published_splits
    return {
        **data.describe(),
        "schema": None if data.schema is None else data.schema.to_json(),
        "published_split": None if splits is None else {name: len(rows) for name, rows in splits.items()},
        "duplicates": {
            "groups": len(twins.groups),
            "extra": twins.n_extra,
            "conflicting": len(twins.conflicting),
            "conflicting_rows": [data.file_rows[list(group)].tolist() for group in twins.conflicting],
        },
        "skipped": [row._asdict() for row in data.skipped],
    }


def _describe(data: GraphDataset) -> None:
    from gdlnn.graphs import Schema

    summary, schema = data.describe(), data.schema or Schema()
    classes = summary.pop("classes")
    for name, value in summary.items():
        echo(f"{name.replace('avg_', 'average ').replace('_', ' ')}: {value}")
    if classes:
        counts = (f"{schema.class_name(label)}: {count}" for label, count in classes.items())
        echo(f"classes: {', '.join(counts)}")
    _describe_features(schema)
    if data.published_splits is not None:
        sizes = ", ".join(f"{name} {len(rows)}" for name, rows in data.published_splits.items())
        echo(f"published split: {sizes}")
    if data.edge_masks is not None:
        echo("ground truth: the nodes and edges that decide are known")
    twins = data.duplicates()
    echo(
        f"duplicates: {counted(len(twins.groups), 'group')}, {counted(twins.n_extra, 'redundant graph')}, "
        f"{counted(len(twins.conflicting), 'group')} with conflicting labels"
    )
    for group in twins.conflicting:
        echo(f"  {opt.group_text(data, group)}")
    if data.skipped:
        echo(f"skipped rows: {len(data.skipped)}")
        for row in data.skipped[:MOST_LISTED]:
            echo(f"  row {row.row}: {f'{row.value}: ' if row.value else ''}{row.reason}")
        if len(data.skipped) > MOST_LISTED:
            echo(f"  and {len(data.skipped) - MOST_LISTED} more; use --json to list all")


def _describe_features(schema: Schema) -> None:
    for of, features in (("node", schema.node), ("edge", schema.edge)):
        for feature in features:
            names = list(feature.values.values())
            shown = ", ".join(names[:MOST_LISTED]) + (", …" if len(names) > MOST_LISTED else "")
            echo(f"{of} feature {feature.name} ({feature.kind})" + (f": {shown}" if names else ""))
