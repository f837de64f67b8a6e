// What the test for pockets needs to know after each placement: a region of free nodes, the largest
// as a rule, and the groups of unplaced variables. Both follow from those of the level above.
#include <algorithm>

#include "search_neighbours.hpp"

namespace gdlnn {

// Brings the row of this level up to date with the variable that was placed last.
template <int W> void Searcher::follow_placement() {
    const int w = W ? W : width_;
    const auto above = idx(level_), row = idx(level_ + 1), rows = surveys_.placed.size();
    const int x = level_var_[above], v = image_[idx(x)];
    if (surveys_.size.size() < rows) {
        surveys_.region_size.resize(rows);
        surveys_.group_row.resize(rows);
        surveys_.size.resize(rows);
    }
    surveys_.region.resize(std::max(surveys_.region.size(), rows * idx(set_.max_words())));
    surveys_.group.resize(std::max(surveys_.group.size(), rows * idx(p_->n)));
    if (surveys_.made[above] != surveys_.placed[above]) {
        image_[idx(x)] = -1;
        clear_bit(used_.data(), v);
        survey<W>(above);
        image_[idx(x)] = v;
        set_bit(used_.data(), v);
    }
    Word *region = surveys_.region.data() + row * idx(w);
    copy_words(region, region - w, w);
    surveys_.region_size[row] =
        test_bit(region, v) ? region_without<W>(v, region) : surveys_.region_size[above];
    split_group(x, row);
    surveys_.made[row] = surveys_.placed[row];
}

// Makes a row from nothing.
template <int W> void Searcher::survey(std::size_t row) {
    const int w = W ? W : width_;
    surveys_.region_size[row] = largest_region<W>(surveys_.region.data() + row * idx(w));
    surveys_.group_row[row] = row;
    std::int32_t *group = surveys_.group.data() + row * idx(p_->n);
    std::fill_n(group, p_->n, -1);
    auto &sizes = surveys_.size[row];
    sizes.clear();
    for_each_bit(variant_->alive(), var_words_, [&](int x) {
        if (image_[idx(x)] < 0 && group[x] < 0)
            sizes.push_back(name_group(x, static_cast<int>(sizes.size()), group));
    });
    surveys_.made[row] = surveys_.placed[row];
}

// --- groups
// --------------------------------------------------------------------------------------------------------

// Takes x out of its group, which may fall apart.
void Searcher::split_group(int x, std::size_t row) {
    const Pattern &p = *p_;
    const auto n = idx(p.n);
    auto &sizes = surveys_.size[row];
    sizes = surveys_.size[row - 1];
    surveys_.group_row[row] = surveys_.group_row[row - 1];
    std::int32_t *group = surveys_.group.data() + surveys_.group_row[row] * n;
    const int id = group[x];
    --sizes[idx(id)];
    // The last neighbour that no other one reaches keeps the number, with all that is left.
    int last = -1;
    for (int i = p.incidence_start[idx(x)]; i < p.incidence_start[idx(x + 1)]; ++i) {
        const Incidence &link = p.incidences[idx(i)];
        const int y = link.other;
        if (image_[idx(y)] >= 0 || y == last || group[y] != id ||
            variant_->is_off(p.edge_id(link.edge)))
            continue;
        if (last >= 0) {
            if (surveys_.group_row[row] != row) {
                std::int32_t *own = surveys_.group.data() + row * n;
                std::copy_n(group, n, own);
                group = own;
                surveys_.group_row[row] = row;
            }
            const int size = name_group(last, static_cast<int>(sizes.size()), group);
            sizes.push_back(size);
            sizes[idx(id)] -= size;
        }
        last = group[y] == id ? y : -1;
    }
}

// Gives a number to the unplaced variables that hang together with x; returns how many they are.
int Searcher::name_group(int x, int id, std::int32_t *group) {
    return walk_group(x, [&](int y) { return group[y] == id; }, [&](int y) { group[y] = id; });
}

// --- regions
// -------------------------------------------------------------------------------------------------------

// Spreads from the first of `until` over `within`, at least until all of them are reached; returns
// how many nodes were.
template <int W> int Searcher::flood(const Word *within, const Word *until, Word *reached) {
    const int w = W ? W : width_;
    Word *fresh = scratch_.data() + 2 * w, *next = scratch_.data() + 3 * w;
    fill_words(reached, w, 0);
    fill_words(fresh, w, 0);
    for (int j = 0; j < w; ++j) {
        if (until[j]) {
            reached[j] = fresh[j] = until[j] & -until[j];
            break;
        }
    }
    for (;;) {
        fill_words(next, w, 0);
        for_each_bit(fresh, w, [&](int v) { spread<W>(v, next); });
        Word any = 0, missing = 0;
        for (int j = 0; j < w; ++j) {
            fresh[j] = next[j] & within[j] & ~reached[j];
            reached[j] |= fresh[j];
            any |= fresh[j];
            missing |= until[j] & ~reached[j];
        }
        if (!any || !missing)
            return count_bits(reached, w);
    }
}

// The largest region of free nodes.
template <int W> int Searcher::largest_region(Word *region) {
    const int w = W ? W : width_;
    Word *left = scratch_.data(), *reached = scratch_.data() + w;
    int largest = 0;
    fill_words(region, w, 0);
    fill_first(left, w, g_->n);
    for (int j = 0; j < w; ++j)
        left[j] &= ~used_[idx(j)];
    for (int n_left = count_bits(left, w); n_left > largest;) {
        const int size = flood<W>(left, left, reached);
        for (int j = 0; j < w; ++j)
            left[j] &= ~reached[j];
        n_left -= size;
        if (size > largest) {
            largest = size;
            copy_words(region, reached, w);
        }
    }
    return largest;
}

// Takes v out of a region. Every part that it falls into has a neighbour of v: the last part, or
// one with half of the nodes, stays.
template <int W> int Searcher::region_without(int v, Word *region) {
    const int w = W ? W : width_;
    Word *around = scratch_.data(), *reached = scratch_.data() + w;
    clear_bit(region, v);
    fill_words(around, w, 0);
    spread<W>(v, around);
    for (int j = 0; j < w; ++j)
        around[j] &= region[j];
    for (;;) {
        const int left = count_bits(region, w);
        if (count_bits(around, w) <= 1)
            return left;
        const int size = flood<W>(region, around, reached);
        Word missing = 0;
        for (int j = 0; j < w; ++j)
            missing |= around[j] & ~reached[j];
        if (!missing)
            return left;
        if (2 * size >= left) {
            copy_words(region, reached, w);
            return size;
        }
        for (int j = 0; j < w; ++j) {
            region[j] &= ~reached[j];
            around[j] &= ~reached[j];
        }
    }
}

template void Searcher::follow_placement<0>();
template void Searcher::follow_placement<1>();
template void Searcher::follow_placement<2>();

} // namespace gdlnn
