"""The figures of the mining benchmark as Markdown."""

from __future__ import annotations

from typing import Any

Figures = dict[str, Any]


def report(found: Figures, command: str) -> str:
    """Return the page: the cost table, memory, the curve, the objective."""
    parts = [
        "# What mining costs",
        (
            f"Written by `{command}` ({found['machine']}). CPU seconds over all threads; a target's "
            "time is that of all its descents. *Whole set* is the whole call of `mine()`, set-up and "
            "canonical forms included. A ✗ marks a figure that misses its aim."
        ),
        _cost_table(found["costs"], found["aims"]),
    ]
    if "memory" in found:
        memory = found["memory"]
        parts.append(
            f"Memory: {memory['name']} with {memory['threads']} threads peaks at {memory['peak_mb']:.0f} MB, "
            f"Python and the dataset included ({memory['n_targets']} targets)."
        )
    if "curve" in found:
        parts += ["## Cost against the number of graphs", _curve(found["curve"])]
    if found.get("objective"):
        parts += ["## The objective compared with random programs", _objective(found["objective"])]
    return "\n\n".join(parts) + "\n"


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _met(value: float, aim: float, digits: int = 3) -> str:
    return f"{value:.{digits}g} / {aim:g}" + ("" if value <= aim else " ✗")


def _cost_table(costs: list[Figures], aims: dict[str, tuple[float, float]]) -> str:
    header = [
        "dataset", "graphs", "targets", "programs", "ms per target / aim", "median", "97 %", "largest",
        "whole set, s / aim", "tests", "unknown", "peak MB",
    ]  # fmt: skip
    rows = []
    for cost in costs:
        per_target, whole = aims[cost["name"]]
        complete = cost["n_targets"] == cost["n_graphs"]
        rows.append(
            [
                cost["name"],
                str(cost["n_graphs"]),
                str(cost["n_targets"]),
                str(cost["n_programs"]),
                _met(1000 * cost["cpu_seconds"] / cost["n_targets"], 1000 * per_target),
                f"{1000 * cost['median']:.2g}",
                f"{1000 * cost['p97']:.2g}",
                f"{1000 * cost['largest']:.2g}",
                _met(cost["cpu_seconds"], whole) if complete else "–",
                f"{cost['tests']:,}",
                f"{cost['unknown'] / max(1, cost['tests']):.4%}",
                f"{cost['peak_mb']:.0f}",
            ]
        )
    return f"ε = {costs[0]['epsilon']}\n\n" + markdown_table(header, rows) if costs else ""


def _curve(curve: Figures) -> str:
    rows = [
        [
            str(point["n_graphs"]),
            f"{1000 * point['seconds'] / curve['n_targets']:.3g}",
            f"{point['tests'] / curve['n_targets']:,.0f}",
        ]
        for point in curve["points"]
    ]
    table = markdown_table(["graphs", "ms per target", "tests per target"], rows)
    return (
        f"{curve['n_targets']} targets of {curve['name']}, mined with 1/8 to all of its training graphs, "
        f"each part within the next.\n\n{table}\n\nFitted: cost ∝ |D|^{curve['exponent']:.2f}."
    )


def _objective(found: list[Figures]) -> str:
    rows = []
    for figures in found:
        for row in figures["rows"]:
            chance = row["random"]
            spread = f"{sum(chance) / len(chance):.4f} ({min(chance):.4f} to {max(chance):.4f})"
            rows.append(
                [figures["name"], str(row["k"]), f"{row['mined']:.4f}", spread, f"{figures['alike']:.4f}"]
            )
    table = markdown_table(["dataset", "k", "top k mined", "k random ones", "all graphs alike"], rows)
    return (
        "The paper's objective per pair of graphs, on the training set, for the k best programs and for "
        "as many random connected pieces of training graphs with the same numbers of nodes (mean and range "
        f"of 5 seeds). *All graphs alike* is what programs get that match nothing.\n\n{table}"
    )
