// Neighborhoods: the balls around the nodes of many graphs, merged where they are the same
// pattern.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace gdlnn {

// Graphs with colored nodes and edges as concatenated arrays; equal colors mean equal features.
struct ColoredGraphs {
    int n_graphs = 0;
    const std::int32_t *node_colors = nullptr;
    const std::int64_t *node_offsets = nullptr; // n_graphs + 1
    const std::int64_t *edges = nullptr;        // pairs of nodes within their graph
    const std::int32_t *edge_colors = nullptr;
    const std::int64_t *edge_offsets = nullptr; // n_graphs + 1
    bool directed = false;
};

struct NeighborhoodParams {
    int radius = 3;
    int min_support = 1; // graphs in which the pattern must occur as the ball of a node
    int max_nodes = 0;   // larger balls are left out; 0: none is
    int n_threads = 1;
    std::atomic<bool> *stop = nullptr; // raised from outside, or by a failure on one thread
};

// One pattern: the first ball that it was seen as, its nodes in canonical order, and the graphs.
struct Neighborhood {
    std::int32_t graph = 0;
    std::int32_t center = 0;
    std::int32_t radius = 0;
    std::vector<std::int32_t> nodes; // of that graph
    std::vector<std::int32_t> graphs;
};

// The patterns in at least `min_support` graphs, smallest first, then by first occurrence. A ball
// of radius r is the subgraph that the nodes at distance at most r induce; distances ignore the
// direction of edges. The same for any number of threads.
std::vector<Neighborhood> neighborhoods(const ColoredGraphs &graphs,
                                        const NeighborhoodParams &params);

} // namespace gdlnn
