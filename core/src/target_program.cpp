#include "target_program.hpp"

#include <cmath>
#include <limits>

namespace gdlnn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The bounds of a program after a descent, row by row.
struct Bounds {
    std::vector<double> lower, upper;

    // From the values of the target: as they are, a missing one open, or all open.
    Bounds(const std::vector<double> &values, bool open)
        : lower(values.size(), -kInfinity), upper(values.size(), kInfinity) {
        for (std::size_t i = 0; i < values.size() && !open; ++i)
            if (!std::isnan(values[i]))
                lower[i] = upper[i] = values[i];
    }
    void set(const Side &side, int n_features, bool closed) {
        const auto at = idx(side.owner * n_features + side.feature);
        if (side.kind != SideKind::upper)
            lower[at] = closed ? side.bound : -kInfinity;
        if (side.kind != SideKind::lower)
            upper[at] = closed ? side.bound : kInfinity;
    }
};

void append_row(std::vector<double> &to, const std::vector<double> &from, int row, int width,
                bool cleared, double open) {
    for (int f = 0; f < width; ++f)
        to.push_back(cleared ? open : from[idx(row * width + f)]);
}

} // namespace

void TargetProgram::reset(const GraphSet &set, const MineTask &task) {
    const EncodedGraph &g = set[task.graph];
    const int d = n_node_features_ = set.n_node_features(),
              c = n_edge_features_ = set.n_edge_features();
    nodes_.assign(task.nodes.begin(), task.nodes.end());
    position_.assign(idx(g.n), -1);
    node_values_.clear();
    for (std::size_t x = 0; x < nodes_.size(); ++x) {
        const auto v = nodes_[x];
        position_[idx(v)] = static_cast<std::int64_t>(x);
        node_values_.insert(node_values_.end(), g.node_features + v * d,
                            g.node_features + (v + 1) * d);
    }
    // Edges in the order and orientation of the graph: among directed graphs, those of an
    // undirected target count too.
    ends_.clear();
    edges_.clear();
    edge_values_.clear();
    for (int e = 0; e < g.m; ++e) {
        const auto u = position_[idx(g.ends[idx(2 * e)])],
                   v = position_[idx(g.ends[idx(2 * e + 1)])];
        if (u < 0 || v < 0)
            continue;
        edges_.push_back(e);
        ends_.push_back(u);
        ends_.push_back(v);
        edge_values_.insert(edge_values_.end(), g.edge_features + e * c,
                            g.edge_features + (e + 1) * c);
    }
    node_cleared_.assign(nodes_.size(), 0);
    edge_cleared_.assign(edges_.size(), 0);
}

ProgramArrays TargetProgram::arrays() const {
    ProgramArrays program;
    program.n = static_cast<int>(nodes_.size());
    program.m = static_cast<int>(edges_.size());
    program.node_lower = program.node_upper = node_values_.data();
    program.edges = ends_.data();
    program.edge_lower = program.edge_upper = edge_values_.data();
    return program;
}

void TargetProgram::write(const Variant &variant, bool only_constraints,
                          MinedProgram &result) const {
    const Pattern &p = variant.pattern();
    Bounds node(node_values_, only_constraints), edge(edge_values_, only_constraints);
    for (int s = 0; s < static_cast<int>(p.node_sides.size()); ++s)
        node.set(p.node_sides[idx(s)], n_node_features_, !variant.is_off(p.node_side_id(s)));
    for (int s = 0; s < static_cast<int>(p.edge_sides.size()); ++s)
        edge.set(p.edge_sides[idx(s)], n_edge_features_, !variant.is_off(p.edge_side_id(s)));
    for (int x = 0; x < p.n; ++x) {
        if (variant.is_off(p.node_id(x)))
            continue;
        const bool cleared = node_cleared_[idx(x)];
        result.nodes.push_back(nodes_[idx(x)]);
        append_row(result.node_lower, node.lower, x, n_node_features_, cleared, -kInfinity);
        append_row(result.node_upper, node.upper, x, n_node_features_, cleared, kInfinity);
    }
    for (int e = 0; e < p.m; ++e) {
        if (variant.is_off(p.edge_id(e)))
            continue;
        const bool cleared = edge_cleared_[idx(e)];
        result.edges.push_back(edges_[idx(e)]);
        append_row(result.edge_lower, edge.lower, e, n_edge_features_, cleared, -kInfinity);
        append_row(result.edge_upper, edge.upper, e, n_edge_features_, cleared, kInfinity);
    }
}

} // namespace gdlnn
