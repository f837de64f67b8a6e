// Masks of candidates: what a side, an edge type or an adjacency list leaves of the nodes of a
// graph.
#pragma once

#include <algorithm>

#include "gdlnn/graph_set.hpp"
#include "gdlnn/pattern.hpp"

namespace gdlnn {

inline std::size_t idx(long long i) { return static_cast<std::size_t>(i); }

// Removes from `mask` the nodes that a side excludes.
template <int W>
inline void apply_side(const GraphSet &set, const EncodedGraph &g, const Side &side, Word *mask) {
    const int w = W ? W : g.words;
    const FeatureColumn &column = set.node_column(side.feature);
    const Word *at_least = nullptr;
    if (column.ranked) {
        at_least = g.rank_masks.data() + idx(column.mask_offset + side.cut) * idx(w);
    } else if (!g.local_start.empty()) {
        const int j = column.local_index;
        const double *first = g.local_values.data() + g.local_start[idx(j)];
        const double *last = g.local_values.data() + g.local_start[idx(j + 1)];
        const auto place = (side.upper ? std::upper_bound(first, last, side.bound)
                                       : std::lower_bound(first, last, side.bound)) -
                           first;
        at_least = g.local_masks.data() + idx(g.local_start[idx(j)] + j + place) * idx(w);
    } else {
        const int d = set.n_node_features();
        for (int v = 0; v < g.n; ++v) {
            const double value = g.node_features[v * d + side.feature];
            if (side.upper ? value > side.bound : value < side.bound)
                clear_bit(mask, v);
        }
        return;
    }
    if (side.upper)
        for (int i = 0; i < w; ++i)
            mask[i] &= ~at_least[i];
    else
        for (int i = 0; i < w; ++i)
            mask[i] &= at_least[i];
}

inline bool passes(const Side &side, double value) {
    return side.upper ? value <= side.bound : value >= side.bound;
}

// Neighbours of v over edges of the allowed types, for graphs that have masks.
template <int W>
inline void typed_neighbours(const EncodedGraph &g, const Adjacency &a, Word allowed, int v,
                             Word *mask) {
    const int w = W ? W : g.words;
    const auto row = idx(v) * idx(w);
    const Word met = allowed & g.type_set;
    if (met == g.type_set) {
        copy_words(mask, a.any.data() + row, w);
        return;
    }
    fill_words(mask, w, 0);
    for (Word left = met; left; left &= left - 1) {
        // Types are sorted, so the place of one among them is the number of smaller ones.
        const int local = std::popcount(g.type_set & ((left & -left) - 1));
        or_words(mask, a.typed.data() + idx(local) * a.any.size() + row, w);
    }
}

// Neighbours of v over edges that `pass` admits, from the lists.
template <class Pass>
inline void listed_neighbours(const EncodedGraph &g, const Adjacency &a, int v, Word *mask,
                              Pass &&pass) {
    fill_words(mask, g.words, 0);
    for (auto i = idx(a.start[idx(v)]); i < idx(a.start[idx(v + 1)]); ++i)
        if (pass(a.edge[i]))
            set_bit(mask, a.node[i]);
}

inline void all_neighbours(const EncodedGraph &g, const Adjacency &a, int v, Word *mask) {
    if (g.has_masks)
        copy_words(mask, a.any.data() + idx(v) * idx(g.words), g.words);
    else
        listed_neighbours(g, a, v, mask, [](int) { return true; });
}

} // namespace gdlnn
