"""Closed forms: they match the same graphs, and show more of a motif."""

from __future__ import annotations

import numpy as np
import pytest

from gdlnn import Graph
from gdlnn.errors import ExplanationError
from reference.explain_models import motif_data, motif_model, motif_programs
from repro.closed_form import closed_form, closed_forms, with_closed_forms
from repro.metrics import overlap

TRAIN, TEST = motif_data()


def test_closed_forms_show_more_of_the_motif() -> None:
    """Sixty graphs teach little about motifs, but what is put back belongs to them more often than not."""
    model = motif_model()
    right = TEST[np.flatnonzero(model.predict(TEST) == TEST.y)]
    assert right.node_masks is not None
    found = model.explain(right.graphs, n_reasons=1, technique="lime")
    used = [term.column for e in found for term in e.terms if term.places]
    closed = with_closed_forms(found, closed_forms(model.programs_, TRAIN, used))
    plain = overlap([e.node_mask for e in found], right.node_masks)
    whole = overlap([e.node_mask for e in closed], right.node_masks)
    assert whole.jaccard > plain.jaccard
    assert whole.recall > plain.recall
    for e in closed:
        assert all(term.program.matches(e.subgraph) for term in e.terms if term.places)


def test_closed_forms_match_the_same_graphs_and_cannot_grow() -> None:
    programs = motif_programs()
    closed = closed_forms(programs, TRAIN, range(6))
    for index, program in closed.items():
        mined, matched = programs[index], programs.supports.toarray()[:, index] > 0
        assert [program.matches(g) for g in TRAIN.graphs] == matched.tolist()
        assert len(program.nodes) >= len(mined.program.nodes)
        target = TRAIN.graphs[int(mined.targets[0])]
        support = [g for g, inside in zip(TRAIN.graphs, matched, strict=True) if inside]
        again = closed_form(program, target, support)
        assert len(again.nodes) == len(program.nodes)
        assert len(again.edges) == len(program.edges)
    with pytest.raises(ExplanationError, match="expected the 60 graphs the programs were mined from, got 20"):
        closed_forms(programs, TEST)
    with pytest.raises(ExplanationError, match="expected a program that matches its target"):
        closed_form(programs[0].program, Graph(np.zeros((1, 1)), []), TRAIN.graphs)
