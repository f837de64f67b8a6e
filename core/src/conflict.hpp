// ConflictAnalysis: why a search failed, as the constraints that are enough to make it fail.
//
// Owns the reasons of every level of the search, and the values at each level that were refused
// before they were placed. Candidates and placements are read from Domains.
//
// This is conflict-directed backjumping (Prosser, "Hybrid algorithms for the constraint
// satisfaction problem", 1993): a level fails for the reasons of all its values, and a level whose
// variable has no part in the failure below is jumped over. Besides Prosser's conflict sets of
// variables, the constraints that excluded the values are collected, as in explanation-based search
// and in the extraction of unsatisfiable cores, so that a failure of the whole search gives a
// conflict of the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "domains.hpp"

namespace gdlnn {

// Reasons of a failure: the constraints used, closed under "its removal takes this one along" (see
// Pattern::touch_node), and the placed variables involved.
struct Reasons {
    Word *constraints;
    Word *variables;
};

#ifdef GDLNN_TRACE_REASONS
// Notes what is added to a row while it lives, so that tests can tell reasons from what lay in the
// row before.
struct ReasonTrace {
    ReasonTrace(std::vector<Word> &to, const Word *from, int words)
        : trace(to), row(from), before(from, from + words) {}
    ReasonTrace(const ReasonTrace &) = delete;
    ReasonTrace &operator=(const ReasonTrace &) = delete;
    ~ReasonTrace() {
        grow(trace, before.size());
        for (std::size_t i = 0; i < before.size(); ++i)
            trace[i] |= row[i] & ~before[i];
    }
    std::vector<Word> &trace;
    const Word *row;
    std::vector<Word> before;
};
#else
struct ReasonTrace {};
#endif

class ConflictAnalysis {
  public:
    explicit ConflictAnalysis(const Domains &domains) : domains_(domains) {}

    // Begins a search for the pattern that the domains are bound to.
    void start();
    // Begins a level, without reasons.
    void open_level(int level);
    // Notes that a value was refused: it leaves the neighbor at an incidence without candidates.
    void add_refused(int value, int incidence) { refused_.push_back({value, incidence}); }
    // Adds to the reasons of a level why its variable x can take no value: those tried were refused
    // or failed below, the rest of the graph's nodes were never candidates.
    template <int W> void explain_level(int level, int x, const Word *tried);
    // Empty reasons, for the room check to fill.
    Reasons open_reasons(int level);
    // Passes the reasons of the level after `level` up to it. Where they name x, the variable of
    // the level, they are added to its reasons (true: its next value may do); else they replace
    // them (false: the search fails whatever x is).
    bool pass_up(int level, int x);
    // Ends a level and forgets its refused values; its reasons stay for pass_up.
    void close_level(int level) { refused_.resize(refused_start_[idx(level)]); }

    // A search that fails before it begins: a variable has no candidates, or there are more
    // variables than nodes.
    template <int W> void explain_empty(int x);
    void explain_size();

    // After the search has failed.
    const Word *conflict() const { return rows_.row(row_of_level_[0]); }

    // Constraints to prefer as reasons, or null.
    const Word *permanent = nullptr;

#ifdef GDLNN_TRACE_REASONS
    std::vector<Word> trace; // for tests: every constraint that was ever added as a reason
#endif
    // Notes what is added to some reasons from now on, for tests; does nothing otherwise.
    ReasonTrace trace_of(Reasons to) {
#ifdef GDLNN_TRACE_REASONS
        return {trace, to.constraints, constraint_words_};
#else
        static_cast<void>(to);
        return {};
#endif
    }

  private:
    Reasons reasons(int level) {
        Word *row = rows_.row(row_of_level_[idx(level)]);
        return {row, row + constraint_words_};
    }
    template <int W> void explain(int y, const Word *values, Reasons to);
    template <int W> void explain_refused(int level, int x, Reasons to);
    template <int W> void explain_edges(int y, Word *rest, Reasons to);
    template <int W> void explain_sides(int y, Word *rest, Reasons to);
    template <int W> void explain_loops(int y, Word *rest, Reasons to);
    template <int W> void explain_degree(int y, Word *rest, Reasons to);
    void blame_edges(int y, bool outward, int needed, Reasons to);
    [[gnu::always_inline]] const Incidence *next_placed_neighbor(int y, int &after) const;
    template <int W>
    void explain_wrong_edges(int e, const Adjacency &a, int v, const Word *values, Reasons to);
    template <int W> Word types_met(const Adjacency &a, int v, const Word *values) const;
    void explain_wrong_types(int e, Word wrong, Reasons to);
    void explain_wrong_edge(int e, int graph_edge, Reasons to);
    // How welcome a constraint is as a reason: part of the conflict anyway, permanent, or neither.
    int preference(int id, Reasons to) const {
        return test_bit(to.constraints, id)           ? 1 << 20
               : permanent && test_bit(permanent, id) ? 1 << 10
                                                      : 0;
    }

    const Domains &domains_;
    BitRows rows_; // constraints, then variables
    int constraint_words_ = 1;
    std::vector<std::int32_t> row_of_level_; // rows are swapped, not copied, from level to level
    struct Refused {
        std::int32_t value, incidence;
    };
    std::vector<Refused> refused_;
    std::vector<std::size_t> refused_start_; // per level

    std::vector<Word> untried_; // values of a level that were never candidates
    std::vector<Word> rest_;    // values that still lack a reason
    std::vector<Word> passing_; // values that the constraint at hand lets through
    std::vector<Word> offered_; // what refused values would leave to a neighbor
};

} // namespace gdlnn
