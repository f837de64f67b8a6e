"""Known truths, stability, heads, rare classes and domains: figures of small cases, and runs that resume."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from repro.domain import by_domain
from repro.paired import paired_table
from repro.planted import RULES, plant
from repro.rows import Rows, measure_all
from repro.rules import Problem, aims, measured, summary, table
from repro.stability import compared

if TYPE_CHECKING:
    from pathlib import Path


def test_what_was_measured_is_not_measured_again(tmp_path: Path) -> None:
    calls = tmp_path / "calls"

    def double(x: int) -> int:
        calls.write_text(f"{calls.read_text() if calls.exists() else ''}{x} ")
        return 2 * x

    file = tmp_path / "rows.jsonl"
    assert measure_all(double, [{"x": 1}, {"x": 2}], file) == [2, 4]
    assert measure_all(double, [{"x": 3}, {"x": 2}], file) == [6, 4]
    assert calls.read_text() == "1 2 3 "
    Rows(file).add({"x": 9, "gdlnn": "0.0", "result": 0})
    assert Rows(file).find({"x": 9}) is None  # measured with another version


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    train, val, test, misled = plant(RULES["made-ring"], 0, None, n_made=60)
    problem = Problem("made-ring", train, val, test, np.asarray(test.y), misled)
    wanted = [{"rule": "made-ring", "method": name, "seed": 0, "graphs": 5} for name in ("gdlnn", "random")]
    return list(measured(problem, wanted))


def test_explanations_are_closer_to_the_truth_than_random_nodes(rows: list[dict[str, Any]]) -> None:
    ours, random = rows
    assert ours["n_graphs"] == random["n_graphs"] == 5
    assert ours["auc"] > random["auc"] + 0.1
    assert "accuracy" not in random
    assert table(rows).splitlines()[3].startswith("|  | random nodes | 5 | – | – |")
    assert f"| {random['at_size']:.3f} |" in summary(rows).splitlines()[-1]
    assert "of 1 noiseless rules" in aims(rows)


def test_stability_compares_explanations_of_the_same_class() -> None:
    def explanation(label: str, nodes: list[int], enough: bool = True) -> dict[str, Any]:
        values = {"share": len(nodes) / 4, "programs": 1, "has_reason": bool(nodes), "enough": enough}
        return {"class": label, "nodes": nodes, **values}

    first = {"accuracy": 1.0, "explanations": [explanation("a", [0, 1]), explanation("a", [])]}
    second = {"accuracy": 0.5, "explanations": [explanation("a", [1, 2], False), explanation("b", [3])]}
    found = compared([first, second])
    assert found == pytest.approx([0.75, 1 / 3, 0.5, 0.25, 0.5, 1.0, 2 / 3])


def test_differences_are_paired() -> None:
    splits = [{"a": [0.9], "b": [0.8]}, {"a": [0.6], "b": [0.5]}]
    lines = paired_table(["accuracy"], splits, [("a", "b")]).splitlines()
    assert lines[2:] == ["| a | 0.750 |", "| b | 0.650 |", "| a less b | +0.100 ± 0.000 |"]


def test_domains_take_the_test_graphs_of_all_splits_together() -> None:
    run: dict[str, list[Any]] = {
        "classes": [0, 1],
        "truth": [0, 1, 1],
        "chances": [[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]],
        "labels": [0, 1, 0],
        "domains": ["inside", "inside", "outside"],
    }
    found = {row[0]: row[1:3] for row in by_domain([run, run])}
    assert found == {"all": ["6", "0.667"], "inside": ["4", "1.000"], "outside": ["2", "0.000"]}
