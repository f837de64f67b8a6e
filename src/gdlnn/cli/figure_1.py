"""`gdlnn demo figure-1`: four small graphs, two programs, and the representations they give the graphs."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from gdlnn import Graph, Program

# Feature of each node, edges, label.
GRAPHS = {
    "G1": ([4.0, 2.0, 1.0, 1.0], [(0, 1), (1, 2), (1, 3)], 1),
    "G2": ([1.0, 2.0, 1.0, 4.0], [(0, 1), (1, 2), (1, 3)], 2),
    "G3": ([3.0, 2.0, 1.0, 3.0], [(0, 1), (1, 2), (2, 3)], 1),
    "G4": ([1.0, 2.0, 1.0, 3.0], [(0, 1), (1, 2), (2, 3)], 2),
}

PROGRAMS = {
    "P1": """
node x <[3.0, 4.0]>
node y <[2.0, 2.0]>
node z <[1.0, 1.0]>
edge (x, y)
edge (y, z)
""",
    "P2": """
node x <[1.0, 1.0]>
node y <[0.0, 5.0]>
node z <[1.0, 1.0]>
edge (x, y)
edge (y, z)
""",
}


def show_figure_1() -> None:
    """Show how programs turn graphs into representations that can be read."""
    console = Console()
    programs = {name: Program.parse(text) for name, text in PROGRAMS.items()}
    for name, program in programs.items():
        console.print(f"\n[bold]Program {name}[/bold]")
        console.print(str(program), markup=False, highlight=False)
        console.print(program.describe(directed=True), style="italic", markup=False, highlight=False)

    table = Table(title="\nWhat the programs find", title_justify="left")
    for column in ("graph", "nodes", "edges", "label", *programs, "representation"):
        table.add_column(column)
    for name, (features, edges, label) in GRAPHS.items():
        graph = Graph([[value] for value in features], edges, directed=True, name=name)
        row = [program.matches(graph) for program in programs.values()]
        table.add_row(
            name,
            " ".join(f"{value}" for value in features),
            " ".join(f"{u}→{v}" for u, v in edges),
            str(label),
            *("matches" if found else "–" for found in row),
            f"⟨{', '.join(str(float(found)) for found in row)}⟩",
        )
    console.print(table)
    console.print("\nGraphs of one label get one representation: that is what a classifier builds on.")
