#include "sequential.hpp"

#include <utility>

namespace gdlnn {

void Sequential::run() {
    drop_loops();
    drop_edges();
    open_intervals();
    if (descent_.knowledge().n_graphs() >= descent_.params().greedy_below || descent_.stopped())
        return;
    if (descent_.params().connected) {
        descent_.knowledge().start_tracking(descent_.current().off());
        greedy_.run(Greedy::Offer::drops);
    } else {
        greedy_over_parts();
    }
}

// --- the passes

// PL4XGL's programs have no self-loops, so the score has no say in this.
void Sequential::drop_loops() {
    const Pattern &p = descent_.pattern();
    for (int e = p.m - 1; e >= 0; --e)
        if (p.source[idx(e)] == p.target[idx(e)] && edge_drop(e))
            attempt(0.0);
}

void Sequential::drop_edges() {
    const Pattern &p = descent_.pattern();
    for (int e = p.m - 1; e >= 0; --e)
        if (!descent_.current().is_off(p.edge_id(e)) && edge_drop(e))
            attempt(descent_.score());
}

void Sequential::open_intervals() {
    const Pattern &p = descent_.pattern();
    for (int e = p.m - 1; e >= 0; --e)
        if (!descent_.current().is_off(p.edge_id(e)) &&
            open_together(p.edge_side_base, p.edge_side_start[idx(e)],
                          p.edge_side_start[idx(e + 1)]))
            descent_.target().clear_edge(e);
    for (int x = p.n - 1; x >= 0; --x)
        if (!descent_.current().is_off(x) &&
            open_together(p.node_side_base, p.node_side_start[idx(x)],
                          p.node_side_start[idx(x + 1)]))
            descent_.target().clear_node(x);
}

// Opens the sides from `first` to before `last`, unless that lowers the score.
bool Sequential::open_together(int base, int first, int last) {
    mutations_.clear();
    for (int s = first; s < last; ++s)
        if (!descent_.current().is_off(base + s))
            mutations_.push_back(base + s);
    return mutations_.empty() || attempt(descent_.score());
}

// The greedy search for programs that may fall apart, where a drop may take two nodes along: every
// one is counted in full.
void Sequential::greedy_over_parts() {
    const Pattern &p = descent_.pattern();
    while (!descent_.stopped()) {
        std::vector<int> best_mutations;
        std::optional<Outcome> best;
        const auto consider = [&]() {
            const double at_least = best ? score_of(*best) : descent_.score();
            auto outcome = evaluate(at_least);
            if (!outcome)
                return;
            if (!best || score_of(*outcome) > at_least || outcome->positive > best->positive) {
                best = std::move(outcome);
                best_mutations = mutations_;
            }
        };
        for (int e = 0; e < p.m; ++e)
            if (!descent_.current().is_off(p.edge_id(e)) && edge_drop(e))
                consider();
        for (int k = p.node_side_base; k < p.n_ids; ++k) {
            if (!test_bit(p.ids.data(), k) || descent_.current().is_off(k))
                continue;
            mutations_.assign(1, k);
            consider();
        }
        if (!best || descent_.stopped())
            return;
        apply(*best, best_mutations);
    }
}

// --- one set of mutations

// Makes up the mutations that drop edge e together with ends left without an edge; false where
// nothing but it is left or the program would split.
bool Sequential::edge_drop(int e) {
    const Pattern &p = descent_.pattern();
    mutations_.assign(1, p.edge_id(e));
    trial_ = descent_.current();
    trial_.remove(p.edge_id(e));
    bool any_edge = false;
    seen_.assign(idx(p.n), 0);
    for (int other = 0; other < p.m; ++other) {
        if (trial_.is_off(p.edge_id(other)))
            continue;
        any_edge = true;
        seen_[idx(p.source[idx(other)])] = seen_[idx(p.target[idx(other)])] = 1;
    }
    if (!any_edge)
        return false;
    for (const int end : {p.source[idx(e)], p.target[idx(e)]}) {
        if (!seen_[idx(end)] && !trial_.is_off(end)) {
            mutations_.push_back(end);
            trial_.remove(end);
        }
    }
    return !descent_.params().connected || stays_connected(trial_);
}

bool Sequential::stays_connected(const Variant &variant) {
    const Pattern &p = descent_.pattern();
    if (variant.n_alive() == 0)
        return true;
    int first = 0;
    while (variant.is_off(first))
        ++first;
    seen_.assign(idx(p.n), 0);
    seen_[idx(first)] = 1;
    stack_.assign(1, first);
    int n_left = variant.n_alive();
    while (!stack_.empty()) {
        const int x = stack_.back();
        stack_.pop_back();
        --n_left;
        for (const Incidence &link : p.incidences_of(x)) {
            if (!variant.is_off(p.edge_id(link.edge)) && !seen_[idx(link.other)]) {
                seen_[idx(link.other)] = 1;
                stack_.push_back(link.other);
            }
        }
    }
    return n_left == 0;
}

// Applies the mutations, unless the score falls below `at_least`.
bool Sequential::attempt(double at_least) {
    const auto outcome = evaluate(at_least);
    if (!outcome || descent_.stopped())
        return false;
    apply(*outcome, mutations_);
    return true;
}

void Sequential::apply(const Outcome &outcome, const std::vector<int> &mutations) {
    for (const int i : outcome.fresh)
        descent_.knowledge().set_matched(i);
    descent_.apply(mutations);
}

// Whether graph i may match with the mutations that are being tried.
bool Sequential::possible(int i) const {
    const Knowledge &known = descent_.knowledge();
    switch (known.state(i)) {
    case GraphState::open:
        return !known.refutes(i, tried_.data());
    case GraphState::too_small:
        return trial_.n_alive() <= descent_.graph(i).n;
    default:
        return false;
    }
}

// Counts what the mutations together would match; empty where the score stays under `at_least`.
std::optional<Sequential::Outcome> Sequential::evaluate(double at_least) {
    Knowledge &known = descent_.knowledge();
    trial_ = descent_.current();
    tried_.assign(idx(descent_.pattern().words), 0);
    for (const int k : mutations_) {
        set_bit(tried_.data(), k);
        trial_.remove(k);
    }
    Outcome outcome{known.matched_positive(), known.matched_negative(), {}};
    int open_positive = 0;
    for (int i = 0; i < known.n_positive(); ++i)
        open_positive += possible(i);
    for (int i = 0; i < known.n_graphs() && !descent_.stopped(); ++i) {
        const int reach = outcome.positive + open_positive;
        if (descent_.score_of(reach, reach + outcome.negative) < at_least)
            return std::nullopt;
        if (!possible(i))
            continue;
        open_positive -= known.positive(i);
        const Answer answer = descent_.test(i, trial_);
        if (answer == Answer::yes) {
            outcome.fresh.push_back(i);
            ++(known.positive(i) ? outcome.positive : outcome.negative);
        } else if (answer == Answer::no && known.state(i) == GraphState::open) {
            known.add_conflict(i, descent_.conflict());
        }
    }
    if (score_of(outcome) < at_least)
        return std::nullopt;
    return outcome;
}

} // namespace gdlnn
