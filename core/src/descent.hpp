// Descent: mining one program. From the program that describes its target exactly, mutations are
// applied one after another.
//
// Owns the program, its current state after the mutations so far, and the knowledge about every
// graph. A strategy (greedy.hpp, sequential.hpp) decides which mutations to test and to apply; this
// class tests and applies them.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gdlnn/mine.hpp"
#include "gdlnn/pattern.hpp"
#include "gdlnn/search.hpp"
#include "knowledge.hpp"
#include "target_program.hpp"

namespace gdlnn {

// Candidates by the sides of each variable, for every graph: they change with few mutations, and
// each graph is searched many times.
//
// Owns the masks, and which of them are up to date.
class DomainCaches {
  public:
    template <class WordsOf> void reset(int n_graphs, int n_variables, WordsOf &&words_of) {
        start_.resize(idx(n_graphs));
        std::size_t size = 0;
        for (int i = 0; i < n_graphs; ++i) {
            start_[idx(i)] = size;
            size += idx(words_of(i)) * idx(n_variables);
        }
        grow(domains_, size);
        valid_.clear(idx(n_graphs), n_variables > 0 ? words_for(n_variables) : 1);
    }
    DomainCache of(int i) { return {domains_.data() + start_[idx(i)], valid_.row(i)}; }
    // The sides of a variable have changed.
    void invalidate(int x) {
        for (std::size_t i = 0; i < start_.size(); ++i)
            clear_bit(valid_.row(static_cast<std::int64_t>(i)), x);
    }

  private:
    std::vector<std::size_t> start_; // per graph
    std::vector<Word> domains_;
    BitRows valid_; // per graph: variables
};

class Descent {
  public:
    Descent(const MiningData &data, const MineParams &params, const std::atomic<bool> *stop);

    // Begins with the whole target, and asks on which graphs it matches.
    void start(const MineTask &task);
    // Searches for a variant of the program in graph i; after `no`, conflict() says why.
    Answer search(int i, const Variant &variant, std::int64_t budget);
    const Word *conflict() const { return searcher_.conflict(); }
    // The same with the usual budget, counted as a test.
    Answer test(int i, const Variant &variant);
    // Counts a test that needed no search of its own.
    void count_test() { ++stats_.tests; }
    // Applies mutations together and brings the knowledge of all graphs up to date.
    void apply(std::span<const int> mutations);
    // The program as it is now. Graphs that are undecided are asked once more.
    MinedProgram finish();

    const MineParams &params() const { return params_; }
    const MineTask &task() const { return *task_; }
    const Pattern &pattern() const { return *pattern_; }
    const Variant &current() const { return current_; }
    const EncodedGraph &graph(int i) const { return set_[(*order_)[idx(i)]]; }
    Knowledge &knowledge() { return knowledge_; }
    const Knowledge &knowledge() const { return knowledge_; }
    TargetProgram &target() { return target_; }
    Searcher &searcher() { return searcher_; }
    double score() const { return score_; }
    double score_of(int positive, int all) const { return positive / (all + params_.epsilon); }
    // Steps that failed searches took on average.
    std::int64_t mean_failed_steps() const {
        return failed_searches_ ? failed_steps_ / failed_searches_ : 0;
    }
    bool stopped() const { return stop_ && stop_->load(std::memory_order_relaxed); }

  private:
    void test_all();
    void update_knowledge(const Word *applied, bool lost_node);
    void open_too_small(int i);
    void retry_undecided(int i);
    void refresh_score();
    void recount(MinedProgram &result);

    const MiningData &data_;
    const GraphSet &set_;
    const MineParams params_;
    const std::atomic<bool> *stop_;
    Searcher searcher_;
    std::vector<std::uint32_t> wipeouts_; // of all searches of the descent, for the searcher
    DomainCaches caches_;

    const MineTask *task_ = nullptr;
    TargetProgram target_;
    std::optional<Pattern> pattern_;
    Variant current_; // what the mutations have left of the pattern
    const std::vector<std::int32_t> *order_ = nullptr; // graphs, those of the target's label first
    Knowledge knowledge_;
    double score_ = 0;
    int n_mutations_ = 0;
    std::int64_t failed_searches_ = 0, failed_steps_ = 0;
    MineStats stats_;
    std::vector<Word> applied_;      // mutations
    std::vector<Word> all_removals_; // the mutations that remove any one node
};

} // namespace gdlnn
