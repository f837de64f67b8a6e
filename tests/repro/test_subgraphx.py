"""SubgraphX and its kin: exact Shapley values, the tree, the motif of BA-2Motifs."""

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from gdlnn import Graph, GraphDataset, make_ba_2motifs
from repro.baselines.gnn import GINClassifier, GNNClassifier
from repro.baselines.node_explainers import CoalitionValues
from repro.baselines.subgraphx import Neighbors, ShapleySampler, SubgraphTree, SubgraphX, mask_of
from repro.metrics import jaccard

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
    train, val, test = without_degrees(make_ba_2motifs(400, random_state=1)).split("random", random_state=0)
    return train, val, test


@pytest.fixture(scope="module")
def gin(parts: Parts) -> GNNClassifier:
    made = GINClassifier(hidden=32, epochs=150, learning_rate=0.01, device="cpu", weight_decay=5e-5)
    return made.fit(parts[0], validation=parts[1])


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
    sampler = ShapleySampler(game, Neighbors.of(path_graph()), n_hops, 40_000, np.random.default_rng(0))
    assert sampler([part_of(part)])[0] == pytest.approx(brute_force(game, part, players), abs=0.05)


def test_the_tree_finds_the_best_part_of_every_size() -> None:
    """With walks enough for all parts, the best of each size is the best there is."""
    worth = dict.fromkeys(range(1 << 7), 0.0)
    rng = np.random.default_rng(1)
    worth = {part: float(rng.random()) for part in worth}
    neighbors = Neighbors.of(path_graph())
    tree = SubgraphTree(neighbors, lambda parts: np.array([worth[p] for p in parts]), 7, 1, 5.0, range(7))
    for _ in range(3000):
        tree.rollout()
    connected = [p for p in worth if p and neighbors.largest_component(p) == p]
    # Whatever can be cut from the whole leaving the larger part connected is met.
    for size in range(2, 8):
        met = max(v for p, v in tree.rewards.items() if p.bit_count() == size)
        best = max(worth[p] for p in connected if p.bit_count() == size)
        assert met == best
    assert all(neighbors.largest_component(part) == part for part in tree.rewards)


def test_masked_nodes_have_features_of_zero_and_nothing_is_asked_twice(
    gin: GNNClassifier, parts: Parts
) -> None:
    graph = parts[2].graphs[0]
    masks = np.random.default_rng(0).random((20, graph.n_nodes)) < 0.5
    masks[0] = True
    values = CoalitionValues(gin, graph, 1)
    data = gin.data([graph])[0]
    for mask, found in zip(masks, values(masks), strict=True):
        x = data.x * torch.from_numpy(mask)[:, None]
        expected = torch.softmax(gin.network_(x, data.edge_index, data.edge_attr), dim=1)[0, 1]
        assert found == pytest.approx(float(expected.detach()), abs=1e-5)
    asked = values.n_asked
    assert values(masks[::-1])[-1] == values(masks)[0]
    assert values.n_asked == asked


def found_share(model: GNNClassifier, data: GraphDataset, n_graphs: int, **options: Any) -> float:
    """The share of correctly classified graphs whose motif is found with a Jaccard index of at least 0.5."""
    explainer = SubgraphX(model, **options)
    right = np.flatnonzero(model.predict(data) == data.y)[:n_graphs]
    assert len(right) == n_graphs
    assert data.node_masks is not None
    explained = [explainer.explain(data.graphs[i], n_nodes=5) for i in right]
    truths = [np.flatnonzero(data.node_masks[i]).tolist() for i in right]
    return float(np.mean([jaccard(e.nodes, t) >= 0.5 for e, t in zip(explained, truths, strict=True)]))


def test_subgraphx_finds_the_motif(gin: GNNClassifier, parts: Parts) -> None:
    assert gin.score(parts[2]) >= 0.95
    assert found_share(gin, parts[2], 4, n_rollouts=8) > 0.5


def test_one_search_serves_all_sizes_and_the_seed_decides(gin: GNNClassifier, parts: Parts) -> None:
    graph = parts[2].graphs[1]
    explainer = SubgraphX(gin, n_rollouts=3, n_samples=10)
    search = explainer.search(graph)
    scores = []
    for size in (5, 8, 12, 25):
        best = search.best(size)
        assert len(best.nodes) <= size
        assert best.nodes == explainer.explain(graph, size).nodes
        assert Neighbors.of(graph).largest_component(part_of(best.nodes)) == part_of(best.nodes)
        scores.append(best.score)
    assert scores == sorted(scores)  # type: ignore[type-var]
    assert search.best(1).nodes  # smaller than anything that was met: the smallest there is
    other = SubgraphX(gin, n_rollouts=3, n_samples=10, random_state=7)
    assert other.search(graph).rewards != search.rewards
