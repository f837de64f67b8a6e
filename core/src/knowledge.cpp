#include "knowledge.hpp"

#include <algorithm>

namespace gdlnn {

void Knowledge::reset(const Pattern &pattern, int n_graphs, int n_positive, bool track_questions) {
    pattern_ = &pattern;
    words_ = pattern.words;
    n_graphs_ = n_graphs;
    n_positive_ = n_positive;
    matched_positive_ = matched_negative_ = 0;
    tracking_ = track_questions;
    const auto graphs = idx(n_graphs);
    state_.assign(graphs, GraphState::open);
    n_closures_.assign(graphs, 0);
    incomplete_.assign(graphs, 0);
    closures_.reserve(graphs * kMaxClosures, words_);
    united_.clear(graphs, words_);
    unknown_.clear(graphs, words_);
    open_.reset(n_graphs, n_positive, pattern.n_ids, words_);
    known_.reset(n_graphs, n_positive, pattern.n_ids, words_);
    changed_.assign(idx(pattern.n_ids), 1);
    row_.assign(idx(words_), 0);
    taken_along_.assign(idx(words_), 0);
    now_matched_.assign(idx(open_.column_words()), 0);
}

void Knowledge::start_tracking(const Word *off) {
    tracking_ = true;
    for (int i = 0; i < n_graphs_; ++i) {
        if (state_[idx(i)] != GraphState::open)
            continue;
        if (n_closures_[idx(i)] == 0) // the budget ran out: nothing is known of it
            state_[idx(i)] = GraphState::undecided;
        else
            find_open(i, off);
    }
}

void Knowledge::mark_all_changed() { std::fill(changed_.begin(), changed_.end(), 1); }

bool Knowledge::refutes(int i, const Word *mutations) const {
    for (int c = 0; c < n_closures_[idx(i)]; ++c)
        if (!intersect(closure(i, c), mutations, words_))
            return true;
    return false;
}

// --- learning

void Knowledge::set_matched(int i) {
    state_[idx(i)] = GraphState::matched;
    ++(positive(i) ? matched_positive_ : matched_negative_);
    if (!tracking_)
        return;
    fill_words(row_.data(), words_, 0);
    set_open(i, row_.data());
    known_.set_row(i, row_.data(), [&](int k) { changed_[idx(k)] = 1; });
}

void Knowledge::set_undecided(int i) {
    state_[idx(i)] = GraphState::undecided;
    fill_words(row_.data(), words_, 0);
    set_open(i, row_.data());
}

void Knowledge::reopen(int i) {
    state_[idx(i)] = GraphState::open;
    n_closures_[idx(i)] = 0;
    incomplete_[idx(i)] = 0;
    fill_words(unknown_.row(i), words_, 0);
    fill_words(united_.row(i), words_, 0);
}

// Where to put a conflict: with the others, or in place of the one that says least, which is the
// largest.
int Knowledge::slot_for_closure(int i) {
    if (n_closures_[idx(i)] < kMaxClosures)
        return n_closures_[idx(i)]++;
    int slot = 0, largest = -1;
    for (int c = 0; c < kMaxClosures; ++c) {
        const int size = count_bits(closure(i, c), words_);
        if (size > largest) {
            largest = size;
            slot = c;
        }
    }
    incomplete_[idx(i)] = 1;
    return slot;
}

// A conflict narrows the mutations that could make the program match: only those that touch every
// conflict.
void Knowledge::add_conflict(int i, const Word *bits) {
    copy_words(closure(i, slot_for_closure(i)), bits, words_);
    or_words(united_.row(i), bits, words_);
    if (!tracking_)
        return;
    copy_words(row_.data(), bits, words_);
    if (n_closures_[idx(i)] == 1 && !incomplete_[idx(i)]) {
        remove_words(row_.data(), known_.row(i), words_);
        remove_words(row_.data(), unknown_.row(i), words_);
    } else {
        and_words(row_.data(), open_.row(i), words_);
    }
    set_open(i, row_.data());
}

void Knowledge::add_match(int i, int k) {
    fill_words(taken_along_.data(), words_, 0);
    pattern_->touch(taken_along_.data(), k);
    copy_words(row_.data(), known_.row(i), words_);
    or_words(row_.data(), taken_along_.data(), words_);
    known_.set_row(i, row_.data(), [&](int id) { changed_[idx(id)] = 1; });
    copy_words(row_.data(), open_.row(i), words_);
    remove_words(row_.data(), taken_along_.data(), words_);
    set_open(i, row_.data());
}

void Knowledge::add_unknown(int i, int k) {
    set_bit(unknown_.row(i), k);
    copy_words(row_.data(), open_.row(i), words_);
    clear_bit(row_.data(), k);
    set_open(i, row_.data());
}

void Knowledge::forget_unknown(int i) {
    if (!any_word(unknown_.row(i), words_))
        return;
    fill_words(unknown_.row(i), words_, 0);
    incomplete_[idx(i)] = 1;
}

void Knowledge::set_open(int i, const Word *mutations) {
    open_.set_row(i, mutations, [&](int k) { changed_[idx(k)] = 1; });
}

// --- after a mutation

void Knowledge::apply(int k) {
    copy_words(now_matched_.data(), known_.column(k), known_.column_words());
    for_each_bit(now_matched_.data(), known_.column_words(), [&](int i) { set_matched(i); });
    for (int i = 0; i < n_graphs_; ++i)
        if (state_[idx(i)] == GraphState::open && test_bit(unknown_.row(i), k))
            set_undecided(i);
}

// Conflicts that the applied mutations touch prove nothing any more; the others still hold.
void Knowledge::update(int i, const Word *applied, const Word *off) {
    if (!incomplete_[idx(i)] && !intersect(united_.row(i), applied, words_))
        return;
    incomplete_[idx(i)] = 0;
    int n_kept = 0;
    fill_words(united_.row(i), words_, 0);
    for (int c = 0; c < n_closures_[idx(i)]; ++c) {
        const Word *bits = closure(i, c);
        if (intersect(bits, applied, words_))
            continue;
        if (n_kept != c)
            copy_words(closure(i, n_kept), bits, words_);
        ++n_kept;
        or_words(united_.row(i), bits, words_);
    }
    n_closures_[idx(i)] = static_cast<std::uint8_t>(n_kept);
    if (tracking_)
        find_open(i, off);
}

// The open questions of a graph from all that is known of it.
void Knowledge::find_open(int i, const Word *off) {
    const Word *known = known_.row(i), *unknown = unknown_.row(i), *ids = pattern_->ids.data();
    for (int j = 0; j < words_; ++j)
        row_[idx(j)] = ids[j] & ~off[j] & ~known[j] & ~unknown[j];
    for (int c = 0; c < n_closures_[idx(i)]; ++c)
        and_words(row_.data(), closure(i, c), words_);
    set_open(i, row_.data());
}

} // namespace gdlnn
