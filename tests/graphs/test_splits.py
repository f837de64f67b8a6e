"""Splits and folds: sizes, proportions, repeatability, scaffolds, leaks."""

import logging

import numpy as np
import numpy.typing as npt
import pytest

from gdlnn.datasets import make_ba_2motifs
from gdlnn.errors import DatasetError, GraphError
from gdlnn.graphs import Graph, GraphDataset
from gdlnn.graphs.splits import SplitKind


def classes(dataset: GraphDataset) -> npt.NDArray[np.int64]:
    return np.asarray(dataset.y, dtype=np.int64)


def make(n: int, classes: int = 3, *, smiles: list[str] | None = None) -> GraphDataset:
    """Make graphs that differ from one another, so that no split leaks."""
    graphs = [Graph([[float(i)]], []) for i in range(n)]
    return GraphDataset(graphs, np.arange(n) ** 2 % classes, name="squares", smiles=smiles)


@pytest.mark.parametrize("kind", ["auto", "paper", "random", "stratified"])
@pytest.mark.parametrize("n", [10, 19, 188, 1009])
def test_sizes_are_the_int_of_the_fractions_and_the_rest(kind: SplitKind, n: int) -> None:
    dataset = make(n)
    split = dataset.split(kind, random_state=1)
    assert [len(part) for part in split] == [int(0.8 * n), int(0.1 * n), n - int(0.8 * n) - int(0.1 * n)]
    rows = np.concatenate([part.indices for part in split])
    assert sorted(rows) == list(range(n))
    for part in split:
        assert np.array_equal(classes(part), classes(dataset)[part.indices])
        assert (np.diff(part.indices) > 0).all()


def test_stratified_keeps_the_proportions() -> None:
    dataset = make(1000, 7)
    whole = np.bincount(classes(dataset), minlength=7) / 1000
    for part in dataset.split("stratified", random_state=2):
        assert (
            np.abs(np.bincount(classes(part), minlength=7) / len(part) - whole).max() <= 1.01 / len(part) * 2
        )


def test_other_sizes_and_wrong_ones() -> None:
    assert [len(p) for p in make(50).split("random", sizes=(0.5, 0.25, 0.25))] == [25, 12, 13]
    assert [len(p) for p in make(100).split("random", sizes=(0.29, 0.71, 0))] == [29, 71, 0]
    for sizes in [(0.5, 0.5), (0.8, 0.1, 0.2), (-0.1, 1, 0.1)]:
        with pytest.raises(GraphError, match="three fractions that add up to 1"):
            make(10).split("random", sizes=sizes)


def test_a_split_without_what_it_needs_is_refused() -> None:
    unlabeled = GraphDataset([Graph([[1.0]], [])] * 3)
    with pytest.raises(GraphError, match="needs labels"):
        unlabeled.split("stratified")
    with pytest.raises(GraphError, match="needs SMILES"):
        unlabeled.split("scaffold")
    with pytest.raises(
        GraphError, match="expected one of auto, paper, random, stratified, scaffold, got 'temporal'"
    ):
        unlabeled.split("temporal")


def test_auto_is_the_published_split_or_a_stratified_one() -> None:
    dataset = make(20)
    for kind, as_kind in (("auto", "stratified"), ("paper", "random")):
        expected = dataset.split(as_kind, random_state=3)
        for part, same in zip(dataset.split(kind, random_state=3), expected, strict=True):
            assert part.indices.tolist() == same.indices.tolist()
            assert part.split_source == f"{as_kind}, seed 3"
    unlabeled = GraphDataset(dataset.graphs)
    assert unlabeled.split("auto").test.split_source == "random, seed 0"
    rows = {"train": np.arange(4, 20), "val": np.arange(2), "test": np.arange(2, 4)}
    dataset.published_splits = rows
    for split in (dataset.split(random_state=3), dataset.split("auto"), dataset.split("paper")):
        assert [part.indices.tolist() for part in split] == [part.tolist() for part in rows.values()]
        assert {part.split_source for part in split} == {"published"}


def test_a_published_split_must_cover_the_data() -> None:
    dataset = make(4)
    dataset.published_splits = {"train": np.array([0, 1]), "val": np.array([2]), "test": np.array([2])}
    with pytest.raises(GraphError, match="each of the rows 0 to 3 once"):
        dataset.split("paper")
    dataset.published_splits = {"train": np.arange(4)}
    with pytest.raises(GraphError, match="expected lists of rows under train, val and test"):
        dataset.split("paper")


def test_scaffolds_stay_together() -> None:
    rings = ["c1ccccc1", "C1CCCCC1", "c1ccncc1", "C1CCNCC1", "c1ccoc1"]
    smiles = [ring + tail for ring in rings for tail in ("C", "CC", "CCC", "O", "N", "CO", "CN", "F")]
    dataset = make(len(smiles), smiles=smiles)
    split = dataset.split("scaffold", random_state=1)
    seen = [{row // 8 for row in part.indices} for part in split]
    assert not seen[0] & seen[1]
    assert not seen[0] & seen[2]
    assert not seen[1] & seen[2]
    assert sum(len(part) for part in split) == len(smiles)
    assert len(split.train) == 32
    assert split.test.split_source == "scaffold, seed 1"


def test_a_scaffold_split_keeps_rdkit_quiet(capfd: pytest.CaptureFixture[str]) -> None:
    # RDKit warns about a hydrogen without neighbors and about invalid SMILES.
    split = make(4, smiles=["[H+].[Cl-]", "[H].c1ccccc1", "CCO", "C1CC1"]).split("scaffold")
    assert sum(len(part) for part in split) == 4
    with pytest.raises(DatasetError, match=r"row 1: expected a SMILES, got 'C1CC'"):
        make(2, smiles=["CCO", "C1CC"]).split("scaffold")
    assert capfd.readouterr() == ("", "")


def test_folds_are_even_and_stratified() -> None:
    dataset = make(103, 3)
    tested: list[int] = []
    for train, test in dataset.folds(k=10, random_state=4):
        assert len(train) + len(test) == 103
        assert len(test) in (10, 11)
        assert not set(train.indices) & set(test.indices)
        spread = np.bincount(classes(test), minlength=3) - np.bincount(classes(dataset), minlength=3) / 10
        assert np.abs(spread).max() <= 1
        tested.extend(test.indices)
    assert sorted(tested) == list(range(103))
    with pytest.raises(GraphError, match="from 2 to 103"):
        next(dataset.folds(k=104))


def test_folds_keep_equal_graphs_together() -> None:
    dataset = make(40, 2)
    doubled = dataset.take([*range(40), *range(40)])
    for train, test in doubled.folds(k=5, random_state=1):
        assert not {row % 40 for row in train.indices} & {row % 40 for row in test.indices}
        assert len(test) == 16


def test_a_split_that_leaks_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    graphs = [Graph([[float(i % 5)]], []) for i in range(50)]
    dataset = GraphDataset(graphs, np.arange(50) % 5 % 2, name="twins")
    with caplog.at_level(logging.INFO, "gdlnn.graphs.dataset"):
        split = dataset.split("paper")
        dataset.split("paper", random_state=1)
    warnings = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "leaks: 50 graphs have an isomorphic twin in another part (5 groups)" in warnings[0]
    assert "split 'paper' is random, seed 0" in caplog.text
    assert len(dataset.duplicates().across(*split)) == 5
    clean = dataset.drop_duplicates()
    assert clean.indices.tolist() == [0, 1, 2, 3, 4]


def with_twins(n: int = 200, *, smiles: list[str] | None = None) -> GraphDataset:
    """Make graphs of which every fourth is the twin of the one before; some twins have other labels."""
    graphs = [Graph([[float(i - (i % 4 == 3))]], []) for i in range(n)]
    return GraphDataset(graphs, np.arange(n) // 2 % 2, name="twins", smiles=smiles)


@pytest.mark.parametrize(("kind", "labeled"), [("auto", True), ("auto", False), ("stratified", True)])
def test_twins_stay_together(kind: str, labeled: bool, caplog: pytest.LogCaptureFixture) -> None:
    dataset = with_twins()
    if not labeled:
        dataset = GraphDataset(dataset.graphs)
    for seed in range(3):
        split = dataset.split(kind, random_state=seed)
        assert not dataset.duplicates().across(*split)
        assert sorted(np.concatenate([part.indices for part in split])) == list(range(200))
        assert [abs(len(part) - size) <= 2 for part, size in zip(split, (160, 20, 20), strict=True)]
        if labeled:
            assert abs(classes(split.test).mean() - 0.5) < 0.15
    assert dataset.duplicates().across(*dataset.split("random"))
    assert "split 'random' leaks" in caplog.text
    assert f"split '{kind}' leaks" not in caplog.text


def test_a_split_by_time_tests_on_the_newest() -> None:
    dataset = make(10)
    dataset.columns = {
        "year": [str(2000 - i) for i in range(10)],
        "day": [f"2020-01-{20 - i}" for i in range(10)],
    }
    for column in ("year", "day"):
        split = dataset.split(f"time:{column}")
        assert [part.indices.tolist() for part in split] == [list(range(2, 10)), [1], [0]]
        assert split.test.split_source == f"by time in column {column}"
        assert split.test.provenance == {"split": f"time:{column}", "seed": 0}
    dataset.columns["year"][3] = "soon"
    with pytest.raises(
        GraphError, match=r"squares, row 4, column 'year': expected a number or a date .*'soon'"
    ):
        dataset.split("time:year")
    dataset.columns["year"][3] = "2020-01-01"
    with pytest.raises(GraphError, match=r"row 4, column 'year': expected all numbers or all dates"):
        dataset.split("time:year")
    with pytest.raises(
        GraphError, match=r"expected a column that was read with the table \(year, day\), got 'x'"
    ):
        dataset.split("time:x")


def test_a_split_by_a_column() -> None:
    dataset = make(6)
    dataset.columns = {"part": ["train", "Test", "TRAIN", "valid", "test", "train"]}
    split = dataset.split("column:part")
    assert [part.indices.tolist() for part in split] == [[0, 2, 5], [3], [1, 4]]
    dataset.columns["part"][2] = ""
    with pytest.raises(GraphError, match=r"row 3, column 'part': expected train, val or test, got ''"):
        dataset.split("column:part")


def test_synthetic_motifs_differ_with_the_seed_and_are_what_they_say() -> None:
    dataset = make_ba_2motifs(40, random_state=3)
    assert dataset.name == "synthetic:ba-2motifs"
    assert make_ba_2motifs(40, random_state=3).graphs == dataset.graphs
    assert make_ba_2motifs(40, random_state=4).graphs != dataset.graphs
    masks = list(zip(dataset.node_masks or [], dataset.edge_masks or [], strict=True))
    for graph, label, (nodes, edges) in zip(dataset, classes(dataset), masks, strict=True):
        assert graph.n_nodes == 25
        assert graph.n_edges == 25 + label
        assert nodes.sum() == 5
        assert edges.sum() == 5 + label
        assert nodes[graph.edges[edges]].all()
        crossing = nodes[graph.edges].sum(axis=1) == 1
        assert crossing.sum() == 1
        assert np.array_equal(np.bincount(graph.edges.reshape(-1), minlength=25), graph.node_features[:, 0])
        inside = np.bincount(graph.edges[edges].reshape(-1), minlength=25)[nodes]
        assert sorted(inside) == ([2, 2, 2, 3, 3] if label else [2] * 5)
    everywhere = np.mean([nodes for nodes, _ in masks if nodes is not None], axis=0)
    assert everywhere.max() < 0.6  # the motif is not always at the same place
