"""The tree of SubgraphX: connected parts of a graph, each one node (and what hung on it) less than the last.

Parts are whole numbers with a bit for every node, so that they are quick to compare, to keep and to cut.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.baselines.node_explanation import NodeExplanation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gdlnn.graphs import Graph

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]


def bits(part: int) -> Iterator[int]:
    """Give the nodes of a part, rising."""
    while part:
        low = part & -part
        yield low.bit_length() - 1
        part ^= low


def mask_of(part: int, n_nodes: int) -> BoolArray:
    """Return a part as a mask over nodes."""
    raw = np.frombuffer(part.to_bytes((n_nodes + 7) // 8, "little"), dtype=np.uint8)
    return np.unpackbits(raw, count=n_nodes, bitorder="little").astype(bool)


@dataclass(frozen=True)
class Neighbours:
    """A graph without directions and features: the neighbours of every node, as a part."""

    n_nodes: int
    of_node: tuple[int, ...]

    @classmethod
    def of(cls, graph: Graph) -> Neighbours:
        """Read them off a graph; a node is no neighbour of itself."""
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
            nearby = 0
            for node in bits(rim):
                nearby |= self.of_node[node]
            rim = nearby & ~reached
            if not rim:
                break
            reached |= rim
        return reached

    def largest_component(self, part: int) -> int:
        """Return the largest connected component of a part; of equals the one with the lowest node."""
        best, left = 0, part
        while left:
            component, rim = 0, left & -left
            while rim:
                component |= rim
                nearby = 0
                for node in bits(rim):
                    nearby |= self.of_node[node]
                rim = nearby & part & ~component
            if component.bit_count() > best.bit_count():
                best = component
            left &= ~component
            if left.bit_count() <= best.bit_count():
                break
        return best

    def without(self, part: int, node: int, connected: bool) -> int:
        """Return what goes on when a node is pruned: the largest connected component of the rest."""
        rest = part & ~(1 << node)
        # A connected part stays so without a node that hangs on one edge.
        if connected and (self.of_node[node] & part).bit_count() <= 1:
            return rest
        return self.largest_component(rest)


@dataclass
class TreeNode:
    """A part in the tree, with what was found below it."""

    part: int
    reward: float
    children: list[TreeNode] = field(default_factory=list)
    n_visits: int = 0
    total: float = 0.0


class SubgraphTree:
    """The search tree of one graph.

    Parameters
    ----------
    neighbours
        The graph.
    worth
        The reward of parts, several at a time.
    n_children, min_nodes, exploration, high_first
        As for `SubgraphX`.
    order
        Nodes in the order in which those of equal degree are tried, so that their numbers play no part.

    Attributes
    ----------
    rewards
        Every part that was met, with its reward.
    """

    def __init__(
        self,
        neighbours: Neighbours,
        worth: Callable[[Sequence[int]], FloatArray],
        n_children: int,
        min_nodes: int,
        exploration: float,
        high_first: bool,
        order: Sequence[int],
    ) -> None:
        self._neighbours, self._worth, self._order = neighbours, worth, order
        self._n_children, self._min_nodes = n_children, min_nodes
        self._exploration, self._sign = exploration, -1 if high_first else 1
        self._nodes: dict[int, TreeNode] = {}
        (self._root,) = self._met([neighbours.whole])

    @property
    def rewards(self) -> dict[int, float]:
        """Every part that was met, with its reward."""
        return {part: node.reward for part, node in self._nodes.items()}

    def rollout(self) -> None:
        """Walk from the whole graph to a part that is not pruned further, and tell it to those above."""
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
        near = self._neighbours.of_node
        nodes = [node for node in self._order if part >> node & 1]
        nodes.sort(key=lambda node: self._sign * (near[node] & part).bit_count())
        connected = self._neighbours.largest_component(part) == part
        cut = (self._neighbours.without(part, node, connected) for node in nodes[: self._n_children])
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

    Attributes
    ----------
    graph, prediction, probability, target
        As in `NodeExplanation`.
    rewards
        The parts that were met, as bits, and their Shapley values.
    n_drawn, n_asked
        Coalitions that were drawn, and those of them that differ and went through the network.
    """

    graph: Graph
    prediction: Any
    probability: float
    target: Any
    rewards: dict[int, float]
    n_drawn: int
    n_asked: int

    def best(self, n_nodes: int) -> NodeExplanation:
        """Return the part with the largest value of at most `n_nodes` nodes, of equals the smallest one.

        Where the search met none that small, the smallest it met is given, of equals the best.
        """
        fitting = [part for part in self.rewards if part.bit_count() <= n_nodes]
        if not fitting:
            least = min(part.bit_count() for part in self.rewards)
            fitting = [part for part in self.rewards if part.bit_count() == least]
        best = min(fitting, key=lambda part: (-self.rewards[part], part.bit_count(), part))
        return NodeExplanation(
            self.graph,
            self.prediction,
            self.probability,
            self.target,
            tuple(bits(best)),
            self.rewards[best],
            self.node_scores,
        )

    @property
    def node_scores(self) -> FloatArray:
        """How much each node matters: the mean value of the parts that hold it, less that of the others."""
        n = self.graph.n_nodes
        parts = np.array([mask_of(part, n) for part in self.rewards], dtype=np.float64)
        values = np.array(list(self.rewards.values()))
        inside, outside = parts.sum(axis=0), (1 - parts).sum(axis=0)
        with_node = (values @ parts) / np.maximum(inside, 1)
        without = (values @ (1 - parts)) / np.maximum(outside, 1)
        return np.asarray(with_node - without, dtype=np.float64)
