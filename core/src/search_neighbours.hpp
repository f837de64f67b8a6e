// The members of Searcher that several of its files use in their inner loops.
#pragma once

#include "gdlnn/search.hpp"
#include "search_masks.hpp"

namespace gdlnn {

// Neighbours of v over edges that edge e of the pattern admits.
template <int W> inline void Searcher::neighbours(int e, bool outward, int v, Word *mask) const {
    const EncodedGraph &g = *g_;
    const Adjacency &a = outward ? g.out : g.incoming();
    const int w = W ? W : g.words;
    if (g.has_masks) {
        if (!variant_->constrained(e))
            copy_words(mask, a.any.data() + idx(v) * idx(w), w);
        else
            typed_neighbours<W>(g, a, variant_->allowed(e), v, mask);
        return;
    }
    if (!variant_->constrained(e)) {
        listed_neighbours(g, a, v, mask, [](int) { return true; });
    } else if (set_.has_edge_types()) {
        const Word allowed = variant_->allowed(e);
        listed_neighbours(g, a, v, mask,
                          [&](int ge) { return (allowed >> g.edge_type[idx(ge)]) & 1U; });
    } else {
        const int c = set_.n_edge_features();
        listed_neighbours(g, a, v, mask, [&](int ge) {
            for (int s = p_->edge_side_start[idx(e)]; s < p_->edge_side_start[idx(e + 1)]; ++s) {
                const Side &side = p_->edge_sides[idx(s)];
                if (!variant_->is_off(p_->edge_side_id(s)) &&
                    !passes(side, g.edge_features[ge * c + side.feature]))
                    return false;
            }
            return true;
        });
    }
}

// Adds the neighbours of v, directions aside.
template <int W> inline void Searcher::spread(int v, Word *mask) const {
    const int w = W ? W : width_;
    or_words(mask, g_->out.any.data() + idx(v) * idx(w), w);
    if (g_->directed)
        or_words(mask, g_->in.any.data() + idx(v) * idx(w), w);
}

// Walks over the unplaced variables that hang together with x, marks each, and returns how many
// they are; `seen` says whether one is marked.
template <class Seen, class Mark> int Searcher::walk_group(int x, Seen seen, Mark mark) {
    const Pattern &p = *p_;
    mark(x);
    pocket_stack_.assign(1, x);
    int size = 0;
    while (!pocket_stack_.empty()) {
        const int y = pocket_stack_.back();
        pocket_stack_.pop_back();
        ++size;
        for (int i = p.incidence_start[idx(y)]; i < p.incidence_start[idx(y + 1)]; ++i) {
            const Incidence &link = p.incidences[idx(i)];
            if (seen(link.other) || image_[idx(link.other)] >= 0 ||
                variant_->is_off(p.edge_id(link.edge)))
                continue;
            mark(link.other);
            pocket_stack_.push_back(link.other);
        }
    }
    return size;
}

} // namespace gdlnn
