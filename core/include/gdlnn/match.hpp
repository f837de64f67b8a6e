// Batches of match questions over programs × graphs, and single questions with witnesses, counts
// and conflicts.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "gdlnn/graph_set.hpp"
#include "gdlnn/pattern.hpp"
#include "gdlnn/search.hpp"

namespace gdlnn {

enum class Activation : std::uint8_t { exists, count, count_subgraphs };

struct MatchParams {
    Activation activation = Activation::exists;
    std::int64_t step_budget = kNoBudget; // per pair
    int n_threads = 1;
    std::atomic<bool> *stop = nullptr; // raised from outside, or by a failure on one thread
};

// values[graph × n_programs + program]: 0/1, or the count; unknown[...] is 1 where the budget ran
// out first (the value is then 0, or the count so far).
void match_batch(const GraphSet &set, const std::vector<ProgramArrays> &programs,
                 const MatchParams &params, std::int64_t *values, std::uint8_t *unknown);

// The same for plain existence: one byte per pair, 0 no, 1 yes, 2 unknown.
void match_exists(const GraphSet &set, const std::vector<ProgramArrays> &programs,
                  const MatchParams &params, std::uint8_t *answers);

// Number of distinct subgraphs (image nodes and image edges) over all witnesses.
Answer count_subgraphs(Searcher &searcher, const Pattern &pattern, const EncodedGraph &graph,
                       std::int64_t budget, std::int64_t &found);

} // namespace gdlnn
