"""Names for places: what a person would call some connected nodes of a graph.

A place of a molecule is named after its groups and rings, see `molecule_places`. Any other is named after its
shape, the labels of its nodes and the values of its edges, in the words of the schema.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from gdlnn.errors import GraphError
from gdlnn.gdl.atoms import is_chemical
from gdlnn.gdl.groups import groups
from gdlnn.gdl.molecule_places import completed_groups, molecule_groups, molecule_place_name
from gdlnn.gdl.text import listed, number_word
from gdlnn.gdl.wording import condition_words
from gdlnn.graphs.molecules import MAX_RINGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gdlnn.gdl.program import Intervals
    from gdlnn.graphs import Feature, Graph, Schema

_MOST_KINDS = 3  # labels that are counted one by one
_MOST_VALUES = 2  # features of an edge or of a single node that are listed
_NOUNS = ("kind", "label", "type")  # features whose values say what an edge is
_LONGEST_PATH = 4  # nodes of a directed path that are listed in order
Near = dict[int, set[int]]


def place_name(
    graph: Graph, nodes: Sequence[int], schema: Schema | None = None, edge: Intervals | None = None
) -> str:
    """Return a name for some connected nodes of a graph, without an article in front.

    The name is the same for every numbering of the graph and every way to write a molecule.

    Parameters
    ----------
    graph
        The graph.
    nodes
        The nodes of the place.
    schema
        The names of features and values; by default those of the graph.
    edge
        What of the values of its only edge matters; by default the values themselves are named.
    """
    if not len(nodes):
        raise GraphError("place: expected at least one node, got none")
    schema = schema or graph.schema
    if (
        schema is not None
        and is_molecule(graph, schema)
        and (name := molecule_place_name(graph, nodes, schema))
    ):
        return name
    return _graph_place_name(graph.subgraph(nodes), schema, edge)


def named_groups(graph: Graph) -> list[tuple[str, tuple[int, ...]]]:
    """Divide the atoms of a molecule into groups with their names; nothing for other graphs."""
    if graph.schema is None or not is_molecule(graph, graph.schema):
        return []
    return [
        (name or _graph_place_name(graph.subgraph(nodes), graph.schema), nodes)
        for name, nodes in molecule_groups(graph, graph.schema)
    ]


def counted_name(name: str, n: int) -> str:
    """Return a name with how many there are: "two benzene rings"."""
    if n == 1:
        return name
    phrase = any(word in name.split() for word in ("of", "and", "in", "on", "to"))
    return f"{name}, {number_word(n)} times" if phrase else f"{number_word(n)} {name}s"


def is_molecule(graph: Graph, schema: Schema) -> bool:
    """Return whether RDKit is there and can be asked for the groups of a graph."""
    few_rings = graph.n_edges - graph.n_nodes < MAX_RINGS
    return is_chemical(schema) and not graph.directed and few_rings and bool(groups())


def with_whole_groups(graph: Graph, nodes: Iterable[int]) -> frozenset[int] | None:
    """Return nodes together with the small groups that they are of; None for a graph without groups."""
    if graph.schema is None or not is_molecule(graph, graph.schema):
        return None
    return completed_groups(graph, nodes, graph.schema)


def _graph_place_name(place: Graph, schema: Schema | None, edge: Intervals | None = None) -> str:
    at = next((i for i, f in enumerate(schema.node) if f.kind == "nominal"), None) if schema else None
    noun = "atom" if schema is not None and schema.domain == "molecule" else "node"
    labels = [noun] * place.n_nodes
    if schema is not None and at is not None:
        labels = [_label(schema.node[at], value) for value in place.node_features[:, at].tolist()]
    if place.n_nodes == 1:
        return _node_name(place, schema, labels[0])
    near = _near(place)
    if not any(near.values()):
        return _counted(labels)
    edges = "" if noun == "atom" else _edge_words(place, schema.edge if schema else (), edge)
    directions = _directions(place, labels) if place.directed else ""
    if directions:
        return f"{edges}, {directions}" if " with " in edges else f"{edges} {directions}"
    shape = _shape_name(near, labels)
    return f"{shape}, {edges}" if edges not in ("", "edge", "edges") else shape


def _label(feature: Feature, value: float) -> str:
    return feature.values.get(value, f"{feature.name} {feature.value_name(value)}")


def _node_name(place: Graph, schema: Schema | None, label: str) -> str:
    features = schema.node if schema else ()
    if not 0 < len(features) <= _MOST_VALUES + 1:
        return f"single {label}" if label in ("node", "atom") else label
    row = place.node_features[0].tolist()
    values = [
        f"{feature.name} {feature.value_name(value)}"
        for feature, value in zip(features, row, strict=True)
        if _label(feature, value) != label
    ]
    return f"{label} with {listed(values, 'and')}" if values else label


def _edge_words(place: Graph, features: tuple[Feature, ...], edge: Intervals | None) -> str:
    """Return what all edges of a place have: "wire transfers with amount at least 900"."""
    noun, values = "edge", []
    for i, (feature, column) in enumerate(zip(features, place.edge_features.T.tolist(), strict=True)):
        if any(map(math.isnan, column)):
            continue
        low, high = min(column), max(column)
        value = feature.value_name(low)
        if low < high and feature.kind == "nominal":
            continue
        if feature.name in _NOUNS and low in feature.values:
            noun = value
        elif edge is None:
            values.append(f"{feature.name} {'at least ' if low < high else ''}{value}")
        elif words := condition_words(edge[i], feature):
            values.append(words)
    name = noun if place.n_edges == 1 else f"{noun}s"
    return f"{name} with {listed(values[:_MOST_VALUES], 'and')}" if values else name


# --- shapes -----------------------------------------------------------------------------------------------


def _near(place: Graph) -> Near:
    near: Near = {v: set() for v in range(place.n_nodes)}
    for u, v in place.edges.tolist():
        if u != v:
            near[u].add(v)
            near[v].add(u)
    return near


def _directions(place: Graph, labels: list[str]) -> str:
    """Return where the edges of a directed path, cycle or star lead; "" for other shapes."""
    edges = [(u, v) for u, v in place.edges.tolist() if u != v]
    n, sources, targets = place.n_nodes, Counter(u for u, _ in edges), Counter(v for _, v in edges)
    each_once = max(sources.values()) == max(targets.values()) == 1
    if each_once and len(edges) == n:
        pair = " to ".join(sorted(labels))
        return f"in a cycle of {_counted(labels)}" if n > 2 else f"from {pair} and back"
    if len(edges) != n - 1:
        return ""
    if each_once:
        following = dict(edges)
        path = [next(v for v in range(n) if v not in targets)]
        while path[-1] in following:
            path.append(following[path[-1]])
        names = " to ".join(labels[v] for v in path)
        return f"from {names}" if n <= _LONGEST_PATH else f"in a row of {_counted(labels)}"
    if len(sources) == 1 or len(targets) == 1:
        starts, ends = ([labels[v] for v in some] for some in (sources, targets))
        return f"from {_counted(starts)} to {_counted(ends)}"
    return ""


def _shape_name(near: Near, labels: list[str]) -> str:
    core = {v: set(some) for v, some in near.items()}
    while leaves := {v for v, some in core.items() if len(some) < 2}:
        core = {v: some - leaves for v, some in core.items() if v not in leaves}
    if shape := _core_shape(core):
        name = shape.format(_counted([labels[v] for v in core]))
        return f"{name} and more" if len(core) < len(near) else name
    parts, most = _kinds(labels), max(map(len, near.values()))
    if len(parts) > 1:
        return f"{parts[0]} joined to {listed(parts[1:], 'and')}"
    if core:
        return f"{parts[0]} with {number_word(sum(map(len, near.values())) // 2)} edges"
    if len(near) == 2:
        return f"{parts[0]} joined"
    shape = "path" if most == 2 else "star" if most == len(near) - 1 else "tree"
    return f"{shape} of {parts[0]}"


def _core_shape(near: Near) -> str:
    """Return the shape of nodes that have two neighbors or more each; "" for shapes without a name."""
    degrees = Counter(map(len, near.values()))
    if set(degrees) == {2}:
        return "cycle of {}"
    if set(degrees) == {len(near) - 1}:
        return "clique of {}"
    if degrees == {2: len(near) - 2, 3: 2}:
        u, v = (node for node, some in near.items() if len(some) == 3)
        if v in near[u] and _is_connected({**near, u: near[u] - {v}, v: near[v] - {u}}):
            return "cycle of {} with a chord"
    return ""


def _is_connected(near: Near) -> bool:
    reached = [min(near)]
    for v in reached:
        reached += sorted(near[v].difference(reached))
    return len(reached) == len(near)


def _kinds(labels: list[str]) -> list[str]:
    """Return how many nodes have each label, the most frequent first."""
    counts = sorted(Counter(labels).items(), key=lambda item: (-item[1], item[0]))
    parts = [
        f"{number_word(n)} {name}{'s' if n > 1 and name in ('node', 'atom') else ''}"
        for name, n in counts[:_MOST_KINDS]
    ]
    return [*parts, "more"] if len(counts) > _MOST_KINDS else parts


def _counted(labels: list[str]) -> str:
    return listed(_kinds(labels), "and")
