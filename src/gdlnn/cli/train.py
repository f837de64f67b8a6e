"""`gdlnn train`: train a model on a dataset and score it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer  # noqa: TC002  (typer reads the annotations)

from gdlnn.cli import options as opt
from gdlnn.cli.app import echo, is_verbose
from gdlnn.errors import ModelError

if TYPE_CHECKING:
    from gdlnn.graphs import GraphDataset

Vocabulary = Literal["auto", "neighborhoods", "mined"]
NOT_REPEATED = ("output", "checkpoint", "jobs", "data_dir", "quiet", "verbose")
"""Options that do not change the model."""


def train(
    context: typer.Context,
    dataset: opt.Dataset,
    output: Annotated[
        Path,
        opt.output("The model file to write; with several labels, a folder for the models and an index."),
    ],
    label: Annotated[
        list[str] | None,
        opt.option("Data", "The column with the label; several (A,B,C, or repeated) give one model each."),
    ] = None,
    target: Annotated[
        list[str] | None,
        opt.option("Data", "The column with numbers to predict; several give one model each."),
    ] = None,
    log: Annotated[bool, opt.option("Data", "Predict the logarithm (base 10) of --target.", "--log")] = False,
    unit: Annotated[str, opt.option("Data", "The unit of --target, for texts.")] = "",
    classes: Annotated[
        str | None,
        opt.option("Data", "Names for the classes: 0=inactive,1=active.", metavar="LABEL=NAME,…"),
    ] = None,
    smiles: opt.Smiles = None,
    id_: opt.Id = None,
    missing: opt.Missing = None,
    split_at: opt.SplitAt = None,
    weight_column: Annotated[str | None, opt.option("Data", "The column with sample weights.")] = None,
    duplicates: opt.Duplicates = "keep",
    standardize: opt.Standardize = "none",
    encoding: opt.Encoding = "utf-8",
    data_dir: opt.DataDir = None,
    head: Annotated[
        Literal["auto", "mlp", "forest", "linear", "scorecard"],
        opt.option(
            "Model",
            "What predicts. auto: the mean of a logistic regression and a forest; linear: a weight per "
            "program; scorecard: at most 30 programs; mlp: the paper's. --target: auto, linear, scorecard.",
        ),
    ] = "auto",
    vocabulary: Annotated[
        Vocabulary, opt.option("Model", "Where programs come from; --epsilon implies mined.")
    ] = "auto",
    epsilon: Annotated[
        str | None,
        opt.option("Model", "ε of the score, one or several: 0.1,1,1%.", show_default="1"),
    ] = None,
    class_weight: Annotated[
        Literal["balanced"] | None,
        opt.option("Model", "balanced: give every class the same total weight in training."),
    ] = None,
    threshold: Annotated[
        str,
        opt.option(
            "Model",
            "Probability from which the rarer of two classes is predicted, or how it is chosen: "
            "balanced-accuracy, recall=0.9.",
            metavar="RULE",
        ),
    ] = "0.5",
    ignore: Annotated[
        list[str] | None,
        opt.option("Model", "A feature of nodes or edges to leave out; may be repeated.", metavar="FEATURE"),
    ] = None,
    split: Annotated[
        str,
        opt.option(
            "Evaluation",
            f"How to split the dataset: {opt.SPLIT_HELP}; none trains on all of it.",
            metavar="SPLIT",
        ),
    ] = "auto",
    cv: Annotated[
        int | None,
        opt.option(
            "Evaluation", "Score by cross-validation with this many folds, then train on all data.", min=2
        ),
    ] = None,
    seed: Annotated[int, opt.option("Advanced", "Seed of the split, of mining and of the head.", min=0)] = 0,
    checkpoint: Annotated[Path | None, opt.checkpoint("A folder for finished steps")] = None,
    jobs: opt.Jobs = -1,
    quiet: opt.Quiet = False,
) -> None:
    """Train a model on a dataset and save it to one file.

    Rows that do not parse or have no label, or no number for --target, are skipped and counted. --verbose
    also prints the scores on the validation set, those of each class, and more programs.
    """
    from gdlnn.cli import training
    from gdlnn.model.threshold import checked_rule

    if cv is not None and split not in ("auto", "stratified"):
        raise ModelError(f"--cv makes stratified folds itself; leave out --split {split}")
    if target and any((label, classes, split_at, class_weight, threshold != "0.5", epsilon)):
        raise ModelError("--target is for numbers; leave out --label and what is for classes or mining")
    if (log or unit) and not target:
        raise ModelError("--log and --unit are for numbers; name their column with --target")
    columns = [*opt.split_columns(split), *([weight_column] if weight_column is not None else [])]

    def say(text: str) -> None:
        if not quiet:
            echo(text)

    def say_one(text: str) -> None:
        """Print a line about one of several models with --verbose only: a table of all comes at the end."""
        if is_verbose() or len(labels) < 2:
            say(text)

    reading: dict[str, Any] = {"smiles": smiles, "id": id_, "encoding": encoding, "root": data_dir}
    reading["reading"] = opt.molecule_reader(standardize)
    with opt.given_input(dataset) as source:
        labels = training.label_columns(source, target or label or [], encoding)
        if len(labels) > 1:
            training.check_folder(output)
        else:
            opt.check_output(output, source, checkpoint=checkpoint)
        of_labels = opt.label_options(missing, split_at)
        if target:
            of_labels["threshold"] = "log" if log else "number"
        tables = training.labeled_tables(source, labels, columns, of_labels, reading)
    command = ["gdlnn", "train", Path(dataset).name, *_given_options(context)]
    for name, table in tables.items():
        if weight_column is not None:
            training.row_weights(table.data, weight_column)  # refuses them while their rows are known
        data = training.with_class_names(table.data, classes)
        if not target:
            training.warn_of_labels(data)
        data = training.report_duplicates(data, duplicates, say)
        kept = {"command": command, "id": id_, "encoding": encoding}
        data.provenance = {**data.provenance, **{key: value for key, value in kept.items() if value}}
        tables[name] = table._replace(data=data)
    options: dict[str, Any] = {"random_state": seed, "n_jobs": jobs, "verbose": not quiet}
    options |= {"ignore": ignore or ()}
    if target:
        options |= {"unit": f"log10 {unit}".rstrip() if log else unit}
    else:
        options |= {"class_weight": class_weight, "threshold": checked_rule(threshold)}
    source_of_programs = _vocabulary(vocabulary, epsilon)

    def run(table: training.LabeledTable, model_file: Path, finished: Path | None) -> Any:
        from gdlnn.model import GDLNNClassifier, GDLNNRegressor

        def fit(parts: dict[str, GraphDataset]) -> Any:
            weight = None if weight_column is None else training.row_weights(parts["train"], weight_column)
            if target:
                regressor = GDLNNRegressor(source_of_programs, head, checkpoint=finished, **options)
                return regressor.fit(parts["train"], sample_weight=weight)
            model = GDLNNClassifier(source_of_programs, head, checkpoint=finished, **options)
            return model.fit(parts["train"], validation=parts.get("val"), sample_weight=weight)

        model = training.trained(table, split, seed, cv, fit, say_one)
        model.save(model_file)
        return model

    if len(labels) > 1:
        training.train_several(tables, output, run, checkpoint, say, quiet=quiet)
        return
    run(next(iter(tables.values())), output, checkpoint)
    say(f"{output.name}: written")


def _given_options(context: typer.Context) -> list[str]:
    """Return the options of this command line that decide what the model is, as words."""
    words: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if name in NOT_REPEATED or parameter.param_type_name != "option" or source is None:
            continue
        if source.name == "COMMANDLINE":
            value = context.params[name]
            for one in value if isinstance(value, list | tuple) else [value]:
                words += [max(parameter.opts, key=len), *([] if one is True else [str(one)])]
    return words


def _vocabulary(vocabulary: Vocabulary, epsilon: str | None) -> Any:
    """Return the source of programs that the options ask for."""
    from gdlnn.model import Mined

    if epsilon is None:
        return vocabulary
    if vocabulary == "neighborhoods":
        raise ModelError("--vocabulary neighborhoods mines nothing; leave out --epsilon")
    words = [word.strip() for word in epsilon.split(",") if word.strip()]
    try:
        values = tuple(word if word.endswith("%") else float(word) for word in words)
    except ValueError:
        raise ModelError(
            f"--epsilon: expected numbers or percentages such as 0.1,1%, got {epsilon!r}"
        ) from None
    return [Mined(value) for value in values]
