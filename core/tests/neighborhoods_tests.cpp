// Neighborhoods against balls compared one by one, and structure against paths tried one by one.
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "gdlnn/neighborhoods.hpp"
#include "gdlnn/structure.hpp"
#include "testing.hpp"

namespace gdlnn::tests {
namespace {

struct Colored {
    bool directed = false;
    std::vector<std::int32_t> node_colors, edge_colors;
    std::vector<std::int64_t> node_offsets{0}, edges, edge_offsets{0};

    int size() const { return static_cast<int>(node_offsets.size()) - 1; }
    ColoredGraphs view() const {
        return {size(),       node_colors.data(), node_offsets.data(),
                edges.data(), edge_colors.data(), edge_offsets.data(),
                directed};
    }
};

Colored random_graphs(Rng &rng) {
    Colored graphs;
    graphs.directed = rng.chance(0.5);
    const int n_colors = rng.between(1, 2);
    for (int g = rng.between(1, 5); g > 0; --g) {
        const int n = rng.between(0, 6);
        for (int v = 0; v < n; ++v)
            graphs.node_colors.push_back(rng.below(n_colors));
        for (int u = 0; u < n; ++u)
            for (int v = graphs.directed ? 0 : u; v < n; ++v) {
                if (!rng.chance(u == v ? 0.1 : 0.3))
                    continue;
                graphs.edges.insert(graphs.edges.end(), {u, v});
                graphs.edge_colors.push_back(rng.below(n_colors));
            }
        graphs.node_offsets.push_back(static_cast<std::int64_t>(graphs.node_colors.size()));
        graphs.edge_offsets.push_back(static_cast<std::int64_t>(graphs.edge_colors.size()));
    }
    return graphs;
}

using Arc = std::tuple<int, int, int>;
using Form = std::pair<std::vector<int>, std::vector<Arc>>;

// The least of all ways to write down the part of a graph on some nodes.
Form least_form(const Colored &graphs, int g, std::vector<std::int32_t> nodes) {
    Form least;
    bool first = true;
    std::sort(nodes.begin(), nodes.end());
    do {
        std::map<std::int64_t, int> place;
        Form form;
        for (const auto v : nodes) {
            place.emplace(v, static_cast<int>(place.size()));
            form.first.push_back(graphs.node_colors[idx(graphs.node_offsets[idx(g)] + v)]);
        }
        for (auto e = graphs.edge_offsets[idx(g)]; e < graphs.edge_offsets[idx(g + 1)]; ++e) {
            const auto u = place.find(graphs.edges[idx(2 * e)]),
                       v = place.find(graphs.edges[idx(2 * e + 1)]);
            if (u == place.end() || v == place.end())
                continue;
            const bool turn = !graphs.directed && u->second > v->second;
            form.second.emplace_back(turn ? v->second : u->second, turn ? u->second : v->second,
                                     graphs.edge_colors[idx(e)]);
        }
        std::sort(form.second.begin(), form.second.end());
        if (first || form < least)
            least = std::move(form);
        first = false;
    } while (std::next_permutation(nodes.begin(), nodes.end()));
    return least;
}

std::vector<std::int32_t> ball(const Colored &graphs, int g, int center, int radius) {
    std::set<std::int32_t> inside{center};
    for (int r = 0; r < radius; ++r) {
        const auto before = inside;
        for (auto e = graphs.edge_offsets[idx(g)]; e < graphs.edge_offsets[idx(g + 1)]; ++e)
            for (int end = 0; end < 2; ++end)
                if (before.contains(static_cast<std::int32_t>(graphs.edges[idx(2 * e + end)])))
                    inside.insert(static_cast<std::int32_t>(graphs.edges[idx(2 * e + 1 - end)]));
    }
    return {inside.begin(), inside.end()};
}

void neighborhoods_case(std::uint64_t seed) {
    Rng rng(seed ^ 0x62616c6cULL);
    const Colored graphs = random_graphs(rng);
    NeighborhoodParams params;
    params.radius = rng.below(4);
    params.min_support = rng.between(1, 3);
    std::map<Form, std::set<std::int32_t>> expected;
    for (int g = 0; g < graphs.size(); ++g)
        for (int v = 0; v < graphs.node_offsets[idx(g + 1)] - graphs.node_offsets[idx(g)]; ++v)
            for (int radius = 0; radius <= params.radius; ++radius)
                expected[least_form(graphs, g, ball(graphs, g, v, radius))].insert(g);
    std::erase_if(expected, [&](const auto &item) {
        return static_cast<int>(item.second.size()) < params.min_support;
    });
    const auto found = neighborhoods(graphs.view(), params);
    check(found.size() == expected.size(), "number of patterns");
    std::size_t last = 0;
    for (const Neighborhood &pattern : found) {
        check(pattern.nodes.size() >= last, "larger before smaller");
        last = pattern.nodes.size();
        const auto at = expected.find(least_form(graphs, pattern.graph, pattern.nodes));
        check(at != expected.end(), "a pattern that is no ball");
        check(std::equal(pattern.graphs.begin(), pattern.graphs.end(), at->second.begin(),
                         at->second.end()),
              "the graphs of a pattern");
    }
    params.n_threads = 3;
    const auto again = neighborhoods(graphs.view(), params);
    check(std::equal(found.begin(), found.end(), again.begin(), again.end(),
                     [](const Neighborhood &a, const Neighborhood &b) {
                         return a.graph == b.graph && a.center == b.center &&
                                a.radius == b.radius && a.nodes == b.nodes && a.graphs == b.graphs;
                     }),
          "threads change a pattern");
}

void structure_case(std::uint64_t seed) {
    Rng rng(seed ^ 0x72696e67ULL);
    const int n = rng.below(7);
    const bool directed = rng.chance(0.5);
    std::vector<std::int64_t> edges;
    std::set<std::pair<int, int>> linked;
    std::vector<std::int32_t> out(idx(n), 0), in(idx(n), 0);
    for (int u = 0; u < n; ++u)
        for (int v = directed ? 0 : u; v < n; ++v) {
            if (!rng.chance(0.3))
                continue;
            edges.insert(edges.end(), {u, v});
            linked.emplace(u, v);
            ++out[idx(u)];
            if (directed)
                ++in[idx(v)];
            else if (u != v)
                ++out[idx(v)];
            if (!directed)
                linked.emplace(v, u);
        }
    const Structure found =
        structure_of(n, static_cast<int>(edges.size() / 2), edges.data(), directed);
    check(found.out_degree == out && (!directed || found.in_degree == in), "degrees");
    // A path back to where it began, over at least two nodes, or three where edges have no
    // direction.
    std::vector<int> path;
    const std::function<bool()> closes = [&] {
        for (int v = 0; v < n; ++v) {
            if (v == path.back() || !linked.contains({path.back(), v}))
                continue;
            if (v == path.front() && static_cast<int>(path.size()) >= (directed ? 2 : 3))
                return true;
            if (std::find(path.begin(), path.end(), v) != path.end())
                continue;
            path.push_back(v);
            if (closes())
                return true;
            path.pop_back();
        }
        return false;
    };
    for (int v = 0; v < n; ++v) {
        path.assign(1, v);
        check(found.on_cycle[idx(v)] == closes(), "on a cycle");
    }
}

} // namespace

void run_neighborhoods_tests(Tally &tally, std::uint64_t first, int n_cases) {
    tally.run("neighborhoods", first, n_cases, neighborhoods_case);
    tally.run("structure", first, n_cases, structure_case);
}

} // namespace gdlnn::tests
