"""A plain backtracking matcher over (Program, Graph): the semantics of GDL in the fewest words."""

from collections.abc import Iterator

from gdlnn import Graph, Program
from gdlnn.gdl.program import ANY, Intervals

Witness = dict[str, int]


def _inside(row: list[float], intervals: Intervals | None) -> bool:
    if intervals is None:
        return True
    assert len(row) == len(intervals), "the program and the graph have different numbers of features"
    # A missing value (NaN) satisfies no condition.
    return all(
        wanted == ANY or wanted[0] <= value <= wanted[1] for value, wanted in zip(row, intervals, strict=True)
    )


def edge_index(graph: Graph) -> dict[tuple[int, int], int]:
    """Return the number of the edge that leads from one node to another; both ways where undirected."""
    index = {}
    for number, (u, v) in enumerate(graph.edges.tolist()):
        index[u, v] = number
        if not graph.directed:
            index[v, u] = number
    return index


def witnesses(program: Program, graph: Graph) -> Iterator[Witness]:
    """Yield every valuation: each node variable on a node of its own, every description satisfied."""
    nodes, edges = graph.node_features.tolist(), graph.edge_features.tolist()
    index = edge_index(graph)
    candidates = {
        node.variable: [v for v in range(graph.n_nodes) if _inside(nodes[v], node.intervals)]
        for node in program.nodes
    }
    variables = program.variables
    # Each edge variable is checked as soon as both its ends have an image.
    due: dict[str, list[tuple[str, str, Intervals | None]]] = {variable: [] for variable in variables}
    for edge in program.edges:
        later = max(edge.source, edge.target, key=variables.index)
        due[later].append((edge.source, edge.target, edge.intervals))

    def satisfied(variable: str, image: Witness) -> bool:
        for source, target, intervals in due[variable]:
            number = index.get((image[source], image[target]))
            if number is None or not _inside(edges[number], intervals):
                return False
        return True

    def extend(depth: int, image: Witness) -> Iterator[Witness]:
        if depth == len(variables):
            yield dict(image)
            return
        variable = variables[depth]
        for node in candidates[variable]:
            if node in image.values():
                continue
            image[variable] = node
            if satisfied(variable, image):
                yield from extend(depth + 1, image)
            del image[variable]

    yield from extend(0, {})


def find(program: Program, graph: Graph) -> Witness | None:
    """Return the first witness, or None."""
    return next(witnesses(program, graph), None)


def matches(program: Program, graph: Graph) -> bool:
    """Whether there is a witness."""
    return find(program, graph) is not None


def count(program: Program, graph: Graph, distinct: bool = False) -> int:
    """Return the number of witnesses, or of distinct subgraphs (nodes and edges) they cover."""
    if not distinct:
        return sum(1 for _ in witnesses(program, graph))
    index = edge_index(graph)
    subgraphs = set()
    for image in witnesses(program, graph):
        covered = frozenset(index[image[e.source], image[e.target]] for e in program.edges)
        subgraphs.add((frozenset(image.values()), covered))
    return len(subgraphs)
