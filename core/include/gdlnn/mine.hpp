// Mining: from one target graph, generalize the whole graph step by step while the score does not
// fall.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "gdlnn/graph_set.hpp"
#include "gdlnn/pattern.hpp"

namespace gdlnn {

enum class Strategy : std::uint8_t { greedy, sequential };

struct MineParams {
    double epsilon = 0.1;
    Strategy strategy = Strategy::greedy;
    bool connected = true;
    std::int64_t step_budget = 20'000;     // per search while mining
    std::int64_t final_budget = 2'000'000; // per search when the final program is recounted
    int greedy_below = 1000; // sequential: the greedy loop at the end runs below this many graphs
    bool lookahead = true;
    // Whether conditions on nominal features name a value, and bounds that exclude no graph are
    // left out of the result. Without it every feature is ordered, as in the paper.
    bool values = false;
    NominalFeatures nominal;
};

// One descent, from some nodes of one graph: a connected component, or all.
struct MineTask {
    int graph = 0;
    std::vector<std::int32_t> nodes; // sorted
};

struct MineStats {
    std::int64_t tests =
        0; // (mutation, graph) questions and first questions that were searched for
    std::int64_t searches = 0; // searches run, lookahead included
    std::int64_t steps = 0;    // nodes placed, over all searches
    double seconds = 0;        // processor time of the thread
    std::int64_t unknown = 0;  // searches that ran out of budget, lookahead aside
};

// The mined program in terms of its target: which nodes and edges are left, with their bounds.
struct MinedProgram {
    int task = 0;
    std::vector<std::int64_t> nodes, edges; // numbers within the target graph
    std::vector<double> node_lower, node_upper, edge_lower, edge_upper;
    std::vector<std::uint8_t> support; // per graph: 1 where the program matches
    int matched = 0, matched_of_label = 0;
    int n_mutations = 0;
    int unresolved = 0; // graphs on which the final program stayed unknown
    double score = 0;
    bool stopped = false; // the stop flag ended the descent early: not a result
    MineStats stats;
};

// Labeled graphs, ready to mine from. Keeps references: the graph set must outlive it.
class MiningData {
  public:
    MiningData(const GraphSet &set, std::vector<std::int32_t> labels, int n_labels);
    const GraphSet &set() const { return set_; }
    int label(int graph) const { return labels_[idx(graph)]; }
    // Graphs of a label first, then the others, each in their own order.
    const std::vector<std::int32_t> &order(int label) const { return orders_[idx(label)]; }
    int n_positive(int label) const { return n_positive_[idx(label)]; }

  private:
    const GraphSet &set_;
    std::vector<std::int32_t> labels_;
    std::vector<std::vector<std::int32_t>> orders_;
    std::vector<int> n_positive_;
};

class Descent;
class Greedy;
class Sequential;

// Mines one task after another, reusing its buffers. One per thread.
class Miner {
  public:
    Miner(const MiningData &data, const MineParams &params, const std::atomic<bool> *stop);
    ~Miner();
    MinedProgram mine(const MineTask &task);

  private:
    Strategy strategy_;
    std::unique_ptr<Descent> descent_;
    std::unique_ptr<Greedy> greedy_;
    std::unique_ptr<Sequential> sequential_;
};

// Mines tasks on its own threads; results are returned as tasks finish.
class MiningJob {
  public:
    MiningJob(const MiningData &data, const MineParams &params, std::vector<MineTask> tasks,
              int n_threads);
    ~MiningJob();
    // Waits up to `seconds` for results and returns those there are. A failure of the job is thrown
    // once.
    std::vector<MinedProgram> poll(double seconds);
    // Whether poll has more to say.
    bool running() const;
    void stop();

  private:
    void run(int n_threads);

    const MiningData &data_;
    MineParams params_;
    std::vector<MineTask> tasks_;
    std::atomic<bool> stop_{false};
    mutable std::mutex mutex_; // guards what follows
    std::condition_variable changed_;
    std::vector<MinedProgram> finished_;
    std::exception_ptr failure_;
    bool ended_ = false;
    std::thread thread_; // last: it uses all of the above
};

} // namespace gdlnn
