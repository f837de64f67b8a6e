// Pockets: variables still to be placed that hang together must fit into one region of free nodes.
// Long chains against fused rings fail for no other reason, and without this test only after trying
// every way to wind through them.
#include <cassert>

#include "search_neighbours.hpp"

namespace gdlnn {

// The first variable of a connected group of unplaced variables that has less room than it needs,
// or -1.
template <int W> int Searcher::pocketed() {
    const int w = W ? W : width_;
    follow_placement<W>();
    const auto row = idx(level_ + 1);
    const Word *region = surveys_.region.data() + row * idx(w);
    const int region_size = surveys_.region_size[row];
    const std::int32_t *group = surveys_.group.data() + surveys_.group_row[row] * idx(p_->n);
    const auto &sizes = surveys_.size[row];
    pocket_vars_.assign(sizes.size() / kWordBits + 1, 0);
    for (int j = 0; j < var_words_; ++j) {
        for (Word left = frontier_[idx(j)]; left; left &= left - 1) {
            const int first = j * kWordBits + std::countr_zero(left);
            const int id = group[first];
            if (test_bit(pocket_vars_.data(), id))
                continue;
            set_bit(pocket_vars_.data(), id);
            const bool fits = has_room<W>(first, sizes[idx(id)], region, region_size);
            assert(fits == has_room_plainly<W>(first));
            if (!fits)
                return first;
        }
    }
    return -1;
}

// Whether so many free nodes can be reached from the node beside which `first` must lie.
template <int W>
bool Searcher::has_room(int first, int needed, const Word *region, int region_size) {
    const int w = W ? W : width_;
    const Word *domain = domain_.data() + idx(first) * idx(w);
    Word met = 0;
    for (int j = 0; j < w; ++j)
        met |= domain[j] & region[j];
    if (met && needed <= region_size)
        return true;
    Word *room = scratch_.data() + w, *fresh = scratch_.data() + 2 * w,
         *around = scratch_.data() + 3 * w;
    fill_words(around, w, 0);
    spread<W>(image_[idx(p_->incidences[idx(placed_neighbour(first))].other)], around);
    met = 0;
    for (int j = 0; j < w; ++j)
        met |= around[j] & region[j] & ~used_[idx(j)];
    // The region is reached as a whole or not at all, and has no free nodes around.
    int size = met ? region_size : 0;
    for (int j = 0; j < w; ++j)
        room[j] = met ? region[j] : 0;
    for (bool grown = true; grown && size < needed;) {
        grown = false;
        for (int j = 0; j < w; ++j) {
            fresh[j] = around[j] & ~used_[idx(j)] & ~room[j];
            room[j] |= fresh[j];
            size += std::popcount(fresh[j]);
            grown = grown || fresh[j];
        }
        for_each_bit(fresh, w, [&](int v) { spread<W>(v, around); });
    }
    return size >= needed;
}

#ifndef NDEBUG
// The same from nothing.
template <int W> bool Searcher::has_room_plainly(int first) {
    std::vector<Word> group(idx(var_words_)), none(idx(width_));
    return has_room<W>(first, group_of(first, group.data()), none.data(), 0);
}
#endif

// The first edge that ties a variable to a placed one, as a number of an incidence.
int Searcher::placed_neighbour(int x) const {
    const Pattern &p = *p_;
    int i = p.incidence_start[idx(x)];
    while (variant_->is_off(p.edge_id(p.incidences[idx(i)].edge)) ||
           image_[idx(p.incidences[idx(i)].other)] < 0)
        ++i;
    return i;
}

// Collects the unplaced variables that hang together with x; returns how many they are.
int Searcher::group_of(int x, Word *group) {
    fill_words(group, var_words_, 0);
    return walk_group(
        x, [&](int y) { return test_bit(group, y); }, [&](int y) { set_bit(group, y); });
}

// The reasons: the group with its edges, the edge that ties it to a placed variable, and whoever
// holds the nodes around.
template <int W> void Searcher::explain_pocket(int first, Word *constraints, Word *levels) {
    const Pattern &p = *p_;
    const int w = W ? W : width_;
    const Incidence &tie = p.incidences[idx(placed_neighbour(first))];
    p.touch_edge(constraints, tie.edge);
    set_bit(levels, tie.other);
    pocket_vars_.resize(idx(var_words_));
    Word *group = pocket_vars_.data();
    group_of(first, group);
    for_each_bit(group, var_words_, [&](int x) {
        p.touch_node(constraints, x);
        for (int i = p.incidence_start[idx(x)]; i < p.incidence_start[idx(x + 1)]; ++i) {
            const Incidence &link = p.incidences[idx(i)];
            if (link.outward && !variant_->is_off(p.edge_id(link.edge)) &&
                test_bit(group, link.other))
                p.touch_edge(constraints, link.edge);
        }
    });
    for (const auto e : p.loops)
        if (!variant_->is_off(p.edge_id(e)) && test_bit(group, p.source[idx(e)]))
            p.touch_edge(constraints, e);
    Word *room = scratch_.data() + w, *fresh = scratch_.data() + 2 * w,
         *around = scratch_.data() + 3 * w;
    fill_words(room, w, 0);
    fill_words(around, w, 0);
    spread<W>(image_[idx(tie.other)], around);
    for (bool grown = true; grown;) {
        grown = false;
        for (int j = 0; j < w; ++j) {
            fresh[j] = around[j] & ~used_[idx(j)] & ~room[j];
            room[j] |= fresh[j];
            grown = grown || fresh[j];
        }
        for_each_bit(fresh, w, [&](int v) { spread<W>(v, around); });
    }
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

template int Searcher::pocketed<0>();
template int Searcher::pocketed<1>();
template int Searcher::pocketed<2>();
template void Searcher::explain_pocket<0>(int, Word *, Word *);
template void Searcher::explain_pocket<1>(int, Word *, Word *);
template void Searcher::explain_pocket<2>(int, Word *, Word *);

} // namespace gdlnn
