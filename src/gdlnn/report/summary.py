"""The first paragraph of a report: what the model is, how good, what it goes by, what not to use it for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

FEWEST_JUDGED = 10
"""Fewest graphs outside the domain for which the accuracy is given."""
MOST_NAMED = 2
"""Patterns that are named for each class."""
_NAMES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "roc_auc": "ROC-AUC",
    "pr_auc": "PR-AUC",
    "mcc": "Matthews correlation",
}


def summary(report: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the sentences of the first paragraph, each with the question that it answers."""
    graphs = "molecules" if report["molecules"] else "graphs"
    return [
        {"of": "what", "text": _what(report, graphs)},
        {"of": "tried", "text": _tried(report, graphs)},
        {"of": "good", "text": _good(report, graphs)},
        {"of": "goes by", "text": _goes_by(report)},
        {"of": "not for", "text": _not_for(report, graphs)},
    ]


def _names(report: Mapping[str, Any]) -> dict[Any, str]:
    return {item["label"]: item["name"] for item in report["classes"]}


def _what(report: Mapping[str, Any], graphs: str) -> str:
    classes = [f"“{item['name']}”" for item in report["classes"]]
    named = f"{', '.join(classes[:-1])} or {classes[-1]}" if len(classes) > 1 else classes[0]
    training = report["data"]["training"]["graphs"]
    n = report["model"]["n_programs"]
    kind = "a scorecard of" if report["scorecard"] else "made of"
    return (
        f"This model says whether {graphs} are {named}. It is {kind} {n:,} readable "
        f"pattern{'s' if n != 1 else ''}, found in {training:,} training {graphs}."
    )


def _tried(report: Mapping[str, Any], graphs: str) -> str:
    held_out = report["data"]["held_out"]
    text = f"It was tried on {held_out['graphs']:,} {graphs}"
    if held_out["left_out"]:
        more = f"{held_out['left_out']:,} more were left out, since it was trained on them"
        return f"{text} that it had not seen; {more}."
    return f"{text} that it had not seen."


def _good(report: Mapping[str, Any], graphs: str) -> str:
    found = report["performance"]
    scores = []
    for name in found["order"][:2]:
        value, bounds = found["scores"][name], found["scores"]["intervals"].get(name)
        if value is not None:
            between = f" (95% interval {bounds[0]:.2f} to {bounds[1]:.2f})" if bounds else ""
            scores.append(f"{_NAMES[name]} is {value:.2f}{between}")
    majority = found["majority"]
    name = _names(report).get(majority["label"], str(majority["label"]))
    start = " and ".join(scores) or f"{found['n_right']} of {found['n']} are right"
    return (
        f"{start[0].upper()}{start[1:]}. It is right in {found['accuracy']:.0%} of the {graphs}; always "
        f"saying “{name}” would be right in {majority['accuracy']:.0%}."
    )


def _goes_by(report: Mapping[str, Any]) -> str:
    names, sentences = _names(report), []
    for item in report["global"]:
        name = f"“{names.get(item['label'], item['label'])}”"
        words = [place["name"] for place in item["places"][:MOST_NAMED]]
        if words:
            sentences.append(f"For {name} it mainly goes by {', and by '.join(words)}.")
        else:
            sentences.append(f"For {name} no single place stands out.")
    return " ".join(sentences)


def _not_for(report: Mapping[str, Any], graphs: str) -> str:
    """Say where the model is weak, as far as the held-out graphs show it."""
    found, names = report["performance"], _names(report)
    by_domain = {item["domain"]: item["scores"] for item in found["domains"]}
    outside, inside = by_domain.get("outside"), by_domain.get("inside")
    text = f"Do not rely on it for {graphs} unlike the training ones"
    if outside is not None and outside["n"] < FEWEST_JUDGED:
        text += f": too few are here to judge it by ({outside['n']})"
    elif outside is not None and inside is not None:
        right, others = outside["accuracy"], inside["accuracy"]
        text += f": of the {outside['n']} such here {right:.0%} were right, of those inside {others:.0%}"
    text += "."
    weak = [
        item
        for item in found["scores"]["classes"]
        if item["precision"] is not None and item["n"] and item["precision"] < 0.9
    ]
    for item in sorted(weak, key=lambda item: item["precision"])[:1]:
        wrong = 1 - item["precision"]
        text += f" Of the {graphs} that it calls “{names[item['label']]}”, {wrong:.0%} are not."
    return f"{text} A pattern that goes along with a class need not be its cause."
