// Domains: which nodes each variable can still take while a search places one after another.
//
// Owns the candidates of every variable, before anything is placed and as narrowed by the placed
// neighbors, and which variable has which node. Also owns the frontier (unplaced variables next to
// placed ones), and the trail by which placements are undone in reverse order.
//
// Placing a node is forward checking (Haralick and Elliott, "Increasing tree search efficiency for
// constraint satisfaction problems", 1980): the candidates of unplaced neighbors are narrowed at
// once, and a value that leaves one of them without any is refused.
#pragma once

#include <cstdint>
#include <vector>

#include "gdlnn/search.hpp"
#include "search_problem.hpp"

namespace gdlnn {

class Domains {
  public:
    explicit Domains(const GraphSet &set) { problem_.set = &set; }

    // Takes on a pattern, with nothing placed; buffers grow to fit.
    void bind(const Pattern &pattern);
    // Sets up the candidates for a search, with nothing placed. False where the search must fail: a
    // variable has no candidate, or there are more variables than nodes.
    template <int W>
    bool prepare(const EncodedGraph &graph, const Variant &variant, DomainCache cache);
    // After prepare() gave false: a variable without candidates, or -1 for too many variables.
    int empty_variable() const { return empty_variable_; }

    // Gives node v to variable x as the placement number `level`, and narrows the neighbors. Where
    // one of them would be left without candidates, nothing changes and the number of the incidence
    // that leads to it is returned; else -1.
    template <int W> int place(int level, int x, int v);
    // Takes back the last placement, that of x.
    template <int W> void undo(int level, int x);
    // The variable to place next: smallest domain first, on the frontier as long as there is one.
    // `wipeouts` (one count per variable, or null) makes variables that were left without
    // candidates often more likely to begin with.
    template <int W> int choose(const std::vector<std::uint32_t> *wipeouts) const;

    const SearchProblem &problem() const { return problem_; }
    int n_variables() const { return n_variables_; }
    int words() const { return words_; }         // per set of nodes
    int var_words() const { return var_words_; } // per set of variables

    // The candidates of x, without regard to nodes that others hold.
    template <int W> const Word *candidates(int x) const {
        return (n_placed_links_[idx(x)] ? narrowed_ : initial_).row<W>(x);
    }
    bool has_placed_neighbor(int x) const { return n_placed_links_[idx(x)] > 0; }
    const Word *held() const { return held_.data(); } // the nodes that some variable holds
    int holder(int v) const { return holder_[idx(v)]; }
    bool placed(int x) const { return image_[idx(x)] >= 0; }
    int image(int x) const { return image_[idx(x)]; }
    int level_of(int x) const { return level_of_[idx(x)]; }
    const std::vector<std::int32_t> &images() const { return image_; } // -1: not placed
    const Word *frontier() const { return frontier_.data(); }
    const Word *unplaced() const { return unplaced_.data(); }

  private:
    void forget_placements();
    template <int W> void initial_domain(int x, DomainCache cache);
    template <int W> void require_degree(const Adjacency &a, int degree, Word *domain) const;
    template <int W> bool apply_loops();

    SearchProblem problem_;
    int words_ = 1;
    int var_words_ = 1;
    int n_variables_ = 0;
    int n_placed_ = 0;
    int empty_variable_ = -1;

    BitRows initial_;  // per variable: by its intervals, degree and loops
    BitRows narrowed_; // per variable with placed neighbors: by those as well
    std::vector<std::int32_t> n_placed_links_; // per variable: edges to placed neighbors
    std::vector<Word> held_;
    std::vector<std::int32_t> holder_, image_, level_of_;
    std::vector<Word> frontier_, unplaced_;
    // What placements replaced: a mask of a variable, or ~variable where there was none before.
    BitRows trail_mask_;
    std::vector<std::int32_t> trail_var_, trail_start_;
    // The narrowed neighbors of a placement that is not yet certain.
    BitRows pending_;
    std::vector<std::int32_t> pending_var_;
    std::vector<Word> looped_; // nodes with a loop that a pattern's loop admits
};

} // namespace gdlnn
