"""`gdlnn train`: a model from a data set, and how good it is."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  (typer reads the annotations)
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gdlnn.cli import options as opt
from gdlnn.datasets.resolve import resolve_dataset
from gdlnn.errors import ModelError
from gdlnn.gdl.text import shortened
from gdlnn.graphs import Schema
from gdlnn.graphs.molecules import MoleculeReader
from gdlnn.graphs.splits import SplitKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from gdlnn.graphs import GraphDataset
    from gdlnn.model import GDLNNClassifier

TrainSplit = Literal[SplitKind, "none"]
STRONGEST = 10
LONGEST = 240
"""Most characters of a program in words."""


def train(
    dataset: opt.Dataset,
    output: Annotated[Path, opt.output("The model file to write.")],
    vocabulary: Annotated[
        Literal["auto", "neighbourhoods", "mined"],
        typer.Option(help="Where programs come from; --epsilon, --k, --restarts and --smarts mean mined."),
    ] = "auto",
    epsilon: Annotated[
        str | None, typer.Option(help="ε of the score, or several: 0.1,1,1%. Default: the model's own.")
    ] = None,
    k: Annotated[
        str | None, typer.Option(help="How many programs: all, a number, or a fraction of the graphs.")
    ] = None,
    head: Annotated[
        Literal["mlp", "linear", "scorecard"],
        typer.Option(help="The classifier on top; scorecard: at most 30 programs, printed as one table."),
    ] = "mlp",
    pooled: Annotated[
        bool | None, typer.Option("--pooled/--no-pooled", help="Pooled features beside programs.")
    ] = None,
    tuned: Annotated[
        bool, typer.Option("--paper", help="The paper's recipe: ε, k and learning rate by validation.")
    ] = False,
    smarts: opt.Smarts = False,
    restarts: Annotated[int, typer.Option(help="Further descents per graph, with random ties.")] = 0,
    split: Annotated[
        TrainSplit,
        typer.Option(
            help="How to split the data set; auto: as published, else at random; none trains on all of it."
        ),
    ] = "auto",
    seed: Annotated[int, opt.seed("Seed of the split, of mining and of the head.")] = 0,
    jobs: opt.Jobs = -1,
    checkpoint: Annotated[Path | None, opt.checkpoint("A folder for what is done")] = None,
    smiles: opt.Smiles = None,
    label: opt.Label = None,
    id_: opt.Id = None,
    features: opt.Features = "default",
    fragments: opt.Fragments = "all",
    standardize: opt.Standardize = "none",
    root: opt.Root = None,
    as_json: opt.Json = False,
    quiet: Annotated[bool, opt.quiet("No bar, no report.")] = False,
) -> None:
    """Train a model on a data set and write it into one file."""
    opt.check_output(output, dataset)
    reading = MoleculeReader(features, fragments, standardize)
    data = resolve_dataset(
        dataset, smiles=smiles, label=label, id=id_, root=root, min_classes=2, reading=reading
    )
    if data.y is None:
        raise ModelError(f"{dataset}: expected labels to learn; name their column with --label")
    parts = {"train": data} if split == "none" else dict(zip(PARTS, data.split(split, seed), strict=True))

    def say(text: str) -> None:
        if not quiet and not as_json:
            typer.echo(text)

    say(_told_parts(data, parts))
    options: dict[str, Any] = {"seed": seed, "n_jobs": jobs, "progress": not quiet}
    if pooled is not None:
        options["pooled"] = pooled
    search: dict[str, Any] = {}
    if restarts:
        search["restarts"] = restarts
    if smarts:
        search["ignore"] = opt.not_in_smarts(data)
    if epsilon is not None:
        search["epsilon"] = _epsilons(epsilon)
    if k is not None:
        search["k"] = _number_of_programs(k)
    model = _fit(parts, vocabulary, search, head, options, checkpoint, tuned=tuned)
    say(f"{len(model.programs_)} programs; {_told_choice(model)}")
    model.metrics_ = _scores(model, parts, say)
    for line in _told_programs(model) if head != "scorecard" else _told_scorecard(model, parts):
        say(line)
    model.save(output)
    say(f"{output.name}: written")
    if as_json:
        opt.print_json({"model": str(output), "programs": len(model.programs_), "metrics": model.metrics_})


PARTS = ("train", "val", "test")


def _fit(
    parts: dict[str, GraphDataset],
    vocabulary: Literal["auto", "neighbourhoods", "mined"],
    search: dict[str, Any],
    head: str,
    options: dict[str, Any],
    checkpoint: Path | None,
    *,
    tuned: bool,
) -> GDLNNClassifier:
    """Train a model; `tuned` chooses ε, k and learning rate on the validation set, as the paper does."""
    from gdlnn.model import GDLNNClassifier, Mined, tune

    if not tuned:
        if search and vocabulary == "neighbourhoods":
            named = ", ".join(f"--{name}" for name in search)
            raise ModelError(f"--vocabulary neighbourhoods: expected no options of mining, got {named}")
        source = Mined(**search) if search else vocabulary
        model = GDLNNClassifier(source, head, checkpoint=checkpoint, **options)
        return model.fit(parts["train"], validation=parts.get("val"))
    if "val" not in parts:
        raise ModelError("--paper: expected a split with a validation set, got --split none")
    grid: dict[str, Any] = {}
    if "epsilon" in search:
        grid["epsilons"] = search.pop("epsilon")
    if "k" in search:
        grid["ks"] = (search.pop("k") or 1.0,)
    base = GDLNNClassifier.paper(**options)
    base.set_params(**{f"vocabulary__{name}": value for name, value in search.items()})
    if head == "linear":
        base.set_params(head__hidden=())
    found = tune(
        parts["train"], parts["val"], base, directory=checkpoint, progress=options["progress"], **grid
    )
    return found.best_estimator


def _told_parts(data: GraphDataset, parts: dict[str, GraphDataset]) -> str:
    source = parts["train"].split_source or "all graphs"
    sizes = ", ".join(f"{name} {len(part)}" for name, part in parts.items())
    skipped = f"; {len(data.skipped)} rows were not read" if data.skipped else ""
    return f"{data.name or 'data set'}: {len(data)} graphs, split {source}: {sizes}{skipped}"


def _told_choice(model: GDLNNClassifier) -> str:
    return ", ".join(f"{name} = {value}" for name, value in model.choice_.items())


def _scores(
    model: GDLNNClassifier, parts: dict[str, GraphDataset], say: Callable[[str], None]
) -> dict[str, Any]:
    """Return the scores on validation and test part, and tell them beside those of the commonest label."""
    from gdlnn.model.scores import majority_scores, score_intervals, score_lines

    found: dict[str, Any] = {}
    counts = model.programs_.info.label_counts
    schema = model.schema_ or Schema()
    for name in ("val", "test"):
        part = parts.get(name)
        if part is None or not len(part):
            continue
        assert part.y is not None
        seen = model.represent(part)
        own = score_intervals(part.y, seen.probabilities, model.classes_, seen.labels, counts)
        majority = majority_scores(part.y, model.classes_, counts)
        found[name] = {"model": own, "majority": majority}
        twins = sum(map(bool, seen.seen)) if name == "test" else 0
        told = f", {twins} of them also trained on" if twins else ""
        say("")
        for line in score_lines(
            f"{name}, {len(part)} graphs{told}", own, majority, counts, schema.class_name
        ):
            say(line)
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


def _epsilons(text: str) -> tuple[float | str, ...]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    try:
        return tuple(word if word.endswith("%") else float(word) for word in words)
    except ValueError:
        raise ModelError(f"--epsilon: expected numbers or percentages such as 0.1,1%, got {text!r}") from None


def _number_of_programs(text: str) -> float | None:
    if text == "all":
        return None
    try:
        number = float(text) if "." in text else int(text)
    except ValueError:
        number = 0
    if not number > 0:
        raise ModelError(f"--k: expected all, a number or a fraction, got {text!r}")
    return number
