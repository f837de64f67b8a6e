// Knowledge: what a descent has found out about every graph, so that few questions need a search.
//
// Owns, per graph, its state, its conflicts (as closures: the mutations that touch them) and the
// mutations on which a search ran out of budget. Over all graphs and mutations it owns the known
// matches and the open questions. A program fails on a graph until a mutation touches every one of
// the graph's conflicts. Choosing such mutations is choosing hitting sets of conflicts, as in
// Reiter, "A theory of diagnosis from first principles" (1987). docs/algorithms.md says why
// this is exact.
//
// Graphs are numbered with those of the target's label, the positive ones, first.
#pragma once

#include <cstdint>
#include <vector>

#include "bit_matrix.hpp"
#include "gdlnn/pattern.hpp"

namespace gdlnn {

enum class GraphState : std::uint8_t {
    open,      // the program fails, and conflicts say why
    matched,   // the program matches, and so will every later one
    too_small, // the program has at least two nodes more than the graph
    undecided, // the budget ran out on the program itself
};

class Knowledge {
  public:
    // Nothing is known. Without `track_questions`, conflicts are kept, but not the questions that
    // they leave open.
    void reset(const Pattern &pattern, int n_graphs, int n_positive, bool track_questions);
    // Begins to track open questions, from the conflicts there are; `off` are the constraints that
    // the program has lost.
    void start_tracking(const Word *off);
    bool tracking() const { return tracking_; }

    int n_graphs() const { return n_graphs_; }
    int n_positive() const { return n_positive_; }
    bool positive(int i) const { return i < n_positive_; }
    GraphState state(int i) const { return state_[idx(i)]; }
    int matched_positive() const { return matched_positive_; }
    int matched_negative() const { return matched_negative_; }

    // A question is a graph and a mutation: does the program with this mutation match the graph?
    const BitMatrix &open_questions() const { return open_; }
    const BitMatrix &known_matches() const { return known_; }
    // Whether the counts of a mutation have changed since clear_changed.
    bool changed(int k) const { return changed_[idx(k)]; }
    void clear_changed(int k) { changed_[idx(k)] = 0; }
    // Marks all as changed: the program itself has.
    void mark_all_changed();

    // Whether a conflict is left that none of some mutations touches: they cannot make it match.
    bool refutes(int i, const Word *mutations) const;

    void set_matched(int i);
    void set_too_small(int i) { state_[idx(i)] = GraphState::too_small; }
    void set_undecided(int i);
    // Opens a graph of which nothing else is known.
    void reopen(int i);
    // The program fails on graph i, by a conflict with this closure.
    void add_conflict(int i, const Word *closure);
    // The program with mutation k matches graph i, and so it does with every mutation that takes k
    // along.
    void add_match(int i, int k);
    // The search for the program with mutation k in graph i ran out of budget.
    void add_unknown(int i, int k);
    // Lets the mutations that ran out of budget be asked again, from the next update on.
    void forget_unknown(int i);

    // The single mutation k has been applied: graphs with a known match are matched now, and those
    // on which it ran out of budget undecided.
    void apply(int k);
    // Brings an open graph up to date with a program that has lost `applied`, and `off` altogether.
    void update(int i, const Word *applied, const Word *off);

  private:
    static constexpr int kMaxClosures = 16;

    Word *closure(int i, int c) { return closures_.row(std::int64_t{i} * kMaxClosures + c); }
    const Word *closure(int i, int c) const {
        return closures_.row(std::int64_t{i} * kMaxClosures + c);
    }
    int slot_for_closure(int i);
    void set_open(int i, const Word *mutations);
    void find_open(int i, const Word *off);

    const Pattern *pattern_ = nullptr;
    int words_ = 1; // per set of mutations
    int n_graphs_ = 0, n_positive_ = 0;
    int matched_positive_ = 0, matched_negative_ = 0;
    bool tracking_ = true;

    std::vector<GraphState> state_;
    BitRows closures_; // kMaxClosures per graph
    std::vector<std::uint8_t> n_closures_;
    BitRows united_; // per graph: the union of its closures, evicted ones included
    // Per graph: open questions may be missing, as a closure was evicted or unknown ones forgotten.
    std::vector<std::uint8_t> incomplete_;
    BitRows unknown_; // per graph: mutations on which the budget ran out
    BitMatrix open_, known_;
    std::vector<std::uint8_t> changed_; // per mutation
    std::vector<Word> row_;             // a row to be
    std::vector<Word> taken_along_;     // a mutation and those that take it along
    std::vector<Word> now_matched_;     // graphs
};

} // namespace gdlnn
