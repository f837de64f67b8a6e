// GraphSet: graphs encoded once for matching and mining. Node features become masks of nodes per
// value, edges become adjacency masks per combination of edge features; large graphs keep adjacency
// lists instead, so that memory stays linear in the input.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gdlnn/bits.hpp"

namespace gdlnn {

// Graphs as concatenated arrays. Edges name nodes within their graph; an undirected edge is listed
// once.
struct GraphArrays {
    int n_graphs = 0;
    int n_node_features = 0;
    int n_edge_features = 0;
    const double *node_features = nullptr;      // row-major, all nodes of all graphs
    const std::int64_t *node_offsets = nullptr; // n_graphs + 1
    const std::int64_t *edges = nullptr;        // pairs
    const double *edge_features = nullptr;      // row-major, all edges of all graphs
    const std::int64_t *edge_offsets = nullptr; // n_graphs + 1
    const bool *directed = nullptr;             // n_graphs
};

// Adjacency in one direction: lists always, masks where the graph is small enough for them to pay.
struct Adjacency {
    std::vector<std::int32_t> start; // n + 1
    std::vector<std::int32_t> node;
    std::vector<std::int32_t> edge;   // edge number within the graph
    std::vector<std::int32_t> degree; // neighbors other than the node itself
    std::vector<Word> any;            // n × words, empty for large graphs
    std::vector<Word>
        typed; // types × n × words, empty where there is one type or the graph is large
    std::vector<Word> degree_at_least; // (max degree + 2) × words
    int max_degree = 0;
};

struct EncodedGraph {
    int n = 0;
    int m = 0;
    int words = 0;
    bool directed = false;
    bool has_masks = false;
    const double *node_features = nullptr;
    const double *edge_features = nullptr;
    Adjacency out;
    Adjacency in; // empty for undirected graphs: `incoming` gives `out`
    std::vector<std::int32_t>
        edge_type;                   // global type per edge; empty where there are too many types
    std::vector<std::uint8_t> types; // the global types that occur, where there are masks
    Word type_set = 0;               // the same as a set
    std::vector<std::int32_t> ends;  // per edge its two nodes, as listed
    std::vector<std::int32_t> loop_node, loop_edge;
    // Per ranked feature, ranks + 1 masks: nodes whose value has at least that rank.
    std::vector<Word> rank_masks;
    // Per continuous feature of a small graph: its own distinct values, and masks as above by
    // position among them.
    std::vector<double> local_values;
    std::vector<std::int32_t> local_start;
    std::vector<Word> local_masks;
    std::vector<Word> all;

    const Adjacency &incoming() const { return directed ? in : out; }
};

// The order of feature values: a missing one (NaN) comes after all others and equals itself.
inline bool value_less(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

struct FeatureColumn {
    double lowest = 0;
    double highest = 0;
    bool missing = false;       // some values are NaN: no masks, values are compared one by one
    bool ranked = false;        // few distinct values: masks by global rank
    std::vector<double> values; // sorted, where ranked
    int mask_offset = 0;        // in units of words-per-mask, where ranked
    int local_index = -1;       // position among the continuous features that have masks
};

class GraphSet {
  public:
    explicit GraphSet(const GraphArrays &arrays);
    GraphSet(const GraphSet &) = delete;
    GraphSet &operator=(const GraphSet &) = delete;

    int size() const { return static_cast<int>(graphs_.size()); }
    const EncodedGraph &operator[](int i) const { return graphs_[idx(i)]; }
    int n_node_features() const { return d_; }
    int n_edge_features() const { return c_; }
    const FeatureColumn &node_column(int f) const { return node_columns_[idx(f)]; }
    const FeatureColumn &edge_column(int f) const { return edge_columns_[idx(f)]; }
    // Combinations of edge features, where there are at most 64 of them.
    bool has_edge_types() const { return has_types_; }
    int n_edge_types() const { return n_types_; }
    const double *edge_type_features(int type) const {
        return type_features_.data() + idx(type) * idx(c_);
    }
    int max_nodes() const { return max_nodes_; }
    int max_words() const { return max_words_; }
    std::size_t bytes() const;

  private:
    void describe_columns();
    void collect_edge_types(const std::vector<std::int64_t> &edge_offsets);
    void encode(EncodedGraph &g, const std::int64_t *edges, std::int64_t first_edge) const;
    void encode_features(EncodedGraph &g) const;

    int d_ = 0;
    int c_ = 0;
    int max_nodes_ = 0;
    int max_words_ = 1;
    bool has_types_ = false;
    int n_types_ = 1;
    int ranked_masks_ = 0;
    int n_continuous_ = 0;
    std::vector<double> node_features_;
    std::vector<double> edge_features_;
    std::vector<FeatureColumn> node_columns_, edge_columns_;
    std::vector<double> type_features_;
    std::vector<std::int32_t> edge_types_;
    std::vector<EncodedGraph> graphs_;
};

} // namespace gdlnn
