#include "domains.hpp"

#include <algorithm>

namespace gdlnn {

void Domains::bind(const Pattern &pattern) {
    problem_.pattern = &pattern;
    const auto n = idx(pattern.n), links = pattern.incidences.size() + 1;
    const int most_words = problem_.set->max_words();
    var_words_ = std::max(1, words_for(pattern.n));
    initial_.reserve(n, most_words);
    narrowed_.reserve(n, most_words);
    trail_mask_.reserve(links, most_words);
    pending_.reserve(links, most_words);
    grow(trail_var_, links);
    grow(trail_start_, n + 2);
    grow(pending_var_, links);
    grow(held_, idx(most_words));
    grow(looped_, idx(most_words));
    grow(holder_, idx(problem_.set->max_nodes()));
    grow(level_of_, n);
    n_placed_links_.resize(n);
    image_.resize(n);
    frontier_.resize(idx(var_words_));
    unplaced_.resize(idx(var_words_));
    forget_placements();
}

void Domains::forget_placements() {
    std::fill(n_placed_links_.begin(), n_placed_links_.end(), 0);
    std::fill(image_.begin(), image_.end(), -1);
    std::fill(frontier_.begin(), frontier_.end(), 0);
    std::fill(held_.begin(), held_.end(), 0);
    n_placed_ = 0;
}

// --- set-up

template <int W>
bool Domains::prepare(const EncodedGraph &graph, const Variant &variant, DomainCache cache) {
    problem_.graph = &graph;
    problem_.variant = &variant;
    words_ = W ? W : graph.words;
    for (BitRows *rows : {&initial_, &narrowed_, &trail_mask_, &pending_})
        rows->set_words(words_);
    if (n_placed_ > 0) // the last search ended early, or with a witness
        forget_placements();
    n_variables_ = variant.n_alive();
    empty_variable_ = -1;
    trail_start_[0] = 0;
    copy_words(unplaced_.data(), variant.alive(), var_words_);
    if (n_variables_ > graph.n)
        return false;
    for (int i = 0; i < var_words_; ++i) {
        for (Word left = variant.alive()[i]; left; left &= left - 1) {
            const int x = i * kWordBits + std::countr_zero(left);
            initial_domain<W>(x, cache);
            if (!any_word(initial_.row<W>(x), words_)) {
                empty_variable_ = x;
                return false;
            }
        }
    }
    return apply_loops<W>();
}

template <int W> inline void Domains::initial_domain(int x, DomainCache cache) {
    const EncodedGraph &g = *problem_.graph;
    const Variant &variant = *problem_.variant;
    const int w = W ? W : words_;
    Word *domain = initial_.row<W>(x);
    if (cache.domains && !variant.has_changed_sides(x)) {
        Word *cached = cache.domains + idx(x) * idx(w);
        if (!test_bit(cache.valid, x)) {
            problem_.side_domain<W>(x, cached);
            set_bit(cache.valid, x);
        }
        copy_words(domain, cached, w);
    } else {
        problem_.side_domain<W>(x, domain);
    }
    if (g.directed) {
        require_degree<W>(g.out, variant.out_degree(x), domain);
        require_degree<W>(g.in, variant.in_degree(x), domain);
    } else {
        require_degree<W>(g.out, variant.degree(x), domain);
    }
}

// Leaves the nodes with at least this many neighbors, as Ullmann (1976) does.
template <int W>
inline void Domains::require_degree(const Adjacency &a, int degree, Word *domain) const {
    const EncodedGraph &g = *problem_.graph;
    const int w = W ? W : words_;
    if (degree == 0)
        return;
    if (degree > a.max_degree) {
        fill_words(domain, w, 0);
    } else if (!a.degree_at_least.empty()) {
        and_words(domain, a.degree_at_least.data() + idx(degree) * idx(w), w);
    } else {
        for (int v = 0; v < g.n; ++v)
            if (a.degree[idx(v)] < degree)
                clear_bit(domain, v);
    }
}

// Leaves to variables with a loop the nodes that have one; false where some are left with none.
template <int W> bool Domains::apply_loops() {
    const Pattern &p = *problem_.pattern;
    const EncodedGraph &g = *problem_.graph;
    const int w = W ? W : words_;
    for (const auto e : p.loops) {
        if (!problem_.has_edge(e))
            continue;
        fill_words(looped_.data(), w, 0);
        for (std::size_t i = 0; i < g.loop_node.size(); ++i)
            if (problem_.admits(e, g.loop_edge[i]))
                set_bit(looped_.data(), g.loop_node[i]);
        const int x = p.source[idx(e)];
        Word *domain = initial_.row<W>(x);
        and_words(domain, looped_.data(), w);
        if (!any_word(domain, w)) {
            empty_variable_ = x;
            return false;
        }
    }
    return true;
}

// --- placing

template <int W> int Domains::place(int level, int x, int v) {
    const Pattern &p = *problem_.pattern;
    const int w = W ? W : words_;
    set_bit(held_.data(), v);
    const int first = p.incidence_start[idx(x)], last = p.incidence_start[idx(x + 1)];
    Word *mask = pending_.row(0);
    int n_pending = 0;
    for (int i = first; i < last; ++i) {
        const Incidence &link = p.incidences[idx(i)];
        const int y = link.other;
        if (image_[idx(y)] >= 0 || !problem_.has_edge(link.edge))
            continue;
        problem_.neighbors<W>(link.edge, link.outward, v, mask);
        const Word *domain = candidates<W>(y);
        Word left = 0;
        for (int j = 0; j < w; ++j) {
            mask[j] &= domain[j];
            left |= mask[j] & ~held_[idx(j)];
        }
        if (!left) {
            clear_bit(held_.data(), v);
            return i;
        }
        pending_var_[idx(n_pending++)] = y;
        mask += w;
    }
    ++n_placed_;
    image_[idx(x)] = v;
    holder_[idx(v)] = x;
    level_of_[idx(x)] = level;
    clear_bit(unplaced_.data(), x);
    clear_bit(frontier_.data(), x);
    int trail = trail_start_[idx(level)];
    mask = pending_.row(0);
    for (int k = 0; k < n_pending; ++k, ++trail, mask += w) {
        const int y = pending_var_[idx(k)];
        Word *domain = narrowed_.row<W>(y);
        if (n_placed_links_[idx(y)]++ == 0) {
            set_bit(frontier_.data(), y);
            copy_words(domain, mask, w);
            trail_var_[idx(trail)] = ~y;
        } else {
            copy_words(trail_mask_.row<W>(trail), domain, w);
            trail_var_[idx(trail)] = y;
            and_words(domain, mask, w); // y may be here twice: two edges may join a pair
        }
    }
    trail_start_[idx(level + 1)] = trail;
    return -1;
}

template <int W> void Domains::undo(int level, int x) {
    const int w = W ? W : words_;
    for (int t = trail_start_[idx(level + 1)] - 1; t >= trail_start_[idx(level)]; --t) {
        const int entry = trail_var_[idx(t)];
        if (entry < 0) {
            n_placed_links_[idx(~entry)] = 0;
            clear_bit(frontier_.data(), ~entry);
        } else {
            --n_placed_links_[idx(entry)];
            copy_words(narrowed_.row<W>(entry), trail_mask_.row<W>(t), w);
        }
    }
    --n_placed_;
    clear_bit(held_.data(), image_[idx(x)]);
    image_[idx(x)] = -1;
    set_bit(unplaced_.data(), x);
    if (n_placed_links_[idx(x)])
        set_bit(frontier_.data(), x);
}

// Smallest domain first is the fail-first principle of Haralick and Elliott (1980). At the start of
// the search, and of each further connected component, domain size over wipeouts is compared. This
// follows dom/wdeg (Boussemart, Hemery, Lecoutre and Sais, "Boosting systematic search by weighting
// constraints", 2004), with a weight per variable instead of one per constraint.
template <int W> int Domains::choose(const std::vector<std::uint32_t> *wipeouts) const {
    const int w = W ? W : words_;
    int best = -1;
    int fewest = 0;
    const auto n_free = [&](const Word *domain) {
        int n = 0;
        for (int j = 0; j < w; ++j)
            n += std::popcount(domain[j] & ~held_[idx(j)]);
        return n;
    };
    for_each_bit(frontier_.data(), var_words_, [&](int y) {
        const int n = n_free(narrowed_.row<W>(y));
        if (best < 0 || n < fewest) {
            best = y;
            fewest = n;
        }
    });
    if (best >= 0)
        return best;
    std::int64_t best_weight = 1;
    for_each_bit(unplaced_.data(), var_words_, [&](int y) {
        const int n = n_free(initial_.row<W>(y));
        const std::int64_t weight = wipeouts ? 1 + (*wipeouts)[idx(y)] : 1;
        if (best < 0 || n * best_weight < fewest * weight) {
            best = y;
            fewest = n;
            best_weight = weight;
        }
    });
    return best;
}

#define GDLNN_DOMAINS(W)                                                                           \
    template bool Domains::prepare<W>(const EncodedGraph &, const Variant &, DomainCache);         \
    template int Domains::place<W>(int, int, int);                                                 \
    template void Domains::undo<W>(int, int);                                                      \
    template int Domains::choose<W>(const std::vector<std::uint32_t> *) const;
GDLNN_DOMAINS(0)
GDLNN_DOMAINS(1)
GDLNN_DOMAINS(2)
#undef GDLNN_DOMAINS

} // namespace gdlnn
