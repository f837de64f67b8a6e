"""Planted rules: labels follow the rule, truths are where it holds, decoys and flips are as many as said."""

import numpy as np
import pytest
from rdkit import Chem

from gdlnn import GraphDataset
from gdlnn.graphs.molecules import MoleculeReader
from repro.planted import RULES, Planted, plant

PIECES = ["CC(=O)N", "C(O)", "c1ccc(Cl)cc1", "CN(C)C", "C1CCNCC1", "CSC", "CC(=O)O", "C(F)C", "c1ccncc1"]


def molecules() -> GraphDataset:
    """Return molecules of two pieces and a chain, some of them alike."""
    smiles = [f"{'C' * n}({first})CC{second}" for first in PIECES for second in PIECES for n in range(1, 5)]
    reader = MoleculeReader()
    graphs = [reader.graph(Chem.MolFromSmiles(text), name=text) for text in smiles]
    return GraphDataset(graphs, np.zeros(len(graphs)), reader.schema(), smiles=smiles, reading=reader)


DATA = molecules()


def planted(name: str, seed: int = 0) -> Planted:
    return plant(RULES[name], seed, DATA, n_made=120)


@pytest.mark.parametrize("name", RULES)
def test_every_rule_gives_three_parts_with_both_labels_and_truths_where_it_holds(name: str) -> None:
    found = planted(name)
    for part in (found.train, found.val, found.test):
        assert part.node_masks is not None
        assert set(np.unique(np.asarray(part.y)).tolist()) == {0, 1}
    marked = np.array([bool(np.any(mask)) for mask in found.test.node_masks or []])
    assert np.array_equal(marked, np.asarray(found.test.y) == 1)
    sizes = [len(mask) for mask in found.test.node_masks or [] if mask is not None]
    assert sizes == [graph.n_nodes for graph in found.test.graphs]


@pytest.mark.parametrize("name", ["group", "and", "made-decoy", "flipped", "decoy"])
def test_the_same_seed_gives_the_same_graphs_and_another_seed_others(name: str) -> None:
    first, again, other = planted(name), planted(name), planted(name, 1)
    for one, two in zip(first[:3], again[:3], strict=True):
        assert np.array_equal(np.asarray(one.y), np.asarray(two.y))
        assert all(a == b for a, b in zip(one.graphs, two.graphs, strict=True))
    assert [g.name for g in first.test.graphs] != [g.name for g in other.test.graphs] or any(
        a != b for a, b in zip(first.test.graphs, other.test.graphs, strict=False)
    )


def _truth(name: str, smiles: str) -> tuple[bool, set[int]]:
    from repro import planted as module

    rule, molecule = RULES[name], Chem.MolFromSmiles(smiles)
    places = [module._atoms_of(molecule, Chem.MolFromSmarts(part)) for part in rule.parts]
    holds, mask = rule.holds(places)
    return holds, set(np.flatnonzero(mask).tolist())


def test_rules_of_molecules_hold_where_a_chemist_would_say_so() -> None:
    assert _truth("group", "CCC(=O)NC") == (True, {2, 3, 4})
    assert not _truth("group", "CCC(=O)OC")[0]
    assert _truth("ring", "CCC1CCNCC1") == (True, {2, 3, 4, 5, 6, 7})
    assert _truth("and", "CN(C)CCCCF") == (True, {0, 1, 2, 3, 6, 7})
    assert not _truth("and", "CN(C)CCCC")[0]
    assert _truth("or", "OCCCc1ccc(Cl)cc1") == (True, {0, 1, 7, 8})
    assert _truth("but-not", "CCC(=O)NC") == (True, {2, 3, 4})
    assert not _truth("but-not", "CSCC(=O)NC")[0]


def test_a_decoy_agrees_with_the_label_in_training_and_not_in_the_test_set() -> None:
    for name in ("decoy", "made-decoy"):
        found = planted(name)
        assert found.misled is not None
        assert len(found.misled) == len(found.test)
        assert abs(float(np.mean(found.misled)) - 0.5) < 0.05
        for label in (0, 1):
            of_label = np.asarray(found.test.y) == label
            assert found.misled[of_label].any()
            assert not found.misled[of_label].all()
    molecules_found = planted("decoy")
    has = np.array(["Br" in text for text in molecules_found.train.smiles or []])
    assert abs(float(np.mean(has == (np.asarray(molecules_found.train.y) == 1))) - 0.9) < 0.02
    atoms = {name: value for value, name in DATA.schema.node[0].values.items()}  # type: ignore[union-attr]
    for graph, there, mask in zip(
        molecules_found.train.graphs, has, molecules_found.train.node_masks or [], strict=True
    ):
        bromine = graph.node_features[:, 0] == atoms["Br"]
        assert int(bromine.sum()) == int(there)
        assert mask is not None
        assert not mask[bromine].any()
