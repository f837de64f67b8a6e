"""Many programs in one walk against the reference matcher, the single searches and known answers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gdlnn import Graph, Program, _core
from gdlnn.datasets import load_dataset
from gdlnn.errors import MatchError
from gdlnn.gdl.matching import NO_BUDGET, fitted_batch
from gdlnn.gdl.program import EdgeDescription
from gdlnn.graphs import GraphDataset
from gdlnn.graphs.arrays import GraphSet
from gdlnn.matching import MOST_WITNESSES, ProgramPlan, match
from gdlnn.mining import neighborhoods
from reference import matcher
from reference.random_cases import (
    Rng,
    Shape,
    planted_program,
    random_graph,
    random_intervals,
    random_program,
    random_shape,
    renumbered,
)
from reference.shapes import complete, path, ring, star

BLOCKS = 8


def grown(rng: Rng, program: Program, shape: Shape) -> Program:
    """Return a program with one more variable that hangs on it: the two share all but that."""
    edges = list(program.edges)
    if program.nodes:
        other = program.variables[int(rng.integers(len(program.nodes)))]
        ends = ("new", other) if rng.integers(2) else (other, "new")
        edges.append(EdgeDescription(*ends, random_intervals(rng, shape.n_edge_features, shape.n_values)))
    intervals = random_intervals(rng, shape.n_node_features, shape.n_values)
    return Program([*program.nodes, ("new", intervals)], edges)


def balls(rng: Rng, graph: Graph, n: int) -> list[Program]:
    """Return the surroundings of some nodes as programs, one radius after another: each contains the last."""
    found = []
    for centre in rng.permutation(graph.n_nodes)[:n].tolist():
        inside = {centre}
        for _ in range(3):
            found.append(Program.from_graph(graph.subgraph(sorted(inside))))
            inside |= {w for u, v in graph.edges.tolist() if {u, v} & inside for w in (u, v)}
    return found


def random_table(seed: int, n_graphs: int = 6) -> tuple[list[Program], list[Graph]]:
    """Return programs of every kind, some part of others, and graphs of one kind."""
    rng = np.random.default_rng(seed)
    shape = random_shape(rng)
    graphs = [random_graph(rng, shape, 8) for _ in range(n_graphs)]
    programs = [random_program(rng, shape, 4) for _ in range(4)]
    programs += [planted_program(rng, graph, 4) for graph in graphs[:3]]
    programs += [grown(rng, program, shape) for program in programs[:4] if len(program.nodes) < 5]
    programs += [program for graph in graphs[:3] for program in balls(rng, graph, 2)]
    programs = [program for program in programs if len(program.nodes) <= 6]
    return [programs[i] for i in rng.permutation(len(programs))], graphs


def old_path(programs: Sequence[Program], graphs: GraphSet, budget: int = NO_BUDGET) -> Any:
    """Return 0 (no), 1 (yes) or 2 (unknown) for graphs × programs, one search for each."""
    return _core.exists(graphs.native, fitted_batch(programs, graphs), budget, 1)


def subgraph(program: Program, graph: Graph, image: Sequence[int]) -> tuple[Any, Any]:
    """Return the nodes and edges that an image covers."""
    at = dict(zip(program.variables, image, strict=True))
    index = matcher.edge_index(graph)
    return frozenset(image), frozenset(index[at[edge.source], at[edge.target]] for edge in program.edges)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_the_plan_agrees_with_the_reference(block: int, n_cases: float) -> None:
    size = int(12 * n_cases)
    for seed in range(block * size, (block + 1) * size):
        programs, graphs = random_table(seed)
        encoded = GraphSet(graphs)
        found = ProgramPlan(programs, encoded).match(encoded)
        expected = np.array([[matcher.matches(p, g) for p in programs] for g in graphs])
        assert np.array_equal(found.table(), expected.reshape(len(graphs), len(programs))), f"seed {seed}"
        assert not found.n_unknown
        assert np.array_equal(old_path(programs, encoded), expected), f"seed {seed}: single searches"
        assert np.array_equal(found.matrix().toarray(), found.table())


@pytest.mark.parametrize("block", range(BLOCKS))
def test_witnesses_are_the_distinct_images(block: int, n_cases: float) -> None:
    size = int(8 * n_cases)
    for seed in range(block * size, (block + 1) * size):
        programs, graphs = random_table(1_000_000 + seed, 4)
        encoded = GraphSet(graphs)
        plan = ProgramPlan(programs, encoded)
        rows, columns = (axis.reshape(-1) for axis in np.indices((len(graphs), len(programs))))
        for most in (MOST_WITNESSES, 3):
            found = plan.witnesses(encoded, rows, columns, most)
            for g, p, images, all_of_them in zip(rows, columns, found.images, found.complete, strict=True):
                check_witnesses(programs[p], graphs[g], images, all_of_them, most, seed)


def check_witnesses(
    program: Program, graph: Graph, images: Any, complete: bool, most: int, seed: int
) -> None:
    everything = {tuple(w[v] for v in program.variables) for w in matcher.witnesses(program, graph)}
    subgraphs = {subgraph(program, graph, image) for image in everything}
    listed = [tuple(image) for image in images.tolist()]
    message = f"seed {seed}\n{program}\n{graph.edges.tolist()}"
    assert set(listed) <= everything, message
    covered = {subgraph(program, graph, image) for image in listed}
    assert len(covered) == len(listed) == min(most, len(subgraphs)), message
    assert complete == (len(subgraphs) <= most), message


@pytest.mark.parametrize("block", range(4))
def test_the_first_witnesses_do_not_depend_on_the_numbering(block: int, n_cases: float) -> None:
    size = int(10 * n_cases)
    for seed in range(block * size, (block + 1) * size):
        rng = np.random.default_rng(2_000_000 + seed)
        shape = random_shape(rng)
        graph = random_graph(rng, shape, 9)
        programs = [random_program(rng, shape, 3) for _ in range(4)] + [planted_program(rng, graph, 4)]
        other = renumbered(rng, graph)
        for program in programs:
            for most in (2, MOST_WITNESSES):
                images, others = (
                    ProgramPlan([program], GraphSet([g])).witnesses(GraphSet([g]), [0], [0], most).images[0]
                    for g in (graph, other)
                )
                # Up to a symmetry of the graph: the nodes that are covered look the same, with what is round
                # them.
                assert look(graph, images) == look(other, others), f"seed {seed}\n{program}"


def look(graph: Graph, images: Any) -> str:
    """Return the graph with its nodes marked by how often images cover them, in canonical form."""
    cover = np.bincount(np.asarray(images, dtype=np.int64).reshape(-1), minlength=graph.n_nodes)
    features = np.column_stack([graph.node_features, cover[: graph.n_nodes]])
    marked = Graph(features, graph.edges, graph.edge_features, directed=graph.directed)
    return str(Program.from_graph(marked).canonical(graph.directed))


@pytest.mark.parametrize("seed", range(6))
def test_threads_and_batches_change_nothing(seed: int) -> None:
    programs, graphs = random_table(3_000_000 + seed, 12)
    encoded = GraphSet(graphs)
    plan = ProgramPlan(programs, encoded)
    whole = plan.match(encoded)
    rows, columns = np.nonzero(whole.table())
    witnesses = plan.witnesses(encoded, rows, columns)
    for n_jobs in (2, 8, -1):
        other = plan.match(encoded, n_jobs)
        assert np.array_equal(other.programs, whole.programs)
        assert np.array_equal(other.start, whole.start)
        again = plan.witnesses(encoded, rows, columns, n_jobs=n_jobs)
        assert all(np.array_equal(a, b) for a, b in zip(again.images, witnesses.images, strict=True))
        assert np.array_equal(again.complete, witnesses.complete)
    for g, graph in enumerate(graphs):
        alone = GraphSet([graph])
        assert np.array_equal(plan.match(alone).table()[0], whole.table()[g])
        asked = columns[rows == g]
        images = plan.witnesses(alone, np.zeros(len(asked), dtype=int), asked).images
        expected = [witnesses.images[i] for i in np.flatnonzero(rows == g)]
        assert all(np.array_equal(a, b) for a, b in zip(images, expected, strict=True))


@pytest.mark.parametrize("seed", range(12))
def test_a_budget_never_lies(seed: int) -> None:
    programs, graphs = random_table(4_000_000 + seed)
    encoded = GraphSet(graphs)
    plan = ProgramPlan(programs, encoded)
    truth = plan.match(encoded).table()
    for budget in (1, 2, 3, 5, 8, 100, 10**6):
        found = plan.match(encoded, step_budget=budget)
        known = ~found.unknown_table()
        assert not (found.table() & ~known).any()
        assert np.array_equal(found.table()[known], truth[known]), f"budget {budget}"
        # What single searches know within a budget, the plan knows too.
        assert known[old_path(programs, encoded, budget) != 2].all(), f"budget {budget}"
    assert known.all()


def test_a_plan_is_used_on_other_graphs(n_cases: float) -> None:
    for seed in range(int(30 * n_cases)):
        rng = np.random.default_rng(5_000_000 + seed)
        shape = random_shape(rng)
        first, second = ([random_graph(rng, shape, 7) for _ in range(4)] for _ in range(2))
        turned = [random_graph(rng, shape._replace(directed=not shape.directed), 7) for _ in range(3)]
        programs = [random_program(rng, shape, 4) for _ in range(5)]
        programs += [planted_program(rng, graph, 4) for graph in second]
        if not any(len(graph.edges) for graph in first) or not any(graph.n_nodes for graph in first):
            continue
        plan = ProgramPlan(programs, GraphSet(first))
        for graphs in (second, turned, [*second, *turned]):
            encoded = GraphSet(graphs)
            assert np.array_equal(plan.match(encoded).table(), match(programs, graphs)), f"seed {seed}"
            assert np.array_equal(plan.match(encoded).table(), old_path(programs, encoded) == 1)


def test_graphs_that_do_not_fit_the_plan_are_refused() -> None:
    edge = Graph([[1.0], [2.0]], [(0, 1)], [[3.0]])
    plan = ProgramPlan([Program.parse("node x <[1.0, 1.0]>")], GraphSet([edge]))
    with pytest.raises(MatchError, match=r"expected graphs with 1 node feature\(s\), got 2"):
        plan.match(GraphSet([Graph([[1.0, 2.0]], [])]))
    with pytest.raises(MatchError, match=r"expected graphs with 1 edge feature\(s\), got 0"):
        plan.witnesses(GraphSet([Graph([[1.0], [2.0]], [(0, 1)])]), [0], [0])
    both = GraphSet([edge, Graph([[1.0]], [], np.zeros((0, 1)), directed=True)])
    with pytest.raises(MatchError, match="all directed or all undirected"):
        plan.witnesses(both, [0], [0])
    with pytest.raises(MatchError, match="rows: expected numbers from 0 to 0"):
        plan.witnesses(GraphSet([edge]), [1], [0])
    with pytest.raises(MatchError, match="rows that do not fall"):
        plan.witnesses(GraphSet([edge, edge]), [1, 0], [0, 0])
    # A graph without edges let any edge feature pass; one with edges does not.
    lax = ProgramPlan(
        [Program.parse("node x node y edge (x, y) <[1.0, 1.0]>")], GraphSet([Graph([[1.0]], [])])
    )
    with pytest.raises(MatchError, match="program 0"):
        lax.match(GraphSet([Graph([[1.0], [2.0]], [(0, 1)])]))


def vocabulary(name: str, data_dir: Path, n_graphs: int | None) -> tuple[GraphDataset, list[Program]]:
    dataset = load_dataset(name, data_dir, download=False)[:n_graphs]
    found = neighborhoods(dataset)
    if len(found.info.schema.node if found.info.schema else ()) > dataset.n_node_features:
        dataset = dataset.with_structure()
    return dataset, found.programs


@pytest.mark.data
@pytest.mark.parametrize("name", ["BBBP", "ENZYMES"])
@pytest.mark.parametrize(
    "n_graphs", [pytest.param(120, id="sample"), pytest.param(None, id="all", marks=pytest.mark.long)]
)
def test_a_vocabulary_of_public_data(name: str, n_graphs: int | None, data_dir: Path) -> None:
    dataset, programs = vocabulary(name, data_dir, n_graphs)
    encoded = GraphSet(dataset.graphs)
    plan = ProgramPlan(programs, encoded)
    assert np.array_equal(plan.match(encoded).table(), old_path(programs, encoded) == 1)
    assert plan.nbytes <= 20 * sum(len(str(program)) for program in programs)


HOSTILE = {
    "chains": [Program.from_graph(path(n)) for n in (1, 2, 60, 127, 128, 129, 200)],
    "rings": [Program.from_graph(ring(n)) for n in (3, 64, 127, 128, 129)],
    "complete": [Program.from_graph(complete(n)) for n in (3, 12, 40, 60)],
    "stars": [Program.from_graph(star(n)) for n in (2, 29, 127, 128)],
    "far apart": [Program([(f"x{i}", None) for i in range(n)], []) for n in (2, 100, 300)],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_programs_have_bounded_plans_and_the_answers_of_single_searches(name: str) -> None:
    programs = HOSTILE[name]
    graphs = GraphSet([path(150), ring(129), complete(60), complete(200), star(139), path(5)])
    plan = ProgramPlan(programs, graphs)
    assert plan.nbytes <= 20 * sum(len(str(program)) for program in programs)
    budget = 20_000
    found, before = plan.match(graphs, step_budget=budget), old_path(programs, graphs, budget)
    known = before != 2
    assert np.array_equal(found.table()[known], before[known] == 1)
    assert not found.unknown_table()[known].any()
