"""SubgraphX: the connected part of a graph with the largest Shapley value, found by a tree search.

Written from the paper of Yuan, Yu, Wang, Li and Ji (2021). The tree is in `subgraph_tree`, what the network
says of parts of a graph in `coalitions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from gdlnn.baselines.coalitions import ABSENT, Absent, CoalitionValues, check_network
from gdlnn.baselines.subgraph_tree import Neighbours, Search, SubgraphTree, mask_of
from gdlnn.errors import ExplanationError
from gdlnn.graphs import Graph

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from gdlnn.baselines.gnn import GNNClassifier
    from gdlnn.baselines.node_explanation import NodeExplanation
    from gdlnn.graphs import GraphDataset

    BoolArray = npt.NDArray[np.bool_]
    FloatArray = npt.NDArray[np.float64]


class ShapleySampler:
    """Shapley values of connected parts of a graph by sampling, within the receptive field of the network.

    The players are the part itself, as one, and every node within `n_hops` of it; all others stay absent. In
    a random order of the players, the coalition is whoever comes before the part. The same orders serve all
    parts of a graph: their values differ by what they are, not by luck, and depend on no order of asking.

    Parameters
    ----------
    values
        The worth of coalitions.
    neighbours
        The graph.
    n_hops
        Reach of the network.
    n_samples
        Orders drawn.
    rng
        Draws them.
    """

    def __init__(
        self,
        values: CoalitionValues,
        neighbours: Neighbours,
        n_hops: int,
        n_samples: int,
        rng: np.random.Generator,
    ) -> None:
        self._values, self._neighbours, self._n_hops = values, neighbours, n_hops
        # A player comes before the part where its key is lower: all orders are alike likely.
        keys = rng.random((n_samples, neighbours.n_nodes), dtype=np.float32)
        self._before: BoolArray = keys < rng.random((n_samples, 1), dtype=np.float32)

    def __call__(self, parts: Sequence[int]) -> FloatArray:
        """Return the Shapley value of each part, given as bits."""
        if not parts:
            return np.zeros(0)
        n = self._neighbours.n_nodes
        own = np.array([mask_of(part, n) for part in parts])
        reach = np.array([mask_of(self._neighbours.within(part, self._n_hops), n) for part in parts])
        without = self._before[None] & (reach & ~own)[:, None]
        both = np.concatenate([without | own[:, None], without]).reshape(
            2 * len(parts) * len(self._before), n
        )
        worth = self._values(both).reshape(2, len(parts), -1)
        return np.asarray((worth[0] - worth[1]).mean(axis=1))


class SubgraphX:
    """Explain a graph network by the connected subgraph with the largest Shapley value.

    A Monte Carlo tree search prunes one node at a time, down to `min_nodes`; of what a cut leaves, the
    largest connected part goes on. One search serves all sizes of explanations. The defaults are those
    published with the method: 20 rollouts, 14 children, 5 nodes, λ = 10, 100 samples, nodes of low degree
    pruned first.

    Parameters
    ----------
    model
        A fitted graph network: `GINClassifier` and its kin.
    n_rollouts
        Walks from the whole graph to a small part of it.
    n_children
        Most children of a node of the tree: the nodes that may be pruned next.
    min_nodes
        Parts of this size are not pruned further.
    exploration
        λ of the choice among children: how much their own value counts against what was found below them.
    n_samples
        Orders of players for a Shapley value.
    n_hops
        Reach of the players; by default the number of layers of the network.
    high_first
        Prune nodes of high degree first: quicker, and less good according to the paper.
    absent
        What becomes of nodes outside a coalition: "zeros" gives them features of zero, as published;
        "removed" takes them out with their edges.
    seed
        Seed of the samples; the same seed gives the same explanation.
    progress
        Show a bar where several graphs are explained.
    """

    def __init__(
        self,
        model: GNNClassifier,
        n_rollouts: int = 20,
        n_children: int = 14,
        min_nodes: int = 5,
        exploration: float = 10.0,
        n_samples: int = 100,
        n_hops: int | None = None,
        high_first: bool = False,
        absent: Absent = "zeros",
        seed: int = 0,
        progress: bool = True,
    ) -> None:
        check_network(model)
        for name, value in (
            ("n_rollouts", n_rollouts),
            ("n_children", n_children),
            ("min_nodes", min_nodes),
            ("n_samples", n_samples),
        ):
            check_whole(name, value)
        if exploration < 0:
            raise ExplanationError(f"exploration: expected a number of at least 0, got {exploration}")
        if absent not in ABSENT:
            raise ExplanationError(f"absent: expected one of {', '.join(ABSENT)}, got {absent!r}")
        self.model = model
        self.n_rollouts, self.n_children, self.min_nodes = n_rollouts, n_children, min_nodes
        self.exploration, self.n_samples, self.high_first = exploration, n_samples, high_first
        self.n_hops: int = model.n_layers if n_hops is None else n_hops
        self.absent: Absent = absent
        self.seed, self.progress = seed, progress

    def search(self, graph: Graph, target: Any = None) -> Search:
        """Search one graph; the result gives explanations of all sizes.

        Parameters
        ----------
        graph
            The graph.
        target
            The class to explain; by default the predicted one.
        """
        values = CoalitionValues(self.model, graph, class_position(self.model, target), self.absent)
        rng = np.random.default_rng(self.seed)
        neighbours = Neighbours.of(graph)
        tree = SubgraphTree(
            neighbours,
            ShapleySampler(values, neighbours, self.n_hops, self.n_samples, rng),
            self.n_children,
            self.min_nodes,
            self.exploration,
            self.high_first,
            rng.permutation(graph.n_nodes).tolist(),
        )
        for _ in range(self.n_rollouts if graph.n_nodes else 0):
            tree.rollout()
        predicted = int(values.probabilities.argmax())
        return Search(
            graph,
            self.model.classes_[predicted],
            float(values.probabilities[predicted]),
            self.model.classes_[values.target],
            tree.rewards,
            values.n_drawn,
            values.n_asked,
        )

    @overload
    def explain(self, graphs: Graph, n_nodes: int = 5, target: Any = None) -> NodeExplanation: ...
    @overload
    def explain(
        self, graphs: Sequence[Graph] | GraphDataset, n_nodes: int = 5, target: Any = None
    ) -> list[NodeExplanation]: ...
    def explain(
        self, graphs: Graph | Sequence[Graph] | GraphDataset, n_nodes: int = 5, target: Any = None
    ) -> NodeExplanation | list[NodeExplanation]:
        """Return the best connected subgraph of at most `n_nodes` nodes of one graph, or of each of several.

        Where the search met none that small, the smallest it met is given.

        Parameters
        ----------
        graphs
            One graph, or several.
        n_nodes
            Most nodes of an explanation.
        target
            The class to explain; by default the predicted one.
        """
        check_whole("n_nodes", n_nodes)
        if isinstance(graphs, Graph):
            return self.search(graphs, target).best(n_nodes)
        listed = list(graphs)
        if not self.progress:
            return [self.search(graph, target).best(n_nodes) for graph in listed]
        from rich.progress import track

        shown = track(listed, "SubgraphX", transient=True)
        return [self.search(graph, target).best(n_nodes) for graph in shown]


def check_whole(name: str, value: object) -> None:
    """Refuse what is no whole number of at least 1."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise ExplanationError(f"{name}: expected a whole number of at least 1, got {value!r}")


def class_position(model: GNNClassifier, target: Any) -> int | None:
    """Return the position of a class in `classes_`; None stands for the predicted one."""
    if target is None:
        return None
    classes = model.classes_.tolist()
    if target not in classes:
        known = ", ".join(map(repr, classes))
        raise ExplanationError(f"target: expected one of the classes {known}, got {target!r}")
    return int(classes.index(target))
