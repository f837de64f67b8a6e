// Sequential: the cheaper search after PL4XGL. Edges, then the intervals of whole edges and of
// whole nodes, one pass each; on small datasets, the greedy search over edge drops and sides at
// the end.
//
// Owns nothing but buffers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "descent.hpp"
#include "greedy.hpp"

namespace gdlnn {

class Sequential {
  public:
    Sequential(Descent &descent, Greedy &greedy) : descent_(descent), greedy_(greedy) {}

    void run();

  private:
    // What the program would match with some mutations together.
    struct Outcome {
        int positive = 0, negative = 0;
        std::vector<std::int32_t> fresh; // graphs that the mutations add
    };
    void drop_loops();
    void drop_edges();
    void open_intervals();
    bool open_together(int base, int first, int last);
    void greedy_over_parts();
    bool edge_drop(int e);
    bool stays_connected(const Variant &variant);
    bool attempt(double at_least);
    bool possible(int i) const;
    std::optional<Outcome> evaluate(double at_least);
    void apply(const Outcome &outcome, const std::vector<int> &mutations);
    double score_of(const Outcome &outcome) const {
        return descent_.score_of(outcome.positive, outcome.positive + outcome.negative);
    }

    Descent &descent_;
    Greedy &greedy_;
    std::vector<int> mutations_; // being tried together
    std::vector<Word> tried_;    // the same as a set
    Variant trial_;              // the program with them
    std::vector<std::uint8_t> seen_;
    std::vector<int> stack_;
};

} // namespace gdlnn
