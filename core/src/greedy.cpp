#include "greedy.hpp"

#include <algorithm>
#include <utility>

namespace gdlnn {
namespace {

// Lookahead may take this many times the mean of failed searches, and at least this many steps.
constexpr std::int64_t kLookaheadFactor = 8;
constexpr std::int64_t kLookaheadSteps = 64;
// Up to this many open mutations of one graph are tried together.
constexpr int kMaxTogether = 5;
// Below this ε, rounding could order two scores differently from their exact values.
constexpr double kSmallEpsilon = 1e-4;

} // namespace

// --- Greedy

void Greedy::run(Offer offer) {
    start();
    while (!descent_.stopped()) {
        if (offer == Offer::drops)
            offer_.offer_drops(descent_.current());
        else
            offer_.offer_all(descent_.current(), descent_.params().connected);
        descent_.knowledge().mark_all_changed();
        lookahead_.invalidate();
        const int chosen = pick();
        if (chosen < 0)
            return;
        descent_.apply({&chosen, 1});
    }
}

void Greedy::start() {
    const auto n_ids = idx(descent_.pattern().n_ids);
    lookahead_.start();
    bound_.assign(n_ids, 0);
}

// The best score that mutation k can still turn out to have.
void Greedy::refresh_bound(int k) {
    Knowledge &known = descent_.knowledge();
    const int positive = known.matched_positive() + possible_positive(k);
    const int negative = known.matched_negative() + known.known_matches().n_in_rest(k);
    const double epsilon = descent_.params().epsilon;
    double bound = descent_.score_of(positive, positive + negative);
    if (epsilon > 0 && epsilon < kSmallEpsilon && known.open_questions().n_in_first(k))
        bound *= 1 + 1e-15;
    bound_[idx(k)] = bound;
    known.clear_changed(k);
}

// Which of two mutations with the same bound comes first.
bool Greedy::wins_tie(int a, int b) const {
    const int positive_a = possible_positive(a), positive_b = possible_positive(b);
    return positive_a != positive_b ? positive_a > positive_b : offer_.comes_first(a, b);
}

// The best mutation, or -1 where every one lowers the score or none is offered.
int Greedy::pick() {
    const Knowledge &known = descent_.knowledge();
    while (!descent_.stopped()) {
        int best = -1, rival = -1;
        for (const int k : offer_.offered()) {
            if (known.changed(k))
                refresh_bound(k);
            if (best < 0 || better(k, best)) {
                rival = best;
                best = k;
            } else if (rival < 0 || better(k, rival)) {
                rival = k;
            }
        }
        if (best < 0 || bound_[idx(best)] < descent_.score())
            return -1;
        if (known.open_questions().n_in_first(best) == 0 &&
            known.open_questions().n_in_rest(best) == 0)
            return best;
        test_open(best, rival);
    }
    return -1;
}

// Asks the open questions of mutation k, positive graphs first, until it is no longer ahead of its
// rival.
void Greedy::test_open(int k, int rival) {
    // The rival's place when this began; it can only have fallen since.
    const double rival_bound = rival < 0 ? -1 : bound_[idx(rival)];
    const int rival_positive = rival < 0 ? 0 : possible_positive(rival);
    const auto behind = [&]() {
        if (bound_[idx(k)] < descent_.score())
            return true;
        if (rival < 0 || bound_[idx(k)] != rival_bound)
            return bound_[idx(k)] < rival_bound;
        const int positive = possible_positive(k);
        return positive != rival_positive ? positive < rival_positive
                                          : offer_.comes_first(rival, k);
    };
    const BitMatrix &open = descent_.knowledge().open_questions();
    for (int word = 0; word < open.column_words(); ++word) {
        while (const Word left = open.column(k)[word]) {
            test_pair(word * kWordBits + std::countr_zero(left), k);
            if (descent_.stopped())
                return;
            refresh_bound(k);
            if (behind())
                return;
        }
    }
}

void Greedy::test_pair(int i, int k) {
    Knowledge &known = descent_.knowledge();
    if (descent_.params().lookahead) {
        if (!lookahead_.ready())
            prepare_lookahead();
        if (lookahead_.refute(i, k)) {
            descent_.count_test();
            return;
        }
    }
    trial_ = descent_.current();
    trial_.remove(k);
    const Answer answer = descent_.test(i, trial_);
    if (answer == Answer::yes)
        known.add_match(i, k);
    else if (answer == Answer::no)
        known.add_conflict(i, descent_.conflict());
    else
        known.add_unknown(i, k);
}

void Greedy::prepare_lookahead() {
    std::vector<std::int32_t> applicable;
    for (const int k : offer_.offered()) {
        if (descent_.knowledge().changed(k))
            refresh_bound(k);
        if (bound_[idx(k)] >= descent_.score())
            applicable.push_back(k);
    }
    lookahead_.prepare(std::move(applicable));
}

// --- Lookahead

void Lookahead::start() {
    limit_.assign(idx(descent_.knowledge().n_graphs()), kUnlimited);
    open_.resize(idx(descent_.pattern().words));
    invalidate();
}

void Lookahead::prepare(std::vector<std::int32_t> applicable) {
    const Knowledge &known = descent_.knowledge();
    permanent_.assign(idx(descent_.pattern().words), ~Word{0});
    for (const int k : applicable)
        clear_bit(permanent_.data(), k);
    descent_.searcher().set_permanent(permanent_.data());
    // Likeliest next: the best score by what is known so far, then the order of ids.
    const auto known_score = [&](int k) {
        const int positive = known.matched_positive() + known.known_matches().n_in_first(k);
        const int negative = known.matched_negative() + known.known_matches().n_in_rest(k);
        return descent_.score_of(positive, positive + negative);
    };
    std::sort(applicable.begin(), applicable.end(), [&](int a, int b) {
        const double score_a = known_score(a), score_b = known_score(b);
        return score_a != score_b ? score_a > score_b : a < b;
    });
    n_levels_ = 0;
    for (auto size = static_cast<double>(applicable.size()); n_levels_ < kLevels && size >= 1;
         size *= kLevelRatio)
        level_size_[idx(n_levels_++)] = static_cast<std::int32_t>(size);
    std::size_t n_relaxed = 0;
    trial_ = descent_.current();
    for (int level = n_levels_ - 1; level >= 0; --level) {
        for (; n_relaxed < idx(level_size_[idx(level)]); ++n_relaxed)
            trial_.remove(applicable[n_relaxed]);
        relaxed_[idx(level)] = trial_;
    }
}

bool Lookahead::refute_trial(int i) {
    const std::int64_t budget =
        std::min(descent_.params().step_budget,
                 kLookaheadSteps + kLookaheadFactor * descent_.mean_failed_steps());
    if (descent_.search(i, trial_, budget) != Answer::no)
        return false;
    descent_.knowledge().add_conflict(i, descent_.conflict());
    return true;
}

// First together with as many likely mutations as the graph may bear. Then, where few mutations are
// open on this graph, with all of those at once: such a conflict settles them all.
bool Lookahead::refute(int i, int k) {
    auto &limit = limit_[idx(i)];
    int level = 0;
    while (level < n_levels_ && level_size_[idx(level)] > limit)
        ++level;
    if (level < n_levels_) {
        trial_ = relaxed_[idx(level)];
        trial_.remove(k);
        if (refute_trial(i)) {
            limit = std::min(limit + limit / 2 + 1, kUnlimited);
            return true;
        }
        limit = level_size_[idx(level)] / 2;
    }
    const int words = descent_.pattern().words;
    copy_words(open_.data(), descent_.knowledge().open_questions().row(i), words);
    remove_words(open_.data(), permanent_.data(), words);
    const int n_open = count_bits(open_.data(), words);
    if (n_open < 2 || n_open > kMaxTogether)
        return false;
    trial_ = descent_.current();
    for_each_bit(open_.data(), words, [&](int open) { trial_.remove(open); });
    return refute_trial(i);
}

} // namespace gdlnn
