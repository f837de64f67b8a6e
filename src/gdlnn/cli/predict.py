"""`gdlnn predict`: the labels and probabilities that a model gives to graphs, as a table."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path  # noqa: TC003  (typer reads the annotations)
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gdlnn.cli.datasets import (  # noqa: TC001  (typer reads the annotations)
    DatasetArgument,
    FragmentsOption,
    IdOption,
    RootOption,
    SmilesOption,
)
from gdlnn.datasets.resolve import resolve_dataset
from gdlnn.errors import ModelError
from gdlnn.graphs import Schema
from gdlnn.graphs.storage import atomic_write

if TYPE_CHECKING:
    from gdlnn.graphs import GraphDataset
    from gdlnn.model import GDLNNClassifier


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.")],
    dataset: DatasetArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="The .csv file to write.")],
    smiles: SmilesOption = None,
    id_: IdOption = None,
    fragments: FragmentsOption = "keep",
    root: RootOption = None,
    jobs: Annotated[int, typer.Option("-j", "--jobs", help="Threads; -1 for all processors.")] = -1,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No summary.")] = False,
) -> None:
    """Predict the label of every graph and write a table.

    Rows that do not parse are kept, with the reason. Graphs that no program matches are flagged: they lie
    outside what was learnt.
    """
    from gdlnn.model import load_model

    if output.is_dir():
        raise ModelError(f"{output.name}: expected a file to write, got a folder")
    fitted = load_model(model).set_params(n_jobs=jobs)
    fitted.layer_.set_params(n_jobs=jobs)
    data = resolve_dataset(dataset, smiles=smiles, id=id_, root=root, fragments=fragments)
    header, rows = _table(fitted, data)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    with atomic_write(output) as file:
        file.write(text.getvalue().encode())
    if quiet:
        return
    place = header.index("label")
    schema = fitted.schema_ or Schema()
    counts = Counter(row[place] for row in rows if row[place] != "")
    told = ", ".join(
        f"{schema.class_name(label)} {count}" for label, count in sorted(counts.items(), key=str)
    )
    outside = sum(row[header.index("matched_nothing")] == "yes" for row in rows)
    typer.echo(f"{output.name}: {len(rows)} rows: {told}")
    if outside:
        typer.echo(f"{outside} graphs match no program: they lie outside what was learnt")
    if data.skipped:
        typer.echo(f"{len(data.skipped)} rows were not read; the table says why")


def _table(model: GDLNNClassifier, data: GraphDataset) -> tuple[list[str], list[list[Any]]]:
    """Return the header and one row for each row of the input, in its order."""
    features = model.transform(data.graphs)  # matched once for both questions
    probabilities = model.head_.predict_proba(features)
    labels = model.classes_[probabilities.argmax(axis=1)].tolist()
    nothing = (features[:, : len(model.programs_)] == 0).all(axis=1).tolist()
    header = ["row", "id", *(["smiles"] if data.smiles is not None else []), "label", "probability"]
    header += [f"p({label})" for label in model.classes_.tolist()]
    header += ["matched_nothing", "reason"]
    skipped = {row.row: row for row in data.skipped}
    table: list[list[Any]] = []
    graph = 0
    for number in range(1, len(data) + len(skipped) + 1):
        if number in skipped:
            cells: list[Any] = [number, "", *([skipped[number].value] if data.smiles is not None else [])]
            blanks = [""] * (len(header) - len(cells) - 1)
            table.append([*cells, *blanks, skipped[number].reason])
            continue
        chances = probabilities[graph].tolist()
        cells = [number, _identifier(data, graph), *([data.smiles[graph]] if data.smiles is not None else [])]
        cells += [labels[graph], max(chances), *chances, "yes" if nothing[graph] else "no", ""]
        table.append(cells)
        graph += 1
    return header, table


def _identifier(data: GraphDataset, graph: int) -> str:
    if data.ids is not None:
        return data.ids[graph]
    return data.graphs[graph].name or ""
