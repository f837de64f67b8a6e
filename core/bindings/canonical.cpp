#include "arrays.hpp"

#include "gdlnn/canonical.hpp"

namespace gdlnn::bindings {
namespace {

nb::ndarray<nb::numpy, std::int32_t> order_of(Vector<std::int32_t> vertex_colours,
                                              Matrix<std::int32_t> edges,
                                              Vector<std::int32_t> edge_colours, bool directed) {
    if (edges.shape(1) != 2 || edges.shape(0) != edge_colours.shape(0))
        throw nb::value_error("expected one pair and one colour per edge");
    ColouredGraph graph;
    graph.n = static_cast<int>(vertex_colours.shape(0));
    graph.m = static_cast<int>(edges.shape(0));
    graph.directed = directed;
    graph.vertex_colour = vertex_colours.data();
    graph.edges = edges.data();
    graph.edge_colour = edge_colours.data();
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
    m.def("canonical_order", &order_of, nb::arg("vertex_colours"), nb::arg("edges"),
          nb::arg("edge_colours"), nb::arg("directed"),
          "The vertices of a coloured graph in canonical order.");
}

} // namespace gdlnn::bindings
