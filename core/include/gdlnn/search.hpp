// Search: does a graph contain a pattern? Backtracking over candidate masks, smallest candidate set
// on the frontier first. On request a failure comes with a conflict: the constraints that are
// enough to make it fail.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "gdlnn/graph_set.hpp"
#include "gdlnn/pattern.hpp"

namespace gdlnn {

enum class Answer : std::uint8_t { no, yes, unknown };

inline constexpr std::int64_t kNoBudget = INT64_MAX;

// Candidates by the sides of each variable, kept between searches on the same graph: one mask per
// variable, and the set of variables whose mask is up to date. Null: nothing is kept.
struct DomainCache {
    Word *domains = nullptr;
    Word *valid = nullptr;
};

class Domains;
class ConflictAnalysis;
class RoomCheck;

// Runs one search after another, reusing its buffers. One per thread.
//
// Owns the order in which variables are placed and the values left to try at each level. What the
// variables can take is in Domains, why a level failed in ConflictAnalysis, and whether what is
// left to place still fits into RoomCheck.
class Searcher {
  public:
    // Raising `stop` (null: never) ends a search early: it answers `unknown`.
    explicit Searcher(const GraphSet &set, const std::atomic<bool> *stop = nullptr);
    ~Searcher();

    // Binds a pattern; buffers grow to fit. `wipeouts` (one count per variable, or null) makes
    // variables that were often left without candidates more likely to begin a search with; the
    // search adds to it.
    void bind(const Pattern &pattern, std::vector<std::uint32_t> *wipeouts = nullptr);

    // Whether the graph contains the pattern without the constraints in `off` (null: with all of
    // them). A step is one assignment of a node to a variable.
    Answer test(const EncodedGraph &graph, const Word *off, std::int64_t budget);
    // The same; after `no`, conflict() holds the touched mutations of a conflict.
    Answer test_with_conflict(const EncodedGraph &graph, const Word *off, std::int64_t budget);
    // The same for a variant of the bound pattern, with a cache of earlier searches in the graph.
    Answer test_with_conflict(const EncodedGraph &graph, const Variant &variant, DomainCache cache,
                              std::int64_t budget);
    const Word *conflict() const;
    // After `yes`: the image of each variable, -1 for variables that are off.
    const std::vector<std::int32_t> &witness() const;
    std::int64_t steps() const { return steps_; }

    // Number of witnesses.
    Answer count(const EncodedGraph &graph, std::int64_t budget, std::int64_t &found);

    // Step-by-step enumeration: start, then next() until it is not `yes`.
    void start(const EncodedGraph &graph, const Word *off);
    Answer next(std::int64_t budget);

    // Constraints that will not be removed soon, or null: where there is a choice of reasons,
    // conflicts are made of these.
    void set_permanent(const Word *constraints);

#ifdef GDLNN_TRACE_REASONS
    // For tests: every constraint that was added to any reasons. The caller clears it.
    std::vector<Word> &traced_reasons();
#endif

  private:
    template <int W, bool Explain> Answer run(std::int64_t budget, bool resume);
    template <int W, bool Explain> void open_level();
    template <int W> int next_value();
    template <int W, bool Explain> bool has_room();
    template <int W, bool Explain> bool backtrack();
    template <int W> bool prepare(const EncodedGraph &graph, DomainCache cache);
    void select(const Word *off);

    const std::atomic<bool> *stop_;
    std::unique_ptr<Domains> domains_;
    std::unique_ptr<ConflictAnalysis> conflict_;
    std::unique_ptr<RoomCheck> room_check_;
    const Pattern *pattern_ = nullptr;
    const Variant *variant_ = nullptr;
    Variant whole_, reduced_;
    std::vector<std::uint32_t> *wipeouts_ = nullptr;

    std::int64_t steps_ = 0;
    int level_ = -1;        // the level whose values are being tried; so many variables are placed
    bool possible_ = false; // enumeration: the set-up found candidates for every variable
    bool started_ = false;
    bool matched_ = false; // the last level holds a node: the search stopped at a witness
    std::vector<std::int32_t> level_var_; // per level: its variable
    BitRows left_to_try_, tried_;         // per level: values
};

} // namespace gdlnn
