"""From sets of mined programs to the columns of the layer: merging, labels, scores."""

from typing import Any

import numpy as np
import pytest

from gdlnn import GDLNNClassifier, Neighborhoods, Program, ProgramSet
from gdlnn.errors import ModelError
from gdlnn.mining import MinedProgram, SetInfo
from gdlnn.mining.program_set import support_matrix
from gdlnn.model.vocabulary import Mined, union

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
    merged = Mined().columns(one)
    assert [item.label for item in merged] == ["yes"]
    assert merged[0].score == 2 / 3.1


def test_programs_with_equal_support_can_be_merged() -> None:
    both = mined((B, "yes", [2, 3], 2), (A, "yes", [2, 3], 2))
    assert len(Mined().columns(both)) == 2
    merged = Mined(merge_equal=True).columns(both)
    assert merged.programs == [A]


def test_sets_of_other_graphs_are_refused() -> None:
    one = mined((A, "yes", [1], 1))
    two = mined((A, "yes", [1], 1), fingerprint="other")
    with pytest.raises(ModelError, match="fingerprint differ"):
        union([one, two])
    with pytest.raises(ModelError, match="at least one set"):
        union([])


@pytest.mark.parametrize("name", ["auto", "neighborhoods"])
def test_parameters_of_a_vocabulary_by_name_can_be_set(name: Any) -> None:
    model = GDLNNClassifier(vocabulary=name).set_params(vocabulary__radius=2)
    assert isinstance(model.vocabulary, Neighborhoods)
    assert model.vocabulary.radius == 2
    assert (
        GDLNNClassifier().set_params(vocabulary="mined", vocabulary__k=3).get_params()["vocabulary__k"] == 3
    )
