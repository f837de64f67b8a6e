#include "arrays.hpp"

#include "gdlnn/neighborhoods.hpp"
#include "gdlnn/structure.hpp"

namespace gdlnn::bindings {
namespace {

// (out-degree, in-degree, on a cycle), one value per node of all graphs; undirected graphs have
// their degree in both of the first.
nb::tuple structure(Vector<std::int64_t> node_offsets, Matrix<std::int64_t> edges,
                    Vector<std::int64_t> edge_offsets, Vector<bool> directed) {
    const auto n_graphs = directed.shape(0);
    std::vector<std::int32_t> out, in;
    std::vector<std::uint8_t> ring;
    for (std::size_t g = 0; g < n_graphs; ++g) {
        const auto n = static_cast<int>(node_offsets(g + 1) - node_offsets(g));
        const auto m = static_cast<int>(edge_offsets(g + 1) - edge_offsets(g));
        const Structure found = structure_of(n, m, edges.data() + 2 * edge_offsets(g), directed(g));
        out.insert(out.end(), found.out_degree.begin(), found.out_degree.end());
        const auto &incoming = directed(g) ? found.in_degree : found.out_degree;
        in.insert(in.end(), incoming.begin(), incoming.end());
        ring.insert(ring.end(), found.on_cycle.begin(), found.on_cycle.end());
    }
    return nb::make_tuple(given(std::move(out)), given(std::move(in)), given(std::move(ring)));
}

// (graph, center, radius, node offsets, nodes, graph offsets, graphs): one entry per pattern, and
// the nodes of its first ball and the graphs it occurs in end to end.
nb::tuple find_neighborhoods(Vector<std::int32_t> node_colors, Vector<std::int64_t> node_offsets,
                             Matrix<std::int64_t> edges, Vector<std::int32_t> edge_colors,
                             Vector<std::int64_t> edge_offsets, bool directed, int radius,
                             int min_support, int max_nodes, int n_threads) {
    ColoredGraphs graphs;
    graphs.n_graphs = static_cast<int>(node_offsets.shape(0)) - 1;
    graphs.node_colors = node_colors.data();
    graphs.node_offsets = node_offsets.data();
    graphs.edges = edges.data();
    graphs.edge_colors = edge_colors.data();
    graphs.edge_offsets = edge_offsets.data();
    graphs.directed = directed;
    std::atomic<bool> stop{false};
    const NeighborhoodParams params{radius, min_support, max_nodes, n_threads, &stop};
    std::vector<Neighborhood> found;
    run_interruptibly(stop, [&] { found = neighborhoods(graphs, params); });
    std::vector<std::int32_t> graph, center, reach, nodes, occurs;
    std::vector<std::int64_t> node_start{0}, graph_start{0};
    for (const auto &pattern : found) {
        graph.push_back(pattern.graph);
        center.push_back(pattern.center);
        reach.push_back(pattern.radius);
        nodes.insert(nodes.end(), pattern.nodes.begin(), pattern.nodes.end());
        occurs.insert(occurs.end(), pattern.graphs.begin(), pattern.graphs.end());
        node_start.push_back(static_cast<std::int64_t>(nodes.size()));
        graph_start.push_back(static_cast<std::int64_t>(occurs.size()));
    }
    return nb::make_tuple(given(std::move(graph)), given(std::move(center)),
                          given(std::move(reach)), given(std::move(node_start)),
                          given(std::move(nodes)), given(std::move(graph_start)),
                          given(std::move(occurs)));
}

} // namespace

void register_neighborhoods(nb::module_ &m) {
    m.def("structure", &structure, nb::arg("node_offsets"), nb::arg("edges"),
          nb::arg("edge_offsets"), nb::arg("directed"),
          "Out-degree, in-degree and whether it lies on a cycle, of every node.");
    m.def("neighborhoods", &find_neighborhoods, nb::arg("node_colors"), nb::arg("node_offsets"),
          nb::arg("edges"), nb::arg("edge_colors"), nb::arg("edge_offsets"), nb::arg("directed"),
          nb::arg("radius"), nb::arg("min_support"), nb::arg("max_nodes"), nb::arg("n_threads"),
          "The balls around nodes that occur in enough graphs.");
}

} // namespace gdlnn::bindings
