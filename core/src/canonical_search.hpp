// Canonical labeling of one connected simple graph by individualization and refinement (McKay,
// "Practical graph isomorphism", 1981; McKay and Piperno, "Practical graph isomorphism, II", 2014).
// It refines colors, individualizes one vertex after another, and prunes by traces and by the
// automorphisms found on the way. The result is the greatest leaf of the search tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "refinement.hpp"

namespace gdlnn::canonical {

// Which vertices can be swapped with everything else left in place; -1 for a vertex without such a
// twin.
std::vector<std::int32_t> twin_classes(const LinkGraph &graph);

// The search tree: each node is a path of individualized vertices with the partition that
// refinement makes of it, each leaf a numbering of the vertices.
//
// Owns the partition, the path, the first and the best leaf, and the automorphisms found.
class Search {
  public:
    explicit Search(const LinkGraph &graph)
        : graph_(graph), partition_(graph), twins_(twin_classes(graph)),
          depth_(graph.n(), kNoDepth), slot_(graph.n(), -1), code_(graph.n(), -1) {}

    // The vertices in canonical order.
    std::vector<std::int32_t> run();

  private:
    static constexpr std::int32_t kNoDepth = INT32_MAX;

    using Automorphism =
        std::vector<std::pair<std::int32_t, std::int32_t>>; // moved vertices and their images

    struct Frame {
        std::size_t mark = 0;
        int cell = 0;
        std::int32_t first = -1; // the child that was tried first
        std::vector<std::int32_t> candidates;
        std::vector<std::int32_t>
            parent; // union-find over candidates: orbits of what fixes the path
        std::vector<std::uint8_t> tried; // per root
        std::vector<std::int32_t> tried_twins;
        std::size_t next = 0;
        std::size_t automorphisms_seen = 0;
        bool on_first = false; // the traces so far are those of the first path
        int against_best = 0;  // sign of the comparison of the traces so far with the best path's
    };

    struct Leaf {
        std::vector<std::int32_t> path, order;
        std::vector<Trace> trace;
    };

    void push_frame(int from, bool on_first, int against_best);
    int next_candidate(Frame &frame);
    void merge_orbits(Frame &frame, std::size_t level);
    int visit(Frame &frame, int v);
    int leaf(bool on_first, int against_best);
    int divergence(const Leaf &other) const;
    bool record_if_automorphism(const Leaf &other);
    int compare_to_best();
    void row(const std::vector<std::int32_t> &order, const std::vector<std::int32_t> &position,
             int i, std::vector<Link> &out) const;
    void make_best();

    const LinkGraph &graph_;
    Partition partition_;
    std::vector<std::int32_t> twins_;
    std::vector<std::int32_t> depth_; // per vertex: its place on the path
    std::vector<std::int32_t> slot_, code_;
    std::vector<Frame> frames_;
    std::vector<std::int32_t> path_;
    std::vector<Trace> trace_;
    std::vector<Automorphism> automorphisms_;
    Leaf first_, best_;
    std::vector<std::int32_t> best_position_;
    std::vector<Link> row_, best_row_;
};

} // namespace gdlnn::canonical
