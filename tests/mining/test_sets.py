"""ProgramSet: merging, ranking, filtering, views, files; and what the result may and may not depend on."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gdlnn import Feature, Graph, GraphDataset, Program, ProgramSet, Schema, mine
from gdlnn.errors import MiningError
from gdlnn.matching import match
from gdlnn.mining import MinedProgram
from gdlnn.mining.descents import choose_targets
from gdlnn.mining.program_set import SetInfo, support_matrix
from gdlnn.mining.settings import MOST_TARGETS
from reference.mining_cases import random_trees
from reference.random_cases import renumbered

TREES = random_trees(40)


@pytest.fixture(scope="module")
def programs() -> ProgramSet:
    return mine(TREES)


def recount(programs: ProgramSet, dataset: GraphDataset, epsilon: float = 0.1) -> None:
    """Check every score and support against `match`."""
    y = np.asarray(dataset.y)
    table = match(programs.programs, dataset)
    assert np.array_equal(programs.supports.toarray(), table)
    for item, column in zip(programs, table.T, strict=True):
        assert item.complete
        assert item.n_matched == column.sum()
        assert item.score == (column & (y == item.label)).sum() / (column.sum() + epsilon)


def test_scores_and_supports_are_what_match_counts(programs: ProgramSet) -> None:
    recount(programs, TREES)


def test_every_target_has_its_program(programs: ProgramSet) -> None:
    assert programs.complete
    for row in range(len(TREES)):
        (item,) = mine(TREES, targets=[row])
        column = list(programs).index(item)
        assert item.label == np.asarray(TREES.y)[row]
        assert programs.supports[row, column]


def test_programs_are_canonical_and_merged(programs: ProgramSet) -> None:
    assert all(item.program == item.program.canonical() for item in programs)
    assert len({(item.label, item.program) for item in programs}) == len(programs)


@pytest.mark.parametrize("settings", [{}, {"strategy": "sequential"}, {"connected": False}])
def test_threads_change_nothing(settings: dict[str, object]) -> None:
    texts = {mine(TREES, n_jobs=jobs, **settings).to_text() for jobs in (1, 2, 8)}  # type: ignore[arg-type]
    assert len(texts) == 1


def test_threads_change_nothing_where_budgets_run_out() -> None:
    found = [mine(TREES, n_jobs=jobs, step_budget=12, targets=range(20)) for jobs in (1, 2, 8)]
    assert found[0].stats["unknown"] > 0
    assert len({programs.to_text() for programs in found}) == 1
    recount(found[0], TREES)


def test_auto_takes_all_targets_up_to_a_limit() -> None:
    few, many = np.arange(2000, dtype=np.int32) % 2, np.arange(9000, dtype=np.int32) % 3 // 2
    assert choose_targets("auto", few, 0).tolist() == list(range(2000))
    rows = choose_targets("auto", many, 0)
    assert len(rows) == MOST_TARGETS
    assert many[rows].mean() == pytest.approx(1 / 3, abs=0.001)


def test_the_order_of_rows_changes_nothing() -> None:
    rows = np.array([4, 7, 39])
    assert mine(TREES, targets=[7, 4, 39, 4]).to_text() == mine(TREES, targets=rows).to_text()


def test_each_component_of_a_target_gives_a_program() -> None:
    ions = Graph([[1.0], [2.0], [7.0]], [[0, 1]])
    other = Graph([[3.0], [4.0]], [[0, 1]])
    empty = Graph(np.zeros((0, 1)), [])
    dataset = GraphDataset([ions, other, empty], [0, 1, 0])
    found = mine(dataset)
    assert found.complete
    assert len(mine(dataset, targets=[0])) == 2
    assert len(mine(dataset, targets=[2])) == 0  # nothing to start from
    assert len(mine(dataset, targets=[0], connected=False)) == 1


def test_isomorphic_targets_of_one_label_are_mined_once() -> None:
    rng = np.random.default_rng(5)
    again = [renumbered(rng, graph) for graph in TREES.graphs]
    twins = GraphDataset([*TREES.graphs, *again], np.tile(np.asarray(TREES.y), 2))
    found = mine(twins)
    assert found.stats["tasks"] == 40
    relabeled = GraphDataset(twins.graphs, [*np.asarray(TREES.y), *(["other"] * 40)])
    assert mine(relabeled).stats["tasks"] == 80


def made(scores: list[tuple[str, float, int]]) -> ProgramSet:
    """Return a set with these labels, scores and sizes of support."""
    items = [
        MinedProgram(Program([(f"x{i}", None)]), label, score, n_matched)
        for i, (label, score, n_matched) in enumerate(scores)
    ]
    supports = support_matrix([np.arange(n_matched) for _, _, n_matched in scores], 20)
    return ProgramSet(items, supports, SetInfo(20, (("a", 5), ("b", 15)), False, 0, 0, {}))


def numbers(programs: ProgramSet) -> list[int]:
    """Return the places in `made` that programs have."""
    return [int(item.program.variables[0][1:]) for item in programs]


def test_top_ranks_by_score_then_support_then_target() -> None:
    found = made([("a", 0.5, 3), ("b", 0.9, 2), ("b", 0.9, 4), ("a", 0.5, 3), ("a", 0.95, 1)])
    assert numbers(found.top(5)) == [4, 2, 1, 0, 3]
    assert numbers(found.top(2)) == [4, 2]
    assert len(found.top(100)) == 5
    assert len(found.top(0)) == 0
    assert len(found.top(0.1)) == 2  # of the 20 graphs
    assert len(found.top(0.001)) == 1
    assert numbers(found.top(1, per_label=True)) == [4, 2]
    assert numbers(found.top(0.2, per_label=True)) == [4, 2, 1]  # 1 of 5, 3 of 15


@pytest.mark.parametrize("k", [-1, 1.5, 0.0, True, "3", float("nan")])
def test_top_refuses_what_is_no_number(k: object) -> None:
    with pytest.raises(MiningError, match="k: expected"):
        made([("a", 0.5, 3)]).top(k)  # type: ignore[arg-type]


def test_filter_drops_programs_of_low_support(programs: ProgramSet) -> None:
    found = made([("a", 0.29, 3), ("a", 0.31, 1), ("b", 0.89, 2), ("b", 0.91, 4)])
    assert numbers(found.filter(min_support=2)) == [0, 2, 3]
    assert len(found.filter()) == 4
    assert mine(TREES, min_support=3) == programs.filter(3)


def test_saved_and_loaded_is_the_same(programs: ProgramSet, tmp_path: Path) -> None:
    path = tmp_path / "trees.jsonl"
    programs.save(path)
    loaded = ProgramSet.load(path)
    assert loaded == programs
    assert loaded.to_text().encode() == path.read_bytes()
    assert loaded.labels == programs.labels
    recount(loaded, TREES)
    assert [path] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "labels", [[0, 1, 1], [0.5, -1.0, 0.5], [True, False, True], ["a b", 'say "x"', "é"], [-7, 3, 10**12]]
)
def test_labels_of_every_kind_come_back(labels: list[Any]) -> None:
    graphs = [Graph([[float(i)], [1.0]], [[0, 1]]) for i in range(3)]
    found = mine(GraphDataset(graphs, labels, name='odd\n"name"'))
    loaded = ProgramSet.from_text(found.to_text())
    assert loaded == found
    assert [type(label) for label in loaded.labels] == [type(label) for label in labels[: len(loaded)]]


def test_a_schema_is_kept_and_gives_words() -> None:
    schema = Schema((Feature("atom", "nominal", {0.0: "C", 1.0: "N"}),), (), {0: "no", 1: "yes"})
    graphs = [Graph([[0.0], [1.0]], [[0, 1]], schema=schema), Graph([[0.0], [0.0]], [[0, 1]], schema=schema)]
    found = mine(GraphDataset(graphs, [1, 0]))
    text = found.to_text()
    assert ProgramSet.from_text(text).schema == schema
    assert text.count('{"words": "') == len(found)
    assert "yes" in found.summary()


@pytest.mark.parametrize(
    ("find", "put", "message"),
    [
        ('"n_graphs": 40', '"graphs": 40', "n_graphs: expected int, got None"),
        ('{"format": 1', '{"format": 9', "expected format 1, got 9"),
        ('{"format"', '["format"', "x.jsonl: expected a set of programs as JSON"),
        ('{"info"', '{"about"', "expected a set of programs as JSON: a missing entry: 'info'"),
        (
            '"score": ',
            '"points": ',
            "program 1: expected a set of programs as JSON: score: expected float or int",
        ),
        ('"label": "', '"label": "no', "label: expected one of"),
        ('"support": "', '"support": "99,', "expected increasing rows from 0 to 39, got '99,"),
        ("node x0 <[", "node x0 <[0.0, 0.0], [", "interval"),
        ("node x0", "nod x0", "program 1: expected a set of programs as JSON: line 1, column 1"),
    ],
)
def test_a_broken_file_is_refused(
    programs: ProgramSet, tmp_path: Path, find: str, put: str, message: str
) -> None:
    text = programs.to_text()
    assert find in text
    (tmp_path / "x.jsonl").write_text(text.replace(find, put, 1))
    with pytest.raises(MiningError, match=re.escape(message)):
        ProgramSet.load(tmp_path / "x.jsonl")
