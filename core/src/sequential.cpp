// The cheaper search after PL4XGL: edges, then the intervals of whole edges and nodes, one pass
// each.
#include <algorithm>

#include "descent.hpp"

namespace gdlnn {
// The mutations that drop edge e together with ends left without an edge; false where nothing but
// it is left or the program would split.
bool Descent::edge_drop(int e, std::vector<int> &ids) {
    const Pattern &p = *pattern_;
    ids.assign(1, p.edge_id(e));
    trial_ = current_;
    trial_.remove(p.edge_id(e));
    bool any_edge = false;
    std::vector<std::uint8_t> has_edge(idx(p.n), 0);
    for (int other = 0; other < p.m; ++other) {
        if (trial_.is_off(p.edge_id(other)))
            continue;
        any_edge = true;
        has_edge[idx(p.source[idx(other)])] = has_edge[idx(p.target[idx(other)])] = 1;
    }
    if (!any_edge)
        return false;
    for (const int end : {p.source[idx(e)], p.target[idx(e)]}) {
        if (!has_edge[idx(end)] && !trial_.is_off(end)) {
            ids.push_back(end);
            trial_.remove(end);
        }
    }
    return !params_.connected || stays_connected(trial_);
}

bool Descent::stays_connected(const Variant &variant) const {
    const Pattern &p = *pattern_;
    std::vector<std::uint8_t> seen(idx(p.n), 0);
    std::vector<int> stack;
    int left = 0;
    for (int x = 0; x < p.n; ++x) {
        if (variant.is_off(x))
            continue;
        ++left;
        if (stack.empty() && left == 1) {
            stack.push_back(x);
            seen[idx(x)] = 1;
        }
    }
    while (!stack.empty()) {
        const int x = stack.back();
        stack.pop_back();
        --left;
        for (int i = p.incidence_start[idx(x)]; i < p.incidence_start[idx(x + 1)]; ++i) {
            const Incidence &link = p.incidences[idx(i)];
            if (!variant.is_off(p.edge_id(link.edge)) && !seen[idx(link.other)]) {
                seen[idx(link.other)] = 1;
                stack.push_back(link.other);
            }
        }
    }
    return left == 0;
}

std::optional<Descent::Outcome> Descent::evaluate(const std::vector<int> &ids, double at_least) {
    Outcome outcome;
    std::vector<Word> applied(pw_, 0);
    trial_ = current_;
    for (const int k : ids) {
        set_bit(applied.data(), k);
        trial_.remove(k);
    }
    int lost = 0;
    for (const int k : ids)
        lost += pattern_->is_node(k);
    outcome.positive = positive_count_;
    outcome.negative = negative_count_;
    int open_positive = 0;
    const auto possible = [&](int i) {
        if (state_[idx(i)] != State::open)
            return state_[idx(i)] == State::asleep && n_alive_ - lost <= graph(i).n;
        for (int c = 0; c < n_closures_[idx(i)]; ++c) {
            bool touched = false;
            for (std::size_t j = 0; j < pw_ && !touched; ++j)
                touched = closure(i, c)[j] & applied[j];
            if (!touched)
                return false;
        }
        return true;
    };
    for (int i = 0; i < n_positive_; ++i)
        open_positive += possible(i);
    for (int i = 0; i < n_graphs_ && !stopped(); ++i) {
        const int reach = outcome.positive + open_positive;
        if (score_of(reach, reach + outcome.negative) < at_least)
            return std::nullopt;
        if (!possible(i))
            continue;
        open_positive -= positive(i);
        ++stats_.tests;
        const Answer answer = search(i, trial_, params_.step_budget);
        if (answer == Answer::no) {
            if (state_[idx(i)] == State::open)
                add_closure(i, searcher_.conflict());
        } else if (answer == Answer::yes) {
            outcome.fresh.push_back(i);
            ++(positive(i) ? outcome.positive : outcome.negative);
        } else {
            ++stats_.unknown;
        }
    }
    if (score_of(outcome.positive, outcome.positive + outcome.negative) < at_least)
        return std::nullopt;
    return outcome;
}

void Descent::sequential() {
    const Pattern &p = *pattern_;
    const auto attempt = [&](const std::vector<int> &ids) {
        const auto outcome = evaluate(ids, score_);
        if (!outcome || stopped())
            return false;
        for (const int i : outcome->fresh)
            become_matched(i);
        apply(ids);
        return true;
    };
    std::vector<int> ids;
    for (int e = p.m - 1; e >= 0; --e)
        if (!test_bit(off(), p.edge_id(e)) && edge_drop(e, ids))
            attempt(ids);
    const auto open_all = [&](int base, int first, int last) {
        ids.clear();
        for (int s = first; s < last; ++s)
            if (!test_bit(off(), base + s))
                ids.push_back(base + s);
        return ids.empty() || attempt(ids);
    };
    for (int e = p.m - 1; e >= 0; --e)
        if (!test_bit(off(), p.edge_id(e)))
            edge_cleared_[idx(e)] = open_all(p.edge_side_base, p.edge_side_start[idx(e)],
                                             p.edge_side_start[idx(e + 1)]);
    for (int x = p.n - 1; x >= 0; --x)
        if (!test_bit(off(), x))
            node_cleared_[idx(x)] = open_all(p.node_side_base, p.node_side_start[idx(x)],
                                             p.node_side_start[idx(x + 1)]);
    if (n_graphs_ >= params_.greedy_below || stopped())
        return;
    if (params_.connected) {
        start_counting();
        greedy();
    } else {
        sequential_greedy();
    }
}

// Begins to keep the counts of mutations, from the conflicts there are.
void Descent::start_counting() {
    counting_ = drops_only_ = true;
    for (int i = 0; i < n_graphs_; ++i) {
        if (state_[idx(i)] != State::open)
            continue;
        if (n_closures_[idx(i)] == 0) { // the budget ran out: nothing is known of it
            state_[idx(i)] = State::limbo;
            continue;
        }
        for (std::size_t j = 0; j < pw_; ++j)
            bits_[j] = ~off()[j];
        for (int c = 0; c < n_closures_[idx(i)]; ++c)
            for (std::size_t j = 0; j < pw_; ++j)
                bits_[j] &= closure(i, c)[j];
        set_candidates(i, bits_.data());
    }
}

// In a connected program, dropping an edge with ends left without one is removing the edge, or
// removing a leaf.
void Descent::find_valid_drops() {
    const Pattern &p = *pattern_;
    cut_points();
    valid_.clear();
    order_of_.assign(idx(p.n_ids), 0);
    int n_edges = 0;
    std::vector<std::uint8_t> degree(idx(p.n), 0);
    for (int e = 0; e < p.m; ++e) {
        if (current_.is_off(p.edge_id(e)))
            continue;
        ++n_edges;
        for (const int end : {p.source[idx(e)], p.target[idx(e)]})
            degree[idx(end)] = static_cast<std::uint8_t>(std::min(degree[idx(end)] + 1, 2));
    }
    const auto offer = [&](int id, int order) {
        valid_.push_back(id);
        order_of_[idx(id)] = order;
    };
    for (int e = 0; e < p.m && n_edges > 1; ++e) {
        if (current_.is_off(p.edge_id(e)))
            continue;
        const int u = p.source[idx(e)], v = p.target[idx(e)];
        if (u != v && (degree[idx(u)] == 1 || degree[idx(v)] == 1))
            offer(degree[idx(u)] == 1 ? u : v, e);
        else if (u == v || !is_bridge_[idx(e)])
            offer(p.edge_id(e), e);
    }
    for (int s = 0; s < static_cast<int>(p.node_sides.size()); ++s)
        if (!current_.is_off(p.node_side_id(s)))
            offer(p.node_side_id(s), p.m + s);
    for (int s = 0; s < static_cast<int>(p.edge_sides.size()); ++s)
        if (!current_.is_off(p.edge_side_id(s)))
            offer(p.edge_side_id(s), p.m + static_cast<int>(p.node_sides.size()) + s);
    std::fill(stale_.begin(), stale_.end(), 1);
}

// The same for programs that may fall apart, where a drop may take two nodes along: every one
// counted in full.
void Descent::sequential_greedy() {
    const Pattern &p = *pattern_;
    while (!stopped()) {
        std::vector<int> ids, best_ids;
        std::optional<Outcome> best;
        const auto consider = [&]() {
            const double at_least =
                best ? score_of(best->positive, best->positive + best->negative) : score_;
            auto outcome = evaluate(ids, at_least);
            if (!outcome)
                return;
            const double score = score_of(outcome->positive, outcome->positive + outcome->negative);
            if (!best || score > at_least || outcome->positive > best->positive) {
                best = std::move(outcome);
                best_ids = ids;
            }
        };
        for (int e = 0; e < p.m; ++e)
            if (!test_bit(off(), p.edge_id(e)) && edge_drop(e, ids))
                consider();
        for (int k = p.node_side_base; k < p.n_ids; ++k) {
            const bool real = k >= p.edge_side_base ||
                              k < p.node_side_base + static_cast<int>(p.node_sides.size());
            if (!real || test_bit(off(), k))
                continue;
            ids.assign(1, k);
            consider();
        }
        if (!best || stopped())
            return;
        for (const int i : best->fresh)
            become_matched(i);
        apply(best_ids);
    }
}

} // namespace gdlnn
