// Structure: what the shape of a graph says of its nodes: their degrees, and which lie on a cycle.
#pragma once

#include <cstdint>
#include <vector>

namespace gdlnn {

struct Structure {
    // Edges at each node; of a directed graph those that leave it and those that enter it. A
    // self-loop counts once (in a directed graph once in each list).
    std::vector<std::int32_t> out_degree, in_degree;
    // Whether a node lies on a cycle, of a directed graph on a directed one. A self-loop is none.
    std::vector<std::uint8_t> on_cycle;
};

// Edges are pairs of nodes from 0 to n - 1; an undirected edge is listed once.
Structure structure_of(int n, int m, const std::int64_t *edges, bool directed);

} // namespace gdlnn
