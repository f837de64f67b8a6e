"""What matching costs: pairs per CPU second compared with other libraries, two threads with one, encoding.

The tables are those of GDLNN_TRUTH. The other libraries get a random part of each table, `--seconds` of CPU
each, and their answers are checked. The vocabularies are those of default models of BBBP and NCI1 in
GDLNN_DATA, each matched in one walk: compared with single searches, RDKit, igraph, and without each part of
the plan. `--vocabularies` leaves the tables out.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import typer

from benchmarks import _vocabularies
from benchmarks._matchers import LONGEST, MATCHERS, IgraphVF2, candidates, load_truth_table, shape_of
from benchmarks._measuring import least
from gdlnn import Graph, _core
from gdlnn.gdl.matching import NO_BUDGET, fitted_batch
from gdlnn.graphs.arrays import GraphSet
from gdlnn.matching import ProgramPlan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks._matchers import Matcher, TruthTable
    from benchmarks._vocabularies import VocabularyCase

TABLES = {"mutag": 1e6, "bbbp": 5e6}
"""Table to the aim in pairs a CPU second."""
VOCABULARIES = {"BBBP": 20e6, "NCI1": 10e6}
"""Dataset to the aim in pairs a CPU second of its default vocabulary."""
PLAN_TO_TEXT = 20.0
RATIO, TWO_THREADS, ENCODING_MB, ENCODING_S = 20.0, 1.7, 100.0, 1.0
N_ENCODED = 4000
ROUNDS = 9


class Line(NamedTuple):
    """One figure and what was aimed at."""

    what: str
    figure: str
    aim: str
    met: bool | None


def our_rate(table: TruthTable) -> float:
    """Return our pairs a CPU second, one thread, graphs encoded and programs packed beforehand."""
    graphs = GraphSet(table.graphs)
    batch = fitted_batch(table.programs, graphs)
    answers = _core.exists(graphs.native, batch, NO_BUDGET, 1)
    if not np.array_equal(answers, table.truth):
        raise AssertionError("our own answers differ from the truth table")
    return table.truth.size / least(lambda: _core.exists(graphs.native, batch, NO_BUDGET, 1), ROUNDS)


def _too_long(*_: object) -> None:
    raise TimeoutError


def their_rate(matcher: Matcher, table: TruthTable, seconds: float) -> tuple[float, int, int]:
    """Return another library's pairs a CPU second, how many it was asked, and how many it gave up on."""
    graphs = [matcher.build(shape_of(graph), is_program=False) for graph in table.graphs]
    programs = [matcher.build(shape_of(program), is_program=True) for program in table.programs]
    spent, asked, given_up = 0.0, 0, 0
    before = signal.signal(signal.SIGVTALRM, _too_long)
    try:
        for g, p in np.random.default_rng(0).permutation(np.argwhere(table.truth >= 0)).tolist():
            admitted = candidates(table.programs[p], table.graphs[g])
            answer: Any = None
            signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
            began = time.process_time()
            try:
                answer = matcher.matches(graphs[g], programs[p], admitted)
            except Exception:  # each library has an error of its own for a callback or a limit that ends it
                if time.process_time() - began < 0.9 * LONGEST:
                    raise
                given_up += 1
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            spent += time.process_time() - began
            if answer is not None and answer != table.truth[g, p]:
                raise AssertionError(f"{matcher.name}: program {p} on graph {g}: answered {answer}")
            asked += 1
            if spent > seconds:
                break
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return asked / spent, asked, given_up


def table_lines(name: str, table: TruthTable, seconds: float) -> list[Line]:
    """Measure one table: our rate, theirs, and the ratio to the fastest of them."""
    ours, aim = our_rate(table), TABLES[name]
    lines = [Line(f"{name}: pairs a CPU second", f"{ours:,.0f}", f"{aim:,.0f}", ours >= aim)]
    graphs = GraphSet(table.graphs)
    plan = ProgramPlan(table.programs, graphs)
    walk = table.truth.size / least(lambda: plan.match(graphs), ROUNDS)
    lines.append(Line(f"{name}: in one walk", f"{walk:,.0f}", f"ratio {walk / ours:.1f}", None))
    fastest = 0.0
    for matcher in MATCHERS:
        rate, asked, given_up = their_rate(matcher, table, seconds)
        fastest = max(fastest, rate)
        note = f", {given_up} given up after {LONGEST} s" if given_up else ""
        lines.append(Line(f"{name}: {matcher.name} ({asked} pairs{note})", f"{rate:,.0f}", "", None))
    ratio = ours / fastest
    return [*lines, Line(f"{name}: ours to the fastest", f"{ratio:,.0f} ×", f"{RATIO:.0f} ×", ratio >= RATIO)]


def vocabulary_lines(case: VocabularyCase, seconds: float) -> list[Line]:
    """Compare a plan with single searches, RDKit, igraph, and the plan without each of its parts."""
    name, aim = case.name, VOCABULARIES[case.name]
    began = time.process_time()
    plan = ProgramPlan(case.programs, case.graphs)
    compiled = time.process_time() - began
    size = plan.nbytes / _vocabularies.text_size(case.programs)
    ours, single = _vocabularies.plan_rate(case), _vocabularies.single_rate(case)
    igraph, asked, given_up = their_rate(IgraphVF2(), _vocabularies.sampled_table(case), seconds)
    lines = [
        Line(f"{name}: {len(case.programs)} programs × {len(case.graphs)} graphs", "", "", None),
        Line(f"{name}: compiling the plan", f"{compiled:.2f} s", "", None),
        Line(f"{name}: plan to text, bytes", f"{size:.1f} ×", f"{PLAN_TO_TEXT:.0f} ×", size <= PLAN_TO_TEXT),
        Line(f"{name}: pairs a CPU second", f"{ours / 1e6:.1f} M", f"{aim / 1e6:.0f} M", ours >= aim),
        Line(f"{name}: single searches", f"{single / 1e6:.2f} M", f"ratio {ours / single:.1f}", None),
        Line(f"{name}: igraph VF2 ({asked} pairs)", f"{igraph:,.0f}", f"ratio {ours / igraph:,.0f}", None),
    ]
    if given_up:
        lines.append(Line(f"{name}: igraph gave up after {LONGEST} s", str(given_up), "", None))
    if case.data.smiles is not None:
        rdkit = _vocabularies.smarts_rates(case)
        what = f"{name}: RDKit library, {rdkit.n_programs} SMARTS ({rdkit.n_different} differ)"
        lines.append(Line(what, f"{rdkit.rdkit / 1e6:.2f} M", f"ratio {rdkit.ours / rdkit.rdkit:.1f}", None))
    for part in _vocabularies.PARTS:
        rate = _vocabularies.plan_rate(case, **{part: False})
        lines.append(Line(f"{name}: without {part}", f"{rate / 1e6:.1f} M", f"{rate / ours:.2f} ×", None))
    bare = _vocabularies.plan_rate(case, **dict.fromkeys(_vocabularies.PARTS, False))
    apart = _vocabularies.separate_rate(case)
    return [
        *lines,
        Line(f"{name}: without all three", f"{bare / 1e6:.1f} M", f"{bare / ours:.2f} ×", None),
        Line(f"{name}: a plan for each program", f"{apart / 1e6:.2f} M", f"{apart / ours:.3f} ×", None),
    ]


def thread_line(table: TruthTable) -> Line:
    """Compare the wall time of one and two threads over a table long enough for both."""
    graphs = GraphSet(table.graphs)
    batch = fitted_batch(list(table.programs) * 10, graphs)
    one, two = (
        least(lambda n=n: _core.exists(graphs.native, batch, NO_BUDGET, n), 5, time.perf_counter)  # type: ignore[misc]
        for n in (1, 2)
    )
    busy = os.getloadavg()[0]
    what = f"two threads to one (load {busy:.1f} on {os.cpu_count()} cores)"
    return Line(what, f"{one / two:.2f} ×", f"{TWO_THREADS} × when idle", one / two >= TWO_THREADS)


def encoding_lines(graphs: Sequence[Graph]) -> list[Line]:
    """Encode as many molecules as a large dataset has."""
    many = [graphs[i % len(graphs)] for i in range(N_ENCODED)]
    seconds = least(lambda: GraphSet(many).native)
    megabytes = GraphSet(many).nbytes / 1e6
    what = f"encoding {N_ENCODED} graphs of {np.mean([g.n_nodes for g in graphs]):.0f} nodes"
    return [
        Line(what, f"{megabytes:.1f} MB", f"{ENCODING_MB:.0f} MB", megabytes <= ENCODING_MB),
        Line(what, f"{seconds:.2f} s", f"{ENCODING_S:.0f} s", seconds <= ENCODING_S),
    ]


def show(lines: Sequence[Line]) -> None:
    """Print figures next to their aims."""
    width = max(len(line.what) for line in lines)
    for line in lines:
        verdict = {True: "met", False: "not met", None: ""}[line.met]
        print(f"{line.what:<{width}}  {line.figure:>12}  {line.aim:>15}  {verdict}".rstrip(), flush=True)


def run(
    seconds: Annotated[float, typer.Option(help="CPU seconds for each other library.")] = 4.0,
    vocabularies: Annotated[bool, typer.Option("--vocabularies", help="Leave out the truth tables.")] = False,
) -> None:
    """Compare our matcher with others."""
    for name in VOCABULARIES:
        show(vocabulary_lines(_vocabularies.load_vocabulary(name), seconds))
    if vocabularies:
        return
    folder = os.environ.get("GDLNN_TRUTH")
    if not folder or not Path(folder).is_dir():
        print("left out: GDLNN_TRUTH does not name the folder with the truth tables")
        return
    tables = {name: load_truth_table(Path(folder) / f"pl4xgl_matches_{name}.json") for name in TABLES}
    lines = [line for name, table in tables.items() for line in table_lines(name, table, seconds)]
    show([*lines, thread_line(tables["mutag"]), *encoding_lines(tables["bbbp"].graphs)])
