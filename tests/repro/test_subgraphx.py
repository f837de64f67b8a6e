"""SubgraphX and its kin: exact Shapley values, the tree, the motif of BA-2Motifs, saved networks."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pytest

from gdlnn import Graph, GraphDataset, make_ba_2motifs
from gdlnn.errors import ExplanationError, ModelError
from repro.baselines import GINClassifier, MajorityClassifier
from repro.baselines.gnn import load_network, save_network
from repro.baselines.node_explainers import CoalitionValues, GNNExplainer, NodeIntegratedGradients
from repro.baselines.subgraphx import (
    Neighbours,
    ShapleySampler,
    SubgraphTree,
    SubgraphX,
    bits,
    mask_of,
)
from repro.metrics import jaccard, measure

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from repro.baselines.gnn import GNNClassifier

Parts = tuple[GraphDataset, GraphDataset, GraphDataset]
PATH = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (1, 6)]


def path_graph() -> Graph:
    return Graph(np.zeros((7, 0)), np.array(PATH))


def part_of(nodes: Sequence[int]) -> int:
    return sum(1 << node for node in nodes)


def without_degrees(data: GraphDataset) -> GraphDataset:
    """The published BA-2Motifs has one constant feature, so that a network must look at edges."""
    graphs = [Graph(np.ones((graph.n_nodes, 1)), graph.edges) for graph in data.graphs]
    return GraphDataset(graphs, data.y, node_masks=data.node_masks)


@pytest.fixture(scope="module")
def parts() -> Parts:
    train, val, test = without_degrees(make_ba_2motifs(400, seed=1)).split("random", seed=0)
    return train, val, test


@pytest.fixture(scope="module")
def gin(parts: Parts) -> GNNClassifier:
    made = GINClassifier(hidden=32, epochs=150, learning_rate=0.01, device="cpu", weight_decay=5e-5)
    return made.fit(parts[0], validation=parts[1])


# --- Shapley values -------------------------------------------------------------------------------------


class Game:
    """A game whose worth is no sum: pairs of nodes that are together count, and so does a single one."""

    def __init__(self) -> None:
        rng = np.random.default_rng(3)
        self.single, self.pair = rng.normal(size=7), rng.normal(size=(7, 7))

    def __call__(self, masks: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
        given = masks.astype(np.float64)
        return np.asarray(given @ self.single + np.einsum("ci,ij,cj->c", given, self.pair, given))


def brute_force(game: Game, part: Sequence[int], players: Sequence[int]) -> float:
    """The mean over all orders of what the part adds to those before it."""
    own, total = mask_of(part_of(part), 7), []
    for order in permutations([*players, "part"]):
        before = mask_of(part_of(order[: order.index("part")]), 7)  # type: ignore[arg-type]
        total.append(float((game((before | own)[None]) - game(before[None]))[0]))
    return float(np.mean(total))


@pytest.mark.parametrize(("part", "n_hops", "players"), [
    ([2], 1, [1, 3]),
    ([2, 3], 2, [0, 1, 4, 5, 6]),
    ([0, 1], 1, [2, 6]),
    ([0], 9, [1, 2, 3, 4, 5, 6]),
])  # fmt: skip
def test_sampled_shapley_values_are_those_of_all_orders(
    part: list[int], n_hops: int, players: list[int]
) -> None:
    game: Any = Game()
    sampler = ShapleySampler(game, Neighbours.of(path_graph()), n_hops, 40_000, np.random.default_rng(0))
    assert sampler([part_of(part)])[0] == pytest.approx(brute_force(game, part, players), abs=0.05)


def test_shapley_values_do_not_depend_on_what_is_asked_with_them() -> None:
    game: Any = Game()
    several = [part_of([2]), part_of([2, 3]), part_of([0, 1, 2])]
    sampler = ShapleySampler(game, Neighbours.of(path_graph()), 2, 50, np.random.default_rng(0))
    together = sampler(several)
    assert [sampler([part])[0] for part in reversed(several)] == together[::-1].tolist()
    assert len(sampler([])) == 0


# --- the tree -------------------------------------------------------------------------------------------


def test_parts_reach_and_components() -> None:
    neighbours = Neighbours.of(Graph(np.zeros((7, 0)), np.array([*PATH, (2, 2)])))
    assert list(bits(neighbours.within(part_of([2]), 1))) == [1, 2, 3]
    assert list(bits(neighbours.within(part_of([2]), 2))) == [0, 1, 2, 3, 4, 6]
    assert list(bits(neighbours.largest_component(part_of([0, 1, 6, 3, 4])))) == [0, 1, 6]
    assert list(bits(neighbours.without(neighbours.whole, 2, True))) == [0, 1, 6]
    assert list(bits(neighbours.without(neighbours.whole, 5, True))) == [0, 1, 2, 3, 4, 6]
    assert mask_of(part_of([0, 3]), 5).tolist() == [True, False, False, True, False]


def test_the_tree_finds_the_best_part_of_every_size() -> None:
    """With walks enough for all parts, the best of each size is the best there is."""
    worth = dict.fromkeys(range(1 << 7), 0.0)
    rng = np.random.default_rng(1)
    worth = {part: float(rng.random()) for part in worth}
    neighbours = Neighbours.of(path_graph())
    tree = SubgraphTree(
        neighbours, lambda parts: np.array([worth[p] for p in parts]), 7, 1, 5.0, False, range(7)
    )
    for _ in range(3000):
        tree.rollout()
    connected = [p for p in worth if p and neighbours.largest_component(p) == p]
    # Whatever can be cut from the whole leaving the larger part connected is met.
    for size in range(2, 8):
        met = max(v for p, v in tree.rewards.items() if p.bit_count() == size)
        best = max(worth[p] for p in connected if p.bit_count() == size)
        assert met == best
    assert all(neighbours.largest_component(part) == part for part in tree.rewards)


def test_few_children_are_those_of_low_degree() -> None:
    neighbours = Neighbours.of(path_graph())
    asked: list[int] = []

    def worth(parts: Sequence[int]) -> npt.NDArray[np.float64]:
        asked.extend(parts)
        return np.ones(len(parts))

    SubgraphTree(neighbours, worth, 3, 6, 1.0, False, range(7)).rollout()
    whole = neighbours.whole
    assert asked == [whole, *(whole & ~(1 << leaf) for leaf in (0, 5, 6))]
    asked.clear()
    SubgraphTree(neighbours, worth, 1, 6, 1.0, True, range(7)).rollout()
    assert asked == [whole, part_of([2, 3, 4, 5])]  # node 1 has the highest degree


# --- what the network says ------------------------------------------------------------------------------


def test_removed_nodes_leave_the_induced_subgraph(gin: GNNClassifier, parts: Parts) -> None:
    graph = parts[2].graphs[0]
    masks = np.random.default_rng(0).random((20, graph.n_nodes)) < 0.5
    masks[0], masks[1] = True, False
    values = CoalitionValues(gin, graph, 1, "removed")
    subgraphs = [graph.subgraph(np.flatnonzero(mask)) for mask in masks]
    assert values(masks) == pytest.approx(gin.predict_proba(subgraphs)[:, 1], abs=1e-5)
    asked = values.n_asked
    assert values(masks[::-1])[-1] == values(masks)[0]
    assert values.n_asked == asked  # nothing is asked twice


def test_zeros_keep_nodes_and_edges(gin: GNNClassifier, parts: Parts) -> None:
    graph = parts[2].graphs[0]
    whole = np.ones((1, graph.n_nodes), dtype=bool)
    zeros, removed = (CoalitionValues(gin, graph, 0, absent) for absent in ("zeros", "removed"))
    assert zeros(whole) == pytest.approx(removed(whole), abs=1e-6)
    assert zeros(~whole) != pytest.approx(removed(~whole), abs=1e-3)


def found_share(model: GNNClassifier, data: GraphDataset, n_graphs: int, **options: Any) -> float:
    """The share of correctly classified graphs whose motif is found with a Jaccard index of at least 0.5."""
    explainer = SubgraphX(model, progress=False, **options)
    right = np.flatnonzero(model.predict(data) == data.y)[:n_graphs]
    assert len(right) == n_graphs
    assert data.node_masks is not None
    explained = explainer.explain([data.graphs[i] for i in right], n_nodes=5)
    truths = [np.flatnonzero(data.node_masks[i]).tolist() for i in right]
    return float(np.mean([jaccard(e.nodes, t) >= 0.5 for e, t in zip(explained, truths, strict=True)]))


def test_subgraphx_finds_the_motif(gin: GNNClassifier, parts: Parts) -> None:
    assert gin.score(parts[2]) >= 0.95
    assert found_share(gin, parts[2], 6, n_rollouts=8, absent="removed") > 0.5


@pytest.mark.long
@pytest.mark.parametrize("absent", ["zeros", "removed"])
def test_subgraphx_finds_most_motifs(gin: GNNClassifier, parts: Parts, absent: str) -> None:
    assert found_share(gin, parts[2], 16, n_rollouts=8, absent=absent) > 0.5


def test_one_search_serves_all_sizes_and_the_seed_decides(gin: GNNClassifier, parts: Parts) -> None:
    graph = parts[2].graphs[1]
    explainer = SubgraphX(gin, n_rollouts=3, n_samples=10, absent="removed", progress=False)
    search = explainer.search(graph)
    scores = []
    for size in (5, 8, 12, 25):
        best = search.best(size)
        assert len(best.nodes) <= size
        assert best.nodes == explainer.explain(graph, size).nodes
        assert Neighbours.of(graph).largest_component(part_of(best.nodes)) == part_of(best.nodes)
        scores.append(best.score)
    assert scores == sorted(scores)  # type: ignore[type-var]
    assert search.best(1).nodes  # smaller than anything that was met: the smallest there is
    other = SubgraphX(gin, n_rollouts=3, n_samples=10, absent="removed", seed=7, progress=False)
    assert other.search(graph).rewards != search.rewards
    measured = measure(gin, [search.best(5), search.best(12)], [parts[2].y[1]] * 2)  # type: ignore[index, list-item]
    assert 0 < measured.sparsity < 1


def test_graphs_without_nodes_or_edges(gin: GNNClassifier) -> None:
    explainer = SubgraphX(gin, n_rollouts=2, n_samples=5, progress=False)
    empty = Graph(np.zeros((0, 1)), np.zeros((0, 2), dtype=np.int64))
    assert explainer.explain(empty).nodes == ()
    apart = Graph(np.ones((9, 1)), np.zeros((0, 2), dtype=np.int64))
    assert len(explainer.explain(apart, 3).nodes) == 1


# --- GNNExplainer and integrated gradients --------------------------------------------------------------


def test_other_explainers_name_nodes(gin: GNNClassifier, parts: Parts) -> None:
    graph = parts[2].graphs[0]
    for explainer in (GNNExplainer(gin, epochs=5), NodeIntegratedGradients(gin, n_steps=10)):
        (one,) = explainer.explain([graph], 4)
        assert len(one.nodes) == 4
        assert one.node_scores.shape == (graph.n_nodes,)
        # The four are those with the largest scores.
        assert min(one.node_scores[list(one.nodes)]) >= np.sort(one.node_scores)[-4]
        again = explainer.explain(graph, 4)
        assert again.nodes == one.nodes


def test_integrated_gradients_add_up(gin: GNNClassifier, parts: Parts) -> None:
    """They sum to the difference between the graph and features of zero."""
    graph = parts[2].graphs[0]
    scores = NodeIntegratedGradients(gin, n_steps=400).scores(graph, 1)
    values = CoalitionValues(gin, graph, 1, "zeros")
    ends = values(np.array([np.ones(graph.n_nodes, dtype=bool), np.zeros(graph.n_nodes, dtype=bool)]))
    assert scores.sum() == pytest.approx(ends[0] - ends[1], abs=0.02)


# --- files and errors -----------------------------------------------------------------------------------


def test_a_saved_network_says_the_same(tmp_path: Path, data_dir: Path) -> None:
    from gdlnn import load_dataset

    data = load_dataset("MUTAG", root=data_dir)[:40]
    model = GINClassifier(hidden=8, epochs=2, device="cpu", validation_fraction=0.0).fit(data)
    save_network(model, tmp_path / "a" / "gin.safetensors")
    loaded = load_network(tmp_path / "a" / "gin.safetensors", "cpu")
    assert np.array_equal(loaded.predict_proba(data), model.predict_proba(data))
    assert loaded.get_params() == model.get_params()
    assert type(loaded) is GINClassifier
    (tmp_path / "wrong").write_bytes(b"not a network")
    with pytest.raises(ModelError, match="wrong: expected a saved graph network"):
        load_network(tmp_path / "wrong")


def test_wrong_input_says_what_was_expected(gin: GNNClassifier, parts: Parts) -> None:
    for name, value in (("n_rollouts", 0), ("n_samples", 1.5), ("exploration", -1), ("absent", "gone")):
        with pytest.raises(ExplanationError, match=f"{name}: expected"):
            SubgraphX(gin, **{name: value})  # type: ignore[arg-type]
    with pytest.raises(ExplanationError, match="target: expected one of the classes 0, 1, got 5"):
        SubgraphX(gin).search(parts[2].graphs[0], target=5)
    with pytest.raises(ExplanationError, match="n_nodes: expected a whole number"):
        SubgraphX(gin).explain(parts[2].graphs[0], 0)
    with pytest.raises(ExplanationError, match="expected a GCN, GIN, GAT or MLP, got a MajorityClassifier"):
        SubgraphX(MajorityClassifier())  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="expected a fitted GINClassifier"):
        GNNExplainer(GINClassifier())
