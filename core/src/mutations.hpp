// Which mutations of a program may come next: CutPoints finds those that would split it, and
// MutationOffer lists the others.
#pragma once

#include <cstdint>
#include <vector>

#include "gdlnn/pattern.hpp"

namespace gdlnn {

// Cut vertices and bridges of the current pattern: one depth-first pass with low points
// (Tarjan, "Depth-first search and linear graph algorithms", 1972), without recursion.
//
// Owns the marks and the state of the pass.
class CutPoints {
  public:
    void find(const Variant &variant);
    bool is_cut(int x) const { return is_cut_[idx(x)]; }
    bool is_bridge(int e) const { return is_bridge_[idx(e)]; }

  private:
    void find_from(const Variant &variant, int root);
    void finish_child(int x, int parent, int root);

    std::vector<std::uint8_t> is_cut_, is_bridge_;
    std::vector<std::int32_t> depth_, low_, parent_edge_, next_incidence_, stack_;
};

// Owns the list of the mutations that may be applied next.
class MutationOffer {
  public:
    // Every node, edge and side that is left, but the last node, and with `connected` none that
    // would split the program.
    void offer_all(const Variant &variant, bool connected);
    // Edges that are dropped together with an end left without one, and sides. For connected
    // programs, where such a drop is removing the edge, or removing a leaf.
    void offer_drops(const Variant &variant);

    const std::vector<std::int32_t> &offered() const { return offered_; }
    // Which of two mutations comes first when all else is equal.
    bool comes_first(int a, int b) const {
        if (order_.empty() || order_[idx(a)] == order_[idx(b)])
            return a < b;
        return order_[idx(a)] < order_[idx(b)];
    }

  private:
    CutPoints cut_points_;
    std::vector<std::int32_t> offered_;
    std::vector<std::int32_t> order_;  // per mutation, where it is not that of the ids
    std::vector<std::uint8_t> degree_; // per node, counted up to 2
};

} // namespace gdlnn
