// Canonical order of a colored graph: two graphs that differ only in how their vertices are
// numbered become the same graph when each is renumbered by its order.
#pragma once

#include <cstdint>
#include <vector>

namespace gdlnn {

// Colors are compared as numbers, so the caller gives equal things equal colors in every graph.
struct ColoredGraph {
    int n = 0;
    int m = 0;
    bool directed = false;
    const std::int32_t *vertex_color = nullptr; // n
    const std::int32_t *edges =
        nullptr; // pairs; loops and several edges between two vertices may occur
    const std::int32_t *edge_color = nullptr; // m
};

// The vertices in canonical order. Exact: no time or node limit.
std::vector<std::int32_t> canonical_order(const ColoredGraph &graph);

} // namespace gdlnn
