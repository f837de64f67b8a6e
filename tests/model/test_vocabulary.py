"""From sets of mined programs to the columns of the layer: merging, labels, scores."""

from typing import Any

import numpy as np
import pytest

from gdlnn import (
    GDLNNClassifier,
    MinedProgram,
    ModelError,
    Neighborhoods,
    Program,
    ProgramSet,
    make_ba_2motifs,
    mine,
)
from gdlnn.mining import SetInfo
from gdlnn.mining.program_set import matched_rows, support_matrix
from gdlnn.model.vocabulary import listed_epsilons, merged_columns

A = Program.parse("node a")
B = Program.parse("node a\nnode b\nedge (a, b)")


def mined(
    *found: tuple[Program, str, list[int], int], epsilon: float = 0.1, fingerprint: str = ""
) -> ProgramSet:
    """Return programs with a label, the rows they match, and how many of these are right."""
    items = [
        MinedProgram(program, label, right / (len(rows) + epsilon), len(rows))
        for program, label, rows, right in found
    ]
    supports = support_matrix([np.array(rows) for _, _, rows, _ in found], 4)
    counts, settings = (("no", 2), ("yes", 2)), {"epsilon": epsilon}
    return ProgramSet(items, supports, SetInfo(4, counts, False, 0, 0, settings, fingerprint=fingerprint))


def test_one_column_per_program_with_the_label_of_the_higher_score() -> None:
    one = mined((A, "no", [0, 1, 2], 1), (A, "yes", [0, 1, 2], 2))
    merged = merged_columns([one])
    assert [item.label for item in merged] == ["yes"]
    assert merged[0].score == 2 / 3.1


def test_scores_of_several_epsilons_are_counted_with_the_first() -> None:
    one = mined((A, "yes", [1, 2, 3], 2))
    two = mined((B, "yes", [2, 3], 2), (A, "yes", [1, 2, 3], 2), epsilon=1.0)
    merged = merged_columns([one, two])
    assert merged.programs == [A, B]
    assert merged.scores.tolist() == [2 / 3.1, 2 / 2.1]
    assert merged.info.settings == {"epsilon": 0.1, "epsilons": [0.1, 1.0]}
    assert merged.ranked().programs == [B, A]


def test_programs_with_equal_support_can_be_merged() -> None:
    both = mined((B, "yes", [2, 3], 2), (A, "yes", [2, 3], 2))
    assert len(merged_columns([both])) == 2
    merged = merged_columns([both], merge_equal=True)
    assert merged.programs == [A]


def test_sets_of_other_graphs_are_refused() -> None:
    one = mined((A, "yes", [1], 1))
    two = mined((A, "yes", [1], 1), fingerprint="other")
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
    data = make_ba_2motifs(16, random_state=1)
    sets = [mine(data, epsilon=epsilon, verbose=False) for epsilon in (0.1, 1)]
    merged = merged_columns(sets)
    assert len(set(merged.programs)) == len(merged)
    assert set(merged.programs) == {program for programs in sets for program in programs.programs}
    for item, rows in zip(merged, matched_rows(merged.supports), strict=True):
        right = int((np.asarray(data.y)[rows] == item.label).sum())
        assert item.score == right / (item.n_matched + 0.1)


@pytest.mark.parametrize("name", ["auto", "neighborhoods"])
def test_parameters_of_a_vocabulary_by_name_can_be_set(name: Any) -> None:
    model = GDLNNClassifier(vocabulary=name).set_params(vocabulary__radius=2)
    assert isinstance(model.vocabulary, Neighborhoods)
    assert model.vocabulary.radius == 2
    assert (
        GDLNNClassifier().set_params(vocabulary="mined", vocabulary__k=3).get_params()["vocabulary__k"] == 3
    )
