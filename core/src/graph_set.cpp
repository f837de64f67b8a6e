#include "gdlnn/graph_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gdlnn {
namespace {

constexpr int kMaxRanks = 64;        // above, a feature counts as continuous
constexpr int kMaxTypes = 64;        // above, edge intervals are compared value by value
constexpr int kMaxMaskNodes = 512;   // above, adjacency stays a list
constexpr int kMaxLocalTypes = 8;    // above, the lists are quicker than the union of masks
constexpr int kMaxLocalNodes = 256;  // above, continuous features are scanned
constexpr int kMaxDegreeMasks = 256; // above, degrees are compared one by one

// Distinct values of a column, or nothing where there are more than `limit`.
std::vector<double> distinct(const std::vector<double> &data, int width, int column, int limit) {
    std::vector<double> found;
    for (std::size_t i = idx(column); i < data.size(); i += idx(width)) {
        const auto place = std::lower_bound(found.begin(), found.end(), data[i]);
        if (place != found.end() && *place == data[i])
            continue;
        found.insert(place, data[i]);
        if (static_cast<int>(found.size()) > limit)
            return {};
    }
    return found;
}

FeatureColumn describe(const std::vector<double> &data, int width, int column) {
    FeatureColumn result;
    if (data.empty()) {
        result.ranked = true;
        return result;
    }
    result.lowest = std::numeric_limits<double>::infinity();
    result.highest = -result.lowest;
    for (std::size_t i = idx(column); i < data.size(); i += idx(width)) {
        result.missing = result.missing || std::isnan(data[i]);
        result.lowest = std::fmin(result.lowest, data[i]);
        result.highest = std::fmax(result.highest, data[i]);
    }
    // A missing value is neither below nor above a bound, so that no masks by rank hold it.
    if (result.missing)
        return result;
    result.values = distinct(data, width, column, kMaxRanks);
    result.ranked = !result.values.empty();
    return result;
}

void link(EncodedGraph &g, Adjacency &a, const std::int64_t *edges, bool forward, bool both) {
    a.start.assign(idx(g.n + 1), 0);
    a.degree.assign(idx(g.n), 0);
    for (int pass = 0; pass < 2; ++pass) {
        std::vector<std::int32_t> next;
        if (pass == 1) {
            for (int v = 0; v < g.n; ++v)
                a.start[idx(v + 1)] += a.start[idx(v)];
            a.node.resize(idx(a.start[idx(g.n)]));
            a.edge.resize(a.node.size());
            next.assign(a.start.begin(), a.start.end() - 1);
        }
        const auto add = [&](std::int64_t from, std::int64_t to, int e) {
            if (pass == 0) {
                ++a.start[idx(from + 1)];
                a.degree[idx(from)] += from != to;
            } else {
                const auto at = idx(next[idx(from)]++);
                a.node[at] = static_cast<std::int32_t>(to);
                a.edge[at] = e;
            }
        };
        for (int e = 0; e < g.m; ++e) {
            const auto u = edges[2 * e], v = edges[2 * e + 1];
            if (both || forward)
                add(u, v, e);
            if ((both && u != v) || (!both && !forward))
                add(v, u, e);
        }
    }
    for (int v = 0; v < g.n; ++v)
        a.max_degree = std::max(a.max_degree, a.degree[idx(v)]);
    if (a.max_degree < kMaxDegreeMasks) {
        a.degree_at_least.assign(idx((a.max_degree + 2) * g.words), 0);
        for (int v = 0; v < g.n; ++v)
            for (int k = 0; k <= a.degree[idx(v)]; ++k)
                set_bit(a.degree_at_least.data() + k * g.words, v);
    }
}

void mask(const EncodedGraph &g, Adjacency &a) {
    a.any.assign(idx(g.n) * idx(g.words), 0);
    if (g.types.size() > 1)
        a.typed.assign(g.types.size() * a.any.size(), 0);
    for (int v = 0; v < g.n; ++v) {
        for (auto i = idx(a.start[idx(v)]); i < idx(a.start[idx(v + 1)]); ++i) {
            set_bit(a.any.data() + idx(v) * idx(g.words), a.node[i]);
            if (a.typed.empty())
                continue;
            const auto type = g.edge_type[idx(a.edge[i])];
            const auto local = std::find(g.types.begin(), g.types.end(), type) - g.types.begin();
            set_bit(a.typed.data() + idx(local) * a.any.size() + idx(v) * idx(g.words), a.node[i]);
        }
    }
}

template <class T> std::size_t bytes_of(const std::vector<T> &v) {
    return v.capacity() * sizeof(T);
}
std::size_t bytes_of(const Adjacency &a) {
    return bytes_of(a.start) + bytes_of(a.node) + bytes_of(a.edge) + bytes_of(a.degree) +
           bytes_of(a.any) + bytes_of(a.typed) + bytes_of(a.degree_at_least);
}

} // namespace

GraphSet::GraphSet(const GraphArrays &arrays)
    : d_(arrays.n_node_features), c_(arrays.n_edge_features) {
    const auto n_graphs = idx(arrays.n_graphs);
    const auto n_nodes = idx(arrays.node_offsets[n_graphs]),
               n_edges = idx(arrays.edge_offsets[n_graphs]);
    node_features_.assign(arrays.node_features, arrays.node_features + n_nodes * idx(d_));
    edge_features_.assign(arrays.edge_features, arrays.edge_features + n_edges * idx(c_));
    describe_columns();
    collect_edge_types({arrays.edge_offsets, arrays.edge_offsets + n_graphs + 1});
    graphs_.resize(n_graphs);
    for (std::size_t i = 0; i < n_graphs; ++i) {
        EncodedGraph &g = graphs_[i];
        g.n = static_cast<int>(arrays.node_offsets[i + 1] - arrays.node_offsets[i]);
        g.m = static_cast<int>(arrays.edge_offsets[i + 1] - arrays.edge_offsets[i]);
        g.words = std::max(1, words_for(g.n));
        g.directed = arrays.directed[i];
        g.node_features = node_features_.data() + idx(arrays.node_offsets[i]) * idx(d_);
        g.edge_features = edge_features_.data() + idx(arrays.edge_offsets[i]) * idx(c_);
        encode(g, arrays.edges + 2 * arrays.edge_offsets[i], arrays.edge_offsets[i]);
        encode_features(g);
        max_nodes_ = std::max(max_nodes_, g.n);
        max_words_ = std::max(max_words_, g.words);
    }
    edge_types_ = {};
}

void GraphSet::describe_columns() {
    for (int f = 0; f < d_; ++f) {
        FeatureColumn column = describe(node_features_, d_, f);
        if (column.ranked) {
            column.mask_offset = ranked_masks_;
            ranked_masks_ += static_cast<int>(column.values.size()) + 1;
        } else if (!column.missing) {
            column.local_index = n_continuous_++;
        }
        node_columns_.push_back(std::move(column));
    }
    for (int f = 0; f < c_; ++f)
        edge_columns_.push_back(describe(edge_features_, c_, f));
}

// Numbers the different rows of edge features in the order in which they first occur, and gives up
// where there are too many.
void GraphSet::collect_edge_types(const std::vector<std::int64_t> &edge_offsets) {
    const auto n_edges = idx(edge_offsets.back()), width = idx(c_);
    std::vector<std::int32_t> sorted; // the types so far, in the order of their features
    edge_types_.resize(n_edges);
    for (std::size_t e = 0; e < n_edges; ++e) {
        const double *row = edge_features_.data() + e * width;
        const auto place = std::lower_bound(
            sorted.begin(), sorted.end(), row, [&](std::int32_t type, const double *wanted) {
                const double *known = edge_type_features(type);
                return std::lexicographical_compare(known, known + c_, wanted, wanted + c_,
                                                    value_less);
            });
        if (place != sorted.end() &&
            !std::lexicographical_compare(row, row + c_, edge_type_features(*place),
                                          edge_type_features(*place) + c_, value_less)) {
            edge_types_[e] = *place;
            continue;
        }
        if (static_cast<int>(sorted.size()) == kMaxTypes) {
            edge_types_.clear();
            type_features_.clear();
            return;
        }
        edge_types_[e] = static_cast<std::int32_t>(sorted.size());
        type_features_.insert(type_features_.end(), row, row + c_);
        sorted.insert(place, edge_types_[e]);
    }
    has_types_ = true;
    n_types_ = std::max<int>(1, static_cast<int>(sorted.size()));
    type_features_.resize(idx(n_types_) * width);
}

void GraphSet::encode(EncodedGraph &g, const std::int64_t *edges, std::int64_t first_edge) const {
    g.all.resize(idx(g.words));
    fill_first(g.all.data(), g.words, g.n);
    link(g, g.out, edges, true, !g.directed);
    if (g.directed)
        link(g, g.in, edges, false, false);
    g.ends.assign(edges, edges + 2 * g.m);
    for (int e = 0; e < g.m; ++e) {
        if (edges[2 * e] == edges[2 * e + 1]) {
            g.loop_node.push_back(static_cast<std::int32_t>(edges[2 * e]));
            g.loop_edge.push_back(e);
        }
    }
    if (has_types_) {
        g.edge_type.assign(edge_types_.begin() + first_edge,
                           edge_types_.begin() + first_edge + g.m);
        for (const auto type : g.edge_type)
            if (std::find(g.types.begin(), g.types.end(), type) == g.types.end())
                g.types.push_back(static_cast<std::uint8_t>(type));
        std::sort(g.types.begin(), g.types.end());
        for (const auto type : g.types)
            g.type_set |= Word{1} << type;
    }
    g.has_masks = has_types_ && g.n <= kMaxMaskNodes && g.types.size() <= kMaxLocalTypes;
    if (g.has_masks) {
        mask(g, g.out);
        if (g.directed)
            mask(g, g.in);
    }
}

void GraphSet::encode_features(EncodedGraph &g) const {
    g.rank_masks.assign(idx(ranked_masks_) * idx(g.words), 0);
    const bool local = g.n <= kMaxLocalNodes && n_continuous_ > 0;
    if (local)
        g.local_start.push_back(0);
    for (int f = 0; f < d_; ++f) {
        const FeatureColumn &column = node_columns_[idx(f)];
        if (column.ranked) {
            Word *masks = g.rank_masks.data() + idx(column.mask_offset) * idx(g.words);
            for (int v = 0; v < g.n; ++v) {
                const double value = g.node_features[v * d_ + f];
                const auto rank =
                    std::lower_bound(column.values.begin(), column.values.end(), value) -
                    column.values.begin();
                for (int r = 0; r <= rank; ++r)
                    set_bit(masks + r * g.words, v);
            }
        } else if (local && column.local_index >= 0) {
            std::vector<double> values;
            for (int v = 0; v < g.n; ++v)
                values.push_back(g.node_features[v * d_ + f]);
            std::sort(values.begin(), values.end());
            values.erase(std::unique(values.begin(), values.end()), values.end());
            const std::size_t first = g.local_masks.size();
            g.local_masks.resize(first + (values.size() + 1) * idx(g.words), 0);
            for (int v = 0; v < g.n; ++v)
                for (std::size_t i = 0;
                     i < values.size() && values[i] <= g.node_features[v * d_ + f]; ++i)
                    set_bit(g.local_masks.data() + first + i * idx(g.words), v);
            g.local_values.insert(g.local_values.end(), values.begin(), values.end());
            g.local_start.push_back(static_cast<std::int32_t>(g.local_values.size()));
        }
    }
}

std::size_t GraphSet::bytes() const {
    std::size_t total = bytes_of(node_features_) + bytes_of(edge_features_) + bytes_of(graphs_) +
                        bytes_of(type_features_);
    for (const EncodedGraph &g : graphs_)
        total += bytes_of(g.out) + bytes_of(g.in) + bytes_of(g.edge_type) + bytes_of(g.types) +
                 bytes_of(g.ends) + bytes_of(g.loop_node) + bytes_of(g.loop_edge) +
                 bytes_of(g.rank_masks) + bytes_of(g.local_values) + bytes_of(g.local_start) +
                 bytes_of(g.local_masks) + bytes_of(g.all);
    return total;
}

} // namespace gdlnn
