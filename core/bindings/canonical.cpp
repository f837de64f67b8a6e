#include "arrays.hpp"

#include "gdlnn/canonical.hpp"

namespace gdlnn::bindings {
namespace {

nb::ndarray<nb::numpy, std::int32_t> order_of(Vector<std::int32_t> vertex_colors,
                                              Matrix<std::int32_t> edges,
                                              Vector<std::int32_t> edge_colors, bool directed) {
    if (edges.shape(1) != 2 || edges.shape(0) != edge_colors.shape(0))
        throw nb::value_error("expected one pair and one color per edge");
    ColoredGraph graph;
    graph.n = static_cast<int>(vertex_colors.shape(0));
    graph.m = static_cast<int>(edges.shape(0));
    graph.directed = directed;
    graph.vertex_color = vertex_colors.data();
    graph.edges = edges.data();
    graph.edge_color = edge_colors.data();
    for (std::size_t i = 0; i < 2 * edges.shape(0); ++i)
        if (graph.edges[i] < 0 || graph.edges[i] >= graph.n)
            throw nb::value_error("expected edges between vertices that exist");
    std::vector<std::int32_t> order;
    {
        nb::gil_scoped_release released;
        order = canonical_order(graph);
    }
    const std::size_t n = order.size();
    return to_numpy(std::move(order), {n});
}

} // namespace

void register_canonical(nb::module_ &m) {
    m.def("canonical_order", &order_of, nb::arg("vertex_colors"), nb::arg("edges"),
          nb::arg("edge_colors"), nb::arg("directed"),
          "The vertices of a colored graph in canonical order.");
}

} // namespace gdlnn::bindings
