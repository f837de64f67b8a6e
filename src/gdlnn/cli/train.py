"""`gdlnn train`: train a model on a dataset and score it."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  (typer reads the annotations)
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gdlnn.cli import options as opt
from gdlnn.cli.terminal import echo, were
from gdlnn.cli.train_tables import (
    check_folder,
    check_weights,
    cross_validated,
    label_columns,
    labelled_sets,
    row_weights,
    split_parts,
    told_of_twins,
    told_scores,
    train_several,
)
from gdlnn.errors import ModelError
from gdlnn.gdl.text import shortened
from gdlnn.graphs import Schema
from gdlnn.graphs.molecules import MoleculeReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from gdlnn.graphs import GraphDataset
    from gdlnn.model import GDLNNClassifier

Epsilons = tuple[float | str, ...]
STRONGEST = 10
LONGEST = 240
"""Maximum length of a program in words, in characters."""


def train(
    dataset: opt.Dataset,
    output: Annotated[
        Path,
        opt.output("The model file to write; with several labels, a folder for the models and an index."),
    ],
    vocabulary: Annotated[
        Literal["auto", "neighbourhoods", "mined"],
        typer.Option(help="Where programs come from; --epsilon implies mined."),
    ] = "auto",
    epsilon: Annotated[
        str | None,
        typer.Option(help="ε of the score, one or several: 0.1,1,1%. Default: chosen by the model."),
    ] = None,
    head: Annotated[
        Literal["mlp", "linear", "scorecard"],
        typer.Option(help="The classifier on top; scorecard: at most 30 programs, printed as one table."),
    ] = "mlp",
    class_weight: Annotated[
        Literal["balanced"] | None,
        typer.Option(help="balanced: give every class the same total weight in training."),
    ] = None,
    decide: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            help="Threshold from which the rarer of two classes is predicted: balanced-accuracy, "
            "recall=0.9 or a number; auto: 0.5, or balanced-accuracy if it has under 30 %.",
        ),
    ] = "auto",
    split: Annotated[
        str,
        typer.Option(
            metavar="SPLIT", help=f"How to split the dataset: {opt.SPLIT_HELP}; none trains on all of it."
        ),
    ] = "auto",
    split_column: Annotated[
        str | None,
        typer.Option(help="A column with train, val or test in each row; short for --split column:NAME."),
    ] = None,
    cv: Annotated[
        int | None,
        typer.Option(min=2, help="Score by cross-validation with this many folds, then train on all data."),
    ] = None,
    duplicates: Annotated[
        opt.Duplicates,
        typer.Option(
            help="Which identical graphs to keep: all, the first, or the first if all labels agree."
        ),
    ] = "keep",
    weight_column: Annotated[str | None, typer.Option(help="The column with sample weights.")] = None,
    seed: Annotated[int, opt.seed("Seed of the split, of mining and of the head.")] = 0,
    jobs: opt.Jobs = -1,
    checkpoint: Annotated[Path | None, opt.checkpoint("A folder for finished steps")] = None,
    smiles: opt.Smiles = None,
    label: Annotated[
        str | None,
        typer.Option(help="The column with the label; for several (A,B,C) one model each is trained."),
    ] = None,
    id_: opt.Id = None,
    missing: opt.Missing = None,
    threshold: opt.Threshold = None,
    encoding: opt.Encoding = "utf-8",
    fragments: opt.Fragments = "all",
    standardize: opt.Standardize = "none",
    as_json: opt.Json = False,
    quiet: Annotated[bool, opt.quiet("Print no progress bar and no report.")] = False,
) -> None:
    """Train a model on a dataset and save it to one file.

    Rows that do not parse or have no label are skipped and counted.
    """
    from gdlnn.model.calibration import checked_rule

    split, columns = _split_columns(split, split_column, weight_column, cv)

    def say(text: str) -> None:
        if not quiet and not as_json:
            echo(text)

    with opt.given_input(dataset) as source:
        labels = label_columns(source, label, encoding)
        if len(labels) > 1:
            check_folder(output)
        else:
            opt.check_output(output, source, checkpoint=checkpoint)
        reading = {
            "smiles": smiles,
            "id": id_,
            "encoding": encoding,
            "reading": MoleculeReader("default", fragments, standardize),
        }
        sets = labelled_sets(source, labels, columns, opt.label_options(missing, threshold), reading)
    check_weights(sets, weight_column)
    sets = {name: told_of_twins(data, duplicates, say) for name, data in sets.items()}
    options: dict[str, Any] = {"seed": seed, "n_jobs": jobs, "progress": not quiet}
    options |= {"class_weight": class_weight, "decide": checked_rule(decide)}
    epsilons = None if epsilon is None else _epsilons(epsilon)

    def run(data: GraphDataset, model_file: Path, finished: Path | None) -> GDLNNClassifier:
        def fit(parts: dict[str, GraphDataset]) -> GDLNNClassifier:
            return _fit(parts, vocabulary, epsilons, head, options, finished, weight_column)

        model = _trained(data, split, seed, cv, fit, say)
        model.save(model_file)
        say(f"{model_file.name}: written")
        return model

    if len(labels) > 1:
        train_several(sets, output, run, checkpoint, say, as_json=as_json)
        return
    model = run(sets[labels[0]] if labels else sets[""], output, checkpoint)
    if as_json:
        opt.print_json({"model": str(output), "programs": len(model.programs_), "metrics": model.metrics_})


def _split_columns(
    split: str, split_column: str | None, weight_column: str | None, cv: int | None
) -> tuple[str, list[str]]:
    """Return how to split, and the columns that training needs besides the label."""
    if split_column is not None:
        if split != "auto":
            raise ModelError(f"choose --split or --split-column, not both ({split}, {split_column})")
        split = f"column:{split_column}"
    if cv is not None and split not in ("auto", "stratified"):
        raise ModelError(f"--cv makes stratified folds itself; leave out --split {split}")
    return split, [*opt.split_columns(split), *([weight_column] if weight_column is not None else [])]


def _trained(
    data: GraphDataset,
    split: str,
    seed: int,
    cv: int | None,
    fit: Callable[[dict[str, GraphDataset]], GDLNNClassifier],
    say: Callable[[str], None],
) -> GDLNNClassifier:
    """Split, train and score a model, and print the results."""
    folds: dict[str, Any] = {}
    if cv is not None:
        folds = {"cv": cross_validated(data, cv, seed, fit, say)}
    parts = split_parts(data, "none" if cv is not None else split, seed)
    say(_told_parts(data, parts))
    model = fit(parts)
    say(f"{len(model.programs_)} programs; {_told_choice(model)}")
    model.metrics_ = {**folds, **_scores(model, parts, say)}
    card = isinstance(model.head, str) and model.head == "scorecard"
    for line in _told_scorecard(model, parts) if card else _told_programs(model):
        say(line)
    return model


def _unfitted(
    vocabulary: Literal["auto", "neighbourhoods", "mined"],
    epsilons: Epsilons | None,
    head: str,
    options: dict[str, Any],
    checkpoint: Path | None,
) -> GDLNNClassifier:
    """Return the model that the options ask for."""
    from gdlnn.model import GDLNNClassifier, Mined

    if epsilons and vocabulary == "neighbourhoods":
        raise ModelError("--vocabulary neighbourhoods mines nothing; leave out --epsilon")
    source = Mined(epsilons) if epsilons else vocabulary
    return GDLNNClassifier(source, head, checkpoint=checkpoint, **options)


def _fit(
    parts: dict[str, GraphDataset],
    vocabulary: Literal["auto", "neighbourhoods", "mined"],
    epsilons: Epsilons | None,
    head: str,
    options: dict[str, Any],
    checkpoint: Path | None,
    weights: str | None,
) -> GDLNNClassifier:
    """Train a model; `weights` is the column with the sample weights."""
    model = _unfitted(vocabulary, epsilons, head, options, checkpoint)
    weight = None if weights is None else row_weights(parts["train"], weights)
    return model.fit(parts["train"], validation=parts.get("val"), sample_weight=weight)


def _told_parts(data: GraphDataset, parts: dict[str, GraphDataset]) -> str:
    source = parts["train"].split_source or "all graphs"
    sizes = ", ".join(f"{name} {len(part)}" for name, part in parts.items())
    skipped = f"; {were(len(data.skipped), 'row')} skipped" if data.skipped else ""
    return f"{data.name or 'dataset'}: {len(data)} graphs, split {source}: {sizes}{skipped}"


def _told_choice(model: GDLNNClassifier) -> str:
    return ", ".join(f"{name} = {value}" for name, value in model.choice_.items())


def _scores(
    model: GDLNNClassifier, parts: dict[str, GraphDataset], say: Callable[[str], None]
) -> dict[str, Any]:
    """Return the scores on the validation and test sets; print them next to those of the commonest label."""
    found: dict[str, Any] = {}
    schema = model.schema_ or Schema()
    for name in ("val", "test"):
        part = parts.get(name)
        if part is None or not len(part):
            continue
        assert part.y is not None
        seen = model.represent(part)
        twins = sum(map(bool, seen.in_training)) if name == "test" else 0
        told = f", {twins} of them also in the training set" if twins else ""
        title = f"{name}, {len(part)} graphs{told}"
        counts = model.programs_.info.label_counts
        found[name] = told_scores(
            title, part.y, seen.probabilities, seen.labels, model.classes_, counts, say, schema.class_name
        )
    return found


def _told_scorecard(model: GDLNNClassifier, parts: dict[str, GraphDataset]) -> list[str]:
    from gdlnn.model import scorecard_text

    return scorecard_text(model, parts.get("test")).splitlines()


def _told_programs(model: GDLNNClassifier) -> list[str]:
    from gdlnn.model.program_effects import strongest_programs

    schema = model.schema_ or Schema()
    directed = model.programs_.info.directed
    lines = ["", "The strongest programs:"]
    for place, (_, mined, label, strength) in enumerate(strongest_programs(model, STRONGEST), start=1):
        words = mined.program.describe(model.schema_, directed=directed)
        lines.append(
            f"{place:3}. for {schema.class_name(label)} (log odds +{strength:.2f}, in {mined.n_matched} "
            f"training graphs): {shortened(words, LONGEST)}"
        )
    return [*lines, ""]


def _epsilons(text: str) -> Epsilons:
    words = [word.strip() for word in text.split(",") if word.strip()]
    try:
        return tuple(word if word.endswith("%") else float(word) for word in words)
    except ValueError:
        raise ModelError(f"--epsilon: expected numbers or percentages such as 0.1,1%, got {text!r}") from None
