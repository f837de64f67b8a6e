// Shrinking against the obvious way over all witnesses: everything that matched still matches what
// is left, and no node of it can go.
#include <algorithm>
#include <numeric>

#include "cases.hpp"
#include "gdlnn/shrink.hpp"

namespace gdlnn::tests {
namespace {

using Mask = std::vector<std::uint8_t>;

bool stands(const std::vector<Image> &witnesses, const Mask &left) {
    return std::any_of(witnesses.begin(), witnesses.end(), [&](const Image &image) {
        return std::all_of(image.begin(), image.end(),
                           [&](std::int32_t v) { return left[idx(v)] != 0; });
    });
}

bool all_stand(const std::vector<std::vector<Image>> &held, const Mask &left) {
    return std::all_of(held.begin(), held.end(),
                       [&](const auto &witnesses) { return stands(witnesses, left); });
}

Mask obvious(const std::vector<std::vector<Image>> &held, const std::vector<std::int32_t> &order) {
    Mask left(order.size(), !held.empty());
    for (const auto v : order) {
        left[idx(v)] = 0;
        if (!all_stand(held, left))
            left[idx(v)] = 1;
    }
    return left;
}

// One graph and the programs it is asked about, with all their witnesses by trying everything.
struct Asked {
    ShrinkTask task;
    std::vector<std::vector<Image>> witnesses;
};

Asked random_question(Rng &rng, const Graphs &graphs, const std::vector<Program> &programs, int g) {
    Asked asked;
    asked.task.graph = g;
    asked.task.order.resize(idx(graphs.n(g)));
    std::iota(asked.task.order.begin(), asked.task.order.end(), 0);
    for (int i = graphs.n(g) - 1; i > 0; --i)
        std::swap(asked.task.order[idx(i)], asked.task.order[idx(rng.below(i + 1))]);
    for (int p = 0; p < static_cast<int>(programs.size()); ++p) {
        if (rng.chance(0.2))
            continue;
        auto found = BruteForce(graphs, g).witnesses(programs[idx(p)]);
        if (found.size() >= kMostWitnesses)
            continue; // not all of them are known
        asked.task.programs.push_back(p);
        asked.witnesses.push_back(std::move(found));
    }
    return asked;
}

void check_result(const Asked &asked, const ShrinkResult &result, bool exact) {
    std::vector<std::vector<Image>> held;
    for (std::size_t i = 0; i < asked.witnesses.size(); ++i) {
        const auto &known = asked.witnesses[i];
        check(exact ? result.matched[i] == !known.empty() : !result.matched[i] || !known.empty(),
              "a program is held that does not match, or the other way round");
        if (!result.matched[i]) {
            check(result.witnesses[i].empty(), "a witness of what does not match");
            continue;
        }
        held.push_back(known);
        check(std::find(known.begin(), known.end(), result.witnesses[i]) != known.end(),
              "the witness is none");
        check(stands({result.witnesses[i]}, result.kept), "a witness stands on what is gone");
    }
    check(result.kept.size() == asked.task.order.size(), "a mark for every node");
    check(all_stand(held, result.kept), "a program was lost");
    check(!exact || result.complete, "a search without a budget ran out");
    if (!result.complete)
        return; // a node too many may be left
    for (std::size_t v = 0; v < result.kept.size(); ++v) {
        Mask less = result.kept;
        less[v] = 0;
        check(!result.kept[v] || !all_stand(held, less), "a node could go");
    }
    check(result.kept == obvious(held, asked.task.order), "another order than the given one");
}

bool same(const ShrinkResult &a, const ShrinkResult &b) {
    return a.kept == b.kept && a.witnesses == b.witnesses && a.matched == b.matched &&
           a.complete == b.complete;
}

void shrink_case(std::uint64_t seed) {
    Rng rng(seed ^ 0x736872696eULL);
    const Kind kind = random_kind(rng);
    Graphs graphs = random_graphs(rng, kind);
    const GraphSet set(graphs.arrays());
    std::vector<Program> programs;
    for (int i = rng.between(1, 4); i > 0; --i) {
        const int g = rng.below(graphs.size());
        programs.push_back(rng.chance(0.7) ? planted_program(rng, graphs, g, kind.max_variables)
                                           : random_program(rng, graphs, kind.max_variables));
    }
    std::vector<ProgramArrays> arrays;
    for (const Program &program : programs)
        arrays.push_back(program.arrays());
    std::vector<Asked> asked;
    std::vector<ShrinkTask> tasks;
    for (int g = 0; g < graphs.size(); ++g) {
        asked.push_back(random_question(rng, graphs, programs, g));
        tasks.push_back(asked.back().task);
    }

    ShrinkParams params;
    const auto results = shrink(set, arrays, tasks, params);
    for (std::size_t i = 0; i < tasks.size(); ++i)
        check_result(asked[i], results[i], true);
    params.n_threads = 2;
    const auto threaded = shrink(set, arrays, tasks, params);
    check(std::equal(results.begin(), results.end(), threaded.begin(), threaded.end(), same),
          "threads change a result");
    params.step_budget = rng.between(1, 12);
    const auto hasty = shrink(set, arrays, tasks, params);
    for (std::size_t i = 0; i < tasks.size(); ++i)
        check_result(asked[i], hasty[i], false);
}

} // namespace

void run_shrink_tests(Tally &tally, std::uint64_t first, int n_cases) {
    tally.run("shrinking", first, n_cases, shrink_case);
}

} // namespace gdlnn::tests
