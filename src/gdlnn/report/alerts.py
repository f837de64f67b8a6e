"""Alerts: the programs of a model as structural alerts, each listed once, with counts and intervals."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gdlnn.errors import ExplanationError, require
from gdlnn.explain.explanation import plain
from gdlnn.mining.program_set import support_keys
from gdlnn.model.program_effects import strongest_programs
from gdlnn.model.scores import wilson
from gdlnn.report.cards import shown_program
from gdlnn.report.statistics import odds_ratio

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gdlnn.graphs import GraphDataset
    from gdlnn.model import GDLNNClassifier
    from gdlnn.model.program_effects import StrongProgram

MOST_EXAMPLES = 3
MIN_SUPPORT = 2
"""Fewest training graphs of an alert: one that matches a single graph is an anecdote."""


class Counts(NamedTuple):
    """Matched graphs of a class and of all others, and how many of each there are."""

    own: int
    n_own: int
    others: int
    n_others: int

    @property
    def matched(self) -> int:
        """Number of matched graphs."""
        return self.own + self.others

    @property
    def precision(self) -> float | None:
        """Share of the class among the matched graphs; None where nothing matches."""
        return self.own / self.matched if self.matched else None

    @property
    def ratio(self) -> float:
        """How much the odds of a match rise in the class."""
        return odds_ratio(*self)[0]

    def to_json(self) -> dict[str, Any]:
        """Return the counts with the precision and the odds ratio, each with its 95 % interval."""
        ratio, *bounds = odds_ratio(*self)
        tells = 0 < self.matched < self.n_own + self.n_others  # else the ratio shows class sizes alone
        return {
            "matched": self.matched,
            "of_class": self.own,
            "precision": self.precision,
            "precision_interval": list(wilson(self.own, self.matched)) if self.matched else None,
            "odds_ratio": ratio if tells else None,
            "odds_interval": bounds if tells else None,
        }


@dataclass(frozen=True)
class Alert:
    """A substructure that speaks for a class.

    Attributes
    ----------
    name
        The program in words.
    smarts, exact
        The program as SMARTS, or None; and whether that matches the same molecules.
    label, class_name
        The class it speaks for.
    training, held_out
        Where it matches; None where it is not known.
    contribution
        By how much it raises the log odds of the class.
    programs
        How many programs of the model say the same: they match the same training graphs, or have the same
        SMARTS.
    examples
        Molecules that it matches: identifiers, or SMILES.
    column
        Its column in the model.
    """

    name: str
    smarts: str | None
    exact: bool
    label: Any
    class_name: str
    training: Counts | None
    held_out: Counts | None
    contribution: float
    programs: int
    examples: tuple[str, ...]
    column: int

    def to_json(self) -> dict[str, Any]:
        """Return the alert as plain JSON values."""
        return {
            "name": self.name,
            "smarts": self.smarts,
            "smarts_exact": self.exact,
            "label": self.label,
            "class": self.class_name,
            "training": None if self.training is None else self.training.to_json(),
            "held_out": None if self.held_out is None else self.held_out.to_json(),
            "contribution": self.contribution,
            "programs": self.programs,
            "examples": list(self.examples),
        }


def find_alerts(
    model: GDLNNClassifier, held_out: GraphDataset | None = None, most: int | None = 100, label: Any = None
) -> list[Alert]:
    """Return the programs that raise the odds of a class most, each substructure once.

    Those that are less frequent in their class than in others are left out.

    Parameters
    ----------
    model
        A fitted model of molecules.
    held_out
        Labelled molecules that it was not trained on, for counts and examples.
    most
        How many alerts; None for all.
    label
        The class they are to speak for; None for any.
    """
    if model.schema_ is None or model.schema_.domain != "molecule":
        raise ExplanationError("alerts: expected a model of molecules, got one of other graphs")
    if held_out is not None and held_out.y is None:
        raise ExplanationError("alerts: expected held-out molecules with labels, got none; name their column")
    matches = None if held_out is None else model.represent(held_out).matches
    alerts = (_alert(model, group, held_out, matches) for group in _told_once(model, label))
    # A program may speak for a class only together with others; alone it would be an alert for another one.
    true_alone = (alert for alert in alerts if alert.training is None or alert.training.ratio > 1)
    return list(islice(true_alone, most))


class _Group(NamedTuple):
    strong: StrongProgram
    shown: dict[str, Any]
    size: int


def _told_once(model: GDLNNClassifier, label: Any) -> Iterator[_Group]:
    """Give the strongest of the programs that say the same, with how many these are."""
    directed = model.programs_.info.directed
    supports = support_keys(model.programs_.supports)
    place: dict[Any, int] = {}
    groups: list[tuple[StrongProgram, dict[str, Any]]] = []
    sizes: list[int] = []
    for strong in strongest_programs(model, len(model.programs_)):
        item = strong.mined
        if strong.strength <= 0 or item.n_matched < MIN_SUPPORT or label not in (None, plain(strong.label)):
            continue
        shown = shown_program(item.program, model.schema_, directed)
        keys = [("support", supports[strong.column]), ("smarts", shown["smarts"])]
        known = next((place[key] for key in keys if key[1] is not None and key in place), None)
        if known is None:
            known = len(groups)
            groups.append((strong, shown))
            sizes.append(0)
        sizes[known] += 1
        place |= {key: known for key in keys if key[1] is not None}
    for (strong, shown), size in zip(groups, sizes, strict=True):
        yield _Group(strong, shown, size)


def _alert(model: GDLNNClassifier, group: _Group, held_out: GraphDataset | None, matches: Any) -> Alert:
    strong, shown, size = group
    label = plain(strong.label)
    item = strong.mined
    assert model.schema_ is not None
    matched = model.programs_.supports[:, [strong.column]].toarray().ravel() > 0
    training = _counts(matched, model.training_labels_ == strong.label)
    counts, examples = None, [] if item.example is None else [item.example.smiles]
    if held_out is not None:
        matched, own = matches[:, strong.column], np.asarray(held_out.y == strong.label)
        counts = _counts(matched, own)
        rows = np.flatnonzero(matched & own)[:MOST_EXAMPLES].tolist()
        examples = [_called(held_out, row) for row in rows] or examples
    return Alert(
        shown["words"].removeprefix("Molecules that contain ").removesuffix("."),
        shown["smarts"],
        bool(shown.get("smarts_exact")),
        label,
        model.schema_.class_name(label),
        training,
        counts,
        strong.strength,
        size,
        tuple(examples),
        strong.column,
    )


def _counts(matched: Any, own: Any) -> Counts:
    return Counts(int((matched & own).sum()), int(own.sum()), int((matched & ~own).sum()), int((~own).sum()))


def _called(data: GraphDataset, row: int) -> str:
    return data.ids[row] if data.ids is not None else data.graphs[row].name or f"graph {row}"


# --- files ------------------------------------------------------------------------------------------------


def alerts_csv(alerts: Sequence[Alert]) -> str:
    """Return alerts as a table."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    counts = ("matched", "of_class", "precision", "precision_low", "precision_high")
    odds = ("odds_ratio", "odds_low", "odds_high")
    parts = [f"{part}_{name}" for part in ("training", "held_out") for name in (*counts, *odds)]
    writer.writerow(
        ["alert", "name", "smarts", "smarts_exact", "class", *parts, "contribution", "programs", "examples"]
    )
    for number, alert in enumerate(alerts, start=1):
        cells: list[Any] = [number, alert.name, alert.smarts or "", "yes" if alert.exact else "no"]
        cells.append(alert.class_name)
        for part in (alert.training, alert.held_out):
            told = None if part is None else part.to_json()
            if told is None:
                cells += [""] * (len(counts) + len(odds))
                continue
            low, high = told["precision_interval"] or ("", "")
            precision = "" if told["precision"] is None else told["precision"]
            cells += [told["matched"], told["of_class"], precision, low, high]
            cells += (
                [""] * len(odds)
                if told["odds_ratio"] is None
                else [told["odds_ratio"], *told["odds_interval"]]
            )
        writer.writerow([*cells, alert.contribution, alert.programs, "; ".join(alert.examples)])
    return text.getvalue()


def alerts_smarts(alerts: Sequence[Alert]) -> str:
    """Return the SMARTS that match the same molecules as their programs, one a line, with class and name."""
    return "".join(f"{alert.smarts}\t{alert.class_name}\t{alert.name}\n" for alert in alerts if alert.exact)


def alerts_json(alerts: Sequence[Alert]) -> str:
    """Return alerts as JSON."""
    return json.dumps([alert.to_json() for alert in alerts], ensure_ascii=False, indent=1) + "\n"


def filter_catalog(alerts: Sequence[Alert]) -> Any:
    """Return an RDKit FilterCatalog of the alerts whose SMARTS match the same molecules as their programs.

    Each entry has the properties class, contribution and number.
    """
    rdkit = require("rdkit.Chem.FilterCatalog", "chem", "A filter catalog")
    catalog = rdkit.FilterCatalog()
    for number, alert in enumerate(alerts, start=1):
        if alert.exact:
            entry = rdkit.FilterCatalogEntry(alert.name, rdkit.SmartsMatcher(alert.name, alert.smarts, 1))
            entry.SetProp("class", alert.class_name)
            entry.SetProp("contribution", f"{alert.contribution:.4f}")
            entry.SetProp("number", str(number))
            catalog.AddEntry(entry)
    return catalog
