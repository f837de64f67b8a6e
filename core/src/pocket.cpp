// Pockets: variables still to be placed that hang together must fit into one region of free nodes.
// Long chains against fused rings fail for no other reason, and without this test only after trying
// every way to wind through them.
#include "search_neighbours.hpp"

namespace gdlnn {

// Whether some connected group of unplaced variables has less room than it needs. With
// `constraints`, adds the reasons.
template <int W> bool Searcher::pocketed(Word *constraints, Word *levels) {
    const Pattern &p = *p_;
    const EncodedGraph &g = *g_;
    const int w = W ? W : width_;
    Word *seen = pocket_vars_.data(), *group = seen + var_words_;
    Word *room = scratch_.data() + w, *edge_of_room = scratch_.data() + 2 * w,
         *fresh = scratch_.data() + 3 * w;
    fill_words(seen, var_words_, 0);
    const auto spread = [&](int v, Word *mask) {
        or_words(mask, g.out.any.data() + idx(v) * idx(w), w);
        if (g.directed)
            or_words(mask, g.in.any.data() + idx(v) * idx(w), w);
    };
    for (int first = 0; first < p.n; ++first) {
        if (!test_bit(frontier_.data(), first) || test_bit(seen, first))
            continue;
        const int needed = group_of(first, group);
        or_words(seen, group, var_words_);
        const Incidence *link = nullptr;
        for (int i = p.incidence_start[idx(first)]; i < p.incidence_start[idx(first + 1)] && !link;
             ++i)
            if (!variant_->is_off(p.edge_id(p.incidences[idx(i)].edge)) &&
                image_[idx(p.incidences[idx(i)].other)] >= 0)
                link = &p.incidences[idx(i)];
        // All that can be reached over free nodes from the node beside which `first` must lie.
        fill_words(edge_of_room, w, 0);
        fill_words(room, w, 0);
        spread(image_[idx(link->other)], edge_of_room);
        int size = 0;
        for (bool grown = true; grown && size < needed;) {
            grown = false;
            for (int j = 0; j < w; ++j) {
                fresh[j] = edge_of_room[j] & ~used_[idx(j)] & ~room[j];
                room[j] |= fresh[j];
                size += std::popcount(fresh[j]);
                grown = grown || fresh[j];
            }
            for_each_bit(fresh, w, [&](int v) { spread(v, edge_of_room); });
        }
        if (size >= needed)
            continue;
        if (constraints)
            explain_pocket<W>(group, *link, edge_of_room, constraints, levels);
        return true;
    }
    return false;
}

// Collects the unplaced variables that hang together with x; returns how many they are.
int Searcher::group_of(int x, Word *group) {
    const Pattern &p = *p_;
    fill_words(group, var_words_, 0);
    set_bit(group, x);
    pocket_stack_.assign(1, x);
    int size = 0;
    while (!pocket_stack_.empty()) {
        const int y = pocket_stack_.back();
        pocket_stack_.pop_back();
        ++size;
        for (int i = p.incidence_start[idx(y)]; i < p.incidence_start[idx(y + 1)]; ++i) {
            const Incidence &link = p.incidences[idx(i)];
            if (variant_->is_off(p.edge_id(link.edge)) || image_[idx(link.other)] >= 0 ||
                test_bit(group, link.other))
                continue;
            set_bit(group, link.other);
            pocket_stack_.push_back(link.other);
        }
    }
    return size;
}

// The reasons: the group with its edges, the edge that ties it to a placed variable, and whoever
// holds the nodes around.
template <int W>
void Searcher::explain_pocket(const Word *group, const Incidence &link, const Word *around,
                              Word *constraints, Word *levels) {
    const Pattern &p = *p_;
    const int w = W ? W : width_;
    p.touch_edge(constraints, link.edge);
    set_bit(levels, link.other);
    for (int e = 0; e < p.m; ++e)
        if (!variant_->is_off(p.edge_id(e)) && test_bit(group, p.source[idx(e)]) &&
            test_bit(group, p.target[idx(e)]))
            p.touch_edge(constraints, e);
    for_each_bit(group, var_words_, [&](int x) { p.touch_node(constraints, x); });
    for (int j = 0; j < w; ++j) {
        for (Word held = around[j] & used_[idx(j)]; held; held &= held - 1) {
            const int z = owner_[idx(j * kWordBits + std::countr_zero(held))];
            p.touch_node(constraints, z);
            set_bit(levels, z);
        }
    }
#ifdef GDLNN_TRACE_REASONS
    reasons.resize(idx(p.words));
    or_words(reasons.data(), constraints, p.words);
#endif
}

template bool Searcher::pocketed<0>(Word *, Word *);
template bool Searcher::pocketed<1>(Word *, Word *);
template bool Searcher::pocketed<2>(Word *, Word *);

} // namespace gdlnn
