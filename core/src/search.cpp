#include "gdlnn/search.hpp"

#include <algorithm>
#include <type_traits>

#include "conflict.hpp"
#include "domains.hpp"
#include "room_check.hpp"

namespace gdlnn {
namespace {

constexpr std::int64_t kStopInterval = 1024;
#ifndef GDLNN_ROOM_CHECK_AFTER
#define GDLNN_ROOM_CHECK_AFTER 500
#endif
// Steps after which a search counts as hard enough for the room check to pay.
constexpr std::int64_t kRoomCheckAfter = GDLNN_ROOM_CHECK_AFTER;

// Calls `call` with the number of words per mask as a constant where it is small.
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

Searcher::Searcher(const GraphSet &set, const std::atomic<bool> *stop)
    : stop_(stop), domains_(std::make_unique<Domains>(set)),
      conflict_(std::make_unique<ConflictAnalysis>(*domains_)),
      room_check_(std::make_unique<RoomCheck>(*domains_)) {}
Searcher::~Searcher() = default;

void Searcher::bind(const Pattern &pattern, std::vector<std::uint32_t> *wipeouts) {
    pattern_ = &pattern;
    whole_.reset(pattern);
    variant_ = &whole_;
    wipeouts_ = wipeouts;
    if (wipeouts_)
        wipeouts_->assign(idx(pattern.n), 0);
    domains_->bind(pattern);
    room_check_->bind(pattern);
    const int words = domains_->problem().set->max_words();
    left_to_try_.reserve(idx(pattern.n + 1), words);
    tried_.reserve(idx(pattern.n + 1), words);
    grow(level_var_, idx(pattern.n + 1));
}

const Word *Searcher::conflict() const { return conflict_->conflict(); }
const std::vector<std::int32_t> &Searcher::witness() const { return domains_->images(); }
void Searcher::set_permanent(const Word *constraints) { conflict_->permanent = constraints; }
#ifdef GDLNN_TRACE_REASONS
std::vector<Word> &Searcher::traced_reasons() { return conflict_->trace; }
#endif

// --- the search

// Opens the next level: chooses the variable to place, and lists its values.
template <int W, bool Explain> inline void Searcher::open_level() {
    ++level_;
    const int w = W ? W : domains_->words();
    const int x = domains_->choose<W>(wipeouts_);
    level_var_[idx(level_)] = x;
    const Word *domain = domains_->candidates<W>(x), *held = domains_->held();
    Word *left = left_to_try_.row<W>(level_);
    for (int j = 0; j < w; ++j)
        left[j] = domain[j] & ~held[j];
    if constexpr (Explain) {
        fill_words(tried_.row<W>(level_), w, 0);
        conflict_->open_level(level_);
    }
}

// The next value to try at this level, or -1.
template <int W> inline int Searcher::next_value() {
    const int w = W ? W : domains_->words();
    Word *left = left_to_try_.row<W>(level_);
    for (int j = 0; j < w; ++j) {
        if (left[j]) {
            const int v = j * kWordBits + std::countr_zero(left[j]);
            left[j] &= left[j] - 1;
            return v;
        }
    }
    return -1;
}

// Whether the variables left to place have room after the placement at this level; where not, the
// reasons are left in the row of the next level.
template <int W, bool Explain> inline bool Searcher::has_room() {
    if (steps_ < kRoomCheckAfter || !domains_->problem().graph->has_masks)
        return true;
    const int cramped = room_check_->find_cramped<W>(level_ + 1, level_var_[idx(level_)]);
    if (cramped < 0)
        return true;
    if constexpr (Explain) {
        const Reasons reasons = conflict_->open_reasons(level_ + 1);
        [[maybe_unused]] const ReasonTrace tracing = conflict_->trace_of(reasons);
        room_check_->explain<W>(cramped, reasons);
    }
    return false;
}

// This level has failed, for the reasons in its row: goes back to the last level that had a part in
// it. False where there is none: the search has failed.
template <int W, bool Explain> inline bool Searcher::backtrack() {
    while (--level_ >= 0) {
        const int x = level_var_[idx(level_)];
        domains_->undo<W>(level_, x);
        if constexpr (Explain) {
            conflict_->close_level(level_ + 1);
            if (!conflict_->pass_up(level_, x))
                continue;
        }
        return true;
    }
    return false;
}

template <int W, bool Explain> Answer Searcher::run(std::int64_t budget, bool resume) {
    const std::int64_t last_step = budget > kNoBudget - steps_ ? kNoBudget : steps_ + budget;
    if (!resume) {
        if (domains_->n_variables() == 0)
            return Answer::yes;
        room_check_->note_placement(0);
        open_level<W, Explain>();
    } else {
        if (level_ < 0)
            return Answer::no;
        if (matched_)
            domains_->undo<W>(level_, level_var_[idx(level_)]);
        matched_ = false;
    }
    for (;;) {
        if (steps_ >= last_step || (steps_ % kStopInterval == kStopInterval - 1 && stop_ &&
                                    stop_->load(std::memory_order_relaxed)))
            return Answer::unknown;
        const int x = level_var_[idx(level_)], v = next_value<W>();
        if (v >= 0) {
            ++steps_;
            if constexpr (Explain)
                set_bit(tried_.row<W>(level_), v);
            const int refusing = domains_->place<W>(level_, x, v);
            if (refusing >= 0) {
                if constexpr (Explain) {
                    if (wipeouts_)
                        ++(*wipeouts_)[idx(pattern_->incidences[idx(refusing)].other)];
                    conflict_->add_refused(v, refusing);
                }
                continue;
            }
            if (level_ + 1 == domains_->n_variables()) {
                matched_ = true;
                return Answer::yes;
            }
            room_check_->note_placement(level_ + 1);
            if (has_room<W, Explain>()) {
                open_level<W, Explain>();
                continue;
            }
            domains_->undo<W>(level_, x);
            if (!Explain || conflict_->pass_up(level_, x))
                continue;
        } else if constexpr (Explain) {
            conflict_->explain_level<W>(level_, x, tried_.row<W>(level_));
        }
        if (!backtrack<W, Explain>())
            return Answer::no;
    }
}

// --- entry points

void Searcher::select(const Word *off) {
    variant_ = &whole_;
    if (!off)
        return;
    reduced_ = whole_;
    for_each_bit(off, pattern_->words, [&](int id) { reduced_.remove(id); });
    variant_ = &reduced_;
}

template <int W> bool Searcher::prepare(const EncodedGraph &graph, DomainCache cache) {
    level_ = -1;
    matched_ = started_ = false;
    steps_ = 0;
    left_to_try_.set_words(graph.words);
    tried_.set_words(graph.words);
    return domains_->prepare<W>(graph, *variant_, cache);
}

Answer Searcher::test(const EncodedGraph &graph, const Word *off, std::int64_t budget) {
    select(off);
    return by_width(graph.words, [&](auto width) {
        return prepare<width>(graph, {}) ? run<width, false>(budget, false) : Answer::no;
    });
}

Answer Searcher::test_with_conflict(const EncodedGraph &graph, const Word *off,
                                    std::int64_t budget) {
    select(off);
    return test_with_conflict(graph, *variant_, {}, budget);
}

Answer Searcher::test_with_conflict(const EncodedGraph &graph, const Variant &variant,
                                    DomainCache cache, std::int64_t budget) {
    variant_ = &variant;
    conflict_->start();
    return by_width(graph.words, [&](auto width) {
        if (prepare<width>(graph, cache))
            return run<width, true>(budget, false);
        const int x = domains_->empty_variable();
        if (x < 0) {
            conflict_->explain_size();
            return Answer::no;
        }
        conflict_->explain_empty<width>(x);
        if (wipeouts_)
            ++(*wipeouts_)[idx(x)];
        return Answer::no;
    });
}

void Searcher::start(const EncodedGraph &graph, const Word *off) {
    select(off);
    possible_ = by_width(graph.words, [&](auto width) { return prepare<width>(graph, {}); });
}

Answer Searcher::next(std::int64_t budget) {
    if (!possible_ || (started_ && domains_->n_variables() == 0))
        return Answer::no;
    const bool resume = started_;
    started_ = true;
    return by_width(domains_->words(),
                    [&](auto width) { return run<width, false>(budget, resume); });
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
        // Every other variable is placed, so each value left at the last level is one more
        // witness.
        Word *left = left_to_try_.row(level_);
        found += count_bits(left, left_to_try_.words());
        fill_words(left, left_to_try_.words(), 0);
    }
}

} // namespace gdlnn
