"""From sets of mined programs to the columns of the layer: merging, labels, scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gdlnn import MinedProgram, ModelError, Program, ProgramSet, make_ba_2motifs, mine
from gdlnn.mining import SetInfo
from gdlnn.model.vocabulary import AUTO_EPSILONS, listed_epsilons, merged_columns

A = Program.parse("node a")
B = Program.parse("node a\nnode b\nedge (a, b)")


def info(epsilon: float, **changes: Any) -> SetInfo:
    values: dict[str, Any] = {
        "n_graphs": 4,
        "label_counts": (("no", 2), ("yes", 2)),
        "directed": False,
        "n_node_features": 0,
        "n_edge_features": 0,
        "settings": {"epsilon": epsilon},
        "n_targets": 4,
    }
    return SetInfo(**{**values, **changes})


def mined(
    program: Program, label: str, rows: list[int], right: int, epsilon: float, target: int
) -> MinedProgram:
    support = np.isin(np.arange(4), rows)
    return MinedProgram(program, label, right / (len(rows) + epsilon), support, np.array([target]), 1)


def test_one_column_per_program_with_the_label_of_the_higher_score() -> None:
    one = ProgramSet([mined(A, "no", [0, 1, 2], 1, 0.1, 0), mined(A, "yes", [0, 1, 2], 2, 0.1, 2)], info(0.1))
    merged = merged_columns([one])
    assert [item.label for item in merged] == ["yes"]
    assert merged[0].targets.tolist() == [0, 2]
    assert merged[0].score == 2 / 3.1


def test_scores_of_several_epsilons_are_counted_with_the_first() -> None:
    one = ProgramSet([mined(A, "yes", [1, 2, 3], 2, 0.1, 1)], info(0.1))
    two = ProgramSet([mined(B, "yes", [2, 3], 2, 1, 2), mined(A, "yes", [1, 2, 3], 2, 1, 3)], info(1.0))
    merged = merged_columns([one, two])
    assert merged.programs == [A, B]
    assert merged.scores.tolist() == [2 / 3.1, 2 / 2.1]
    assert merged[0].targets.tolist() == [1, 3]
    assert merged.info.settings == {"epsilon": 0.1, "epsilons": [0.1, 1.0]}
    assert merged.ranked().programs == [B, A]


def test_programs_with_equal_support_can_be_merged() -> None:
    both = ProgramSet([mined(B, "yes", [2, 3], 2, 0.1, 2), mined(A, "yes", [2, 3], 2, 0.1, 3)], info(0.1))
    assert len(merged_columns([both])) == 2
    merged = merged_columns([both], merge_equal=True)
    assert merged.programs == [A]
    assert merged[0].targets.tolist() == [2, 3]


def test_sets_of_other_graphs_are_refused() -> None:
    one = ProgramSet([mined(A, "yes", [1], 1, 0.1, 1)], info(0.1))
    two = ProgramSet([mined(A, "yes", [1], 1, 0.1, 1)], info(0.1, fingerprint="other"))
    with pytest.raises(ModelError, match="fingerprint differ"):
        merged_columns([one, two])
    with pytest.raises(ModelError, match="at least one set"):
        merged_columns([])


def test_epsilons_that_come_to_the_same_are_mined_once() -> None:
    assert listed_epsilons((0.1, 1, "1%"), 100) == [0.1, 1]
    assert listed_epsilons(("1%", 2), 200) == ["1%"]
    assert listed_epsilons(0.5, 10) == [0.5]
    with pytest.raises(ModelError, match="epsilon: expected"):
        listed_epsilons((), 10)


def test_columns_of_mined_sets_keep_their_supports() -> None:
    data = make_ba_2motifs(16, seed=1)
    sets = [mine(data, epsilon=epsilon, progress=False) for epsilon in (0.1, 1)]
    merged = merged_columns(sets)
    assert len(set(merged.programs)) == len(merged)
    assert set(merged.programs) == {program for programs in sets for program in programs.programs}
    for item in merged:
        right = int((np.asarray(data.y)[item.support] == item.label).sum())
        assert item.score == right / (item.n_matched + 0.1)


def test_auto_is_several_epsilons() -> None:
    assert set(listed_epsilons("auto", 50)) <= set(AUTO_EPSILONS)
