"""The matcher against outside oracles: PL4XGL's truth tables and networkx."""

from pathlib import Path

import numpy as np
import pytest

from gdlnn import Graph, Program
from gdlnn.graphs.arrays import GraphSet
from gdlnn.matching import count_matches, match
from reference.oracles import load_truth_table, networkx_count
from reference.random_cases import Shape, planted_program, random_graph, random_program


@pytest.mark.data
@pytest.mark.parametrize("name", ["mutag", "bbbp"])
def test_matches_are_those_of_pl4xgl(name: str, truth_dir: Path) -> None:
    programs, graphs, truth = load_truth_table(truth_dir / f"pl4xgl_matches_{name}.json")
    encoded = GraphSet(graphs)
    assert np.array_equal(match(programs, encoded, n_jobs=2), truth)
    assert np.array_equal(count_matches(programs[::10], encoded, distinct=True) > 0, truth[:, ::10])


def random_pair(seed: int, directed: bool, disconnected: bool) -> tuple[Program, Graph]:
    rng = np.random.default_rng([seed, directed, disconnected])
    shape = Shape(directed, int(rng.integers(1, 3)), int(rng.integers(1, 3)), int(rng.integers(2, 5)))
    graph = random_graph(rng, shape, 8)
    if rng.integers(2):
        return planted_program(rng, graph, 5), graph
    return random_program(rng, shape, 4, density=0.1 if disconnected else 0.5), graph


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("disconnected", [False, True])
def test_networkx_counts_the_same(directed: bool, disconnected: bool, n_cases: float) -> None:
    for seed in range(int(120 * n_cases)):
        program, graph = random_pair(seed, directed, disconnected)
        found = program.count(graph)
        message = f"seed {seed}\n{program}\n{graph.node_features.tolist()}\n{graph.edges.tolist()}"
        assert found == networkx_count(program, graph), message
