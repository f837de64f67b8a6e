"""Names of places."""

from gdlnn.explain.places import induced_program


def place_name(graph, nodes, schema):
    words = induced_program(graph, nodes).describe(schema, directed=graph.directed)
    start, found, rest = words.partition(" that contain ")
    return (rest if found else words).rstrip(".")
