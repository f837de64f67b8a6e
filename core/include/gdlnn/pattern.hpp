// Pattern: a GDL program compiled against a GraphSet, once for all graphs of the set. Every
// constraint has an id, so that a search can leave some out (a mutation) and can name those it
// needed (a conflict). Variant: a pattern without some of its constraints.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gdlnn/bits.hpp"
#include "gdlnn/graph_set.hpp"

namespace gdlnn {

// The whole numbers from `first` to before `last`. Clang before 16 cannot read libstdc++'s views.
class NumberRange {
  public:
    class Iterator {
      public:
        explicit Iterator(std::int32_t at) : at_(at) {}
        std::int32_t operator*() const { return at_; }
        Iterator &operator++() {
            ++at_;
            return *this;
        }
        bool operator!=(const Iterator &other) const { return at_ != other.at_; }

      private:
        std::int32_t at_;
    };
    NumberRange(std::int32_t first, std::int32_t last) : first_(first), last_(last) {}
    Iterator begin() const { return Iterator(first_); }
    Iterator end() const { return Iterator(last_); }

  private:
    std::int32_t first_, last_;
};

// A program as plain arrays; an open side is an infinity.
struct ProgramArrays {
    int n = 0;
    int m = 0;
    const double *node_lower = nullptr; // n × node features
    const double *node_upper = nullptr;
    const std::int64_t *edges = nullptr; // pairs
    const double *edge_lower = nullptr;  // m × edge features
    const double *edge_upper = nullptr;
};

// Which features are nominal: a condition on one names its value, both sides of the interval at
// once.
struct NominalFeatures {
    std::vector<std::uint8_t> node, edge; // one flag per feature; empty: none is
};

enum class SideKind : std::uint8_t { lower, upper, value };

// One closed side of one interval, or both sides at once where a feature is nominal. Sides that
// exclude nothing in the graph set are left out.
struct Side {
    std::int32_t owner; // node or edge
    std::int32_t feature;
    SideKind kind;
    double bound;
    // Ranked node features, masks of EncodedGraph::rank_masks, else -1: the nodes with at least the
    // bound (lower, value), and those beyond it (upper, value).
    std::int32_t at_least, beyond;
    Word types; // edges: the edge types that pass, where the set has types
};

inline bool passes(const Side &side, double value) {
    switch (side.kind) {
    case SideKind::lower:
        return value >= side.bound;
    case SideKind::upper:
        return value <= side.bound;
    default:
        return value == side.bound;
    }
}

struct Incidence {
    std::int32_t edge;
    std::int32_t other;
    bool outward; // the edge leaves this node
};

// Ids: nodes, then edges, then node sides, then edge sides, each section starting at a word
// boundary. A mutation has the id of the constraint that it removes. A mutation that removes
// several constraints at once would be a section of its own, known to the touch functions,
// `switch_off` and Variant::remove; searches and the miner only deal in sets of ids.
class Pattern {
  public:
    // `nominal` (null: nothing is) makes the two sides of an exact interval of a nominal feature
    // one constraint.
    Pattern(const GraphSet &set, const ProgramArrays &program,
            const NominalFeatures *nominal = nullptr);

    int n = 0;
    int m = 0;
    std::vector<std::int32_t> source, target;
    std::vector<std::int32_t> incidence_start;
    std::vector<Incidence> incidences; // by node, then by edge; self-loops left out
    std::vector<std::int32_t> loops;   // edges (x, x)
    std::vector<Side> node_sides, edge_sides;
    std::vector<std::int32_t> node_side_start, edge_side_start;
    // For an edge (y, x) with an edge (x, y): the other one's number, else -1. Only the later of
    // the two has it.
    std::vector<std::int32_t> reverse_edge;
    int edge_base = 0, node_side_base = 0, edge_side_base = 0;
    int n_ids = 0, words = 0;
    std::vector<Word> ids; // the ids in use: sections end before their last word does

    std::span<const Incidence> incidences_of(int x) const {
        return {incidences.data() + incidence_start[idx(x)],
                incidences.data() + incidence_start[idx(x + 1)]};
    }
    // The numbers of the sides of a node or an edge.
    NumberRange node_sides_of(int x) const {
        return {node_side_start[idx(x)], node_side_start[idx(x + 1)]};
    }
    NumberRange edge_sides_of(int e) const {
        return {edge_side_start[idx(e)], edge_side_start[idx(e + 1)]};
    }

    int node_id(int x) const { return x; }
    int edge_id(int e) const { return edge_base + e; }
    int node_side_id(int s) const { return node_side_base + s; }
    int edge_side_id(int s) const { return edge_side_base + s; }
    bool is_node(int id) const { return id < edge_base; }
    bool is_edge(int id) const { return id >= edge_base && id < node_side_base; }
    bool is_node_side(int id) const { return id >= node_side_base && id < edge_side_base; }

    // Sets the bit of a constraint and of every constraint whose removal takes it along: the
    // mutations that touch it.
    void touch_node(Word *bits, int x) const { set_bit(bits, x); }
    void touch_edge(Word *bits, int e) const {
        set_bit(bits, edge_id(e));
        set_bit(bits, source[idx(e)]);
        set_bit(bits, target[idx(e)]);
    }
    void touch_node_side(Word *bits, int s) const {
        set_bit(bits, node_side_id(s));
        set_bit(bits, node_sides[idx(s)].owner);
    }
    void touch_edge_side(Word *bits, int s) const {
        set_bit(bits, edge_side_id(s));
        touch_edge(bits, edge_sides[idx(s)].owner);
    }
    void touch(Word *bits, int id) const;

    // Switches off a constraint and all that depend on it: the effect of the mutation `id`.
    void switch_off(Word *off, int id) const;

  private:
    void link_edges(const ProgramArrays &program);
    std::int32_t find_reverse(int e) const;
    void compile_node_sides(const GraphSet &set, const ProgramArrays &program,
                            const NominalFeatures *nominal);
    void compile_edge_sides(const GraphSet &set, const ProgramArrays &program,
                            const NominalFeatures *nominal);
    void number_ids();
};

// A pattern without some of its constraints, with what a search needs to know of it whatever the
// graph. One block of words, so that a copy is cheap: the miner copies one and removes one more
// constraint for every question.
class Variant {
  public:
    // The whole pattern.
    void reset(const Pattern &pattern);
    // Removes a constraint and all that depend on it.
    void remove(int id);
    // Declares the sides removed so far the ones that cached domains know of.
    void settle_sides() { fill_words(words_.data() + changed_, var_words_, 0); }

    const Pattern &pattern() const { return *p_; }
    const Word *off() const { return words_.data(); }
    bool is_off(int id) const { return test_bit(words_.data(), id); }
    int n_alive() const { return static_cast<int>(words_[idx(count_)]); }
    const Word *alive() const { return words_.data() + alive_; }
    // Variables whose sides differ from those that cached domains know of.
    bool has_changed_sides(int x) const { return test_bit(words_.data() + changed_, x); }
    // Per edge, the types that its sides admit, and whether it has sides at all.
    Word allowed(int e) const { return words_[idx(allowed_ + e)]; }
    bool constrained(int e) const { return test_bit(words_.data() + constrained_, e); }
    // Neighbors of a variable: over edges that leave it, that enter it, and in undirected graphs.
    int out_degree(int x) const { return degree_field(x, 0); }
    int in_degree(int x) const { return degree_field(x, 1); }
    int degree(int x) const { return degree_field(x, 2); }

  private:
    static constexpr int kDegreeBits = 21; // three fields to a word
    int degree_field(int x, int field) const {
        return static_cast<int>(words_[idx(degrees_ + x)] >> (field * kDegreeBits) &
                                ((1U << kDegreeBits) - 1));
    }
    void refresh_degrees(int x);
    void refresh_edge(int e);

    const Pattern *p_ = nullptr;
    std::vector<Word> words_;
    int var_words_ = 1;
    int count_ = 0, alive_ = 0, changed_ = 0, allowed_ = 0, constrained_ = 0,
        degrees_ = 0; // where each section starts
};

} // namespace gdlnn
