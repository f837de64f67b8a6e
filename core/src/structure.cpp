#include "gdlnn/structure.hpp"

#include <algorithm>
#include <cstddef>

#include "gdlnn/bits.hpp"

namespace gdlnn {
namespace {

// Neighbors in one array, with the number of the edge that leads to each. Self-loops are left out.
struct Links {
    std::vector<std::int32_t> start, node, edge;

    Links(int n, int m, const std::int64_t *edges, bool directed)
        : start(idx(n) + 1, 0), node(idx(directed ? m : 2 * m)), edge(node.size()) {
        const auto each = [&](auto &&use) {
            for (int e = 0; e < m; ++e) {
                const auto u = static_cast<std::int32_t>(edges[2 * e]),
                           v = static_cast<std::int32_t>(edges[2 * e + 1]);
                if (u == v)
                    continue;
                use(u, v, e);
                if (!directed)
                    use(v, u, e);
            }
        };
        each([&](int u, int, int) { ++start[idx(u + 1)]; });
        for (int v = 0; v < n; ++v)
            start[idx(v + 1)] += start[idx(v)];
        std::vector<std::int32_t> next(start.begin(), start.end() - 1);
        each([&](int u, int v, int e) {
            const auto at = idx(next[idx(u)]++);
            node[at] = v;
            edge[at] = e;
        });
    }
};

// Bridges by depth-first search and low points (Tarjan 1974), without recursion: a node lies on a
// cycle if one of its edges is not a bridge.
void mark_undirected_cycles(const Links &links, int n, int m, std::vector<std::uint8_t> &on_cycle) {
    std::vector<std::int32_t> depth(idx(n), -1), low(idx(n), 0), next(idx(n), 0), via(idx(n), -1),
        path;
    std::vector<std::uint8_t> bridge(idx(m), 0);
    for (int root = 0; root < n; ++root) {
        if (depth[idx(root)] >= 0)
            continue;
        depth[idx(root)] = low[idx(root)] = 0;
        next[idx(root)] = links.start[idx(root)];
        path.assign(1, root);
        while (!path.empty()) {
            const int u = path.back();
            if (next[idx(u)] < links.start[idx(u + 1)]) {
                const auto at = idx(next[idx(u)]++);
                const int v = links.node[at], e = links.edge[at];
                if (e == via[idx(u)])
                    continue;
                if (depth[idx(v)] >= 0) {
                    low[idx(u)] = std::min(low[idx(u)], depth[idx(v)]);
                    continue;
                }
                depth[idx(v)] = low[idx(v)] = depth[idx(u)] + 1;
                via[idx(v)] = e;
                next[idx(v)] = links.start[idx(v)];
                path.push_back(v);
                continue;
            }
            path.pop_back();
            if (path.empty())
                break;
            const int above = path.back();
            low[idx(above)] = std::min(low[idx(above)], low[idx(u)]);
            bridge[idx(via[idx(u)])] = low[idx(u)] > depth[idx(above)];
        }
    }
    for (int u = 0; u < n; ++u)
        for (int i = links.start[idx(u)]; i < links.start[idx(u + 1)]; ++i)
            on_cycle[idx(u)] |= !bridge[idx(links.edge[idx(i)])];
}

// Strongly connected components (Tarjan 1972), without recursion: a node lies on a directed cycle
// where its component has more than one node.
void mark_directed_cycles(const Links &links, int n, std::vector<std::uint8_t> &on_cycle) {
    std::vector<std::int32_t> index(idx(n), -1), low(idx(n), 0), next(idx(n), 0), path, waiting;
    std::vector<std::uint8_t> is_waiting(idx(n), 0);
    std::int32_t clock = 0;
    const auto enter = [&](int v) {
        index[idx(v)] = low[idx(v)] = clock++;
        next[idx(v)] = links.start[idx(v)];
        path.push_back(v);
        waiting.push_back(v);
        is_waiting[idx(v)] = 1;
    };
    for (int root = 0; root < n; ++root) {
        if (index[idx(root)] >= 0)
            continue;
        enter(root);
        while (!path.empty()) {
            const int u = path.back();
            if (next[idx(u)] < links.start[idx(u + 1)]) {
                const int v = links.node[idx(next[idx(u)]++)];
                if (index[idx(v)] < 0)
                    enter(v);
                else if (is_waiting[idx(v)])
                    low[idx(u)] = std::min(low[idx(u)], index[idx(v)]);
                continue;
            }
            path.pop_back();
            if (!path.empty())
                low[idx(path.back())] = std::min(low[idx(path.back())], low[idx(u)]);
            if (low[idx(u)] != index[idx(u)])
                continue;
            const bool several = waiting.back() != u;
            for (int v = -1; v != u;) {
                v = waiting.back();
                waiting.pop_back();
                is_waiting[idx(v)] = 0;
                on_cycle[idx(v)] = several;
            }
        }
    }
}

} // namespace

Structure structure_of(int n, int m, const std::int64_t *edges, bool directed) {
    Structure result;
    result.out_degree.assign(idx(n), 0);
    result.on_cycle.assign(idx(n), 0);
    if (directed)
        result.in_degree.assign(idx(n), 0);
    for (int e = 0; e < m; ++e) {
        const auto u = idx(edges[2 * e]), v = idx(edges[2 * e + 1]);
        ++result.out_degree[u];
        if (directed)
            ++result.in_degree[v];
        else if (u != v)
            ++result.out_degree[v];
    }
    const Links links(n, m, edges, directed);
    if (directed)
        mark_directed_cycles(links, n, result.on_cycle);
    else
        mark_undirected_cycles(links, n, m, result.on_cycle);
    return result;
}

} // namespace gdlnn
