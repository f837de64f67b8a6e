#include "gdlnn/search.hpp"

#include <algorithm>
#include <cassert>

namespace gdlnn {
namespace {

std::size_t idx(long long i) { return static_cast<std::size_t>(i); }
constexpr std::int64_t kStopInterval = 1024;

} // namespace

void Searcher::bind(const Pattern &pattern, std::vector<std::uint32_t> *root_bias) {
    p_ = &pattern;
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
    grow(out_degree_, n);
    grow(in_degree_, n);
    grow(allowed_, idx(pattern.m));
    grow(constrained_, idx(pattern.m));
    grow(owner_, idx(set_.max_nodes()));
    grow(level_of_, n);
    touches_.assign(n, 0);
    image_.assign(n, -1);
    frontier_.assign(idx(var_words_), 0);
    unassigned_.assign(idx(var_words_), 0);
    alive_.reserve(n);
    if (root_bias_)
        root_bias_->assign(n, 0);
}

// --- masks ---------------------------------------------------------------------------------------------------------

namespace {

// Removes from `mask` the nodes that a side excludes.
template <int W> inline void apply_side(const GraphSet &set, const EncodedGraph &g, const Side &side, Word *mask) {
    const int w = W ? W : g.words;
    const FeatureColumn &column = set.node_column(side.feature);
    const Word *at_least = nullptr;
    if (column.ranked) {
        at_least = g.rank_masks.data() + idx(column.mask_offset + side.cut) * idx(w);
    } else if (!g.local_start.empty()) {
        const int j = column.local_index;
        const double *first = g.local_values.data() + g.local_start[idx(j)];
        const double *last = g.local_values.data() + g.local_start[idx(j + 1)];
        const auto place = (side.upper ? std::upper_bound(first, last, side.bound) : std::lower_bound(first, last, side.bound)) - first;
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

inline bool passes(const Side &side, double value) { return side.upper ? value <= side.bound : value >= side.bound; }

// Neighbours of v over edges of the allowed types, for graphs that have masks.
template <int W> inline void typed_neighbours(const EncodedGraph &g, const Adjacency &a, Word allowed, int v, Word *mask) {
    const int w = W ? W : g.words;
    const auto row = idx(v) * idx(w);
    if (a.typed.empty()) {
        const bool pass = !g.types.empty() && ((allowed >> g.types[0]) & 1U);
        for (int i = 0; i < w; ++i)
            mask[i] = pass ? a.any[row + idx(i)] : 0;
        return;
    }
    fill_words(mask, w, 0);
    const Word *table = a.typed.data() + row;
    for (std::size_t t = 0; t < g.types.size(); ++t, table += a.any.size())
        if ((allowed >> g.types[t]) & 1U)
            or_words(mask, table, w);
}

// Neighbours of v over edges that `pass` admits, from the lists.
template <class Pass>
inline void listed_neighbours(const EncodedGraph &g, const Adjacency &a, int v, Word *mask, Pass &&pass) {
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

} // namespace

template <int W> void Searcher::neighbours(int e, bool outward, int v, Word *mask) const {
    const EncodedGraph &g = *g_;
    const Adjacency &a = outward ? g.out : g.incoming();
    const int w = W ? W : g.words;
    if (g.has_masks) {
        if (!constrained_[idx(e)])
            copy_words(mask, a.any.data() + idx(v) * idx(w), w);
        else
            typed_neighbours<W>(g, a, allowed_[idx(e)], v, mask);
        return;
    }
    if (!constrained_[idx(e)]) {
        listed_neighbours(g, a, v, mask, [](int) { return true; });
    } else if (set_.has_edge_types()) {
        const Word allowed = allowed_[idx(e)];
        listed_neighbours(g, a, v, mask, [&](int ge) { return (allowed >> g.edge_type[idx(ge)]) & 1U; });
    } else {
        const int c = set_.n_edge_features();
        listed_neighbours(g, a, v, mask, [&](int ge) {
            for (int s = p_->edge_side_start[idx(e)]; s < p_->edge_side_start[idx(e + 1)]; ++s) {
                const Side &side = p_->edge_sides[idx(s)];
                if (!is_off(p_->edge_side_id(s)) && !passes(side, g.edge_features[ge * c + side.feature]))
                    return false;
            }
            return true;
        });
    }
}

template <int W> void Searcher::base_domain(int x, Word *domain) const {
    const EncodedGraph &g = *g_;
    const int w = W ? W : g.words;
    const auto at_least = [&](const Adjacency &a, int degree) {
        if (degree > a.max_degree) {
            fill_words(domain, w, 0);
        } else if (degree > 0 && !a.degree_at_least.empty()) {
            for (int i = 0; i < w; ++i)
                domain[i] &= a.degree_at_least[idx(degree * w + i)];
        } else if (degree > 0) {
            for (int v = 0; v < g.n; ++v)
                if (a.degree[idx(v)] < degree)
                    clear_bit(domain, v);
        }
    };
    copy_words(domain, g.all.data(), w);
    at_least(g.out, out_degree_[idx(x)]);
    if (g.directed)
        at_least(g.in, in_degree_[idx(x)]);
    for (int s = p_->node_side_start[idx(x)]; s < p_->node_side_start[idx(x + 1)]; ++s)
        if (!is_off(p_->node_side_id(s)))
            apply_side<W>(set_, g, p_->node_sides[idx(s)], domain);
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
    alive_.clear();
    for (int i = 0; i < var_words_; ++i) {
        const int left = p.n - i * kWordBits;
        const Word inside = left >= kWordBits ? ~Word{0} : left > 0 ? (Word{1} << left) - 1 : 0;
        unassigned_[idx(i)] = inside & (off_ ? ~off_[i] : ~Word{0});
        frontier_[idx(i)] = 0;
    }
    for_each_bit(unassigned_.data(), var_words_, [&](int x) {
        alive_.push_back(x);
        out_degree_[idx(x)] = in_degree_[idx(x)] = 0;
        touches_[idx(x)] = 0;
        image_[idx(x)] = -1;
    });
    n_alive_ = static_cast<int>(alive_.size());
    fill_words(used_.data(), w, 0);
    const bool types = set_.has_edge_types();
    for (int e = 0; e < p.m; ++e) {
        if (is_off(p.edge_id(e)))
            continue;
        Word allowed = ~Word{0};
        bool constrained = false;
        for (int s = p.edge_side_start[idx(e)]; s < p.edge_side_start[idx(e + 1)]; ++s) {
            if (is_off(p.edge_side_id(s)))
                continue;
            constrained = true;
            if (types)
                allowed &= p.edge_sides[idx(s)].types;
        }
        allowed_[idx(e)] = allowed;
        constrained_[idx(e)] = constrained;
        const auto u = idx(p.source[idx(e)]), v = idx(p.target[idx(e)]);
        if (u == v)
            continue;
        if (g.directed) {
            ++out_degree_[u];
            ++in_degree_[v];
        } else if (p.twin[idx(e)] < 0 || is_off(p.edge_id(p.twin[idx(e)]))) {
            ++out_degree_[u];
            ++out_degree_[v];
        }
    }
    if (n_alive_ > g.n)
        return false;
    for (const int x : alive_) {
        Word *domain = base_.data() + idx(x) * idx(w);
        base_domain<W>(x, domain);
        if (!any_word(domain, w)) {
            empty_variable_ = x;
            return false;
        }
    }
    for (const auto e : p.loops) {
        if (is_off(p.edge_id(e)))
            continue;
        const int x = p.source[idx(e)];
        Word *domain = base_.data() + idx(x) * idx(w);
        Word *looped = scratch_.data();
        fill_words(looped, w, 0);
        for (std::size_t i = 0; i < g.loop_node.size(); ++i) {
            bool pass = true;
            for (int s = p.edge_side_start[idx(e)]; s < p.edge_side_start[idx(e + 1)]; ++s)
                pass = pass && (is_off(p.edge_side_id(s)) ||
                                passes(p.edge_sides[idx(s)], g.edge_features[g.loop_edge[i] * set_.n_edge_features() + p.edge_sides[idx(s)].feature]));
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

// --- search --------------------------------------------------------------------------------------------------------

// Gives v to x and narrows the neighbours. Where one of them would be left without candidates, nothing changes and the
// incidence that leads to it is returned; else -1.
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
        if (image_[idx(y)] >= 0 || is_off(p.edge_id(link.edge)))
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
            copy_words(domain_.data() + idx(entry) * idx(w), trail_words_.data() + idx(t) * idx(w), w);
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
    const auto constraints = [&](int level) { return constraint_rows_.data() + idx(row_[idx(level)]) * idx(pw); };
    const auto levels = [&](int level) { return level_rows_.data() + idx(row_[idx(level)]) * idx(var_words_); };
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

    if (!resume) {
        if (n_alive_ == 0)
            return Answer::yes;
        trail_start_[0] = 0;
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
        if (steps_ >= last_step ||
            (steps_ % kStopInterval == kStopInterval - 1 && stop && stop->load(std::memory_order_relaxed)))
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
        if (v >= 0) {
            ++steps_;
            set_bit(tried_.data() + idx(level_) * idx(w), v);
            const int blocked = place<W>(x, v);
            if (blocked < 0) {
                if (level_ + 1 == n_alive_) {
                    matched_ = true;
                    return Answer::yes;
                }
                descend();
            } else if constexpr (Explain) {
                if (root_bias_)
                    ++(*root_bias_)[idx(p_->incidences[idx(blocked)].other)];
                blocked_.push_back({v, blocked});
            }
            continue;
        }
        if constexpr (Explain) {
            explain_blocked<W>(x, constraints(level_), levels(level_));
            Word *untried = scratch_.data() + w;
            for (int j = 0; j < w; ++j)
                untried[j] = g_->all[idx(j)] & ~tried_[idx(level_ * w + j)];
            explain<W>(x, untried, constraints(level_), levels(level_));
        }
        // This level has failed, for the reasons in its row.
        for (;;) {
            --level_;
            if (level_ < 0) {
                if constexpr (Explain)
                    conflict_ = constraints(0);
                return Answer::no;
            }
            undo<W>(level_);
            if constexpr (Explain) {
                const int above = level_var_[idx(level_)];
                Word *l = levels(level_ + 1);
                blocked_.resize(blocked_start_[idx(level_ + 1)]);
                if (!test_bit(l, above)) { // this choice had no part in it: the failure stands one level up as it is
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

// --- conflicts -----------------------------------------------------------------------------------------------------

#ifdef GDLNN_TRACE_REASONS
namespace {

// Notes what an explanation adds to a row, so that tests can tell reasons from what lay in the row before.
struct ReasonTrace {
    ReasonTrace(std::vector<Word> &to, const Word *from, int words) : reasons(to), row(from), before(from, from + words) {}
    ReasonTrace(const ReasonTrace &) = delete;
    ReasonTrace &operator=(const ReasonTrace &) = delete;
    ~ReasonTrace() {
        reasons.resize(std::max(reasons.size(), before.size()));
        for (std::size_t i = 0; i < before.size(); ++i)
            reasons[i] |= row[i] & ~before[i];
    }
    std::vector<Word> &reasons;
    const Word *row;
    std::vector<Word> before;
};

} // namespace
#define TRACE_REASONS(row) const ReasonTrace trace(reasons, row, p_->words)
#else
#define TRACE_REASONS(row) static_cast<void>(0)
#endif

// Adds the reasons why y can take none of `values`: constraints, and the placed variables they speak of.
template <int W> void Searcher::explain(int y, const Word *values, Word *constraints, Word *levels) {
    const int w = W ? W : width_;
    Word *rest = scratch_.data() + 2 * w;
    copy_words(rest, values, w);
    TRACE_REASONS(constraints);
    p_->touch_node(constraints, y);
    if (touches_[idx(y)])
        explain_edges<W>(y, rest, constraints, levels);
    explain_sides<W>(y, rest, constraints);
    if (any_word(rest, w))
        explain_loops<W>(y, rest, constraints);
    if (any_word(rest, w))
        explain_degree<W>(y, rest, constraints);
    for_each_bit(rest, w, [&](int t) {
        assert(test_bit(used_.data(), t));
        const int z = owner_[idx(t)];
        p_->touch_node(constraints, z);
        set_bit(levels, z);
    });
}

// Adds the reasons why the values of x at this level that left a neighbour without candidates did so. All values that
// emptied the same neighbour share one explanation: what they leave to it must be excluded by something else.
template <int W> void Searcher::explain_blocked(int x, Word *constraints, Word *levels) {
    TRACE_REASONS(constraints);
    const Pattern &p = *p_;
    const EncodedGraph &g = *g_;
    const int w = W ? W : width_;
    const auto first = blocked_start_[idx(level_)];
    Word *mask = scratch_.data() + 3 * w, *rest = scratch_.data() + 4 * w;
    for (int i = p.incidence_start[idx(x)]; i < p.incidence_start[idx(x + 1)]; ++i) {
        const Incidence &link = p.incidences[idx(i)];
        const int e = link.edge, y = link.other;
        bool any = false;
        fill_words(rest, w, 0);
        for (auto b = first; b < blocked_.size(); ++b) {
            if (blocked_[b].incidence != i)
                continue;
            const int v = blocked_[b].value;
            any = true;
            p.touch_edge(constraints, e);
            if (constrained_[idx(e)])
                explain_wrong_edges<W>(e, link.outward ? g.out : g.incoming(), v, g.all.data(), constraints);
            neighbours<W>(e, link.outward, v, mask);
            clear_bit(mask, v); // a self-loop: x is there already
            or_words(rest, mask, w);
        }
        if (any)
            explain<W>(y, rest, constraints, levels);
    }
}

// Adds sides of edge e that exclude every neighbour of v among `values` over an edge that does not pass.
template <int W>
void Searcher::explain_wrong_edges(int e, const Adjacency &a, int v, const Word *values, Word *constraints) {
    const Pattern &p = *p_;
    const EncodedGraph &g = *g_;
    const int w = W ? W : width_;
    Word *wrong = scratch_.data() + 5 * w, *mask = scratch_.data() + 6 * w;
    neighbours<W>(e, &a == &g.out, v, mask);
    all_neighbours(g, a, v, wrong);
    for (int j = 0; j < w; ++j)
        wrong[j] &= values[j] & ~mask[j];
    const auto over = [&](const Side &side) {
        if (g.has_masks)
            return typed_neighbours<W>(g, a, side.types, v, mask);
        const int c = set_.n_edge_features();
        listed_neighbours(g, a, v, mask, [&](int ge) { return passes(side, g.edge_features[ge * c + side.feature]); });
    };
    const int first = p.edge_side_start[idx(e)], last = p.edge_side_start[idx(e + 1)];
    for (int s = first; s < last && any_word(wrong, w); ++s) { // sides that are part of the conflict anyway
        if (is_off(p.edge_side_id(s)) || !test_bit(constraints, p.edge_side_id(s)))
            continue;
        over(p.edge_sides[idx(s)]);
        for (int j = 0; j < w; ++j)
            wrong[j] &= mask[j];
    }
    while (any_word(wrong, w)) {
        int best = -1, most = 0;
        for (int s = first; s < last; ++s) {
            if (is_off(p.edge_side_id(s)))
                continue;
            over(p.edge_sides[idx(s)]);
            int n = 0;
            for (int j = 0; j < w; ++j)
                n += std::popcount(wrong[j] & ~mask[j]);
            if (n > most) {
                best = s;
                most = n;
            }
        }
        assert(best >= 0);
        p.touch_edge_side(constraints, best);
        over(p.edge_sides[idx(best)]);
        for (int j = 0; j < w; ++j)
            wrong[j] &= mask[j];
    }
}

// The earliest placed neighbour that excludes a value explains it: earlier reasons jump back further.
template <int W> void Searcher::explain_edges(int y, Word *rest, Word *constraints, Word *levels) {
    const Pattern &p = *p_;
    const EncodedGraph &g = *g_;
    const int w = W ? W : width_;
    Word *mask = scratch_.data() + 3 * w;
    for (int after = -1; any_word(rest, w);) {
        const Incidence *link = nullptr;
        int earliest = 0;
        for (int i = p.incidence_start[idx(y)]; i < p.incidence_start[idx(y + 1)]; ++i) {
            const Incidence &other = p.incidences[idx(i)];
            if (is_off(p.edge_id(other.edge)) || image_[idx(other.other)] < 0)
                continue;
            const int order = 2 * level_of_[idx(other.other)] + other.outward; // two edges may join the same pair
            if (order > after && (!link || order < earliest)) {
                link = &other;
                earliest = order;
            }
        }
        if (!link)
            return;
        after = earliest;
        const int z = link->other, v = image_[idx(z)], e = link->edge;
        const Adjacency &a = link->outward ? g.incoming() : g.out; // seen from z the edge runs the other way
        neighbours<W>(e, !link->outward, v, mask);
        bool removes = false;
        for (int j = 0; j < w; ++j)
            removes = removes || (rest[j] & ~mask[j]);
        if (!removes)
            continue;
        p.touch_edge(constraints, e);
        set_bit(levels, z);
        // Non-neighbours need the edge alone; a neighbour over a wrong edge needs the sides that make it wrong.
        if (constrained_[idx(e)])
            explain_wrong_edges<W>(e, a, v, rest, constraints);
        for (int j = 0; j < w; ++j)
            rest[j] &= mask[j];
    }
}

// Sides greedily, the one that excludes most first.
template <int W> void Searcher::explain_sides(int y, Word *rest, Word *constraints) {
    const Pattern &p = *p_;
    const int w = W ? W : width_;
    Word *mask = scratch_.data() + 3 * w;
    while (any_word(rest, w)) {
        int best = -1, most = 0;
        for (int s = p.node_side_start[idx(y)]; s < p.node_side_start[idx(y + 1)]; ++s) {
            if (is_off(p.node_side_id(s)))
                continue;
            copy_words(mask, rest, w);
            apply_side<W>(set_, *g_, p.node_sides[idx(s)], mask);
            const int n = count_bits(rest, w) - count_bits(mask, w);
            if (n > most) {
                best = s;
                most = n;
            }
        }
        if (best < 0)
            return;
        p.touch_node_side(constraints, best);
        apply_side<W>(set_, *g_, p.node_sides[idx(best)], rest);
    }
}

template <int W> void Searcher::explain_loops(int y, Word *rest, Word *constraints) {
    const Pattern &p = *p_;
    const EncodedGraph &g = *g_;
    for (const auto e : p.loops) {
        if (p.source[idx(e)] != y || is_off(p.edge_id(e)))
            continue;
        for (int t = 0; t < g.n; ++t) {
            if (!test_bit(rest, t))
                continue;
            const auto at = std::find(g.loop_node.begin(), g.loop_node.end(), t) - g.loop_node.begin();
            if (at == static_cast<std::ptrdiff_t>(g.loop_node.size())) {
                p.touch_edge(constraints, e);
                clear_bit(rest, t);
                continue;
            }
            for (int s = p.edge_side_start[idx(e)]; s < p.edge_side_start[idx(e + 1)]; ++s) {
                const Side &side = p.edge_sides[idx(s)];
                if (is_off(p.edge_side_id(s)) || passes(side, g.edge_features[g.loop_edge[idx(at)] * set_.n_edge_features() + side.feature]))
                    continue;
                p.touch_edge_side(constraints, s);
                clear_bit(rest, t);
                break;
            }
        }
    }
}

// A node with k neighbours cannot hold a variable with k + 1: those edges and their ends are the reason.
template <int W> void Searcher::explain_degree(int y, Word *rest, Word *constraints) {
    const Pattern &p = *p_;
    const EncodedGraph &g = *g_;
    const int w = W ? W : width_;
    for (const bool outward : {true, false}) {
        if (!outward && !g.directed)
            break;
        const Adjacency &a = outward ? g.out : g.in;
        const int degree = outward ? out_degree_[idx(y)] : in_degree_[idx(y)];
        int needed = 0;
        for_each_bit(rest, w, [&](int t) {
            if (a.degree[idx(t)] < degree) {
                needed = std::max(needed, a.degree[idx(t)] + 1);
                clear_bit(rest, t);
            }
        });
        // Edges that are part of the conflict anyway come first.
        for (const bool known : {true, false}) {
            for (int i = p.incidence_start[idx(y)]; i < p.incidence_start[idx(y + 1)] && needed > 0; ++i) {
                const Incidence &link = p.incidences[idx(i)];
                if (is_off(p.edge_id(link.edge)) || (g.directed && link.outward != outward))
                    continue;
                const int twin = p.twin[idx(link.edge)];
                if (!g.directed && twin >= 0 && !is_off(p.edge_id(twin)))
                    continue;
                if (test_bit(constraints, p.edge_id(link.edge)) != known)
                    continue;
                if (!known)
                    p.touch_edge(constraints, link.edge);
                --needed;
            }
            if (!known)
                break;
        }
    }
}

void Searcher::explain_size() {
    Word *c = constraint_rows_.data();
    fill_words(c, p_->words, 0);
    for (int i = 0; i <= g_->n; ++i)
        p_->touch_node(c, alive_[idx(i)]);
    conflict_ = c;
}

// --- entry points --------------------------------------------------------------------------------------------------

Answer Searcher::test(const EncodedGraph &graph, const Word *off, std::int64_t budget) {
    g_ = &graph;
    off_ = off;
    if (!(graph.words == 1 ? prepare<1>() : prepare<0>()))
        return Answer::no;
    return graph.words == 1 ? run<1, false>(budget, false) : run<0, false>(budget, false);
}

Answer Searcher::test_with_conflict(const EncodedGraph &graph, const Word *off, std::int64_t budget) {
    g_ = &graph;
    off_ = off;
    const auto rows = idx(p_->n + 2);
    if (constraint_rows_.size() < rows * idx(p_->words))
        constraint_rows_.resize(rows * idx(p_->words));
    if (level_rows_.size() < rows * idx(var_words_))
        level_rows_.resize(rows * idx(var_words_));
    while (row_.size() < rows)
        row_.push_back(static_cast<std::int32_t>(row_.size()));
    const bool possible = graph.words == 1 ? prepare<1>() : prepare<0>();
    if (possible)
        return graph.words == 1 ? run<1, true>(budget, false) : run<0, true>(budget, false);
    if (empty_variable_ < 0) {
        explain_size();
        return Answer::no;
    }
    Word *c = constraint_rows_.data();
    fill_words(c, p_->words, 0);
    Word *l = level_rows_.data();
    if (graph.words == 1)
        explain<1>(empty_variable_, graph.all.data(), c, l);
    else
        explain<0>(empty_variable_, graph.all.data(), c, l);
    conflict_ = c;
    if (root_bias_)
        ++(*root_bias_)[idx(empty_variable_)];
    return Answer::no;
}

void Searcher::start(const EncodedGraph &graph, const Word *off) {
    g_ = &graph;
    off_ = off;
    started_ = false;
    if (!(graph.words == 1 ? prepare<1>() : prepare<0>()))
        n_alive_ = -1;
}

Answer Searcher::next(std::int64_t budget) {
    if (n_alive_ < 0)
        return Answer::no;
    if (started_ && n_alive_ == 0)
        return Answer::no;
    const bool resume = started_;
    started_ = true;
    return g_->words == 1 ? run<1, false>(budget, resume) : run<0, false>(budget, resume);
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
        // Every other variable is placed, so each candidate left at the last level is one more witness.
        Word *left = candidates_.data() + idx(level_) * idx(width_);
        found += count_bits(left, width_);
        fill_words(left, width_, 0);
    }
}

} // namespace gdlnn
