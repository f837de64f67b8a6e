// Shrink: reduces a graph to a subgraph that some programs still match. Nodes are removed one at a
// time, in a given order, while every program that matched still matches. This is deletion
// filtering, as Chinneck and Dravnieks (1991) find minimal infeasible sets of constraints.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "gdlnn/graph_set.hpp"
#include "gdlnn/pattern.hpp"
#include "gdlnn/search.hpp"

namespace gdlnn {

struct ShrinkParams {
    std::int64_t step_budget = kNoBudget; // per search
    int n_threads = 1;
    std::atomic<bool> *stop = nullptr; // raised from outside, or by a failure on one thread
};

// One graph: the programs to keep, and every node once, in the order in which it is tried.
struct ShrinkTask {
    int graph = 0;
    std::vector<int> programs;
    std::vector<std::int32_t> order;
};

struct ShrinkResult {
    std::vector<std::uint8_t> kept; // per node; none where no program matched
    // Per program of the task: a witness inside what is kept, empty where the program does not
    // match.
    std::vector<std::vector<std::int32_t>> witnesses;
    std::vector<std::uint8_t> matched; // per program of the task
    // False where a search ran out of budget: the program counts as not matching, so that a node
    // too many may be kept.
    bool complete = true;
};

std::vector<ShrinkResult> shrink(const GraphSet &set, const std::vector<ProgramArrays> &programs,
                                 const std::vector<ShrinkTask> &tasks, const ShrinkParams &params);

} // namespace gdlnn
