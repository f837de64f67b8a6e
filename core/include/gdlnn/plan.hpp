// Plan: a set of programs compiled once, to be matched against graphs together. Programs share
// work: conditions of variables and edges are tested once per graph. Screens rule programs and
// nodes out by the neighbors that they need. A program that contains another is only tried where
// that one was found. docs/algorithms.md says how much each of these saves.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gdlnn/bits.hpp"
#include "gdlnn/graph_set.hpp"
#include "gdlnn/pattern.hpp"

namespace gdlnn {

// The distinct vectors of intervals over some features, numbered. For every node (or edge) of a
// graph it gives the set of those that its values satisfy.
class ConditionTable {
  public:
    ConditionTable() = default;
    explicit ConditionTable(int n_features) : d_(n_features) {}

    // The number of a vector of intervals; a new one where it is new.
    int number(const double *lower, const double *upper);
    // Prepares the look-ups; no more vectors after this.
    void close();
    int size() const { return n_; }
    int words() const { return words_; }
    // The conditions that a row of values satisfies, as a set of `words()` words.
    void satisfied(const double *values, Word *set) const;
    std::size_t bytes() const;

  private:
    // Per feature: the bounds that occur, and for each of them and each gap between two the
    // conditions that a value there satisfies. Features with very many bounds are compared one by
    // one instead.
    struct Column {
        int feature = 0;
        std::vector<double> bounds;
        std::vector<Word> sets;             // (2 · bounds + 1) × words; empty where compared
        std::vector<std::int32_t> compared; // the conditions that are closed on this feature
    };

    int d_ = 0;
    int n_ = 0;
    int words_ = 1;
    std::vector<double> lower_, upper_;           // conditions × features
    std::vector<Column> columns_;                 // features that some condition is closed on
    std::unordered_map<std::string, int> number_; // by the bytes of the bounds; empty once closed
};

// Components of a plan besides shared conditions; without a part the answers are the same, later.
struct PlanParts {
    bool screens = true; // programs and nodes are ruled out by the neighbors that they need
    bool containment =
        true;          // programs are tried only where a program that is part of them was found
    bool twins = true; // variables that could be exchanged are placed in one order only
};

struct PlanParams {
    std::int64_t step_budget = INT64_MAX; // per program and graph
    int n_threads = 1;
    std::atomic<bool> *stop = nullptr; // raised from outside, or by a failure on one thread
};

// Per graph the programs that match, sorted, and those on which the budget ran out.
struct PlanMatches {
    std::vector<std::int64_t> start; // n_graphs + 1
    std::vector<std::int32_t> programs;
    std::vector<std::int64_t> unknown_start;
    std::vector<std::int32_t> unknown;
};

// Distinct images of some programs in some graphs.
struct PlanWitnesses {
    std::vector<std::int64_t> start;  // per question: where its images begin, in images; one more
    std::vector<std::int32_t> images; // per image one node per variable, in the order of variables
    std::vector<std::int64_t> image_start; // per question: where its nodes begin in `images`
    std::vector<std::uint8_t> complete;    // per question: whether these are all
};

class Plan {
  public:
    // Programs over graphs that are all directed or all undirected. The arrays are copied.
    Plan(const std::vector<ProgramArrays> &programs, int n_node_features, int n_edge_features,
         bool directed, PlanParts parts = {});

    int size() const { return static_cast<int>(programs_.size()); }
    std::size_t bytes() const;

    // Which programs match which graphs; graphs are not encoded beforehand.
    PlanMatches match(const GraphArrays &graphs, const PlanParams &params) const;

    // Up to `most` images of program `program[i]` in graph `graph[i]`, for every question i; graphs
    // must not fall. Images that cover the same nodes and edges count once. They come in an order
    // that does not depend on how the graph's nodes are numbered.
    PlanWitnesses witnesses(const GraphArrays &graphs, const std::vector<std::int32_t> &graph,
                            const std::vector<std::int32_t> &program, int most,
                            const PlanParams &params) const;

    // --- what the walk over a graph reads (plan_walk.cpp)

    // An edge to a variable that is placed already.
    struct Check {
        std::int32_t position; // of the other variable in the order
        std::int32_t condition;
        bool outward; // from the variable to the other one
    };
    // What a variable asks of a node and of its neighbors. The first kinds are the node
    // conditions.
    struct Kind {
        std::int32_t condition;
        std::int32_t first_link, last_link;
    };
    // At least `count` neighbors of a condition by edges of a condition.
    struct Link {
        std::int32_t edge, node, count;
        bool outward; // to the neighbor
        auto operator<=>(const Link &) const = default;
    };
    // One variable in the order in which they are placed.
    struct Step {
        std::int32_t kind;
        std::int32_t first_check, last_check; // edges to earlier variables
        std::int32_t first_loop, last_loop;   // conditions of its self-loops
        std::int32_t twin; // position of an earlier variable it could be exchanged with, or -1
    };
    // How many nodes of a kind a program needs.
    struct Need {
        std::int32_t kind;
        std::int32_t count;
    };
    struct Entry {
        std::int32_t first_step, n; // its steps; the first one is its root
        std::int32_t first_need, last_need;
        std::int32_t key = -1;    // the need that fewest programs share, or -1
        std::int32_t parent = -1; // a program that is part of this one, at the same root
        std::int32_t first_child = 0, last_child = 0; // in children_
        bool large = false; // too large for the walk: each is a search of its own
    };
    struct Child {
        std::int32_t program;
        std::int32_t key; // of that program
    };

    const Entry &entry(int p) const { return programs_[static_cast<std::size_t>(p)]; }
    const Step &step(int s) const { return steps_[static_cast<std::size_t>(s)]; }
    const Check &check(int c) const { return checks_[static_cast<std::size_t>(c)]; }
    const Need &need(int i) const { return needs_[static_cast<std::size_t>(i)]; }
    const Kind &kind(int k) const { return kinds_[static_cast<std::size_t>(k)]; }
    const Link &link(int i) const { return links_[static_cast<std::size_t>(i)]; }
    int n_kinds() const { return static_cast<int>(kinds_.size()); }
    int loop(int i) const { return loops_[static_cast<std::size_t>(i)]; }
    // Programs without a parent, and the children of all programs one after another.
    const std::vector<Child> &roots() const { return roots_; }
    const Child &child(int i) const { return children_[static_cast<std::size_t>(i)]; }
    const std::vector<std::int32_t> &large() const { return large_; }
    const ConditionTable &node_conditions() const { return nodes_; }
    const ConditionTable &edge_conditions() const { return edges_; }
    bool directed() const { return directed_; }
    int n_node_features() const { return d_; }
    int n_edge_features() const { return c_; }
    // The variable that is placed at each position.
    int variable(int s) const { return variable_[static_cast<std::size_t>(s)]; }
    // The edges of a program between positions, for images.
    std::vector<std::pair<std::int32_t, std::int32_t>> position_edges(int p) const;
    // The program as given.
    ProgramArrays arrays(int p) const;

  private:
    void order_steps(int p, const std::vector<std::int32_t> &commonness);
    void find_kinds();
    void find_needs();
    void choose_roots();
    void hang_children();

    int d_ = 0, c_ = 0;
    bool directed_ = false;
    PlanParts parts_;
    ConditionTable nodes_, edges_;
    std::vector<Entry> programs_;
    std::vector<Step> steps_;
    std::vector<std::int32_t> variable_;
    std::vector<Check> checks_;
    std::vector<std::int32_t> loops_;
    std::vector<Need> needs_;
    std::vector<Kind> kinds_;
    std::vector<Link> links_;
    std::vector<Child> roots_, children_;
    std::vector<std::int32_t> large_;
    // The programs themselves, for those that need a search of their own and for images.
    std::vector<double> node_lower_, node_upper_, edge_lower_, edge_upper_;
    std::vector<std::int64_t> ends_, node_start_, edge_start_;
    std::vector<std::int32_t> node_condition_, edge_condition_; // per variable, per edge
    std::vector<std::int32_t> kind_;                            // per variable
    std::vector<std::int32_t> root_;                            // per program its root variable
};

} // namespace gdlnn
