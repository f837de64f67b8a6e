"""Views of a ProgramSet for people: a summary of a few lines, and a table of its best programs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gdlnn.graphs import Schema

if TYPE_CHECKING:
    from rich.table import Table

    from gdlnn.gdl.program import Program
    from gdlnn.mining.program_set import ProgramSet

WIDTH = 120
LONGEST = 300
"""Most characters of a program in words."""


def summary(programs: ProgramSet) -> str:
    """Say in a few lines what a set holds and what it took."""
    info, stats = programs.info, programs.stats
    schema = info.schema or Schema()
    of = f" of {info.dataset}" if info.dataset else ""
    rows = {int(row) for item in programs for row in item.targets}
    state = "" if programs.complete else f", incomplete: stopped by {programs.stopped_by or 'hand'}"
    lines = [f"{len(programs)} programs from {len(rows)} of {info.n_graphs} graphs{of}{state}"]
    counts = Counter(programs.labels)
    for label, n_graphs in info.label_counts:
        scores = [item.score for item in programs if item.label == label]
        best = f", best score {max(scores):.4f}" if scores else ""
        lines.append(f"  {schema.class_name(label)}: {counts[label]} programs for {n_graphs} graphs{best}")
    if programs:
        nodes = sum(len(item.program.nodes) for item in programs) / len(programs)
        support = sum(item.n_matched for item in programs) / len(programs)
        lines.append(f"  {nodes:.1f} nodes and {support:.1f} graphs matched on average")
    settings = info.settings
    kind = "connected" if settings.get("connected", True) else "connected or not"
    lines.append(f"  ε = {settings.get('epsilon', 0):g}, {settings.get('strategy', '')}, {kind}")
    if stats.tasks:
        lines.append(
            f"  {stats.tasks} descents, {stats.tests} tests, {stats.unknown_share:.2%} unknown, "
            f"{stats.descent_seconds:.1f} s of descents, {stats.wall_seconds:.1f} s in all"
        )
    return "\n".join(lines)


def table(programs: ProgramSet, n: int) -> Table:
    """Return the best programs as a table."""
    from rich.table import Table
    from rich.text import Text

    schema = programs.info.schema
    shown = programs.ranked()[:n]
    result = Table(title=f"{len(shown)} best of {len(programs)} programs", title_justify="left")
    for name in ("rank", "score", "support", "targets"):
        result.add_column(name, justify="right")
    result.add_column("label")
    result.add_column("program", ratio=1)
    for rank, item in enumerate(shown, start=1):
        result.add_row(
            str(rank),
            f"{item.score:.4f}",
            str(item.n_matched),
            str(len(item.targets)),
            Text((schema or Schema()).class_name(item.label)),
            Text(_line(item.program, schema, programs.info.directed)),  # brackets in a program are no markup
        )
    return result


def describe(programs: ProgramSet, n: int) -> str:
    """Return the table as text."""
    from rich.console import Console

    console = Console(width=WIDTH, color_system=None, force_terminal=False, force_jupyter=False)
    with console.capture() as capture:
        console.print(table(programs, n))
    return capture.get()


def _line(program: Program, schema: Schema | None, directed: bool) -> str:
    if schema is None:
        return "; ".join(str(program).splitlines())
    words = program.describe(schema, directed=directed)
    return words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"
