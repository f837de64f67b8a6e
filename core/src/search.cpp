#include "gdlnn/search.hpp"

#include <algorithm>
#include <type_traits>

#include "search_neighbours.hpp"

namespace gdlnn {
namespace {

constexpr std::int64_t kStopInterval = 1024;
#ifndef GDLNN_POCKETS_AFTER
#define GDLNN_POCKETS_AFTER 500
#endif
// Steps before a search is thought hard enough to look for pockets.
constexpr std::int64_t kPocketsAfter = GDLNN_POCKETS_AFTER;

} // namespace

void Searcher::bind(const Pattern &pattern, std::vector<std::uint32_t> *root_bias) {
    p_ = &pattern;
    whole_.reset(pattern);
    variant_ = &whole_;
    unfinished_ = false;
    std::fill(used_.begin(), used_.end(), 0);
    root_bias_ = root_bias;
    const auto n = idx(pattern.n), w = idx(set_.max_words());
    var_words_ = std::max(1, words_for(pattern.n));
    const auto grow = [](auto &buffer, std::size_t size) {
        if (buffer.size() < size)
            buffer.resize(size);
    };
    grow(base_, n * w);
    grow(domain_, n * w);
    grow(candidates_, (n + 1) * w);
    grow(tried_, (n + 1) * w);
    grow(used_, w);
    grow(trail_words_, pattern.incidences.size() * w + w);
    grow(trail_var_, pattern.incidences.size() + 1);
    grow(trail_start_, n + 2);
    grow(level_var_, n + 1);
    grow(scratch_, 7 * w);
    grow(pending_, pattern.incidences.size() * w + w);
    grow(pending_var_, pattern.incidences.size() + 1);
    grow(blocked_start_, n + 2);
    grow(surveys_.placed, n + 1);
    surveys_.made.assign(surveys_.placed.size(), -1);
    grow(owner_, idx(set_.max_nodes()));
    grow(level_of_, n);
    touches_.assign(n, 0);
    image_.assign(n, -1);
    frontier_.assign(idx(var_words_), 0);
    unassigned_.assign(idx(var_words_), 0);
    if (root_bias_)
        root_bias_->assign(n, 0);
}

// --- set-up
// --------------------------------------------------------------------------------------------------------

template <int W> inline void Searcher::side_domain(int x, Word *domain) const {
    const EncodedGraph &g = *g_;
    const int w = W ? W : g.words;
    copy_words(domain, g.all.data(), w);
    for (int s = p_->node_side_start[idx(x)]; s < p_->node_side_start[idx(x + 1)]; ++s)
        if (!variant_->is_off(p_->node_side_id(s)))
            apply_side<W>(set_, g, p_->node_sides[idx(s)], domain);
}

// Leaves the nodes with at least so many neighbours.
template <int W>
inline void require_degree(const EncodedGraph &g, const Adjacency &a, int degree, Word *domain) {
    const int w = W ? W : g.words;
    if (degree == 0)
        return;
    if (degree > a.max_degree) {
        fill_words(domain, w, 0);
    } else if (!a.degree_at_least.empty()) {
        for (int i = 0; i < w; ++i)
            domain[i] &= a.degree_at_least[idx(degree * w + i)];
    } else {
        for (int v = 0; v < g.n; ++v)
            if (a.degree[idx(v)] < degree)
                clear_bit(domain, v);
    }
}

template <int W> inline void Searcher::base_domain(int x, Word *domain) {
    const EncodedGraph &g = *g_;
    const int w = W ? W : g.words;
    if (cache_.domains && !variant_->has_changed_sides(x)) {
        Word *cached = cache_.domains + idx(x) * idx(w);
        if (!test_bit(cache_.valid, x)) {
            side_domain<W>(x, cached);
            set_bit(cache_.valid, x);
        }
        copy_words(domain, cached, w);
    } else {
        side_domain<W>(x, domain);
    }
    if (g.directed) {
        require_degree<W>(g, g.out, variant_->out_degree(x), domain);
        require_degree<W>(g, g.in, variant_->in_degree(x), domain);
    } else {
        require_degree<W>(g, g.out, variant_->degree(x), domain);
    }
}

// Sets up one search; false where some variable has no candidate at all (`empty_variable_`).
template <int W> bool Searcher::prepare() {
    const Pattern &p = *p_;
    const EncodedGraph &g = *g_;
    const int w = W ? W : g.words;
    width_ = w;
    level_ = -1;
    matched_ = false;
    steps_ = 0;
    empty_variable_ = -1;
    if (unfinished_) { // the last search stopped with variables placed
        std::fill(touches_.begin(), touches_.end(), 0);
        std::fill(image_.begin(), image_.end(), -1);
        std::fill(frontier_.begin(), frontier_.end(), 0);
        std::fill(used_.begin(), used_.end(), 0);
        unfinished_ = false;
    }
    n_alive_ = variant_->n_alive();
    copy_words(unassigned_.data(), variant_->alive(), var_words_);
    if (n_alive_ > g.n)
        return false;
    for (int i = 0; i < var_words_; ++i) {
        for (Word left = variant_->alive()[i]; left; left &= left - 1) {
            const int x = i * kWordBits + std::countr_zero(left);
            Word *domain = base_.data() + idx(x) * idx(w);
            base_domain<W>(x, domain);
            if (!any_word(domain, w)) {
                empty_variable_ = x;
                return false;
            }
        }
    }
    for (const auto e : p.loops) {
        if (variant_->is_off(p.edge_id(e)))
            continue;
        const int x = p.source[idx(e)];
        Word *domain = base_.data() + idx(x) * idx(w);
        Word *looped = scratch_.data();
        fill_words(looped, w, 0);
        for (std::size_t i = 0; i < g.loop_node.size(); ++i) {
            bool pass = true;
            for (int s = p.edge_side_start[idx(e)]; s < p.edge_side_start[idx(e + 1)]; ++s)
                pass = pass && (variant_->is_off(p.edge_side_id(s)) ||
                                passes(p.edge_sides[idx(s)],
                                       g.edge_features[g.loop_edge[i] * set_.n_edge_features() +
                                                       p.edge_sides[idx(s)].feature]));
            if (pass)
                set_bit(looped, g.loop_node[i]);
        }
        for (int i = 0; i < w; ++i)
            domain[i] &= looped[i];
        if (!any_word(domain, w)) {
            empty_variable_ = x;
            return false;
        }
    }
    return true;
}

// --- search
// --------------------------------------------------------------------------------------------------------

// Gives v to x and narrows the neighbours. Where one of them would be left without candidates,
// nothing changes and the incidence that leads to it is returned; else -1.
template <int W> int Searcher::place(int x, int v) {
    const Pattern &p = *p_;
    const int w = W ? W : width_;
    set_bit(used_.data(), v);
    const int first = p.incidence_start[idx(x)], last = p.incidence_start[idx(x + 1)];
    Word *narrowed = pending_.data();
    int n_narrowed = 0;
    for (int i = first; i < last; ++i) {
        const Incidence &link = p.incidences[idx(i)];
        const int y = link.other;
        if (image_[idx(y)] >= 0 || variant_->is_off(p.edge_id(link.edge)))
            continue;
        neighbours<W>(link.edge, link.outward, v, narrowed);
        const Word *domain = (touches_[idx(y)] ? domain_.data() : base_.data()) + idx(y) * idx(w);
        Word left = 0;
        for (int j = 0; j < w; ++j) {
            narrowed[j] &= domain[j];
            left |= narrowed[j] & ~used_[idx(j)];
        }
        if (!left) {
            clear_bit(used_.data(), v);
            return i;
        }
        pending_var_[idx(n_narrowed++)] = y;
        narrowed += w;
    }
    image_[idx(x)] = v;
    owner_[idx(v)] = x;
    level_of_[idx(x)] = level_;
    clear_bit(unassigned_.data(), x);
    clear_bit(frontier_.data(), x);
    int trail = trail_start_[idx(level_)];
    narrowed = pending_.data();
    for (int k = 0; k < n_narrowed; ++k, narrowed += w) {
        const int y = pending_var_[idx(k)];
        Word *domain = domain_.data() + idx(y) * idx(w);
        if (touches_[idx(y)]++ == 0) {
            set_bit(frontier_.data(), y);
            copy_words(domain, narrowed, w);
            trail_var_[idx(trail)] = ~y;
        } else {
            copy_words(trail_words_.data() + idx(trail) * idx(w), domain, w);
            trail_var_[idx(trail)] = y;
            for (int j = 0; j < w; ++j)
                domain[j] &= narrowed[j];
        }
        ++trail;
    }
    trail_start_[idx(level_ + 1)] = trail;
    return -1;
}

template <int W> void Searcher::undo(int level) {
    const int w = W ? W : width_;
    const int x = level_var_[idx(level)];
    for (int t = trail_start_[idx(level + 1)] - 1; t >= trail_start_[idx(level)]; --t) {
        const int entry = trail_var_[idx(t)];
        if (entry < 0) {
            touches_[idx(~entry)] = 0;
            clear_bit(frontier_.data(), ~entry);
        } else {
            --touches_[idx(entry)];
            copy_words(domain_.data() + idx(entry) * idx(w), trail_words_.data() + idx(t) * idx(w),
                       w);
        }
    }
    clear_bit(used_.data(), image_[idx(x)]);
    image_[idx(x)] = -1;
    set_bit(unassigned_.data(), x);
    if (touches_[idx(x)])
        set_bit(frontier_.data(), x);
}

template <int W> int Searcher::choose() const {
    const int w = W ? W : width_;
    int best = -1;
    int fewest = 0;
    const auto left = [&](const Word *domain) {
        int n = 0;
        for (int j = 0; j < w; ++j)
            n += std::popcount(domain[j] & ~used_[idx(j)]);
        return n;
    };
    for_each_bit(frontier_.data(), var_words_, [&](int y) {
        const int n = left(domain_.data() + idx(y) * idx(w));
        if (best < 0 || n < fewest) {
            best = y;
            fewest = n;
        }
    });
    if (best >= 0)
        return best;
    std::int64_t best_weight = 1;
    for_each_bit(unassigned_.data(), var_words_, [&](int y) {
        const int n = left(base_.data() + idx(y) * idx(w));
        const std::int64_t weight = root_bias_ ? 1 + (*root_bias_)[idx(y)] : 1;
        if (best < 0 || n * best_weight < fewest * weight) {
            best = y;
            fewest = n;
            best_weight = weight;
        }
    });
    return best;
}

template <int W, bool Explain> Answer Searcher::run(std::int64_t budget, bool resume) {
    const int w = W ? W : width_;
    const int pw = p_->words;
    const auto constraints = [&](int level) {
        return constraint_rows_.data() + idx(row_[idx(level)]) * idx(pw);
    };
    const auto levels = [&](int level) {
        return level_rows_.data() + idx(row_[idx(level)]) * idx(var_words_);
    };
    const std::int64_t last_step = budget > kNoBudget - steps_ ? kNoBudget : steps_ + budget;

    // Opens the next level: the variable to place, and its candidates.
    const auto descend = [&]() {
        ++level_;
        const int x = choose<W>();
        level_var_[idx(level_)] = x;
        const Word *domain = (touches_[idx(x)] ? domain_.data() : base_.data()) + idx(x) * idx(w);
        for (int j = 0; j < w; ++j) {
            candidates_[idx(level_ * w + j)] = domain[j] & ~used_[idx(j)];
            tried_[idx(level_ * w + j)] = 0;
        }
        if constexpr (Explain) {
            fill_words(constraints(level_), pw, 0);
            fill_words(levels(level_), var_words_, 0);
            blocked_start_[idx(level_)] = blocked_.size();
        }
    };

    const auto in_pocket = [&]() {
        const int first = pocketed<W>();
        if constexpr (Explain) {
            if (first >= 0) {
                fill_words(constraints(level_ + 1), pw, 0);
                fill_words(levels(level_ + 1), var_words_, 0);
                explain_pocket<W>(first, constraints(level_ + 1), levels(level_ + 1));
            }
        }
        return first >= 0;
    };
    unfinished_ = true;
    if (!resume) {
        if (n_alive_ == 0)
            return Answer::yes;
        trail_start_[0] = 0;
        surveys_.placed[0] = ++surveys_.clock;
        blocked_.clear();
        descend();
    } else {
        if (level_ < 0)
            return Answer::no;
        if (matched_)
            undo<W>(level_);
        matched_ = false;
    }
    for (;;) {
        if (steps_ >= last_step || (steps_ % kStopInterval == kStopInterval - 1 && stop &&
                                    stop->load(std::memory_order_relaxed)))
            return Answer::unknown;
        Word *candidates = candidates_.data() + idx(level_) * idx(w);
        int v = -1;
        for (int j = 0; j < w; ++j) {
            if (candidates[j]) {
                v = j * kWordBits + std::countr_zero(candidates[j]);
                candidates[j] &= candidates[j] - 1;
                break;
            }
        }
        const int x = level_var_[idx(level_)];
        bool explained = false;
        if (v >= 0) {
            ++steps_;
            set_bit(tried_.data() + idx(level_) * idx(w), v);
            const int blocked = place<W>(x, v);
            if (blocked < 0) {
                if (level_ + 1 == n_alive_) {
                    matched_ = true;
                    return Answer::yes;
                }
                surveys_.placed[idx(level_ + 1)] = ++surveys_.clock;
                if (steps_ < kPocketsAfter || !g_->has_masks || !in_pocket()) {
                    descend();
                    continue;
                }
                undo<W>(level_);
                if constexpr (!Explain)
                    continue;
                // The row after this level holds the reasons: the next level would have used it.
                Word *l = levels(level_ + 1);
                if (test_bit(l, x)) {
                    clear_bit(l, x);
                    or_words(constraints(level_), constraints(level_ + 1), pw);
                    or_words(levels(level_), l, var_words_);
                    continue;
                }
                std::swap(row_[idx(level_)], row_[idx(level_ + 1)]);
                explained = true;
            } else {
                if constexpr (Explain) {
                    if (root_bias_)
                        ++(*root_bias_)[idx(p_->incidences[idx(blocked)].other)];
                    blocked_.push_back({v, blocked});
                }
                continue;
            }
        }
        if constexpr (Explain) {
            if (!explained) {
                explain_blocked<W>(x, constraints(level_), levels(level_));
                Word *untried = scratch_.data() + w;
                for (int j = 0; j < w; ++j)
                    untried[j] = g_->all[idx(j)] & ~tried_[idx(level_ * w + j)];
                explain<W>(x, untried, constraints(level_), levels(level_));
            }
        }
        // This level has failed, for the reasons in its row.
        for (;;) {
            --level_;
            if (level_ < 0) {
                if constexpr (Explain)
                    conflict_ = constraints(0);
                unfinished_ = false;
                return Answer::no;
            }
            undo<W>(level_);
            if constexpr (Explain) {
                const int above = level_var_[idx(level_)];
                Word *l = levels(level_ + 1);
                blocked_.resize(blocked_start_[idx(level_ + 1)]);
                if (!test_bit(l, above)) { // this choice had no part in it: the failure stands one
                                           // level up as it is
                    std::swap(row_[idx(level_)], row_[idx(level_ + 1)]);
                    continue;
                }
                clear_bit(l, above);
                or_words(constraints(level_), constraints(level_ + 1), pw);
                or_words(levels(level_), l, var_words_);
            }
            break;
        }
    }
}

// --- entry points
// --------------------------------------------------------------------------------------------------

namespace {

// Calls `search` with the number of words per mask as a constant where it is small.
template <class Call> auto by_width(int words, Call &&call) {
    switch (words) {
    case 1:
        return call(std::integral_constant<int, 1>{});
    case 2:
        return call(std::integral_constant<int, 2>{});
    default:
        return call(std::integral_constant<int, 0>{});
    }
}

} // namespace

void Searcher::select(const Word *off) {
    variant_ = &whole_;
    if (!off)
        return;
    reduced_ = whole_;
    for_each_bit(off, p_->words, [&](int id) { reduced_.remove(id); });
    variant_ = &reduced_;
}

Answer Searcher::test(const EncodedGraph &graph, const Word *off, std::int64_t budget) {
    g_ = &graph;
    cache_ = {};
    select(off);
    return by_width(graph.words, [&](auto width) {
        return prepare<width>() ? run<width, false>(budget, false) : Answer::no;
    });
}

Answer Searcher::test_with_conflict(const EncodedGraph &graph, const Word *off,
                                    std::int64_t budget) {
    select(off);
    return test_with_conflict(graph, *variant_, {}, budget);
}

Answer Searcher::test_with_conflict(const EncodedGraph &graph, const Variant &variant,
                                    DomainCache cache, std::int64_t budget) {
    g_ = &graph;
    variant_ = &variant;
    cache_ = cache;
    const auto rows = idx(p_->n + 2);
    if (constraint_rows_.size() < rows * idx(p_->words))
        constraint_rows_.resize(rows * idx(p_->words));
    if (level_rows_.size() < rows * idx(var_words_))
        level_rows_.resize(rows * idx(var_words_));
    while (row_.size() < rows)
        row_.push_back(static_cast<std::int32_t>(row_.size()));
    return by_width(graph.words, [&](auto width) {
        if (prepare<width>())
            return run<width, true>(budget, false);
        if (empty_variable_ < 0) {
            explain_size();
            return Answer::no;
        }
        Word *c = constraint_rows_.data();
        fill_words(c, p_->words, 0);
        explain<width>(empty_variable_, graph.all.data(), c, level_rows_.data());
        conflict_ = c;
        if (root_bias_)
            ++(*root_bias_)[idx(empty_variable_)];
        return Answer::no;
    });
}

void Searcher::start(const EncodedGraph &graph, const Word *off) {
    g_ = &graph;
    cache_ = {};
    select(off);
    started_ = false;
    if (!by_width(graph.words, [&](auto width) { return prepare<width>(); }))
        n_alive_ = -1;
}

Answer Searcher::next(std::int64_t budget) {
    if (n_alive_ < 0 || (started_ && n_alive_ == 0))
        return Answer::no;
    const bool resume = started_;
    started_ = true;
    return by_width(g_->words, [&](auto width) { return run<width, false>(budget, resume); });
}

Answer Searcher::count(const EncodedGraph &graph, std::int64_t budget, std::int64_t &found) {
    found = 0;
    start(graph, nullptr);
    for (;;) {
        const Answer answer = next(budget == kNoBudget ? kNoBudget : budget - steps_);
        if (answer != Answer::yes)
            return answer;
        ++found;
        if (level_ < 0)
            continue;
        // Every other variable is placed, so each candidate left at the last level is one more
        // witness.
        Word *left = candidates_.data() + idx(level_) * idx(width_);
        found += count_bits(left, width_);
        fill_words(left, width_, 0);
    }
}

} // namespace gdlnn
