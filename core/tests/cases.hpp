// Random graph sets and programs as plain arrays, and a matcher that tries everything.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "gdlnn/graph_set.hpp"
#include "gdlnn/pattern.hpp"
#include "testing.hpp"

namespace gdlnn::tests {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Graphs {
    int d = 0, c = 0;
    std::vector<double> node_features, edge_features;
    std::vector<std::int64_t> node_offsets{0}, edges, edge_offsets{0};
    std::vector<std::uint8_t> directed;
    std::unique_ptr<bool[]> directed_flags;

    int size() const { return static_cast<int>(directed.size()); }
    int n(int g) const { return static_cast<int>(node_offsets[idx(g + 1)] - node_offsets[idx(g)]); }
    int m(int g) const { return static_cast<int>(edge_offsets[idx(g + 1)] - edge_offsets[idx(g)]); }
    double node_value(int g, int v, int f) const {
        return node_features[idx((node_offsets[idx(g)] + v) * d + f)];
    }
    double edge_value(int g, int e, int f) const {
        return edge_features[idx((edge_offsets[idx(g)] + e) * c + f)];
    }
    int end(int g, int e, int side) const {
        return static_cast<int>(edges[idx(2 * (edge_offsets[idx(g)] + e) + side)]);
    }
    GraphArrays arrays();
};

struct Program {
    int n = 0, m = 0;
    std::vector<double> node_lower, node_upper, edge_lower, edge_upper;
    std::vector<std::int64_t> edges;

    ProgramArrays arrays() const;
};

// What the graphs of a set look like; a number of values of 0 means continuous.
struct Kind {
    int n_graphs = 4;
    int min_nodes = 0, max_nodes = 7;
    int node_values = 3, edge_values = 3;
    int max_variables = 4;
    bool hub = false;
    double chance_of_edge = 0; // 0: any
};

Kind random_kind(Rng &rng);
Graphs random_graphs(Rng &rng, const Kind &kind);
Program random_program(Rng &rng, const Graphs &graphs, int max_variables);
// A chain with a branch or a short cut here and there, hardly constrained otherwise.
Program chain_program(Rng &rng, const Graphs &graphs, int n);
// Part of a graph with intervals round its values: matches, unless an interval just misses.
Program planted_program(Rng &rng, const Graphs &graphs, int g, int max_variables);

// The program with only the constraints in `kept`, and with the same variables or without those not
// in it.
Program reduced(const Program &program, const Pattern &pattern, const Graphs &graphs,
                const Word *kept);

using Image = std::vector<std::int32_t>;

inline constexpr std::size_t kMostWitnesses = 2000;

// Every witness, by trying every node for every variable in turn; over kMostWitnesses of them it
// stops.
class BruteForce {
  public:
    BruteForce(const Graphs &graphs, int g);
    std::vector<Image> witnesses(const Program &program) const;
    bool matches(const Program &program) const;

  private:
    bool fits(const Program &program, const Image &image, int x) const;
    bool extend(const Program &program, Image &image, std::vector<Image> *found) const;

    const Graphs &graphs_;
    int g_;
    std::vector<std::int32_t> edge_between_; // n × n, -1 where there is none
};

} // namespace gdlnn::tests
