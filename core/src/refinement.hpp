// Color refinement: LinkGraph, the simple graph that is refined, Partition, its vertices in cells,
// and the trace by which refinements are compared.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace gdlnn::canonical {

struct Link {
    std::int32_t vertex;
    std::int32_t code; // the kind of the link as seen from the owner of the list
    friend auto operator<=>(const Link &, const Link &) = default;
};

// Simple graph with colored vertices and links; lists are sorted by vertex.
struct LinkGraph {
    std::vector<std::int32_t> color;
    std::vector<std::int32_t> start; // n + 1
    std::vector<Link> links;

    int n() const { return static_cast<int>(color.size()); }
    std::span<const Link> of(int v) const {
        return {links.data() + start[v], links.data() + start[v + 1]};
    }
};

// What a refinement did, step by step, in a form that does not depend on how vertices are numbered.
using Trace = std::vector<std::uint64_t>;

// Records the trace of a refinement. Meanwhile it compares the trace with those of the first and of
// the best path at the same level, so that a hopeless refinement can end early: pruning by traces
// after McKay and Piperno (2014). Without such paths it only records.
class TraceComparison {
  public:
    TraceComparison() = default;
    TraceComparison(const Trace *first, const Trace *best, int against_best)
        : first_(first), best_(best), against_best_(against_best) {}

    bool on_first() const { return first_ != nullptr; }
    int against_best() const { return against_best_; }
    // Adds the next step of the trace. Whether it is worth going on.
    bool add(std::uint64_t step);
    Trace &trace() { return trace_; }

  private:
    const Trace *first_ = nullptr; // null as soon as the traces differ
    const Trace *best_ = nullptr;  // null where there is no best path yet
    int against_best_ = 0;
    Trace trace_;
};

// An ordered partition of the vertices into cells, with splits that can be taken back in reverse
// order. A cell is a range of one array of all vertices.
//
// Owns that array, the cells, the queue of cells to refine by, and the splits so far. Refinement
// counts links into one cell after another, and spares the largest fragment of a cell that was
// counted before (Hopcroft 1971, for graphs Cardon and Crochemore 1982). The counts of a vertex are
// a sum of hashes: a clash costs time, never the right answer.
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
    // Splits until every vertex of a cell has the same links into every cell, or the comparison
    // says that it is not worth going on. Whether it came to the end.
    bool refine(TraceComparison &comparison);
    // Makes v a cell of its own, then refines.
    bool individualize(int v, TraceComparison &comparison);

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

} // namespace gdlnn::canonical
