// The miner on small random sets: it ends, keeps its target, and its supports and scores can be
// counted again.
#include <algorithm>

#include "cases.hpp"
#include "gdlnn/mine.hpp"

namespace gdlnn::tests {
namespace {

Kind small_kind(Rng &rng) {
    Kind kind;
    kind.n_graphs = rng.between(3, 9);
    kind.min_nodes = 1;
    kind.max_nodes = 6;
    kind.node_values = rng.chance(0.2) ? 0 : rng.between(1, 3);
    kind.edge_values = rng.chance(0.2) ? 0 : rng.between(1, 3);
    return kind;
}

// The nodes of a graph by connected component, or all of them together.
std::vector<std::vector<std::int32_t>> parts(const Graphs &graphs, int g, bool connected) {
    const int n = graphs.n(g);
    std::vector<int> part(idx(n), 0);
    for (int v = 0; v < n && connected; ++v)
        part[idx(v)] = v;
    for (bool changed = true; changed;) {
        changed = false;
        for (int e = 0; e < graphs.m(g); ++e) {
            auto &a = part[idx(graphs.end(g, e, 0))], &b = part[idx(graphs.end(g, e, 1))];
            changed = changed || a != b;
            a = b = std::min(a, b);
        }
    }
    std::vector<std::vector<std::int32_t>> result;
    for (int p = 0; p < n; ++p) {
        std::vector<std::int32_t> nodes;
        for (int v = 0; v < n; ++v)
            if (part[idx(v)] == p)
                nodes.push_back(v);
        if (!nodes.empty())
            result.push_back(std::move(nodes));
    }
    return result;
}

Program as_program(const Graphs &graphs, int g, const MinedProgram &mined) {
    Program program;
    program.n = static_cast<int>(mined.nodes.size());
    program.m = static_cast<int>(mined.edges.size());
    program.node_lower = mined.node_lower;
    program.node_upper = mined.node_upper;
    program.edge_lower = mined.edge_lower;
    program.edge_upper = mined.edge_upper;
    for (const auto e : mined.edges) {
        for (int side = 0; side < 2; ++side) {
            const auto end = graphs.end(g, static_cast<int>(e), side);
            const auto at = std::find(mined.nodes.begin(), mined.nodes.end(), end);
            check(at != mined.nodes.end(), "an edge of a mined program has lost its end");
            program.edges.push_back(at - mined.nodes.begin());
        }
    }
    return program;
}

void check_mined(const Graphs &graphs, const MiningData &data, const MineParams &params,
                 const MineTask &task, const MinedProgram &mined) {
    check(!mined.stopped && mined.unresolved == 0, "a descent did not end");
    check(!mined.nodes.empty(), "a program without a node");
    const Program program = as_program(graphs, task.graph, mined);
    int matched = 0, of_label = 0;
    for (int g = 0; g < graphs.size(); ++g) {
        const bool truth = BruteForce(graphs, g).matches(program);
        check(truth == (mined.support[idx(g)] != 0), "a support is wrong");
        matched += truth;
        of_label += truth && data.label(g) == data.label(task.graph);
    }
    check(mined.support[idx(task.graph)] != 0, "a program does not match its target");
    check(matched == mined.matched && of_label == mined.matched_of_label, "counts of a support");
    check(mined.score == of_label / (matched + params.epsilon), "a score is wrong");
}

bool same(const MinedProgram &a, const MinedProgram &b) {
    return a.nodes == b.nodes && a.edges == b.edges && a.node_lower == b.node_lower &&
           a.node_upper == b.node_upper && a.edge_lower == b.edge_lower &&
           a.edge_upper == b.edge_upper && a.support == b.support && a.score == b.score;
}

MineParams random_params(Rng &rng) {
    const double epsilons[] = {0.01, 0.1, 1.0};
    MineParams params;
    params.epsilon = epsilons[rng.below(3)];
    params.strategy = rng.chance(0.3) ? Strategy::sequential : Strategy::greedy;
    params.connected = rng.chance(0.7);
    params.lookahead = rng.chance(0.7);
    return params;
}

void mining_case(std::uint64_t seed) {
    Rng rng(seed ^ 0x6d696e65ULL);
    Graphs graphs = random_graphs(rng, small_kind(rng));
    const GraphSet set(graphs.arrays());
    const int n_labels = rng.between(1, 3);
    std::vector<std::int32_t> labels;
    for (int g = 0; g < graphs.size(); ++g)
        labels.push_back(rng.below(n_labels));
    const MiningData data(set, labels, n_labels);
    const MineParams params = random_params(rng);
    std::vector<MineTask> tasks;
    for (int g = 0; g < graphs.size(); ++g)
        for (auto &nodes : parts(graphs, g, params.connected))
            tasks.push_back({g, std::move(nodes)});

    Miner miner(data, params, nullptr);
    std::vector<MinedProgram> mined;
    for (const MineTask &task : tasks) {
        mined.push_back(miner.mine(task));
        check_mined(graphs, data, params, task, mined.back());
    }
    MiningJob job(data, params, tasks, 2);
    std::size_t n_polled = 0;
    while (job.running()) {
        for (const MinedProgram &result : job.poll(0.05)) {
            check(same(result, mined[idx(result.task)]), "threads change a program");
            ++n_polled;
        }
    }
    check(n_polled == tasks.size(), "a job lost a task");
}

} // namespace

void run_mining_tests(Tally &tally, std::uint64_t first, int n_cases) {
    tally.run("mining", first, n_cases, mining_case);
}

} // namespace gdlnn::tests
