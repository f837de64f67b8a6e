// TargetProgram: some nodes of a graph as the program that describes exactly them, with which a
// descent begins, and what a descent has left of it as a MinedProgram.
//
// Owns the arrays of the program.
#pragma once

#include <cstdint>
#include <vector>

#include "gdlnn/mine.hpp"
#include "gdlnn/pattern.hpp"

namespace gdlnn {

class TargetProgram {
  public:
    void reset(const GraphSet &set, const MineTask &task);
    // Valid until the next reset.
    ProgramArrays arrays() const;

    // Opens all intervals of a node or an edge in the result, those included that exclude nothing
    // in the graph set and so are no constraints of the pattern.
    void clear_node(int x) { node_cleared_[idx(x)] = 1; }
    void clear_edge(int e) { edge_cleared_[idx(e)] = 1; }
    // Writes nodes, edges and bounds of what is left; `variant` is one of the compiled program.
    // Bounds that exclude nothing in the graph set, and so are not constraints, are written too
    // unless `only_constraints` is set.
    void write(const Variant &variant, bool only_constraints, MinedProgram &result) const;

  private:
    int n_node_features_ = 0, n_edge_features_ = 0;
    std::vector<std::int64_t> nodes_, edges_; // numbers within the graph
    std::vector<std::int64_t> ends_;          // pairs of places in nodes_
    std::vector<double> node_values_, edge_values_;
    std::vector<std::uint8_t> node_cleared_, edge_cleared_;
    std::vector<std::int64_t> position_; // per node of the graph: its place in nodes_, or -1
};

} // namespace gdlnn
