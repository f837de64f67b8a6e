// Descent: the state of mining one program. What is known of each graph (matched, conflicts, known
// matches) is kept through the whole descent, so that few questions need a search. See
// docs/mining.md for why this is exact.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "gdlnn/mine.hpp"
#include "gdlnn/pattern.hpp"
#include "gdlnn/search.hpp"

namespace gdlnn {

class Descent {
  public:
    Descent(const MiningData &data, const MineParams &params, const std::atomic<bool> *stop);
    MinedProgram mine(const MineTask &task);

  private:
    enum class State : std::uint8_t {
        open,    // the program fails, and conflicts say why
        matched, // the program matches, and so will every later one
        asleep,  // two nodes too small for the program
        limbo,   // the budget ran out on the program itself
    };

    // --- set-up and result
    void start(const MineTask &task);
    void first_tests();
    MinedProgram finish();
    void recount(MinedProgram &result);

    // --- greedy strategy (greedy.cpp)
    void greedy();
    void find_valid();
    void cut_points();
    bool pick(int &chosen);
    void refresh_bound(int k);
    bool better(int a, int b) const;
    // Which of two mutations comes first when all else is equal.
    bool first_of(int a, int b) const {
        if (!drops_only_)
            return a < b;
        const auto order_a = order_of_[static_cast<std::size_t>(a)],
                   order_b = order_of_[static_cast<std::size_t>(b)];
        return order_a != order_b ? order_a < order_b : a < b;
    }
    void test_open(int k, int rival);
    void test_pair(int i, int k);
    bool look_ahead(int i, int k);
    void prepare_lookahead();
    void apply(const std::vector<int> &ids);

    // --- sequential strategy (sequential.cpp)
    void sequential();
    void sequential_greedy();
    void start_counting();
    void find_valid_drops();
    struct Outcome {
        int positive = 0, negative = 0;
        std::vector<std::int32_t> fresh; // graphs that the mutation adds
    };
    // Counts what a set of mutations together would match; empty where its score stays under
    // `at_least`.
    std::optional<Outcome> evaluate(const std::vector<int> &ids, double at_least);
    bool edge_drop(int e, std::vector<int> &ids);
    bool stays_connected(const Variant &variant) const;

    // --- knowledge about graphs
    const EncodedGraph &graph(int i) const { return set_[(*order_)[static_cast<std::size_t>(i)]]; }
    bool positive(int i) const { return i < n_positive_; }
    Word *cand(int i) { return cand_.data() + static_cast<std::size_t>(i) * pw_; }
    Word *known(int i) { return known_.data() + static_cast<std::size_t>(i) * pw_; }
    Word *unknown(int i) { return unknown_.data() + static_cast<std::size_t>(i) * pw_; }
    Word *united(int i) { return united_.data() + static_cast<std::size_t>(i) * pw_; }
    Word *closure(int i, int c) {
        return closures_.data() +
               (static_cast<std::size_t>(i) * kMaxClosures + static_cast<std::size_t>(c)) * pw_;
    }
    Word *cand_of(int k) { return cand_t_.data() + static_cast<std::size_t>(k) * gw_; }
    Word *known_of(int k) { return known_t_.data() + static_cast<std::size_t>(k) * gw_; }
    void add_closure(int i, const Word *bits);
    void set_candidates(int i, const Word *bits);
    void add_known(int i, int k);
    void become_matched(int i);
    void drop_closures(int i, const Word *applied);
    void after_step(const Word *applied, bool lost_node);
    void retry_limbo(int i);
    Answer search(int i, const Variant &variant, std::int64_t budget);
    const Word *off() const { return current_.off(); }
    double score_of(int positive, int all) const { return positive / (all + params_.epsilon); }
    bool stopped() const { return stop_ && stop_->load(std::memory_order_relaxed); }

    static constexpr int kMaxClosures = 16;

    const MiningData &data_;
    const GraphSet &set_;
    const MineParams params_;
    const std::atomic<bool> *stop_;
    Searcher searcher_;
    std::vector<std::uint32_t> root_bias_;

    // the target and its program
    const MineTask *task_ = nullptr;
    std::vector<double> node_lower_, node_upper_, edge_lower_, edge_upper_;
    std::vector<std::int64_t> ends_, edge_numbers_;
    std::optional<Pattern> pattern_;
    Variant current_;                          // what the mutations have left of the pattern
    Variant trial_;                            // and what is being tried
    std::vector<Word> domains_, domain_valid_; // candidates by sides, per graph and variable
    std::vector<std::size_t> domain_start_;
    std::size_t vw_ = 1;
    std::vector<std::uint8_t> node_cleared_,
        edge_cleared_; // all intervals opened at once (sequential)
    int n_alive_ = 0;
    int n_mutations_ = 0;
    int positive_count_ = 0, negative_count_ = 0;
    double score_ = 0;

    // the graphs, those of the target's label first
    const std::vector<std::int32_t> *order_ = nullptr;
    int n_graphs_ = 0, n_positive_ = 0;
    std::size_t pw_ = 1, gw_ = 1;
    std::vector<State> state_;
    std::vector<std::uint8_t> n_closures_, evicted_;
    std::vector<Word> closures_, united_, cand_, known_, unknown_;
    std::vector<Word> cand_t_, known_t_;
    std::vector<Word> bits_, reached_; // scratch, one set of ids each

    // the mutations
    std::vector<std::int32_t> known_pos_, known_neg_, open_pos_, open_neg_;
    std::vector<double> bound_;
    std::vector<std::uint8_t> stale_;
    std::vector<std::int32_t> valid_;
    std::vector<std::uint64_t> priority_;

    // lookahead: what is relaxed at each level, and how many each graph has been found to bear
    static constexpr int kLevels = 14;
    static constexpr std::int32_t kUnlimited = 1 << 20;
    std::vector<Variant> relaxed_;
    std::array<std::int32_t, kLevels> level_size_{};
    std::vector<std::int32_t> ranking_;
    std::vector<Word> lasting_; // mutations that cannot be applied next
    std::vector<std::int32_t> look_limit_;
    int n_look_levels_ = 0;
    std::int64_t failed_searches_ = 0, failed_steps_ = 0;

    // Whether the counts of mutations are kept: the sequential strategy does without until its last
    // part.
    bool counting_ = true;
    // Sequential: mutations are edge drops and openings, in this order at ties.
    bool drops_only_ = false;
    std::vector<std::int32_t> order_of_;

    // cut vertices and bridges
    std::vector<std::uint8_t> is_cut_, is_bridge_;
    std::vector<std::int32_t> depth_, low_, stack_, stack_pos_, parent_edge_;

    MineStats stats_;
};

} // namespace gdlnn
