"""`gdlnn alerts`: the programs of a model as structural alerts, for tables, SMARTS tools and RDKit."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  (typer reads the annotations)
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gdlnn.cli import options as opt
from gdlnn.cli.explain import class_of
from gdlnn.cli.terminal import echo
from gdlnn.errors import WriteError
from gdlnn.io.atomic import atomic_write

if TYPE_CHECKING:
    from gdlnn.report.alerts import Alert


def alerts(
    model: opt.Model,
    output: Annotated[Path, opt.output("NAME.csv, NAME.json, or NAME.smarts (a SMARTS a line).")],
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="DATASET",
            help="The training table, whose test set is counted, or other molecules with labels.",
        ),
    ] = None,
    catalog: Annotated[
        Path | None, typer.Option(help="Also write an RDKit FilterCatalog, as FilterCatalog.Serialize does.")
    ] = None,
    most: Annotated[int, typer.Option("-n", "--most", min=0, help="Number of alerts; 0 for all.")] = 100,
    target: Annotated[str | None, typer.Option(help="Only alerts for this class (label or name).")] = None,
    split: opt.SplitAsTrained = None,
    part: opt.HeldOutPart = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the split.", show_default="as in training")
    ] = None,
    smiles: opt.Smiles = None,
    label: opt.Label = None,
    id_: opt.Id = None,
    encoding: opt.Encoding = "utf-8",
    jobs: opt.Jobs = -1,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Write structural alerts: the name, SMARTS, counts, precision and odds ratio of each.

    Programs that match the same training molecules or have the same SMARTS become one alert. Without --data
    the counts are from the training set and too optimistic: programs were chosen on these molecules.
    """
    from gdlnn.model import load_model
    from gdlnn.report.alerts import find_alerts

    for file in (output, *([catalog] if catalog is not None else [])):
        opt.check_output(file, model, *([data] if data is not None else []))
    opt.check_ending(output, ".csv", ".json", ".smarts")
    if catalog is not None and catalog.absolute() == output.absolute():
        raise WriteError("--catalog: expected another file than --output, got the same")
    loaded = load_model(model).set_params(n_jobs=jobs)
    held_out = None
    if data is not None:
        table: dict[str, Any] = {"smiles": smiles, "label": label, "id": id_, "encoding": encoding}
        with opt.given_input(data) as source:
            held_out = opt.read_as_trained(source, loaded, split=split, seed=seed, part=part, **table)
    found = find_alerts(loaded, held_out, most or None, class_of(loaded, target))
    _write(found, output, catalog)
    exact = sum(alert.exact for alert in found)
    if as_json:
        told: dict[str, Any] = {"output": str(output), "alerts": len(found), "with_smarts": exact}
        opt.print_json(told | ({} if catalog is None else {"catalog": str(catalog)}))
    elif not quiet:
        echo(f"{output.name}: {len(found)} alerts, {exact} of them with an exact SMARTS")
        if catalog is not None:
            echo(f"{catalog.name}: {exact} entries")


def _write(found: list[Alert], output: Path, catalog: Path | None) -> None:
    from gdlnn.report.alerts import alerts_csv, alerts_json, alerts_smarts, filter_catalog

    forms = {".csv": alerts_csv, ".json": alerts_json, ".smarts": alerts_smarts}
    with atomic_write(output) as file:
        file.write(forms.get(output.suffix.lower(), alerts_csv)(found).encode())
    if catalog is not None:
        with atomic_write(catalog) as file:
            file.write(filter_catalog(found).Serialize())
