// Canonical order of a coloured graph: two graphs that differ only in how their vertices are
// numbered become the same graph when each is renumbered by its order.
#pragma once

#include <cstdint>
#include <vector>

namespace gdlnn {

// Colours are compared as numbers, so the caller gives equal things equal colours in every graph.
struct ColouredGraph {
    int n = 0;
    int m = 0;
    bool directed = false;
    const std::int32_t *vertex_colour = nullptr; // n
    const std::int32_t *edges =
        nullptr; // pairs; loops and several edges between two vertices may occur
    const std::int32_t *edge_colour = nullptr; // m
};

// The vertices in canonical order. Exact: no time or node limit.
std::vector<std::int32_t> canonical_order(const ColouredGraph &graph);

} // namespace gdlnn
