// The paper's search: at every step the best one-step generalisation. Bounds decide which questions
// must be asked.
#include <algorithm>
#include <numeric>

#include "descent.hpp"

namespace gdlnn {
namespace {

// Lookahead may take this many times the mean of failed searches, and at least so many steps.
constexpr std::int64_t kLookaheadFactor = 8;
constexpr std::int64_t kLookaheadSteps = 64;
// How many fewer mutations each level of lookahead relaxes.
constexpr double kLevelRatio = 0.7;
// Up to so many open mutations of one graph are tried together.
constexpr int kMaxTogether = 5;
// Below this ε, rounding could order two scores differently from their exact values.
constexpr double kSmallEpsilon = 1e-4;

} // namespace

void Descent::greedy() {
    while (!stopped()) {
        if (drops_only_)
            find_valid_drops();
        else
            find_valid();
        int chosen = -1;
        if (!pick(chosen))
            return;
        apply({chosen});
    }
}

// --- which mutations are offered
// -----------------------------------------------------------------------------------

void Descent::find_valid() {
    const Pattern &p = *pattern_;
    if (params_.connected)
        cut_points();
    valid_.clear();
    const auto offer = [&](int first, int count, auto &&allowed) {
        for (int j = 0; j < count; ++j)
            if (!test_bit(off(), first + j) && allowed(j))
                valid_.push_back(first + j);
    };
    if (n_alive_ > 1)
        offer(0, p.n, [&](int x) { return !params_.connected || !is_cut_[idx(x)]; });
    offer(p.edge_base, p.m, [&](int e) { return !params_.connected || !is_bridge_[idx(e)]; });
    offer(p.node_side_base, static_cast<int>(p.node_sides.size()), [](int) { return true; });
    offer(p.edge_side_base, static_cast<int>(p.edge_sides.size()), [](int) { return true; });
    std::fill(stale_.begin(), stale_.end(), 1); // the counts of the program itself have changed
}

// Marks cut vertices and bridges of what is left of the program: one depth-first pass, without
// recursion.
void Descent::cut_points() {
    const Pattern &p = *pattern_;
    is_cut_.assign(idx(p.n), 0);
    is_bridge_.assign(idx(p.m), 0);
    depth_.assign(idx(p.n), -1);
    low_.assign(idx(p.n), 0);
    stack_pos_.assign(idx(p.n), 0);
    parent_edge_.assign(idx(p.n), -1);
    for (int root = 0; root < p.n; ++root) {
        if (test_bit(off(), root) || depth_[idx(root)] >= 0)
            continue;
        int children = 0;
        stack_.assign(1, root);
        depth_[idx(root)] = low_[idx(root)] = 0;
        stack_pos_[idx(root)] = p.incidence_start[idx(root)];
        while (!stack_.empty()) {
            const int x = stack_.back();
            if (stack_pos_[idx(x)] < p.incidence_start[idx(x + 1)]) {
                const Incidence &link = p.incidences[idx(stack_pos_[idx(x)]++)];
                if (link.edge == parent_edge_[idx(x)] || test_bit(off(), p.edge_id(link.edge)))
                    continue;
                const int y = link.other;
                if (depth_[idx(y)] >= 0) {
                    low_[idx(x)] = std::min(low_[idx(x)], depth_[idx(y)]);
                    continue;
                }
                depth_[idx(y)] = low_[idx(y)] = depth_[idx(x)] + 1;
                parent_edge_[idx(y)] = link.edge;
                stack_pos_[idx(y)] = p.incidence_start[idx(y)];
                stack_.push_back(y);
                children += x == root;
                continue;
            }
            stack_.pop_back();
            if (stack_.empty())
                break;
            const int above = stack_.back();
            low_[idx(above)] = std::min(low_[idx(above)], low_[idx(x)]);
            if (low_[idx(x)] > depth_[idx(above)])
                is_bridge_[idx(parent_edge_[idx(x)])] = 1;
            if (above != root && low_[idx(x)] >= depth_[idx(above)])
                is_cut_[idx(above)] = 1;
        }
        is_cut_[idx(root)] = children > 1;
    }
}

// --- choosing the best mutation
// ------------------------------------------------------------------------------------

// The best score that mutation k can still turn out to have.
void Descent::refresh_bound(int k) {
    const int pos = positive_count_ + known_pos_[idx(k)] + open_pos_[idx(k)];
    const int neg = negative_count_ + known_neg_[idx(k)];
    double bound = score_of(pos, pos + neg);
    if (params_.epsilon > 0 && params_.epsilon < kSmallEpsilon && open_pos_[idx(k)])
        bound *= 1 + 1e-15;
    bound_[idx(k)] = bound;
    stale_[idx(k)] = 0;
}

bool Descent::better(int a, int b) const {
    if (bound_[idx(a)] != bound_[idx(b)])
        return bound_[idx(a)] > bound_[idx(b)];
    if (task_->random_ties)
        return priority_[idx(a)] != priority_[idx(b)] ? priority_[idx(a)] > priority_[idx(b)]
                                                      : a < b;
    const int pos_a = known_pos_[idx(a)] + open_pos_[idx(a)],
              pos_b = known_pos_[idx(b)] + open_pos_[idx(b)];
    return pos_a != pos_b ? pos_a > pos_b : first_of(a, b);
}

// Finds the best mutation; false where every one lowers the score or none is offered.
bool Descent::pick(int &chosen) {
    n_look_levels_ = -1;
    while (!stopped()) {
        int best = -1, rival = -1;
        for (const int k : valid_) {
            if (stale_[idx(k)])
                refresh_bound(k);
            if (best < 0 || better(k, best)) {
                rival = best;
                best = k;
            } else if (rival < 0 || better(k, rival)) {
                rival = k;
            }
        }
        if (best < 0 || bound_[idx(best)] < score_)
            return false;
        if (open_pos_[idx(best)] == 0 && open_neg_[idx(best)] == 0) {
            chosen = best;
            return true;
        }
        test_open(best, rival);
    }
    return false;
}

// Asks the open questions of mutation k, graphs of the label first, until it is no longer ahead of
// its rival.
void Descent::test_open(int k, int rival) {
    // The rival's place when this began; it can only have fallen since.
    const double rival_bound = rival < 0 ? -1 : bound_[idx(rival)];
    const int rival_pos = rival < 0 ? 0 : known_pos_[idx(rival)] + open_pos_[idx(rival)];
    const auto behind = [&]() {
        if (bound_[idx(k)] < score_)
            return true;
        if (rival < 0 || bound_[idx(k)] != rival_bound)
            return bound_[idx(k)] < rival_bound;
        if (task_->random_ties)
            return priority_[idx(k)] < priority_[idx(rival)];
        const int pos = known_pos_[idx(k)] + open_pos_[idx(k)];
        return pos != rival_pos ? pos < rival_pos : first_of(rival, k);
    };
    for (std::size_t word = 0; word < gw_; ++word) {
        while (const Word left = cand_of(k)[word]) {
            test_pair(static_cast<int>(word) * kWordBits + std::countr_zero(left), k);
            if (stopped())
                return;
            refresh_bound(k);
            if (behind())
                return;
        }
    }
}

void Descent::test_pair(int i, int k) {
    ++stats_.tests;
    if (params_.lookahead && look_ahead(i, k))
        return;
    trial_ = current_;
    trial_.remove(k);
    const Answer answer = search(i, trial_, params_.step_budget);
    if (answer == Answer::yes) {
        add_known(i, k);
    } else if (answer == Answer::no) {
        add_closure(i, searcher_.conflict());
    } else {
        ++stats_.unknown;
        set_bit(unknown(i), k);
        copy_words(bits_.data(), cand(i), static_cast<int>(pw_));
        clear_bit(bits_.data(), k);
        set_candidates(i, bits_.data());
    }
}

// --- lookahead
// -----------------------------------------------------------------------------------------------------

// Level 0 relaxes every mutation that may still be applied, each further level half as many, the
// likeliest first.
void Descent::prepare_lookahead() {
    ranking_.clear();
    for (const int k : valid_) {
        if (stale_[idx(k)])
            refresh_bound(k);
        if (bound_[idx(k)] >= score_)
            ranking_.push_back(k);
    }
    lasting_.assign(pw_, ~Word{0});
    for (const int k : ranking_)
        clear_bit(lasting_.data(), k);
    searcher_.set_permanent(lasting_.data());
    // Likeliest next: the best score by what is known so far, then the order of ties.
    const auto known_score = [&](int k) {
        const int pos = positive_count_ + known_pos_[idx(k)];
        return score_of(pos, pos + negative_count_ + known_neg_[idx(k)]);
    };
    std::sort(ranking_.begin(), ranking_.end(), [&](int a, int b) {
        const double score_a = known_score(a), score_b = known_score(b);
        return score_a != score_b ? score_a > score_b : a < b;
    });
    relaxed_.resize(kLevels);
    n_look_levels_ = 0;
    for (auto size = static_cast<double>(ranking_.size()); n_look_levels_ < kLevels && size >= 1;
         size *= kLevelRatio)
        level_size_[idx(n_look_levels_++)] = static_cast<std::int32_t>(size);
    std::size_t done = 0;
    trial_ = current_;
    for (int level = n_look_levels_ - 1; level >= 0; --level) {
        for (; done < idx(level_size_[idx(level)]); ++done)
            trial_.remove(ranking_[done]);
        relaxed_[idx(level)] = trial_;
    }
}

// Tries to refute mutation k on graph i together with others that may be applied before long: such
// a conflict outlives them. Then, where few mutations are open on this graph, all of those at once:
// such a conflict settles them all.
bool Descent::look_ahead(int i, int k) {
    if (n_look_levels_ < 0)
        prepare_lookahead();
    const std::int64_t mean = failed_searches_ ? failed_steps_ / failed_searches_ : 0;
    const std::int64_t budget =
        std::min(params_.step_budget, kLookaheadSteps + kLookaheadFactor * mean);
    const auto refuted = [&]() {
        const Answer answer = search(i, trial_, budget);
        if (answer == Answer::no)
            add_closure(i, searcher_.conflict());
        return answer == Answer::no;
    };
    auto &limit =
        look_limit_[idx(i)]; // how many relaxed mutations this graph has been found to bear
    int level = 0;
    while (level < n_look_levels_ && level_size_[idx(level)] > limit)
        ++level;
    if (level < n_look_levels_) {
        trial_ = relaxed_[idx(level)];
        trial_.remove(k);
        if (refuted()) {
            limit = std::min(limit + limit / 2 + 1, kUnlimited);
            return true;
        }
        limit = level_size_[idx(level)] / 2;
    }
    int n_open = 0;
    for (std::size_t j = 0; j < pw_; ++j) {
        reached_[j] = cand(i)[j] & ~lasting_[j];
        n_open += std::popcount(reached_[j]);
    }
    if (n_open < 2 || n_open > kMaxTogether)
        return false;
    trial_ = current_;
    for_each_bit(reached_.data(), static_cast<int>(pw_), [&](int open) { trial_.remove(open); });
    return refuted();
}

// --- applying
// ------------------------------------------------------------------------------------------------------

void Descent::apply(const std::vector<int> &ids) {
    std::vector<Word> applied(pw_, 0);
    bool lost_node = false;
    for (const int k : ids) {
        set_bit(applied.data(), k);
        lost_node = lost_node || pattern_->is_node(k);
        n_alive_ -= pattern_->is_node(k);
        current_.remove(k);
        if (pattern_->is_node_side(k)) {
            const int x = pattern_->node_sides[idx(k - pattern_->node_side_base)].owner;
            for (int i = 0; i < n_graphs_; ++i)
                clear_bit(domain_valid_.data() + idx(i) * vw_, x);
        }
    }
    current_.settle_sides();
    ++n_mutations_;
    if (counting_) {
        const int k = ids.front();
        const std::vector<Word> matched(known_of(k), known_of(k) + gw_);
        for_each_bit(matched.data(), static_cast<int>(gw_), [&](int i) { become_matched(i); });
        for (int i = 0; i < n_graphs_; ++i) {
            if (state_[idx(i)] == State::open && test_bit(unknown(i), k)) {
                state_[idx(i)] = State::limbo;
                fill_words(bits_.data(), static_cast<int>(pw_), 0);
                set_candidates(i, bits_.data());
            }
        }
    }
    after_step(applied.data(), lost_node);
}

} // namespace gdlnn
