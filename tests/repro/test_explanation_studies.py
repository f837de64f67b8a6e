"""Known truths, stability, heads, rare classes and domains: figures of small cases, and runs that resume."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from repro.cells import RunConfig, Task, run_cell
from repro.domain import by_domain
from repro.paired import paired_table
from repro.planted import plant
from repro.rules import aims, compute_scores, load_problem, summary, table
from repro.stability import compared


@pytest.fixture(scope="module")
def rows() -> Iterator[list[dict[str, Any]]]:
    tasks = [Task("rules", "made-ring", name, {"graphs": 5}) for name in ("gdlnn", "random")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("repro.rules.plant", partial(plant, n_made=60))
        yield [run_cell(compute_scores, task, RunConfig("out")) for task in tasks]
    load_problem.cache_clear()


def test_explanations_are_closer_to_the_truth_than_random_nodes(rows: list[dict[str, Any]]) -> None:
    ours, random = rows
    assert ours["n_graphs"] == random["n_graphs"] == 5
    assert ours["auc"] > random["auc"] + 0.1
    assert "accuracy" not in random
    assert table(rows).splitlines()[3].startswith("|  | random nodes | 5 | – | – |")
    assert f"| {random['at_size']:.3f} |" in summary(rows).splitlines()[-1]
    assert "of 1 rules without decoys or flipped labels" in aims(rows)


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
    rows = paired_table(["accuracy"], splits).to_numpy().tolist()
    assert rows == [["a", "0.750"], ["b", "0.650"], ["a less b", "+0.100 ± 0.000"]]


def test_domains_take_the_test_graphs_of_all_splits_together() -> None:
    run: dict[str, list[Any]] = {
        "classes": [0, 1],
        "truth": [0, 1, 1],
        "chances": [[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]],
        "labels": [0, 1, 0],
        "domains": ["inside", "inside", "outside"],
    }
    found = {row["domain"]: [row["test graphs"], row["accuracy"]] for row in by_domain([run, run])}
    assert found == {"all": ["6", "0.667"], "inside": ["4", "1.000"], "outside": ["2", "0.000"]}
