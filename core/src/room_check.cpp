#include "room_check.hpp"

#include <algorithm>
#include <cassert>

namespace gdlnn {

// --- RoomCheck

void RoomCheck::bind(const Pattern &pattern) {
    survey_.bind(pattern);
    const auto words = idx(domains_.problem().set->max_words());
    members_.resize(idx(domains_.var_words()));
    for (std::vector<Word> *buffer : {&room_, &fresh_, &around_})
        grow(*buffer, words);
}

template <int W> int RoomCheck::find_cramped(int n_placed, int x) {
    survey_.follow<W>(n_placed, x);
    const Word *region = survey_.region(n_placed);
    const int region_size = survey_.region_size(n_placed);
    checked_.assign(idx(survey_.n_components(n_placed) / kWordBits + 1), 0);
    for (int j = 0; j < domains_.var_words(); ++j) {
        for (Word left = domains_.frontier()[j]; left; left &= left - 1) {
            const int first = j * kWordBits + std::countr_zero(left);
            const int component = survey_.component(n_placed, first);
            if (test_bit(checked_.data(), component))
                continue;
            set_bit(checked_.data(), component);
            const int needed = survey_.component_size(n_placed, component);
            const bool fits = has_room<W>(first, needed, region, region_size);
            assert(fits == has_room_plainly<W>(first));
            if (!fits)
                return first;
        }
    }
    return -1;
}

// Whether this many free nodes can be reached from the node next to which `first` must lie.
template <int W>
bool RoomCheck::has_room(int first, int needed, const Word *region, int region_size) {
    const int w = W ? W : domains_.words();
    const Word *held = domains_.held();
    if (needed <= region_size && intersect(domains_.candidates<W>(first), region, w))
        return true;
    const int beside = domains_.image(tie(first).other);
    fill_words(around_.data(), w, 0);
    domains_.problem().add_neighbors<W>(beside, around_.data());
    Word met = 0;
    for (int j = 0; j < w; ++j)
        met |= around_[idx(j)] & region[j] & ~held[j];
    // The region is reached as a whole or not at all, and has no free nodes around.
    for (int j = 0; j < w; ++j)
        room_[idx(j)] = met ? region[j] : 0;
    return grow_room<W>(met ? region_size : 0, needed) >= needed;
}

#ifndef NDEBUG
// The same from nothing.
template <int W> bool RoomCheck::has_room_plainly(int first) {
    std::vector<Word> component(idx(domains_.var_words())), none(idx(domains_.words()));
    return has_room<W>(first, component_of(first, component.data()), none.data(), 0);
}
#endif

// Adds the free nodes around to the room, and then those around them, until there are enough or no
// more; returns how many there are.
template <int W> int RoomCheck::grow_room(int size, int needed) {
    const int w = W ? W : domains_.words();
    const Word *held = domains_.held();
    for (bool grown = true; grown && size < needed;) {
        grown = false;
        for (int j = 0; j < w; ++j) {
            fresh_[idx(j)] = around_[idx(j)] & ~held[j] & ~room_[idx(j)];
            room_[idx(j)] |= fresh_[idx(j)];
            size += std::popcount(fresh_[idx(j)]);
            grown = grown || fresh_[idx(j)];
        }
        for_each_bit(fresh_.data(), w,
                     [&](int v) { domains_.problem().add_neighbors<W>(v, around_.data()); });
    }
    return size;
}

// The first edge that ties a variable to a placed one.
const Incidence &RoomCheck::tie(int x) const {
    const SearchProblem &problem = domains_.problem();
    const auto links = problem.pattern->incidences_of(x);
    return *std::find_if(links.begin(), links.end(), [&](const Incidence &link) {
        return problem.has_edge(link.edge) && domains_.placed(link.other);
    });
}

// Collects the unplaced variables that hang together with x; returns how many they are.
int RoomCheck::component_of(int x, Word *component) {
    fill_words(component, domains_.var_words(), 0);
    return visit_component(
        domains_.problem(), domains_.unplaced(), x, stack_,
        [&](int y) { return test_bit(component, y); }, [&](int y) { set_bit(component, y); });
}

template <int W> void RoomCheck::explain(int first, Reasons to) {
    const SearchProblem &problem = domains_.problem();
    const Pattern &p = *problem.pattern;
    const int w = W ? W : domains_.words();
    const Incidence &link_to_placed = tie(first);
    p.touch_edge(to.constraints, link_to_placed.edge);
    set_bit(to.variables, link_to_placed.other);
    component_of(first, members_.data());
    for_each_bit(members_.data(), domains_.var_words(), [&](int x) {
        p.touch_node(to.constraints, x);
        for (const Incidence &link : p.incidences_of(x))
            if (link.outward && problem.has_edge(link.edge) &&
                test_bit(members_.data(), link.other))
                p.touch_edge(to.constraints, link.edge);
    });
    for (const auto e : p.loops)
        if (problem.has_edge(e) && test_bit(members_.data(), p.source[idx(e)]))
            p.touch_edge(to.constraints, e);
    fill_words(room_.data(), w, 0);
    fill_words(around_.data(), w, 0);
    problem.add_neighbors<W>(domains_.image(link_to_placed.other), around_.data());
    grow_room<W>(0, problem.graph->n + 1);
    for (int j = 0; j < w; ++j) {
        for (Word held = around_[idx(j)] & domains_.held()[j]; held; held &= held - 1) {
            const int z = domains_.holder(j * kWordBits + std::countr_zero(held));
            p.touch_node(to.constraints, z);
            set_bit(to.variables, z);
        }
    }
}

// --- RoomSurvey

void RoomSurvey::bind(const Pattern &pattern) {
    n_variables_ = idx(pattern.n);
    grow(placed_at_, n_variables_ + 1);
    made_at_.assign(placed_at_.size(), -1);
}

template <int W> void RoomSurvey::follow(int n_placed, int x) {
    const auto rows = placed_at_.size(), row = idx(n_placed), above = row - 1;
    const int w = W ? W : domains_.words(), v = domains_.image(x);
    if (component_sizes_.size() < rows) { // easy searches never come here
        region_size_.resize(rows);
        component_row_.resize(rows);
        component_sizes_.resize(rows);
    }
    const auto most_words = idx(domains_.problem().set->max_words());
    region_.reserve(rows, static_cast<int>(most_words));
    region_.set_words(w);
    grow(component_, rows * n_variables_);
    unplaced_.resize(idx(domains_.var_words()));
    for (std::vector<Word> *buffer : {&free_, &reached_, &fresh_, &next_, &around_})
        grow(*buffer, most_words);
    if (made_at_[above] != placed_at_[above])
        survey_before<W>(n_placed, x);
    Word *region = region_.row<W>(n_placed);
    copy_words(region, region_.row<W>(n_placed - 1), w);
    region_size_[row] = test_bit(region, v) ? region_without<W>(v, region) : region_size_[above];
    split_component(n_placed, x);
    made_at_[row] = placed_at_[row];
}

// Makes the survey of one placement less, that of x, from nothing.
template <int W> void RoomSurvey::survey_before(int n_placed, int x) {
    const int w = W ? W : domains_.words();
    const auto row = idx(n_placed - 1);
    fill_first(free_.data(), w, domains_.problem().graph->n);
    remove_words(free_.data(), domains_.held(), w);
    set_bit(free_.data(), domains_.image(x));
    region_size_[row] = largest_region<W>(free_.data(), region_.row<W>(n_placed - 1));

    copy_words(unplaced_.data(), domains_.unplaced(), domains_.var_words());
    set_bit(unplaced_.data(), x);
    component_row_[row] = row;
    std::int32_t *component = component_.data() + row * n_variables_;
    std::fill_n(component, n_variables_, -1);
    auto &sizes = component_sizes_[row];
    sizes.clear();
    for_each_bit(unplaced_.data(), domains_.var_words(), [&](int y) {
        if (component[y] < 0)
            sizes.push_back(
                name_component(unplaced_.data(), y, static_cast<int>(sizes.size()), component));
    });
    made_at_[row] = placed_at_[row];
}

// Takes x, which was placed last, out of its component, which may fall apart.
void RoomSurvey::split_component(int n_placed, int x) {
    const SearchProblem &problem = domains_.problem();
    const auto row = idx(n_placed);
    auto &sizes = component_sizes_[row];
    sizes = component_sizes_[row - 1];
    component_row_[row] = component_row_[row - 1];
    std::int32_t *component = component_.data() + component_row_[row] * n_variables_;
    const int number = component[x];
    --sizes[idx(number)];
    // The last neighbor that no other one reaches keeps the number, with all that is left.
    int last = -1;
    for (const Incidence &link : problem.pattern->incidences_of(x)) {
        const int y = link.other;
        if (domains_.placed(y) || y == last || component[y] != number ||
            !problem.has_edge(link.edge))
            continue;
        if (last >= 0) {
            if (component_row_[row] != row) {
                std::int32_t *own = component_.data() + row * n_variables_;
                std::copy_n(component, n_variables_, own);
                component = own;
                component_row_[row] = row;
            }
            const int size = name_component(domains_.unplaced(), last,
                                            static_cast<int>(sizes.size()), component);
            sizes.push_back(size);
            sizes[idx(number)] -= size;
        }
        last = component[y] == number ? y : -1;
    }
}

// Gives a number to the variables that hang together with x; returns how many they are.
int RoomSurvey::name_component(const Word *unplaced, int x, int number, std::int32_t *component) {
    return visit_component(
        domains_.problem(), unplaced, x, stack_, [&](int y) { return component[y] == number; },
        [&](int y) { component[y] = number; });
}

// Spreads from the first of `until` over `within`, at least until all of them are reached; returns
// how many nodes were.
template <int W> int RoomSurvey::flood(const Word *within, const Word *until, Word *reached) {
    const int w = W ? W : domains_.words();
    fill_words(reached, w, 0);
    fill_words(fresh_.data(), w, 0);
    for (int j = 0; j < w; ++j) {
        if (until[j]) {
            reached[j] = fresh_[idx(j)] = until[j] & -until[j];
            break;
        }
    }
    for (;;) {
        fill_words(next_.data(), w, 0);
        for_each_bit(fresh_.data(), w,
                     [&](int v) { domains_.problem().add_neighbors<W>(v, next_.data()); });
        Word any = 0, missing = 0;
        for (int j = 0; j < w; ++j) {
            const Word fresh = next_[idx(j)] & within[j] & ~reached[j];
            fresh_[idx(j)] = fresh;
            reached[j] |= fresh;
            any |= fresh;
            missing |= until[j] & ~reached[j];
        }
        if (!any || !missing)
            return count_bits(reached, w);
    }
}

// The largest region of the free nodes, which are used up.
template <int W> int RoomSurvey::largest_region(Word *free, Word *region) {
    const int w = W ? W : domains_.words();
    int largest = 0;
    fill_words(region, w, 0);
    for (int n_left = count_bits(free, w); n_left > largest;) {
        const int size = flood<W>(free, free, reached_.data());
        remove_words(free, reached_.data(), w);
        n_left -= size;
        if (size > largest) {
            largest = size;
            copy_words(region, reached_.data(), w);
        }
    }
    return largest;
}

// Takes v out of a region. Every part that it falls into has a neighbor of v: the last part, or
// one with half of the nodes, stays.
template <int W> int RoomSurvey::region_without(int v, Word *region) {
    const int w = W ? W : domains_.words();
    clear_bit(region, v);
    fill_words(around_.data(), w, 0);
    domains_.problem().add_neighbors<W>(v, around_.data());
    and_words(around_.data(), region, w);
    for (;;) {
        const int n_left = count_bits(region, w);
        if (count_bits(around_.data(), w) <= 1)
            return n_left;
        const int size = flood<W>(region, around_.data(), reached_.data());
        remove_words(around_.data(), reached_.data(), w);
        if (!any_word(around_.data(), w))
            return n_left;
        if (2 * size >= n_left) {
            copy_words(region, reached_.data(), w);
            return size;
        }
        remove_words(region, reached_.data(), w);
    }
}

template int RoomCheck::find_cramped<0>(int, int);
template int RoomCheck::find_cramped<1>(int, int);
template int RoomCheck::find_cramped<2>(int, int);
template void RoomCheck::explain<0>(int, Reasons);
template void RoomCheck::explain<1>(int, Reasons);
template void RoomCheck::explain<2>(int, Reasons);

} // namespace gdlnn
