// The paper's search: at every step the best one-step generalization. Bounds decide which questions
// must be asked, and a lookahead answers several of them at once.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "descent.hpp"
#include "mutations.hpp"

namespace gdlnn {

// Lookahead: refutes a mutation together with others that may be applied before long. Such a
// conflict contains none of them, and so outlives them all.
//
// Owns what is relaxed at each level, and how much each graph has been found to bear.
class Lookahead {
  public:
    explicit Lookahead(Descent &descent) : descent_(descent) {}

    void start();
    // Forgets what is relaxed: the program has changed.
    void invalidate() { n_levels_ = -1; }
    bool ready() const { return n_levels_ >= 0; }
    // Sets what is relaxed, given the mutations that may still be applied at this step.
    void prepare(std::vector<std::int32_t> applicable);
    // Tries to refute mutation k on graph i together with others; true where that settles it.
    bool refute(int i, int k);

  private:
    // Level 0 relaxes everything that may be applied, each further level this part of the last one.
    static constexpr double kLevelRatio = 0.7;
    static constexpr int kLevels = 14;
    static constexpr std::int32_t kUnlimited = 1 << 20;

    bool refute_trial(int i);

    Descent &descent_;
    int n_levels_ = -1;
    std::array<Variant, kLevels> relaxed_;
    std::array<std::int32_t, kLevels> level_size_{}; // mutations relaxed
    std::vector<std::int32_t> limit_; // per graph: how many relaxed mutations it may still refute
    std::vector<Word> permanent_;     // mutations that cannot be applied next
    std::vector<Word> open_;          // mutations open on one graph
    Variant trial_;
};

// Greedy: finds and applies the best mutation until every one lowers the score.
//
// The mutation with the highest bound is tested until another has a higher one. This is lazy
// evaluation as in Minoux, "Accelerated greedy algorithms for maximizing submodular set functions"
// (1978), with bounds from the knowledge about the graphs in place of submodularity.
//
// Owns the bound of every mutation and the order of ties.
class Greedy {
  public:
    enum class Offer : std::uint8_t { all, drops };

    explicit Greedy(Descent &descent) : descent_(descent), lookahead_(descent) {}

    // Runs to the end of the descent; which mutations are offered is the only difference between
    // the paper's search and the last part of the sequential one.
    void run(Offer offer);

  private:
    void start();
    int pick();
    void refresh_bound(int k);
    // Positive graphs that the program with mutation k may yet match, besides those that it does.
    int possible_positive(int k) const {
        const Knowledge &known = descent_.knowledge();
        return known.known_matches().n_in_first(k) + known.open_questions().n_in_first(k);
    }
    bool better(int a, int b) const {
        const double bound_a = bound_[idx(a)], bound_b = bound_[idx(b)];
        return bound_a != bound_b ? bound_a > bound_b : wins_tie(a, b);
    }
    bool wins_tie(int a, int b) const;
    void test_open(int k, int rival);
    void test_pair(int i, int k);
    void prepare_lookahead();

    Descent &descent_;
    Lookahead lookahead_;
    MutationOffer offer_;
    std::vector<double> bound_; // per mutation: the best score it can turn out to have
    Variant trial_;
};

} // namespace gdlnn
