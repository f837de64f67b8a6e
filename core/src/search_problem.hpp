// SearchProblem: what one search is about, and the masks of candidates that follow from it: what an
// interval's side, an edge or an adjacency list leaves of the nodes of the graph.
//
// Candidate sets as bit vectors go back to Ullmann, "An algorithm for subgraph isomorphism" (1976)
// and "Bit-vector algorithms for binary constraint satisfaction and subgraph isomorphism" (2010).
// Functions with a parameter W take the number of words per mask at compile time, or 0 where it is
// only known at run time: most molecules fit into one word, and loops over one word vanish.
#pragma once

#include <algorithm>

#include "gdlnn/graph_set.hpp"
#include "gdlnn/pattern.hpp"

namespace gdlnn {

// Neighbors of v over edges of the allowed types, for graphs that have masks.
template <int W>
inline void typed_neighbors(const EncodedGraph &g, const Adjacency &a, Word allowed, int v,
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

// Neighbors of v over edges that `pass` admits, from the lists.
template <class Pass>
inline void listed_neighbors(const EncodedGraph &g, const Adjacency &a, int v, Word *mask,
                             Pass &&pass) {
    fill_words(mask, g.words, 0);
    for (auto i = idx(a.start[idx(v)]); i < idx(a.start[idx(v + 1)]); ++i)
        if (pass(a.edge[i]))
            set_bit(mask, a.node[i]);
}

// Does the graph contain this variant of the pattern? Owns nothing.
struct SearchProblem {
    const GraphSet *set = nullptr;
    const Pattern *pattern = nullptr;
    const Variant *variant = nullptr;
    const EncodedGraph *graph = nullptr;

    bool has_edge(int e) const { return !variant->is_off(pattern->edge_id(e)); }
    bool has_node_side(int s) const { return !variant->is_off(pattern->node_side_id(s)); }
    bool has_edge_side(int s) const { return !variant->is_off(pattern->edge_side_id(s)); }
    double edge_feature(int graph_edge, int feature) const {
        return graph->edge_features[graph_edge * set->n_edge_features() + feature];
    }

    // Whether an edge of the graph lies in the intervals of edge e of the pattern.
    bool admits(int e, int graph_edge) const {
        for (const int s : pattern->edge_sides_of(e)) {
            const Side &side = pattern->edge_sides[idx(s)];
            if (has_edge_side(s) && !passes(side, edge_feature(graph_edge, side.feature)))
                return false;
        }
        return true;
    }

    // Removes from `mask` the nodes that a side of a variable excludes.
    template <int W> void apply_side(const Side &side, Word *mask) const;
    // The nodes within all intervals of x.
    template <int W> void side_domain(int x, Word *domain) const;
    // Neighbors of v over edges that edge e of the pattern admits.
    template <int W> void neighbors(int e, bool outward, int v, Word *mask) const;
    // Adds the neighbors of v, directions aside. Only for graphs with masks.
    template <int W> void add_neighbors(int v, Word *mask) const;
};

template <int W> inline void SearchProblem::apply_side(const Side &side, Word *mask) const {
    const EncodedGraph &g = *graph;
    const int w = W ? W : g.words;
    const Word *at_least = nullptr, *beyond = nullptr;
    if (side.at_least >= 0) {
        at_least = g.rank_masks.data() + idx(side.at_least) * idx(w);
        beyond = g.rank_masks.data() + idx(side.beyond) * idx(w);
    } else if (const int j = set->node_column(side.feature).local_index;
               j >= 0 && !g.local_start.empty()) {
        const double *first = g.local_values.data() + g.local_start[idx(j)];
        const double *last = g.local_values.data() + g.local_start[idx(j + 1)];
        const Word *masks = g.local_masks.data() + idx(g.local_start[idx(j)] + j) * idx(w);
        if (side.kind != SideKind::upper)
            at_least = masks + idx(std::lower_bound(first, last, side.bound) - first) * idx(w);
        if (side.kind != SideKind::lower)
            beyond = masks + idx(std::upper_bound(first, last, side.bound) - first) * idx(w);
    } else {
        const int d = set->n_node_features();
        for (int v = 0; v < g.n; ++v)
            if (!passes(side, g.node_features[v * d + side.feature]))
                clear_bit(mask, v);
        return;
    }
    if (side.kind != SideKind::upper)
        and_words(mask, at_least, w);
    if (side.kind != SideKind::lower)
        remove_words(mask, beyond, w);
}

template <int W> inline void SearchProblem::side_domain(int x, Word *domain) const {
    copy_words(domain, graph->all.data(), W ? W : graph->words);
    for (const int s : pattern->node_sides_of(x))
        if (has_node_side(s))
            apply_side<W>(pattern->node_sides[idx(s)], domain);
}

template <int W>
inline void SearchProblem::neighbors(int e, bool outward, int v, Word *mask) const {
    const EncodedGraph &g = *graph;
    const Adjacency &a = outward ? g.out : g.incoming();
    const int w = W ? W : g.words;
    if (g.has_masks) {
        if (!variant->constrained(e))
            copy_words(mask, a.any.data() + idx(v) * idx(w), w);
        else
            typed_neighbors<W>(g, a, variant->allowed(e), v, mask);
    } else if (!variant->constrained(e)) {
        listed_neighbors(g, a, v, mask, [](int) { return true; });
    } else if (set->has_edge_types()) {
        const Word allowed = variant->allowed(e);
        listed_neighbors(g, a, v, mask,
                         [&](int ge) { return (allowed >> g.edge_type[idx(ge)]) & 1U; });
    } else {
        listed_neighbors(g, a, v, mask, [&](int ge) { return admits(e, ge); });
    }
}

template <int W> inline void SearchProblem::add_neighbors(int v, Word *mask) const {
    const int w = W ? W : graph->words;
    or_words(mask, graph->out.any.data() + idx(v) * idx(w), w);
    if (graph->directed)
        or_words(mask, graph->in.any.data() + idx(v) * idx(w), w);
}

} // namespace gdlnn
