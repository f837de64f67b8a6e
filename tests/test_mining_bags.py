"""Mining in bags, and neighborhoods: what is counted over all graphs, what is held out, what is kept."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gdlnn import (
    Feature,
    Graph,
    GraphDataset,
    MiningError,
    ProgramSet,
    Schema,
    make_ba_2motifs,
    match,
    mine,
    neighborhoods,
)
from gdlnn.mining.bags import bag_rows, n_bags
from gdlnn.mining.program_set import matched_rows, smallest_of_equals

if TYPE_CHECKING:
    from pathlib import Path

MOTIFS = make_ba_2motifs(n=24, seed=3)
LETTERS = Schema((Feature("letter", "nominal", {0: "a", 1: "b", 2: "c"}),))


def chain(letters: str) -> Graph:
    nodes = [["abc".index(letter)] for letter in letters]
    return Graph(nodes, list(pairwise(range(len(nodes)))), schema=LETTERS)


def mined(**options: Any) -> ProgramSet:
    return mine(MOTIFS, progress=False, **options)


# --- bags -------------------------------------------------------------------------------------------------


def test_bags_cover_every_graph_once_and_keep_the_shares_of_classes() -> None:
    bags = bag_rows(MOTIFS, 4, seed=0)
    assert sorted(np.concatenate(bags).tolist()) == list(range(len(MOTIFS)))
    assert MOTIFS.y is not None
    for rows in bags:
        assert abs(np.mean(MOTIFS.y[rows]) - np.mean(MOTIFS.y)) < 0.2


@pytest.mark.parametrize(("n_graphs", "expected"), [(3, 1), (100, 4), (1600, 4), (4000, 10), (41_000, 102)])
def test_auto_makes_four_bags_or_bags_of_about_400(n_graphs: int, expected: int) -> None:
    assert n_bags("auto", n_graphs) == expected


@pytest.mark.parametrize("bags", [0, -1, 25, 1.5, True, "many"])
def test_other_numbers_of_bags_are_refused(bags: Any) -> None:
    with pytest.raises(MiningError, match="bags: expected None, auto or a number from 1 to 24"):
        mined(bags=bags)


def test_supports_and_scores_are_counted_over_all_graphs() -> None:
    programs = mined(bags=3)
    assert np.array_equal(programs.supports.toarray(), match(programs.programs, MOTIFS))
    assert programs.info.n_graphs == len(MOTIFS)
    assert MOTIFS.y is not None
    for item, rows in zip(programs, matched_rows(programs.supports), strict=True):
        right = int((MOTIFS.y[rows] == item.label).sum())
        assert item.score == right / (item.n_matched + 0.1)


def test_a_held_out_score_is_that_outside_the_bags_a_program_was_found_in() -> None:
    programs, bags = mined(bags=3), bag_rows(MOTIFS, 3, seed=0)
    assert MOTIFS.y is not None
    for item, column in zip(programs, programs.supports.toarray().T > 0, strict=True):
        scores = []
        for rows in bags:
            if not set(rows.tolist()) & set(item.targets.tolist()):
                continue
            outside = column.copy()
            outside[rows] = False
            scores.append((outside & (MOTIFS.y == item.label)).sum() / (outside.sum() + 0.1))
        assert item.held_out_score == pytest.approx(np.mean(scores))


def test_without_bags_there_is_no_held_out_score() -> None:
    assert all(item.held_out_score is None for item in mined(targets=range(4)))


def test_programs_mined_in_bags_are_ranked_by_their_held_out_score() -> None:
    scores = [item.held_out_score or 0.0 for item in mined(bags=3).ranked()]
    assert scores == sorted(scores, reverse=True)


def test_bags_resume_from_checkpoints_and_do_not_depend_on_threads(tmp_path: Path) -> None:
    checkpoint = tmp_path / "run.ckpt"
    first = mined(bags=3, checkpoint=checkpoint)
    assert sorted(path.name for path in tmp_path.glob("[!.]*")) == [f"run.ckpt.bag-{i}" for i in (1, 2, 3)]
    assert mined(bags=3, checkpoint=checkpoint) == first
    assert mined(bags=3, n_jobs=2) == first


# --- neighborhoods ---------------------------------------------------------------------------------------


def test_structure_joins_labels_by_default() -> None:
    data = GraphDataset([chain("abc"), chain("abcc")], schema=LETTERS)
    found = neighborhoods(data, radius=0)
    assert found.schema is not None
    assert [feature.name for feature in found.schema.node] == ["letter", "degree", "ring"]
    assert [feature.name for feature in (neighborhoods(data, structure=False).schema or LETTERS).node] == [
        "letter"
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [({"radius": -1}, "radius"), ({"min_support": 0}, "min_support"), ({"structure": "no"}, "structure")],
)
def test_wrong_parameters_of_neighborhoods_are_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises(MiningError, match=words):
        neighborhoods(MOTIFS, **options)


def test_of_programs_that_match_the_same_graphs_the_smallest_takes_the_place_of_the_first() -> None:
    found = neighborhoods(MOTIFS, radius=2)
    large = max(found.programs, key=lambda program: len(program.nodes))
    programs = [large, *found.programs[:2]]
    assert smallest_of_equals(programs, found.supports[:, [0, 1, 0]]) == [2, 1]
    assert smallest_of_equals(programs, found.supports[:, [0, 1, 2]]) == [0, 1, 2]
