#include "gdlnn/pattern.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gdlnn {
namespace {

bool excludes(const FeatureColumn &column, SideKind kind, double bound) {
    if (column.missing) // which no finite bound admits; an open one and that of a missing value do
        return std::isfinite(bound);
    switch (kind) {
    case SideKind::lower:
        return bound > column.lowest;
    case SideKind::upper:
        return bound < column.highest;
    default:
        return bound > column.lowest || bound < column.highest;
    }
}

// The masks of the nodes with at least a bound and of those beyond it; -1 without such masks.
std::pair<std::int32_t, std::int32_t> masks_of(const FeatureColumn &column, double bound) {
    if (!column.ranked)
        return {-1, -1};
    const auto first = column.values.begin(), last = column.values.end();
    const auto mask = [&](auto value) {
        return column.mask_offset + static_cast<std::int32_t>(value - first);
    };
    return {mask(std::lower_bound(first, last, bound)), mask(std::upper_bound(first, last, bound))};
}

// Calls use(kind, bound) for every constraint that an interval makes.
template <class Use> void each_side(bool nominal, double lower, double upper, Use &&use) {
    if (nominal && lower == upper) {
        use(SideKind::value, lower);
        return;
    }
    use(SideKind::lower, lower);
    use(SideKind::upper, upper);
}

} // namespace

Pattern::Pattern(const GraphSet &set, const ProgramArrays &program, const NominalFeatures *nominal)
    : n(program.n), m(program.m) {
    link_edges(program);
    compile_node_sides(set, program, nominal);
    compile_edge_sides(set, program, nominal);
    number_ids();
}

void Pattern::link_edges(const ProgramArrays &program) {
    source.reserve(idx(m));
    target.reserve(idx(m));
    incidence_start.assign(idx(n + 1), 0);
    for (int e = 0; e < m; ++e) {
        const auto u = static_cast<std::int32_t>(program.edges[2 * e]),
                   v = static_cast<std::int32_t>(program.edges[2 * e + 1]);
        source.push_back(u);
        target.push_back(v);
        if (u == v) {
            loops.push_back(e);
            continue;
        }
        ++incidence_start[idx(u + 1)];
        ++incidence_start[idx(v + 1)];
    }
    for (int x = 0; x < n; ++x)
        incidence_start[idx(x + 1)] += incidence_start[idx(x)];
    incidences.resize(idx(incidence_start[idx(n)]));
    std::vector<std::int32_t> next(incidence_start.begin(), incidence_start.end() - 1);
    for (int e = 0; e < m; ++e) {
        const auto u = source[idx(e)], v = target[idx(e)];
        if (u == v)
            continue;
        incidences[idx(next[idx(u)]++)] = {e, v, true};
        incidences[idx(next[idx(v)]++)] = {e, u, false};
    }
    reverse_edge.reserve(idx(m));
    for (int e = 0; e < m; ++e)
        reverse_edge.push_back(find_reverse(e));
}

// The last edge before e that joins the same two nodes the other way round, or -1.
std::int32_t Pattern::find_reverse(int e) const {
    const auto u = source[idx(e)], v = target[idx(e)];
    if (u == v)
        return -1;
    const auto degree = [&](int x) {
        return incidence_start[idx(x + 1)] - incidence_start[idx(x)];
    };
    // The end with fewer edges, so that a hub is not searched once for each of its neighbors.
    const bool at_source = degree(u) <= degree(v);
    const int x = at_source ? u : v, y = at_source ? v : u;
    std::int32_t found = -1;
    for (const Incidence &link : incidences_of(x)) {
        if (link.edge >= e)
            break;
        if (link.other == y && link.outward != at_source)
            found = link.edge;
    }
    return found;
}

void Pattern::compile_node_sides(const GraphSet &set, const ProgramArrays &program,
                                 const NominalFeatures *nominal) {
    const int d = set.n_node_features();
    node_side_start.reserve(idx(n + 1));
    node_side_start.push_back(0);
    for (int x = 0; x < n; ++x) {
        for (int f = 0; f < d; ++f) {
            const FeatureColumn &column = set.node_column(f);
            const bool named = nominal && !nominal->node.empty() && nominal->node[idx(f)];
            each_side(named, program.node_lower[x * d + f], program.node_upper[x * d + f],
                      [&](SideKind kind, double bound) {
                          if (!excludes(column, kind, bound))
                              return;
                          const auto [at_least, beyond] = masks_of(column, bound);
                          node_sides.push_back({x, f, kind, bound, at_least, beyond, 0});
                      });
        }
        node_side_start.push_back(static_cast<std::int32_t>(node_sides.size()));
    }
}

void Pattern::compile_edge_sides(const GraphSet &set, const ProgramArrays &program,
                                 const NominalFeatures *nominal) {
    const int c = set.n_edge_features();
    edge_side_start.reserve(idx(m + 1));
    edge_side_start.push_back(0);
    for (int e = 0; e < m; ++e) {
        for (int f = 0; f < c; ++f) {
            const bool named = nominal && !nominal->edge.empty() && nominal->edge[idx(f)];
            each_side(named, program.edge_lower[e * c + f], program.edge_upper[e * c + f],
                      [&](SideKind kind, double bound) {
                          if (!excludes(set.edge_column(f), kind, bound))
                              return;
                          Side side{e, f, kind, bound, -1, -1, 0};
                          if (set.has_edge_types())
                              for (int t = 0; t < set.n_edge_types(); ++t)
                                  side.types |= Word{passes(side, set.edge_type_features(t)[f])}
                                                << t;
                          edge_sides.push_back(side);
                      });
        }
        edge_side_start.push_back(static_cast<std::int32_t>(edge_sides.size()));
    }
}

void Pattern::number_ids() {
    const int n_node_sides = static_cast<int>(node_sides.size()),
              n_edge_sides = static_cast<int>(edge_sides.size());
    edge_base = round_to_word(n);
    node_side_base = edge_base + round_to_word(m);
    edge_side_base = node_side_base + round_to_word(n_node_sides);
    n_ids = edge_side_base + n_edge_sides;
    words = std::max(1, words_for(n_ids));
    ids.assign(idx(words), 0);
    fill_first(ids.data(), words_for(n), n);
    fill_first(ids.data() + edge_base / kWordBits, words_for(m), m);
    fill_first(ids.data() + node_side_base / kWordBits, words_for(n_node_sides), n_node_sides);
    fill_first(ids.data() + edge_side_base / kWordBits, words_for(n_edge_sides), n_edge_sides);
}

void Pattern::touch(Word *bits, int id) const {
    if (id >= edge_side_base)
        touch_edge_side(bits, id - edge_side_base);
    else if (id >= node_side_base)
        touch_node_side(bits, id - node_side_base);
    else if (id >= edge_base)
        touch_edge(bits, id - edge_base);
    else
        touch_node(bits, id);
}

void Pattern::switch_off(Word *off, int id) const {
    set_bit(off, id);
    const auto edge_off = [&](int e) {
        set_bit(off, edge_id(e));
        for (const int s : edge_sides_of(e))
            set_bit(off, edge_side_id(s));
    };
    if (is_edge(id)) {
        edge_off(id - edge_base);
    } else if (is_node(id)) {
        for (const int s : node_sides_of(id))
            set_bit(off, node_side_id(s));
        for (const Incidence &link : incidences_of(id))
            edge_off(link.edge);
        for (const auto e : loops)
            if (source[idx(e)] == id)
                edge_off(e);
    }
}

void Variant::reset(const Pattern &pattern) {
    p_ = &pattern;
    var_words_ = std::max(1, words_for(pattern.n));
    count_ = pattern.words;
    alive_ = count_ + 1;
    changed_ = alive_ + var_words_;
    allowed_ = changed_ + var_words_;
    constrained_ = allowed_ + pattern.m;
    degrees_ = constrained_ + std::max(1, words_for(pattern.m));
    words_.assign(idx(degrees_ + pattern.n), 0);
    words_[idx(count_)] = static_cast<Word>(pattern.n);
    fill_first(words_.data() + alive_, var_words_, pattern.n);
    for (int e = 0; e < pattern.m; ++e)
        refresh_edge(e);
    for (int x = 0; x < pattern.n; ++x)
        refresh_degrees(x);
}

void Variant::refresh_edge(int e) {
    Word allowed = ~Word{0};
    clear_bit(words_.data() + constrained_, e);
    for (const int s : p_->edge_sides_of(e)) {
        if (is_off(p_->edge_side_id(s)))
            continue;
        allowed &= p_->edge_sides[idx(s)].types;
        set_bit(words_.data() + constrained_, e);
    }
    words_[idx(allowed_ + e)] = allowed;
}

void Variant::refresh_degrees(int x) {
    Word out = 0, in = 0, undirected = 0;
    for (const Incidence &link : p_->incidences_of(x)) {
        if (is_off(p_->edge_id(link.edge)))
            continue;
        ++(link.outward ? out : in);
        const int reverse = p_->reverse_edge[idx(link.edge)];
        // In an undirected graph, two edges to one variable need one neighbor.
        undirected += reverse < 0 || is_off(p_->edge_id(reverse));
    }
    words_[idx(degrees_ + x)] = out | in << kDegreeBits | undirected << (2 * kDegreeBits);
}

void Variant::remove(int id) {
    if (is_off(id))
        return;
    p_->switch_off(words_.data(), id);
    if (id >= p_->edge_side_base) {
        refresh_edge(p_->edge_sides[idx(id - p_->edge_side_base)].owner);
    } else if (id >= p_->node_side_base) {
        set_bit(words_.data() + changed_, p_->node_sides[idx(id - p_->node_side_base)].owner);
    } else if (id >= p_->edge_base) {
        refresh_degrees(p_->source[idx(id - p_->edge_base)]);
        refresh_degrees(p_->target[idx(id - p_->edge_base)]);
    } else {
        clear_bit(words_.data() + alive_, id);
        --words_[idx(count_)];
        for (const Incidence &link : p_->incidences_of(id))
            refresh_degrees(link.other);
    }
}

} // namespace gdlnn
