"""TaskResult: what one descent gave, in a form that files and other processes can hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from gdlnn.gdl.program import Interval, Program

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gdlnn import _core
    from gdlnn.graphs import Graph

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class TaskResult:
    """The program of one task in canonical form, where it matches, and what the search took.

    Attributes
    ----------
    task
        Number of the task in the plan.
    support
        Which graphs the program matches, as text: ``"0-5,7"``.
    mutations
        Number of mutations applied.
    unresolved
        Graphs on which the answer is not known even with the larger budget; taken as not matched.
    tests, searches, unknown
        Questions asked, searches run, and questions whose search ran out of budget.
    """

    task: int
    program: Program
    score: float
    support: str
    mutations: int
    unresolved: int
    tests: int
    searches: int
    unknown: int

    @classmethod
    def from_native(cls, task: int, graph: Graph, mined: _core.MinedProgram) -> Self:
        """Convert what the core gave for a target."""
        program = native_program(graph, mined).canonical(directed=graph.directed)
        return cls(
            task,
            program,
            mined.score,
            format_rows(np.flatnonzero(mined.support)),
            mined.n_mutations,
            mined.unresolved,
            mined.tests,
            mined.searches,
            mined.unknown,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        return {**vars(self), "program": self.program.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Build a result from what `to_json` gave."""
        return cls(**{**data, "program": Program.from_json(data["program"])})


def native_program(graph: Graph, mined: _core.MinedProgram) -> Program:
    """Return the program the core mined from a graph; the variable of node v is called ``xv``."""

    def vectors(
        lower: npt.NDArray[np.float64], upper: npt.NDArray[np.float64], count: int
    ) -> list[list[Interval]]:
        rows = np.stack([lower, upper], axis=-1).reshape(count, -1, 2).tolist()
        return [[Interval(*bounds) for bounds in row] for row in rows]

    nodes, ends = mined.nodes.tolist(), graph.edges[mined.edges].tolist()
    return Program(
        [
            (f"x{node}", vector)
            for node, vector in zip(
                nodes, vectors(mined.node_lower, mined.node_upper, len(nodes)), strict=True
            )
        ],
        [
            (f"x{u}", f"x{v}", vector)
            for (u, v), vector in zip(
                ends, vectors(mined.edge_lower, mined.edge_upper, len(ends)), strict=True
            )
        ],
    )


def format_rows(rows: Iterable[int]) -> str:
    """Write rising row numbers with runs as ranges: ``0-5,7``."""
    runs: list[list[int]] = []
    for row in map(int, rows):
        if runs and row == runs[-1][1] + 1:
            runs[-1][1] = row
        else:
            runs.append([row, row])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def parse_rows(text: str, n: int) -> BoolArray:
    """Read what `format_rows` wrote, as a mask over n rows.

    Raises
    ------
    ValueError
        Where the text is no list of rows below n.
    """
    mask = np.zeros(n, dtype=bool)
    for run in text.split(",") if text else ():
        first, _, last = run.partition("-")
        a, b = int(first), int(last or first)
        if not 0 <= a <= b < n:
            raise ValueError(f"expected rows from 0 to {n - 1}, got {run!r}")
        mask[a : b + 1] = True
    return mask
