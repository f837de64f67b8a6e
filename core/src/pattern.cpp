#include "gdlnn/pattern.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace gdlnn {
namespace {

std::size_t idx(long long i) { return static_cast<std::size_t>(i); }

bool excludes(const FeatureColumn &column, bool upper, double bound) {
    return upper ? bound < column.highest : bound > column.lowest;
}

} // namespace

Pattern::Pattern(const GraphSet &set, const ProgramArrays &program) : n(program.n), m(program.m) {
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> by_ends;
    twin.assign(idx(m), -1);
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
        if (const auto found = by_ends.find({v, u}); found != by_ends.end())
            twin[idx(e)] = found->second;
        by_ends[{u, v}] = e;
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

    const int d = set.n_node_features(), c = set.n_edge_features();
    node_side_start.push_back(0);
    for (int x = 0; x < n; ++x) {
        for (int f = 0; f < d; ++f) {
            const FeatureColumn &column = set.node_column(f);
            for (const bool upper : {false, true}) {
                const double bound = (upper ? program.node_upper : program.node_lower)[x * d + f];
                if (!excludes(column, upper, bound))
                    continue;
                const auto &values = column.values;
                const auto cut =
                    upper ? std::upper_bound(values.begin(), values.end(), bound) - values.begin()
                          : std::lower_bound(values.begin(), values.end(), bound) - values.begin();
                node_sides.push_back({x, f, upper, bound, static_cast<std::int32_t>(cut), 0});
            }
        }
        node_side_start.push_back(static_cast<std::int32_t>(node_sides.size()));
    }
    edge_side_start.push_back(0);
    for (int e = 0; e < m; ++e) {
        for (int f = 0; f < c; ++f) {
            for (const bool upper : {false, true}) {
                const double bound = (upper ? program.edge_upper : program.edge_lower)[e * c + f];
                if (!excludes(set.edge_column(f), upper, bound))
                    continue;
                Word types = 0;
                if (set.has_edge_types())
                    for (int t = 0; t < set.n_edge_types(); ++t) {
                        const double value = set.edge_type_features(t)[f];
                        types |= Word{upper ? value <= bound : value >= bound} << t;
                    }
                edge_sides.push_back({e, f, upper, bound, 0, types});
            }
        }
        edge_side_start.push_back(static_cast<std::int32_t>(edge_sides.size()));
    }
    edge_base = round_to_word(n);
    node_side_base = edge_base + round_to_word(m);
    edge_side_base = node_side_base + round_to_word(static_cast<int>(node_sides.size()));
    n_ids = edge_side_base + static_cast<int>(edge_sides.size());
    words = std::max(1, words_for(n_ids));
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
        for (int s = edge_side_start[idx(e)]; s < edge_side_start[idx(e + 1)]; ++s)
            set_bit(off, edge_side_id(s));
    };
    if (is_edge(id)) {
        edge_off(id - edge_base);
    } else if (is_node(id)) {
        for (int s = node_side_start[idx(id)]; s < node_side_start[idx(id + 1)]; ++s)
            set_bit(off, node_side_id(s));
        for (int i = incidence_start[idx(id)]; i < incidence_start[idx(id + 1)]; ++i)
            edge_off(incidences[idx(i)].edge);
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
    for (int s = p_->edge_side_start[idx(e)]; s < p_->edge_side_start[idx(e + 1)]; ++s) {
        if (is_off(p_->edge_side_id(s)))
            continue;
        allowed &= p_->edge_sides[idx(s)].types;
        set_bit(words_.data() + constrained_, e);
    }
    words_[idx(allowed_ + e)] = allowed;
}

void Variant::refresh_degrees(int x) {
    Word out = 0, in = 0, undirected = 0;
    for (int i = p_->incidence_start[idx(x)]; i < p_->incidence_start[idx(x + 1)]; ++i) {
        const Incidence &link = p_->incidences[idx(i)];
        if (is_off(p_->edge_id(link.edge)))
            continue;
        ++(link.outward ? out : in);
        const int twin = p_->twin[idx(link.edge)];
        undirected +=
            twin < 0 || is_off(p_->edge_id(twin)); // two edges to one variable need one neighbour
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
        for (int i = p_->incidence_start[idx(id)]; i < p_->incidence_start[idx(id + 1)]; ++i)
            refresh_degrees(p_->incidences[idx(i)].other);
    }
}

} // namespace gdlnn
