"""Alerts: the programs of a model as structural alerts, each listed once, with counts and intervals."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csc_array, csr_array

from gdlnn.errors import ExplanationError, require
from gdlnn.explain.explanation import plain
from gdlnn.io.frames import table_text
from gdlnn.mining.program_set import support_keys
from gdlnn.model.program_effects import ranked_programs, sides
from gdlnn.report.cards import shown_program
from gdlnn.report.performance import Counts, checked_labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from gdlnn.graphs import GraphDataset
    from gdlnn.model import GDLNNClassifier
    from gdlnn.model.program_effects import StrongProgram

MOST_EXAMPLES = 3


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
        Where it matches; None without held-out molecules.
    contribution
        By how much it alone raises the probability of the class.
    programs
        How many programs of the model say the same: they match the same training graphs, or have the same
        SMARTS.
    examples
        Molecules that it matches: identifiers, or SMILES.
    column
        Its column in the model.
    model
        The label that the model predicts, in a folder of models.
    """

    name: str
    smarts: str | None
    exact: bool
    label: Any
    class_name: str
    training: Counts
    held_out: Counts | None
    contribution: float
    programs: int
    examples: tuple[str, ...]
    column: int
    model: str = ""

    @property
    def counted(self) -> Counts:
        """The counts on held-out molecules, or those on training molecules without any."""
        return self.training if self.held_out is None else self.held_out

    def to_json(self) -> dict[str, Any]:
        """Return the alert as plain JSON values."""
        return {
            **({"model": self.model} if self.model else {}),
            "name": self.name,
            "smarts": self.smarts,
            "smarts_exact": self.exact,
            "label": self.label,
            "class": self.class_name,
            "training": _figures(self.training),
            "held_out": _figures(self.held_out),
            "contribution": self.contribution,
            "programs": self.programs,
            "examples": list(self.examples),
        }


def find_alerts(
    model: GDLNNClassifier,
    held_out: GraphDataset | None = None,
    most: int | None = 100,
    label: Any = None,
    min_support: int = 10,
) -> list[Alert]:
    """Return programs that speak for a class, each substructure once, the most useful first.

    Of a regressor the classes are values higher and lower than the training median.

    An alert is the more useful, the more the lower bound of its precision exceeds the share of its class, and
    the more molecules of its class it matches that no alert before it does; both on held-out molecules if
    there are any. Those that are not clearly more frequent in their class than in others are left out.

    Parameters
    ----------
    model
        A fitted model of molecules.
    held_out
        Labeled molecules that it was not trained on, for counts and examples.
    most
        How many alerts; None for all.
    label
        The class they are to speak for; None for any.
    min_support
        The fewest training molecules that an alert matches; of held-out molecules, half as many.
    """
    if model.schema_ is None or model.schema_.domain != "molecule":
        raise ExplanationError("alerts: expected a model of molecules, got one of other graphs")
    matches, y = model.programs_.supports, sides(model, model.training_.labels)
    if held_out is not None:
        y = sides(model, checked_labels(model, held_out, "alerts"))
        matches = csc_array(model.represent(held_out).matches)
    groups = _groups(model, label, min_support)
    alerts = [_alert(model, *group, held_out, matches) for group in groups]
    fewest = 0 if held_out is None else (min_support + 1) // 2
    # A program may speak for a class only together with others, or match nearly all molecules.
    kept = [one for one in alerts if one.training.odds_ratio()[1] > 1 and one.counted.matched >= fewest]
    return _most_useful_first(kept, matches, y)[:most]


def _most_useful_first(alerts: list[Alert], matches: Any, y: npt.NDArray[Any]) -> list[Alert]:
    """Order alerts by how far their precision is above chance for sure, times the molecules that they add."""
    if not alerts:
        return []
    found = csr_array(matches[:, [alert.column for alert in alerts]].T, dtype=np.float64)
    own = found.multiply(np.stack([y == alert.label for alert in alerts])).tocsr()
    bounds = np.array([(alert.counted.precision()["precision_interval"] or [0])[0] for alert in alerts])
    bounds -= [(y == alert.label).mean() for alert in alerts]  # else what nearly all molecules have is first
    order = sorted(range(len(alerts)), key=lambda i: (-bounds[i] * own[[i]].sum(), i))
    uncovered, chosen = np.ones(len(y)), []
    left = np.ones(len(alerts), dtype=bool)
    while (gains := np.where(left, bounds * (own @ uncovered), 0)).max() > 0:
        best = int(gains.argmax())
        chosen.append(best)
        left[best] = False
        uncovered[own[[best]].indices] = 0
    return [alerts[i] for i in [*chosen, *(i for i in order if left[i])]]


Group = tuple["StrongProgram", dict[str, Any], int]
"""The strongest of the programs that say the same, what is shown of it, and how many these are."""


def _groups(model: GDLNNClassifier, label: Any, min_support: int) -> list[Group]:
    """Return programs, those together that match the same training graphs or have the same SMARTS."""
    directed = model.programs_.info.directed
    supports = support_keys(model.programs_.supports)
    place: dict[Any, int] = {}
    groups: list[Group] = []
    for strong in ranked_programs(model):
        item = strong.mined
        if strong.strength <= 0 or item.n_matched < min_support or label not in (None, plain(strong.label)):
            continue
        shown = shown_program(item.program, model.schema_, directed)
        keys = [("support", supports[strong.column]), ("smarts", shown["smarts"])]
        keys = [key for key in keys if key[1] is not None]
        known = next((place[key] for key in keys if key in place), len(groups))
        if known == len(groups):
            groups.append((strong, shown, 0))
        first, of_first, size = groups[known]
        groups[known] = (first, of_first, size + 1)
        place |= dict.fromkeys(keys, known)
    return groups


def _alert(
    model: GDLNNClassifier,
    strong: StrongProgram,
    shown: dict[str, Any],
    size: int,
    held_out: GraphDataset | None,
    matches: Any,
) -> Alert:
    assert model.schema_ is not None
    label, item = plain(strong.label), strong.mined
    matched = model.programs_.supports[:, [strong.column]].toarray().ravel() > 0
    training = Counts.of(matched, sides(model, model.training_.labels) == strong.label)
    counts, examples = None, [] if item.example is None else [item.example.smiles]
    if held_out is not None:
        matched = matches[:, [strong.column]].toarray().ravel() > 0
        own = np.asarray(sides(model, np.asarray(held_out.y)) == strong.label)
        counts = Counts.of(matched, own)
        rows = np.flatnonzero(matched & own)[:MOST_EXAMPLES].tolist()
        examples = [_called(held_out, row) for row in rows] or examples
    return Alert(
        name=shown["words"].removeprefix("Molecules that contain ").removesuffix("."),
        smarts=shown["smarts"],
        exact=bool(shown.get("smarts_exact")),
        label=label,
        class_name=model.schema_.class_name(label),
        training=training,
        held_out=counts,
        contribution=strong.strength,
        programs=size,
        examples=tuple(examples),
        column=strong.column,
    )


def _called(data: GraphDataset, row: int) -> str:
    return data.ids[row] if data.ids is not None else data.graphs[row].name or f"graph {row}"


def _figures(counts: Counts | None) -> dict[str, Any] | None:
    """Return counts with the precision and the odds ratio, each with its 95% interval."""
    if counts is None:
        return None
    known = 0 < counts.matched < counts.n_own + counts.n_others  # else the ratio shows class sizes alone
    odds = counts.odds() if known else {"odds_ratio": None, "odds_interval": None}
    return {"matched": counts.matched, "of_class": counts.own, **counts.precision(), **odds}


# --- files ------------------------------------------------------------------------------------------------


def alerts_csv(alerts: Sequence[Alert]) -> str:
    """Return alerts as a table; those of several models also with the labels that these predict."""
    of_model = ["model"] if any(alert.model for alert in alerts) else []
    counts = ("matched", "of_class", "precision", "precision_low", "precision_high")
    odds = ("odds_ratio", "odds_low", "odds_high")
    parts = [f"{part}_{name}" for part in ("training", "held_out") for name in (*counts, *odds)]
    head = ["alert", *of_model, "name", "smarts", "smarts_exact", "class"]
    rows: list[list[Any]] = [[*head, *parts, "contribution", "programs", "examples"]]
    for number, alert in enumerate(alerts, start=1):
        exact = "yes" if alert.exact else "no"
        cells = [cell for part in (alert.training, alert.held_out) for cell in _cells(part)]
        examples = "; ".join(alert.examples)
        first = [number, *[alert.model for _ in of_model]]
        named = [alert.name, alert.smarts, exact, alert.class_name]
        rows.append([*first, *named, *cells, alert.contribution, alert.programs, examples])
    return table_text(rows)


def _cells(counts: Counts | None) -> list[Any]:
    """Return the figures of an alert in the order of the table's columns; None is an empty cell."""
    found = _figures(counts) or {}
    cells = [found.get(name) for name in ("matched", "of_class", "precision")]
    cells += found.get("precision_interval") or [None, None]
    return [*cells, found.get("odds_ratio"), *(found.get("odds_interval") or [None, None])]


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
