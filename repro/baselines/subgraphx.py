"""SubgraphX: the connected part of a graph with the largest Shapley value, found by a tree search.

Written from the paper of Yuan, Yu, Wang, Li and Ji (2021). Parts of a graph are integers with a bit for every
node, so that they are quick to compare, to keep and to cut.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from repro.baselines.node_explainers import CoalitionValues, NodeExplainer, NodeExplanation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gdlnn.graphs import Graph
    from repro.baselines.gnn import GNNClassifier

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]


# --- parts of a graph -------------------------------------------------------------------------------------


def bits(part: int) -> Iterator[int]:
    """Yield the nodes of a part in order."""
    while part:
        low = part & -part
        yield low.bit_length() - 1
        part ^= low


def mask_of(part: int, n_nodes: int) -> BoolArray:
    """Return a part as a mask over nodes."""
    raw = np.frombuffer(part.to_bytes((n_nodes + 7) // 8, "little"), dtype=np.uint8)
    return np.unpackbits(raw, count=n_nodes, bitorder="little").astype(bool)


@dataclass(frozen=True)
class Neighbors:
    """A graph without directions and features: the neighbors of every node, as a part."""

    n_nodes: int
    of_node: tuple[int, ...]

    @classmethod
    def of(cls, graph: Graph) -> Neighbors:
        """Return the neighbors in a graph; a node is no neighbor of itself."""
        found = [0] * graph.n_nodes
        for u, v in graph.edges.tolist():
            if u != v:
                found[u] |= 1 << v
                found[v] |= 1 << u
        return cls(graph.n_nodes, tuple(found))

    @property
    def whole(self) -> int:
        """The part with all nodes."""
        return (1 << self.n_nodes) - 1

    def within(self, part: int, n_hops: int) -> int:
        """Return a part with all nodes that are at most `n_hops` from it."""
        reached, rim = part, part
        for _ in range(n_hops):
            rim = self._around(rim) & ~reached
            if not rim:
                break
            reached |= rim
        return reached

    def _around(self, part: int) -> int:
        """Return all neighbors of the nodes of a part."""
        nearby = 0
        for node in bits(part):
            nearby |= self.of_node[node]
        return nearby

    def largest_component(self, part: int) -> int:
        """Return the largest connected component of a part; of equals the one with the lowest node."""
        best, left = 0, part
        while left:
            component, rim = 0, left & -left
            while rim:
                component |= rim
                rim = self._around(rim) & part & ~component
            if component.bit_count() > best.bit_count():
                best = component
            left &= ~component
            if left.bit_count() <= best.bit_count():
                break
        return best

    def without(self, part: int, node: int, connected: bool) -> int:
        """Return what remains when a node is pruned: the largest connected component of the rest."""
        rest = part & ~(1 << node)
        # A connected part stays so without a node that hangs on one edge.
        if connected and (self.of_node[node] & part).bit_count() <= 1:
            return rest
        return self.largest_component(rest)


# --- the search -------------------------------------------------------------------------------------------


class ShapleySampler:
    """Shapley values of connected parts of a graph by sampling, within the receptive field of the network.

    The players are the part itself, as one, and every node within `n_hops` of it; all others stay absent. In
    a random order of the players, the coalition consists of those before the part. The same orders serve all
    parts of a graph, so that values do not depend on the order of asking.
    """

    def __init__(
        self,
        values: Callable[[BoolArray], FloatArray],
        neighbors: Neighbors,
        n_hops: int,
        n_samples: int,
        rng: np.random.Generator,
    ) -> None:
        self._values, self._neighbors, self._n_hops = values, neighbors, n_hops
        # A player comes before the part if its key is lower: all orders are equally likely.
        keys = rng.random((n_samples, neighbors.n_nodes), dtype=np.float32)
        self._before: BoolArray = keys < rng.random((n_samples, 1), dtype=np.float32)

    def __call__(self, parts: Sequence[int]) -> FloatArray:
        """Return the Shapley value of each part."""
        if not parts:
            return np.zeros(0)
        n = self._neighbors.n_nodes
        own = np.array([mask_of(part, n) for part in parts])
        reach = np.array([mask_of(self._neighbors.within(part, self._n_hops), n) for part in parts])
        without = self._before[None] & (reach & ~own)[:, None]
        both = np.concatenate([without | own[:, None], without]).reshape(
            2 * len(parts) * len(self._before), n
        )
        worth = self._values(both).reshape(2, len(parts), -1)
        return np.asarray((worth[0] - worth[1]).mean(axis=1))


@dataclass
class TreeNode:
    """A part in the tree, with what was found below it."""

    part: int
    reward: float
    children: list[TreeNode] = field(default_factory=list)
    n_visits: int = 0
    total: float = 0.0


class SubgraphTree:
    """The search tree of one graph: connected parts, each one node (and what hung on it) less than the last.

    `worth` returns the rewards of parts; nodes of equal degree are tried in the given order, so that their
    numbers play no role.
    """

    def __init__(
        self,
        neighbors: Neighbors,
        worth: Callable[[Sequence[int]], FloatArray],
        n_children: int,
        min_nodes: int,
        exploration: float,
        order: Sequence[int],
    ) -> None:
        self._neighbors, self._worth, self._order = neighbors, worth, order
        self._n_children, self._min_nodes = n_children, min_nodes
        self._exploration = exploration
        self._nodes: dict[int, TreeNode] = {}
        (self._root,) = self._met([neighbors.whole])

    @property
    def rewards(self) -> dict[int, float]:
        """Every part that was met, with its reward."""
        return {part: node.reward for part, node in self._nodes.items()}

    def rollout(self) -> None:
        """Walk from the whole graph to a part that is not pruned further, and update those above it."""
        node, path = self._root, []
        while node.part.bit_count() > self._min_nodes:
            if not node.children:
                node.children = self._met(self._pruned(node.part))
            node = self._choose(node)
            path.append(node)
        for passed in path:
            passed.n_visits += 1
            passed.total += node.reward

    def _pruned(self, part: int) -> list[int]:
        near = self._neighbors.of_node
        nodes = [node for node in self._order if part >> node & 1]
        nodes.sort(key=lambda node: (near[node] & part).bit_count())
        connected = self._neighbors.largest_component(part) == part
        cut = (self._neighbors.without(part, node, connected) for node in nodes[: self._n_children])
        return list(dict.fromkeys(cut))

    def _met(self, parts: Sequence[int]) -> list[TreeNode]:
        """Return the nodes of parts; a part that another walk met before is the same node."""
        fresh = [part for part in parts if part not in self._nodes]
        for part, reward in zip(fresh, self._worth(fresh).tolist(), strict=True):
            self._nodes[part] = TreeNode(part, reward)
        return [self._nodes[part] for part in parts]

    def _choose(self, node: TreeNode) -> TreeNode:
        root = math.sqrt(sum(child.n_visits for child in node.children))

        def promise(child: TreeNode) -> tuple[float, float]:
            mean = child.total / child.n_visits if child.n_visits else 0.0
            explored = self._exploration * child.reward * root / (1 + child.n_visits)
            return mean + explored, child.reward

        return max(node.children, key=promise)


@dataclass(frozen=True)
class Search:
    """What a search met in one graph.

    `rewards` has the visited parts with their Shapley values; coalitions were drawn, and those of them that
    differ were asked.
    """

    graph: Graph
    prediction: Any
    probability: float
    rewards: dict[int, float]
    n_drawn: int
    n_asked: int

    def best(self, n_nodes: int) -> NodeExplanation:
        """Return the part of at most `n_nodes` nodes with the largest value, of equals the smallest one.

        If the search met none that small, the smallest it met is returned, of equals the best.
        """
        fitting = [part for part in self.rewards if part.bit_count() <= n_nodes]
        if not fitting:
            least = min(part.bit_count() for part in self.rewards)
            fitting = [part for part in self.rewards if part.bit_count() == least]
        best = min(fitting, key=lambda part: (-self.rewards[part], part.bit_count(), part))
        known = (self.graph, self.prediction, self.probability)
        return NodeExplanation(*known, tuple(bits(best)), self.rewards[best], self.node_scores)

    @property
    def node_scores(self) -> FloatArray:
        """How much each node matters: the mean value of parts with the node, minus that of the others."""
        n = self.graph.n_nodes
        parts = np.array([mask_of(part, n) for part in self.rewards], dtype=np.float64)
        values = np.array(list(self.rewards.values()))
        inside, outside = parts.sum(axis=0), (1 - parts).sum(axis=0)
        with_node = (values @ parts) / np.maximum(inside, 1)
        without = (values @ (1 - parts)) / np.maximum(outside, 1)
        return np.asarray(with_node - without, dtype=np.float64)


@dataclass(eq=False)
class SubgraphX(NodeExplainer):
    """Explain a graph network by the connected subgraph with the largest Shapley value.

    A Monte Carlo tree search prunes one node at a time, down to `min_nodes`, nodes of low degree first; of
    what a cut leaves, the largest connected part goes on. One search serves all sizes of explanations. Nodes
    outside a coalition have features of zero. The defaults are those published with the method.

    A rollout is a walk from the whole graph to a small part of it. `exploration` is λ of the choice among at
    most `n_children` children: the weight of their own value against what was found below them. `n_samples`
    is the number of orders of players for a Shapley value.
    """

    model: GNNClassifier
    n_rollouts: int = 20
    n_children: int = 14
    min_nodes: int = 5
    exploration: float = 10.0
    n_samples: int = 100
    random_state: int = 0

    def search(self, graph: Graph) -> Search:
        """Search one graph; the result gives explanations of all sizes."""
        values = CoalitionValues(self.model, graph)
        rng = np.random.default_rng(self.random_state)
        neighbors = Neighbors.of(graph)
        tree = SubgraphTree(
            neighbors,
            ShapleySampler(values, neighbors, self.model.n_layers, self.n_samples, rng),
            self.n_children,
            self.min_nodes,
            self.exploration,
            rng.permutation(graph.n_nodes).tolist(),
        )
        for _ in range(self.n_rollouts if graph.n_nodes else 0):
            tree.rollout()
        predicted = int(values.probabilities.argmax())
        return Search(
            graph,
            self.model.classes_[predicted],
            float(values.probabilities[predicted]),
            tree.rewards,
            values.n_drawn,
            values.n_asked,
        )

    def explain_sizes(self, graph: Graph, sizes: Sequence[int]) -> list[NodeExplanation]:
        """Explain one graph with several sizes by one search."""
        search = self.search(graph)
        return [search.best(size) for size in sizes]
