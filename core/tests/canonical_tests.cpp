// Canonical orders: a graph and the same graph renumbered become one.
#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

#include "gdlnn/canonical.hpp"
#include "testing.hpp"

namespace gdlnn::tests {
namespace {

struct Colored {
    std::vector<std::int32_t> vertex_color, edges, edge_color;

    ColoredGraph view(bool directed) const {
        return {static_cast<int>(vertex_color.size()),
                static_cast<int>(edge_color.size()),
                directed,
                vertex_color.data(),
                edges.data(),
                edge_color.data()};
    }
};

// The graph with vertex order[i] as vertex i, its edges in one order.
using Edge = std::tuple<std::int32_t, std::int32_t, std::int32_t>;
std::pair<std::vector<std::int32_t>, std::vector<Edge>>
renumbered(const Colored &graph, const std::vector<std::int32_t> &order, bool directed) {
    std::vector<std::int32_t> place(order.size(), -1), colors;
    for (std::size_t i = 0; i < order.size(); ++i) {
        check(place[idx(order[i])] < 0, "an order names a vertex twice");
        place[idx(order[i])] = static_cast<std::int32_t>(i);
        colors.push_back(graph.vertex_color[idx(order[i])]);
    }
    std::vector<Edge> edges;
    for (std::size_t e = 0; e < graph.edge_color.size(); ++e) {
        auto u = place[idx(graph.edges[2 * e])], v = place[idx(graph.edges[2 * e + 1])];
        if (!directed && u > v)
            std::swap(u, v);
        edges.emplace_back(u, v, graph.edge_color[e]);
    }
    std::sort(edges.begin(), edges.end());
    return {std::move(colors), std::move(edges)};
}

void canonical_case(std::uint64_t seed) {
    Rng rng(seed ^ 0x63616e6fULL);
    const int n = rng.below(10), n_colors = rng.between(1, 3);
    const bool directed = rng.chance(0.5);
    const double density = rng.unit();
    Colored graph, other;
    for (int v = 0; v < n; ++v)
        graph.vertex_color.push_back(rng.below(n_colors));
    for (int u = 0; u < n; ++u) {
        for (int v = directed ? 0 : u; v < n; ++v) {
            if (!rng.chance(u == v ? density / 3 : density))
                continue;
            graph.edges.insert(graph.edges.end(), {u, v});
            graph.edge_color.push_back(rng.below(n_colors));
        }
    }
    std::vector<std::int32_t> shuffle(idx(n));
    std::iota(shuffle.begin(), shuffle.end(), 0);
    for (int i = n - 1; i > 0; --i)
        std::swap(shuffle[idx(i)], shuffle[idx(rng.below(i + 1))]);
    other.vertex_color.resize(idx(n));
    for (int v = 0; v < n; ++v)
        other.vertex_color[idx(shuffle[idx(v)])] = graph.vertex_color[idx(v)];
    for (const auto end : graph.edges)
        other.edges.push_back(shuffle[idx(end)]);
    other.edge_color = graph.edge_color;
    const auto one = canonical_order(graph.view(directed)),
               two = canonical_order(other.view(directed));
    check(renumbered(graph, one, directed) == renumbered(other, two, directed),
          "a renumbered graph has another canonical form");
}

} // namespace

void run_canonical_tests(Tally &tally, std::uint64_t first, int n_cases) {
    tally.run("canonical", first, n_cases, canonical_case);
}

} // namespace gdlnn::tests
