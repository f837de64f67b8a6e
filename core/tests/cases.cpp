#include "cases.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace gdlnn::tests {

GraphArrays Graphs::arrays() {
    directed_flags = std::make_unique<bool[]>(directed.size() + 1);
    std::copy(directed.begin(), directed.end(), directed_flags.get());
    GraphArrays result;
    result.n_graphs = size();
    result.n_node_features = d;
    result.n_edge_features = c;
    result.node_features = node_features.data();
    result.node_offsets = node_offsets.data();
    result.edges = edges.data();
    result.edge_features = edge_features.data();
    result.edge_offsets = edge_offsets.data();
    result.directed = directed_flags.get();
    return result;
}

ProgramArrays Program::arrays() const {
    return {n,
            m,
            node_lower.data(),
            node_upper.data(),
            edges.data(),
            edge_lower.data(),
            edge_upper.data()};
}

Kind random_kind(Rng &rng) {
    Kind kind;
    switch (rng.below(12)) {
    case 0: // round the border of a word, and two words
        return {2, 60, 130, 8, 3, 2 + rng.chance(0.2), false};
    case 1: // more values than ranks, more edge types than a word has bits
        return {8, 4, 18, 0, 0, 4, false};
    case 2: // many edge types in one graph
        return {3, 6, 12, 3, 14, 3, false};
    case 3:
        if (rng.chance(0.2)) // adjacency as lists
            return {1, 513, 530, 40, rng.chance(0.5) ? 3 : 0, 2, false};
        if (rng.chance(0.3)) // a node with more neighbors than there are degree masks
            return {1, 262, 280, 30, 3, 2, true};
        return kind;
    default:
        kind.node_values = rng.between(1, 4);
        kind.edge_values = rng.between(1, 4);
        return kind;
    }
}

namespace {

double random_value(Rng &rng, int n_values) {
    if (n_values == 0)
        return rng.unit();
    return rng.below(n_values) + (rng.chance(0.2) ? 0.5 : 0.0);
}

void add_edges(Rng &rng, Graphs &graphs, const Kind &kind, int n, bool directed) {
    const double densities[] = {0.1, 0.3, 0.5, 0.9};
    const double drawn = n > 20 ? 2.5 / n : densities[rng.below(4)];
    const double density = kind.chance_of_edge > 0 ? kind.chance_of_edge : drawn;
    const bool loops = rng.chance(0.3);
    for (int u = 0; u < n; ++u) {
        for (int v = directed ? 0 : u; v < n; ++v) {
            const bool spoke = kind.hub && u == 0 && v > 0;
            if (!spoke && ((u == v && !loops) || !rng.chance(density)))
                continue;
            const bool turned = !directed && rng.chance(0.5);
            graphs.edges.push_back(turned ? v : u);
            graphs.edges.push_back(turned ? u : v);
            for (int f = 0; f < graphs.c; ++f)
                graphs.edge_features.push_back(random_value(rng, kind.edge_values));
        }
    }
    graphs.edge_offsets.push_back(static_cast<std::int64_t>(graphs.edges.size() / 2));
}

// An interval round a value that now and then misses it, with sides left open here and there.
void add_interval(Rng &rng, double value, std::vector<double> &lower, std::vector<double> &upper) {
    const double shift = rng.chance(0.1) ? 1.0 : 0.0;
    lower.push_back(rng.chance(0.3) ? -kInfinity : value - rng.unit() * 0.3 + shift);
    upper.push_back(rng.chance(0.3) ? kInfinity : value + rng.unit() * 0.3 + shift);
}

} // namespace

Graphs random_graphs(Rng &rng, const Kind &kind) {
    Graphs graphs;
    graphs.d =
        kind.max_nodes > 40 ? rng.between(1, 3) : rng.below(4); // or there is too much to try
    graphs.c = rng.below(3);
    for (int g = 0; g < kind.n_graphs; ++g) {
        const int n = rng.between(kind.min_nodes, kind.max_nodes);
        const bool directed = rng.chance(0.5);
        graphs.directed.push_back(directed);
        for (int i = 0; i < n * graphs.d; ++i)
            graphs.node_features.push_back(random_value(rng, kind.node_values));
        graphs.node_offsets.push_back(graphs.node_offsets.back() + n);
        add_edges(rng, graphs, kind, n, directed);
    }
    return graphs;
}

Program random_program(Rng &rng, const Graphs &graphs, int max_variables) {
    Program program;
    program.n = rng.below(max_variables + 2);
    const double density = rng.chance(0.5) ? 0.2 : 0.5;
    for (int i = 0; i < program.n * graphs.d; ++i)
        add_interval(rng, rng.below(3), program.node_lower, program.node_upper);
    for (int u = 0; u < program.n; ++u) {
        for (int v = 0; v < program.n; ++v) {
            if (!rng.chance(u < v ? density
                                  : density / 5)) // a loop or a second orientation now and then
                continue;
            program.edges.push_back(u);
            program.edges.push_back(v);
            ++program.m;
            for (int f = 0; f < graphs.c; ++f)
                add_interval(rng, rng.below(3), program.edge_lower, program.edge_upper);
        }
    }
    return program;
}

Program chain_program(Rng &rng, const Graphs &graphs, int n) {
    Program program;
    program.n = n;
    for (int i = 0; i < n * graphs.d; ++i) {
        program.node_lower.push_back(rng.chance(0.1) ? 0.5 : -kInfinity);
        program.node_upper.push_back(rng.chance(0.1) ? 0.5 : kInfinity);
    }
    for (int x = 1; x < n; ++x) {
        for (int y = 0; y < x; ++y) {
            if (y != x - 1 && !rng.chance(0.03))
                continue;
            const bool turned = rng.chance(0.3);
            program.edges.push_back(turned ? x : y);
            program.edges.push_back(turned ? y : x);
            ++program.m;
            for (int f = 0; f < graphs.c; ++f) {
                program.edge_lower.push_back(-kInfinity);
                program.edge_upper.push_back(rng.chance(0.1) ? 0.5 : kInfinity);
            }
        }
    }
    return program;
}

Program planted_program(Rng &rng, const Graphs &graphs, int g, int max_variables) {
    Program program;
    const int n = graphs.n(g);
    std::vector<int> order(idx(n));
    std::iota(order.begin(), order.end(), 0);
    for (int i = n - 1; i > 0; --i)
        std::swap(order[idx(i)], order[idx(rng.below(i + 1))]);
    program.n = rng.below(std::min(n, max_variables) + 1);
    std::vector<int> position(idx(n), -1);
    for (int x = 0; x < program.n; ++x) {
        position[idx(order[idx(x)])] = x;
        for (int f = 0; f < graphs.d; ++f)
            add_interval(rng, graphs.node_value(g, order[idx(x)], f), program.node_lower,
                         program.node_upper);
    }
    for (int e = 0; e < graphs.m(g); ++e) {
        const int x = position[idx(graphs.end(g, e, 0))], y = position[idx(graphs.end(g, e, 1))];
        if (x < 0 || y < 0 || rng.chance(0.1))
            continue;
        const bool turned = !graphs.directed[idx(g)] && rng.chance(0.5);
        program.edges.push_back(turned ? y : x);
        program.edges.push_back(turned ? x : y);
        ++program.m;
        for (int f = 0; f < graphs.c; ++f)
            add_interval(rng, graphs.edge_value(g, e, f), program.edge_lower, program.edge_upper);
    }
    return program;
}

Program reduced(const Program &program, const Pattern &pattern, const Graphs &graphs,
                const Word *kept) {
    Program result;
    std::vector<int> position(idx(program.n), -1);
    for (int x = 0; x < program.n; ++x)
        if (test_bit(kept, pattern.node_id(x)))
            position[idx(x)] = result.n++;
    std::vector<int> place(idx(program.m), -1);
    for (int e = 0; e < program.m; ++e) {
        if (!test_bit(kept, pattern.edge_id(e)))
            continue;
        place[idx(e)] = result.m++;
        for (int side = 0; side < 2; ++side) {
            const int end = position[idx(program.edges[idx(2 * e + side)])];
            check(end >= 0, "an edge is kept without its end");
            result.edges.push_back(end);
        }
    }
    result.node_lower.assign(idx(result.n * graphs.d), -kInfinity);
    result.node_upper.assign(idx(result.n * graphs.d), kInfinity);
    result.edge_lower.assign(idx(result.m * graphs.c), -kInfinity);
    result.edge_upper.assign(idx(result.m * graphs.c), kInfinity);
    for (std::size_t s = 0; s < pattern.node_sides.size(); ++s) {
        const Side &side = pattern.node_sides[s];
        if (!test_bit(kept, pattern.node_side_id(static_cast<int>(s))))
            continue;
        check(position[idx(side.owner)] >= 0, "a side is kept without its node");
        const auto at = idx(position[idx(side.owner)] * graphs.d + side.feature);
        (side.kind == SideKind::upper ? result.node_upper : result.node_lower)[at] = side.bound;
    }
    for (std::size_t s = 0; s < pattern.edge_sides.size(); ++s) {
        const Side &side = pattern.edge_sides[s];
        if (!test_bit(kept, pattern.edge_side_id(static_cast<int>(s))))
            continue;
        check(place[idx(side.owner)] >= 0, "a side is kept without its edge");
        const auto at = idx(place[idx(side.owner)] * graphs.c + side.feature);
        (side.kind == SideKind::upper ? result.edge_upper : result.edge_lower)[at] = side.bound;
    }
    return result;
}

BruteForce::BruteForce(const Graphs &graphs, int g) : graphs_(graphs), g_(g) {
    const int n = graphs.n(g);
    edge_between_.assign(idx(n) * idx(n), -1);
    for (int e = 0; e < graphs.m(g); ++e) {
        const int u = graphs.end(g, e, 0), v = graphs.end(g, e, 1);
        edge_between_[idx(u * n + v)] = e;
        if (!graphs.directed[idx(g)])
            edge_between_[idx(v * n + u)] = e;
    }
}

// Whether variable x, placed last, agrees with its intervals and with the edges to variables placed
// before.
bool BruteForce::fits(const Program &program, const Image &image, int x) const {
    const int d = graphs_.d, c = graphs_.c, n = graphs_.n(g_);
    for (int f = 0; f < d; ++f) {
        const double value = graphs_.node_value(g_, image[idx(x)], f);
        if (value < program.node_lower[idx(x * d + f)] ||
            value > program.node_upper[idx(x * d + f)])
            return false;
    }
    for (int e = 0; e < program.m; ++e) {
        const auto u = program.edges[idx(2 * e)], v = program.edges[idx(2 * e + 1)];
        if (std::max(u, v) != x)
            continue;
        const int edge = edge_between_[idx(image[idx(u)] * n + image[idx(v)])];
        if (edge < 0)
            return false;
        for (int f = 0; f < c; ++f) {
            const double value = graphs_.edge_value(g_, edge, f);
            if (value < program.edge_lower[idx(e * c + f)] ||
                value > program.edge_upper[idx(e * c + f)])
                return false;
        }
    }
    return true;
}

bool BruteForce::extend(const Program &program, Image &image, std::vector<Image> *found) const {
    const int x = static_cast<int>(image.size());
    if (x == program.n) {
        if (found)
            found->push_back(image);
        return !found || found->size() > kMostWitnesses;
    }
    for (int v = 0; v < graphs_.n(g_); ++v) {
        if (std::find(image.begin(), image.end(), v) != image.end())
            continue;
        image.push_back(v);
        if (fits(program, image, x) && extend(program, image, found))
            return true;
        image.pop_back();
    }
    return false;
}

std::vector<Image> BruteForce::witnesses(const Program &program) const {
    std::vector<Image> found;
    Image image;
    extend(program, image, &found);
    return found;
}

bool BruteForce::matches(const Program &program) const {
    Image image;
    return extend(program, image, nullptr);
}

} // namespace gdlnn::tests
