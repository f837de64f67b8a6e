// Canonical labelling of one connected simple graph: colour refinement, individualisation of one
// vertex after another, and pruning by traces and by the automorphisms found on the way. The result
// is the greatest leaf of the search tree.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace gdlnn::canonical {

struct Link {
    std::int32_t vertex;
    std::int32_t code; // the kind of the link as seen from the owner of the list
    friend auto operator<=>(const Link &, const Link &) = default;
};

// Simple graph with coloured vertices and links; lists are sorted by vertex.
struct LinkGraph {
    std::vector<std::int32_t> colour;
    std::vector<std::int32_t> start; // n + 1
    std::vector<Link> links;

    int n() const { return static_cast<int>(colour.size()); }
    std::span<const Link> of(int v) const {
        return {links.data() + start[v], links.data() + start[v + 1]};
    }
};

// Well-mixed bits of a number: sums of these stand for multisets. A clash costs time, never the
// right answer.
inline std::uint64_t mixed(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

// What a refinement did, step by step, in a form that does not depend on how vertices are numbered.
using Trace = std::vector<std::uint64_t>;

// Compares a refinement with those at the same level of the first and of the best path while it
// goes on, so that a hopeless one can end early. Without such paths it only keeps the trace.
class Judge {
  public:
    Judge() = default;
    Judge(const Trace *first, const Trace *best, int against_best)
        : first_(first), best_(best), against_best_(against_best) {}

    bool on_first() const { return first_ != nullptr; }
    int against_best() const { return against_best_; }
    // Takes the next step of the trace. Whether it is worth going on.
    bool see(std::uint64_t step);
    Trace &trace() { return trace_; }

  private:
    const Trace *first_ = nullptr; // null as soon as the traces differ
    const Trace *best_ = nullptr;  // null where there is no best path yet
    int against_best_ = 0;
    Trace trace_;
};

// An ordered partition of the vertices into cells, with splits that can be taken back in reverse
// order.
class Partition {
  public:
    explicit Partition(const LinkGraph &graph);

    bool discrete() const { return n_cells_ == graph_.n(); }
    const std::vector<std::int32_t> &order() const { return element_; }
    int position(int v) const { return position_[v]; }
    // The first cell with more than one vertex, at or after `from`.
    int first_open_cell(int from) const;
    std::span<const std::int32_t> cell(int start) const {
        return {element_.data() + start, static_cast<std::size_t>(length_[start])};
    }
    std::size_t mark() const { return splits_.size(); }
    void undo(std::size_t mark);
    // Splits until every vertex of a cell has the same links into every cell, or the judge has seen
    // enough. Whether it came to the end.
    bool refine(Judge &judge);
    // Makes v a cell of its own, then refines.
    bool individualise(int v, Judge &judge);

  private:
    void split(int start, int at);
    void enqueue(int start);
    void split_by(int splitter);
    void split_cell(std::span<const std::int32_t> touched);
    void place(int v, int position);

    const LinkGraph &graph_;
    int n_cells_ = 0;
    std::vector<std::int32_t> element_, position_;
    std::vector<std::int32_t> cell_;                            // per vertex: where its cell starts
    std::vector<std::int32_t> length_;                          // per start of a cell
    std::vector<std::pair<std::int32_t, std::int32_t>> splits_; // (old cell, new cell)
    std::vector<std::int32_t> queue_, members_, touched_, fragments_;
    std::vector<std::uint8_t> queued_;
    std::vector<std::uint64_t> key_;
    std::uint64_t trace_ = 0;
};

// Which vertices can be swapped with everything else left in place; -1 for a vertex without such a
// twin.
std::vector<std::int32_t> twin_classes(const LinkGraph &graph);

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
