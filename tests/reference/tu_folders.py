"""Graphs without features of their own as a folder of TU text files."""

from pathlib import Path

from gdlnn import GraphDataset


def write_tu(dataset: GraphDataset, folder: Path) -> None:
    """Write edges and labels; a reader gives nodes their degrees."""
    assert dataset.y is not None
    folder.mkdir()
    edges, owners, first = [], [], 1
    for number, graph in enumerate(dataset.graphs, start=1):
        edges += [f"{u + first}, {v + first}" for u, v in graph.edges.tolist()]
        owners += [str(number)] * graph.n_nodes
        first += graph.n_nodes
    for suffix, lines in (
        ("A", edges),
        ("graph_indicator", owners),
        ("graph_labels", [str(label) for label in dataset.y.tolist()]),
    ):
        (folder / f"{folder.name}_{suffix}.txt").write_text("\n".join(lines) + "\n")
