// Search: does a graph contain a pattern? Backtracking over candidate masks, smallest candidate set
// on the frontier first. On request a failure comes with a conflict: the constraints that are
// enough to make it fail.
#pragma once

#include <atomic>
#include <cstdint>
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

class Searcher {
  public:
    explicit Searcher(const GraphSet &set) : set_(set) {}

    // Binds a pattern; buffers grow to fit. `root_bias` (one count per variable, or null) makes
    // variables that emptied often more likely roots; the search adds to it.
    void bind(const Pattern &pattern, std::vector<std::uint32_t> *root_bias = nullptr);

    // Whether the graph contains the pattern without the constraints in `off` (null: with all of
    // them). A step is one assignment of a node to a variable.
    Answer test(const EncodedGraph &graph, const Word *off, std::int64_t budget);
    // The same; after `no`, conflict() holds the touched mutations of a conflict.
    Answer test_with_conflict(const EncodedGraph &graph, const Word *off, std::int64_t budget);
    // The same for a variant of the bound pattern, with what is known of the graph from earlier
    // searches.
    Answer test_with_conflict(const EncodedGraph &graph, const Variant &variant, DomainCache cache,
                              std::int64_t budget);
    const Word *conflict() const { return conflict_; }
    // After `yes`: the image of each variable, -1 for variables that are off.
    const std::vector<std::int32_t> &witness() const { return image_; }
    std::int64_t steps() const { return steps_; }

    // Number of witnesses.
    Answer count(const EncodedGraph &graph, std::int64_t budget, std::int64_t &found);

    // Step-by-step enumeration: start, then next() until it is not `yes`.
    void start(const EncodedGraph &graph, const Word *off);
    Answer next(std::int64_t budget);

    // Constraints that will last, or null: where there is a choice of reasons, conflicts are made
    // of these.
    const Word *lasting = nullptr;

    // Raised from outside to end a search early (it answers `unknown`); null: never.
    const std::atomic<bool> *stop = nullptr;

#ifdef GDLNN_TRACE_REASONS
    std::vector<Word>
        reasons; // for tests: every constraint that any explanation named; the caller clears it
#endif

  private:
    template <int W, bool Explain> Answer run(std::int64_t budget, bool resume);
    template <int W> bool prepare();
    template <int W> void side_domain(int x, Word *domain) const;
    template <int W> void base_domain(int x, Word *domain);
    template <int W> void neighbours(int e, bool outward, int v, Word *mask) const;
    template <int W> int place(int x, int v);
    template <int W> void undo(int level);
    template <int W> int choose() const;
    template <int W> void explain(int y, const Word *values, Word *constraints, Word *levels);
    template <int W> void explain_blocked(int x, Word *constraints, Word *levels);
    template <int W>
    void explain_wrong_edges(int e, const Adjacency &a, int v, const Word *values,
                             Word *constraints);
    void explain_wrong_types(int e, Word wrong, Word *constraints);
    void explain_wrong_edge(int e, int graph_edge, Word *constraints);
    // How welcome a constraint is as a reason: part of the conflict anyway, lasting, or neither.
    int rank_of(int id, const Word *constraints) const {
        return test_bit(constraints, id) ? 1 << 20 : lasting && test_bit(lasting, id) ? 1 << 10 : 0;
    }
    template <int W> void explain_edges(int y, Word *rest, Word *constraints, Word *levels);
    template <int W> void explain_sides(int y, Word *rest, Word *constraints);
    template <int W> void explain_loops(int y, Word *rest, Word *constraints);
    template <int W> void explain_degree(int y, Word *rest, Word *constraints);
    void explain_size();
    template <int W> int pocketed();
    template <int W> bool has_room(int first, int needed, const Word *region, int size);
    template <int W> bool has_room_plainly(int first);
    template <int W> void explain_pocket(int first, Word *constraints, Word *levels);
    int placed_neighbour(int x) const;
    int group_of(int x, Word *group);
    template <class Seen, class Mark> int walk_group(int x, Seen seen, Mark mark);
    template <int W> void spread(int v, Word *mask) const;
    // What is kept per level for them (regions.cpp).
    template <int W> void follow_placement();
    template <int W> void survey(std::size_t row);
    void split_group(int x, std::size_t row);
    int name_group(int x, int id, std::int32_t *group);
    template <int W> int flood(const Word *within, const Word *until, Word *reached);
    template <int W> int largest_region(Word *region);
    template <int W> int region_without(int v, Word *region);

    void select(const Word *off);

    const GraphSet &set_;
    const Pattern *p_ = nullptr;
    const EncodedGraph *g_ = nullptr;
    const Variant *variant_ = nullptr;
    Variant whole_, reduced_;
    DomainCache cache_;
    std::vector<std::uint32_t> *root_bias_ = nullptr;
    std::int64_t steps_ = 0;
    int width_ = 1;     // words per node mask
    int var_words_ = 1; // words per set of variables
    int n_alive_ = 0;
    int level_ = -1;
    bool started_ = false;
    bool matched_ = false;    // the last level holds a node: the search stopped at a witness
    bool unfinished_ = false; // variables are still placed
    int empty_variable_ = -1;

    std::vector<Word> base_, domain_, candidates_, tried_, used_, trail_words_;
    std::vector<std::int32_t> trail_var_;
    std::vector<std::int32_t> touches_, image_, owner_, level_of_, level_var_, trail_start_;
    std::vector<Word> frontier_, unassigned_;
    std::vector<Word> constraint_rows_, level_rows_, scratch_;
    std::vector<std::int32_t> row_;
    std::vector<Word> pending_;
    std::vector<std::int32_t> pending_var_;
    struct Blocked {
        std::int32_t value, incidence;
    };
    std::vector<Blocked> blocked_; // per level, the values that left a neighbour without candidates
    std::vector<std::size_t> blocked_start_;
    std::vector<Word> pocket_vars_;
    std::vector<std::int32_t> pocket_stack_;
    // After so many placed variables: a region of free nodes, and the groups of unplaced variables
    // that hang together. A row stands as long as the placement it was made for.
    struct Surveys {
        std::int64_t clock = 0;
        std::vector<std::int64_t> placed, made; // when the row's last variable was placed
        std::vector<Word> region;
        std::vector<std::int32_t> region_size;
        std::vector<std::int32_t> group;    // the number of each variable's group
        std::vector<std::size_t> group_row; // a row of `group`: shared where nothing was split
        std::vector<std::vector<std::int32_t>> size; // by number of group
    };
    Surveys surveys_;
    const Word *conflict_ = nullptr;
};

} // namespace gdlnn
