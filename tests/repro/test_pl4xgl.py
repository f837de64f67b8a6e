"""PL4XGLClassifier: which program decides, what the validation part settles, and MUTAG's published split."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from gdlnn import Graph, GraphDataset, Program, ProgramSet, make_ba_2motifs, mine
from gdlnn.errors import ModelError
from gdlnn.explain import explain
from gdlnn.mining import MinedProgram, SetInfo
from gdlnn.mining.program_set import support_matrix
from reference.explain_models import motif_data, motif_pl4xgl
from repro.pl4xgl import PL4XGLClassifier


def single(value: float) -> Graph:
    return Graph([[value]], [])


TEST = motif_data()[1]
TRAIN = [single(v) for v in (1, 1, 2, 2, 3, 3)]
LABELS = np.array([0, 0, 1, 1, 2, 2])


def programs(*rows: tuple[int, float, str]) -> ProgramSet:
    """Return a set of programs over one node: (label, score, interval)."""
    items, supports = [], []
    for label, score, interval in rows:
        program = Program.parse(f"node x <[{interval}]>")
        supports.append(np.flatnonzero([program.matches(graph) for graph in TRAIN]))
        items.append(MinedProgram(program, label, score, len(supports[-1])))
    info = SetInfo(6, ((0, 2), (1, 2), (2, 2)), False, 1, 0, {"epsilon": 1.0})
    return ProgramSet(items, support_matrix(supports, 6), info)


def classifier(epsilon: float = 1.0) -> PL4XGLClassifier:
    return PL4XGLClassifier(epsilon=epsilon, min_support=0, min_lift=0, verbose=False)


def test_the_best_matching_program_decides() -> None:
    mined = programs((0, 0.7, "1, 5"), (1, 0.9, "2, 5"), (2, 0.8, "3, 5"), (2, 0.95, "4, 5"))
    model = classifier().fit(TRAIN, LABELS, programs=mined)
    graphs = [single(v) for v in (1, 2, 3, 4, 9)]
    assert model.predict(graphs).tolist() == [0, 1, 1, 2, 0]
    deciding = model.deciding_programs(graphs)
    assert [None if item is None else item.score for item in deciding] == [0.7, 0.9, 0.9, 0.95, None]
    assert model.represent(graphs).matches.any(axis=1).tolist() == [True] * 4 + [False]
    assert model.seen(graphs) == [None] * 5
    assert {where.domain for where in model.domain(graphs)} == {None}
    chances = model.predict_proba(graphs)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    np.testing.assert_array_equal(chances.argmax(axis=1), model.predict(graphs))


def test_equal_scores_go_to_the_first_label() -> None:
    model = classifier().fit(TRAIN, LABELS, programs=programs((2, 0.8, "1, 5"), (1, 0.8, "1, 5")))
    assert model.predict([single(1)]).tolist() == [1]


def test_the_default_label_is_the_commonest_of_what_nothing_matched() -> None:
    mined = programs((0, 0.9, "1, 1"))
    val = ([single(v) for v in (1, 7, 7, 8)], np.array([0, 2, 2, 1]))
    model = classifier().fit(TRAIN, LABELS, validation=val, programs=mined)
    assert model.default_label_ == 2
    assert model.predict([single(50)]).tolist() == [2]
    all_matched = classifier().fit(TRAIN, LABELS, validation=([single(1)], [0]), programs=mined)
    assert all_matched.default_label_ == 0


def test_the_label_that_is_wrong_most_often_is_held_back() -> None:
    mined = programs((0, 0.85, "1, 5"), (1, 0.9, "2, 5"), (2, 0.99, "4, 5"))
    val = ([single(2), single(3), single(3), single(4)], np.array([0, 0, 0, 2]))
    model = classifier(0.1).fit(TRAIN, LABELS, validation=val, programs=mined)
    assert (model.penalized_label_, model.factor_, model.threshold_) == (1, 0.9, 0)
    assert model.predict([single(3), single(4)]).tolist() == [0, 2]


def test_programs_that_match_too_few_validation_graphs_go() -> None:
    mined = programs((0, 0.8, "1, 5"), (1, 0.99, "5, 5"))
    val = ([single(v) for v in (1, 2, 3, 5)], np.array([0, 0, 0, 0]))
    model = classifier(1.0).fit(TRAIN, LABELS, validation=val, programs=mined)
    assert model.threshold_ == 4
    assert [item.label for item in model.programs_] == [0]


def test_it_mines_for_itself_and_learns() -> None:
    data = make_ba_2motifs(60, random_state=4)
    model = PL4XGLClassifier(verbose=False).fit(data[:40], validation=data[40:50])
    assert model.score(data[:40]) >= 0.8
    assert model.predict([]).shape == (0,)
    assert all(item.n_matched >= 2 for item in model.programs_)
    with pytest.raises(ModelError, match="at least two classes"):
        PL4XGLClassifier().fit(data.graphs[:4], [1, 1, 1, 1])


def test_sequential_programs_have_no_self_loops() -> None:
    ring = [(0, 1), (1, 2), (0, 2)]
    graphs = [
        Graph(np.ones((4, 1)), [*ring, (2, 3), (3, 3)]),
        Graph(np.ones((4, 1)), [(0, 1), (1, 2), (2, 3)]),
    ]
    mined = mine(GraphDataset(graphs, [0, 1]), strategy="sequential", verbose=False)
    assert len(mined)
    assert all(edge.source != edge.target for item in mined for edge in item.program.edges)
    # A self-loop that is the only edge of a component stays.
    alone = GraphDataset([Graph([[1.0]], [(0, 0)]), Graph([[1.0]], [])], [0, 1])
    (program,) = mine(alone, strategy="sequential", targets=[0], verbose=False)
    assert len(program.program.edges) == 1


def test_pl4xgl_explains_itself_with_fidelity_zero() -> None:
    model = motif_pl4xgl()
    found = explain(model, TEST.graphs)
    for e, decided in zip(found, model.deciding_programs(TEST.graphs), strict=True):
        if decided is None:
            assert e.is_empty
            continue
        (term,) = e.reasons
        assert (term.program, term.weight) == (decided.program, decided.score)
        assert len(e.nodes) == len(decided.program.nodes)
    assert TEST.y is not None
    assert model.predict([e.subgraph for e in found]).tolist() == model.predict(TEST).tolist()
    assert model.explain(TEST.graphs[0]) == found[0]
    assert model.explain(TEST) == found
    with pytest.raises(NotFittedError):
        PL4XGLClassifier().explain(TEST.graphs[0])
