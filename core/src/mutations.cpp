#include "mutations.hpp"

#include <algorithm>

namespace gdlnn {

// --- CutPoints

void CutPoints::find(const Variant &variant) {
    const Pattern &p = variant.pattern();
    is_cut_.assign(idx(p.n), 0);
    is_bridge_.assign(idx(p.m), 0);
    depth_.assign(idx(p.n), -1);
    low_.assign(idx(p.n), 0);
    next_incidence_.assign(idx(p.n), 0);
    parent_edge_.assign(idx(p.n), -1);
    for (int root = 0; root < p.n; ++root)
        if (!variant.is_off(root) && depth_[idx(root)] < 0)
            find_from(variant, root);
}

void CutPoints::find_from(const Variant &variant, int root) {
    const Pattern &p = variant.pattern();
    int n_children = 0; // of the root
    stack_.assign(1, root);
    depth_[idx(root)] = low_[idx(root)] = 0;
    next_incidence_[idx(root)] = p.incidence_start[idx(root)];
    while (!stack_.empty()) {
        const int x = stack_.back();
        if (next_incidence_[idx(x)] == p.incidence_start[idx(x + 1)]) {
            stack_.pop_back();
            if (!stack_.empty())
                finish_child(x, stack_.back(), root);
            continue;
        }
        const Incidence &link = p.incidences[idx(next_incidence_[idx(x)]++)];
        if (link.edge == parent_edge_[idx(x)] || variant.is_off(p.edge_id(link.edge)))
            continue;
        const int y = link.other;
        if (depth_[idx(y)] >= 0) {
            low_[idx(x)] = std::min(low_[idx(x)], depth_[idx(y)]);
            continue;
        }
        depth_[idx(y)] = low_[idx(y)] = depth_[idx(x)] + 1;
        parent_edge_[idx(y)] = link.edge;
        next_incidence_[idx(y)] = p.incidence_start[idx(y)];
        stack_.push_back(y);
        n_children += x == root;
    }
    is_cut_[idx(root)] = n_children > 1;
}

void CutPoints::finish_child(int x, int parent, int root) {
    low_[idx(parent)] = std::min(low_[idx(parent)], low_[idx(x)]);
    if (low_[idx(x)] > depth_[idx(parent)])
        is_bridge_[idx(parent_edge_[idx(x)])] = 1;
    if (parent != root && low_[idx(x)] >= depth_[idx(parent)])
        is_cut_[idx(parent)] = 1;
}

// --- MutationOffer

void MutationOffer::offer_all(const Variant &variant, bool connected) {
    const Pattern &p = variant.pattern();
    if (connected)
        cut_points_.find(variant);
    order_.clear();
    offered_.clear();
    const auto offer = [&](int first, int count, auto &&allowed) {
        for (int j = 0; j < count; ++j)
            if (!variant.is_off(first + j) && allowed(j))
                offered_.push_back(first + j);
    };
    if (variant.n_alive() > 1)
        offer(0, p.n, [&](int x) { return !connected || !cut_points_.is_cut(x); });
    offer(p.edge_base, p.m, [&](int e) { return !connected || !cut_points_.is_bridge(e); });
    offer(p.node_side_base, static_cast<int>(p.node_sides.size()), [](int) { return true; });
    offer(p.edge_side_base, static_cast<int>(p.edge_sides.size()), [](int) { return true; });
}

void MutationOffer::offer_drops(const Variant &variant) {
    const Pattern &p = variant.pattern();
    cut_points_.find(variant);
    offered_.clear();
    order_.assign(idx(p.n_ids), 0);
    degree_.assign(idx(p.n), 0);
    int n_edges = 0;
    for (int e = 0; e < p.m; ++e) {
        if (variant.is_off(p.edge_id(e)))
            continue;
        ++n_edges;
        for (const int end : {p.source[idx(e)], p.target[idx(e)]})
            degree_[idx(end)] = static_cast<std::uint8_t>(std::min(degree_[idx(end)] + 1, 2));
    }
    const auto offer = [&](int id, int order) {
        offered_.push_back(id);
        order_[idx(id)] = order;
    };
    for (int e = 0; e < p.m && n_edges > 1; ++e) {
        if (variant.is_off(p.edge_id(e)))
            continue;
        const int u = p.source[idx(e)], v = p.target[idx(e)];
        if (u != v && (degree_[idx(u)] == 1 || degree_[idx(v)] == 1))
            offer(degree_[idx(u)] == 1 ? u : v, e);
        else if (u == v || !cut_points_.is_bridge(e))
            offer(p.edge_id(e), e);
    }
    const int n_node_sides = static_cast<int>(p.node_sides.size()),
              n_edge_sides = static_cast<int>(p.edge_sides.size());
    for (int s = 0; s < n_node_sides; ++s)
        if (!variant.is_off(p.node_side_id(s)))
            offer(p.node_side_id(s), p.m + s);
    for (int s = 0; s < n_edge_sides; ++s)
        if (!variant.is_off(p.edge_side_id(s)))
            offer(p.edge_side_id(s), p.m + n_node_sides + s);
}

} // namespace gdlnn
