"""Step budgets, threads, Ctrl-C and memory: a matcher that can be stopped and says only what it knows."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from gdlnn import Program, _core
from gdlnn.errors import MatchError, UnknownMatchError
from gdlnn.gdl.matching import fitted_batch
from gdlnn.graphs.arrays import GraphSet
from gdlnn.matching import count_matches, match
from reference.shapes import complete, ladder, path, tables

HARD_PROGRAM, HARD_GRAPH = Program.from_graph(path(37)), ladder(16)


def test_a_hard_question_is_unknown_within_a_budget() -> None:
    found, unknown = tables([HARD_PROGRAM], HARD_GRAPH, 10_000)
    assert not found.any()
    assert unknown.all()
    with pytest.raises(
        UnknownMatchError, match=r"1 of 1 matches are unknown after 10000 steps.* program 0 on graph 0"
    ):
        match(HARD_PROGRAM, HARD_GRAPH, step_budget=10_000)
    with pytest.raises(UnknownMatchError):
        count_matches(HARD_PROGRAM, HARD_GRAPH, step_budget=10_000)


def test_the_budget_is_per_pair() -> None:
    programs, graphs = [HARD_PROGRAM, Program.from_graph(path(2))], [HARD_GRAPH, path(37), path(3)]
    found, unknown = tables(programs, graphs, 2_000)
    assert found.tolist() == [[False, True], [True, True], [False, True]]
    assert unknown.tolist() == [[True, False], [False, False], [False, False]]


def test_a_budget_must_be_positive() -> None:
    with pytest.raises(MatchError, match="step_budget: expected a positive number of steps or None, got 0"):
        match(HARD_PROGRAM, HARD_GRAPH, step_budget=0)
    assert match(HARD_PROGRAM, path(37), step_budget=2**80).all()


def test_witnesses_go_on_after_the_budget() -> None:
    graph = GraphSet([complete(7)])
    program = Program.from_graph(path(4))
    whole = [tuple(w.values()) for w in program.witnesses(graph.graphs[0])]
    search = _core.Witnesses(graph.native, 0, fitted_batch([program], graph))
    found, pauses = [], 0
    while True:
        answer, image = search.next(1)
        if answer == 0:
            break
        if image is None:
            assert answer == 2
            pauses += 1
        else:
            found.append(tuple(image.tolist()))
    assert found == whole
    assert len(whole) == 7 * 6 * 5 * 4
    assert pauses > 0
    assert search.next(1)[0] == 0  # and stays at the end


def python(code: str) -> subprocess.Popen[str]:
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


HARD = """
from gdlnn import Program
from gdlnn.matching import count_matches, match
from reference.shapes import ladder, path
graph, program = ladder(40), Program.from_graph(path(85))
print("ready", flush=True)
"""


@pytest.mark.parametrize(
    "call",
    [
        "match(program, graph)",
        "match([program] * 40, [graph] * 10, n_jobs=2)",
        "count_matches(program, graph, distinct=True)",
        "list(program.witnesses(graph))",
    ],
)
def test_ctrl_c_stops_a_long_match(call: str) -> None:
    process = python(HARD + call)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.4)
    assert process.poll() is None, "the question was not hard enough"
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert time.monotonic() - began < 2
    assert "KeyboardInterrupt" in errors
    assert process.returncode != 0


LARGE = """
import json, resource
import numpy as np
from gdlnn import Graph, Program
from gdlnn.graphs.arrays import GraphSet
from gdlnn.matching import match
rng = np.random.default_rng(0)
n = 20_000
drawn = np.sort(rng.integers(n, size=(3 * n, 2)), axis=1)
spokes = np.column_stack([np.zeros(999, dtype=int), np.arange(1, 1000)])
edges = np.unique(np.concatenate([drawn[drawn[:, 0] < drawn[:, 1]], spokes]), axis=0)
graph = Graph(rng.normal(size=(n, 5)), edges, rng.normal(size=(len(edges), 2)))
def used(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before = used()
encoded = GraphSet([graph])
whole = Program.from_graph(graph.subgraph(range(12)))
shape = Program([(x.variable, None) for x in whole.nodes], [(e.source, e.target, None) for e in whole.edges])
nowhere = Program([(x.variable, [(9, 10)] * 5) for x in whole.nodes], [])
answers = match([whole, shape, nowhere], encoded)[0].tolist()
found = whole.find(graph)
print(json.dumps({"answers": answers, "found": list(found.values()),
                  "mb": used() - before, "encoding_mb": encoded.nbytes / 1e6}))
"""


def test_a_graph_of_20_000_nodes_in_bounded_memory() -> None:
    output, errors = python(LARGE).communicate(timeout=60)
    assert not errors
    result = json.loads(output)
    assert result["answers"] == [True, True, False]
    assert result["found"] == list(range(12))
    assert result["encoding_mb"] < 20
    assert result["mb"] < 100
