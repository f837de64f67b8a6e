#include "gdlnn/match.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

namespace gdlnn {
namespace {

std::size_t idx(long long i) { return static_cast<std::size_t>(i); }
constexpr int kGraphsPerBlock = 256;

// Runs task(searcher, program, first graph, last graph) over blocks of the table, on as many
// threads as asked for.
template <class Task>
void over_blocks(const GraphSet &set, const std::vector<ProgramArrays> &programs,
                 const MatchParams &params, Task &&task) {
    const int n_programs = static_cast<int>(programs.size());
    const int blocks = (set.size() + kGraphsPerBlock - 1) / kGraphsPerBlock;
    const std::int64_t total = std::int64_t{n_programs} * blocks;
    std::atomic<std::int64_t> next{0};
    std::mutex failure_mutex;
    std::exception_ptr failure;
    const auto search_blocks = [&]() {
        Searcher searcher(set);
        searcher.stop = params.stop;
        for (;;) {
            const std::int64_t item = next.fetch_add(1);
            if (item >= total || (params.stop && params.stop->load(std::memory_order_relaxed)))
                return;
            const int program = static_cast<int>(item / blocks);
            const int first = static_cast<int>(item % blocks) * kGraphsPerBlock;
            const Pattern pattern(set, programs[idx(program)]);
            searcher.bind(pattern);
            task(searcher, pattern, program, first, std::min(first + kGraphsPerBlock, set.size()));
        }
    };
    // An exception must not leave a thread: the first one (out of memory, say) ends the batch and
    // goes to the caller.
    const auto work = [&]() {
        try {
            search_blocks();
        } catch (...) {
            next = total;
            const std::lock_guard lock(failure_mutex);
            if (!failure)
                failure = std::current_exception();
        }
    };
    const auto n_threads =
        std::min<std::int64_t>(std::max(1, params.n_threads), std::max<std::int64_t>(1, total));
    std::vector<std::thread> threads;
    try {
        for (std::int64_t t = 1; t < n_threads; ++t)
            threads.emplace_back(work);
    } catch (
        const std::system_error &) { // the system gives no more threads: those there are will do
    }
    work();
    for (auto &thread : threads)
        thread.join();
    if (failure)
        std::rethrow_exception(failure);
}

} // namespace

void match_exists(const GraphSet &set, const std::vector<ProgramArrays> &programs,
                  const MatchParams &params, std::uint8_t *answers) {
    const auto n_programs = programs.size();
    over_blocks(set, programs, params,
                [&](Searcher &searcher, const Pattern &, int program, int first, int last) {
                    for (int g = first; g < last; ++g)
                        answers[idx(g) * n_programs + idx(program)] = static_cast<std::uint8_t>(
                            searcher.test(set[g], nullptr, params.step_budget));
                });
}

void match_batch(const GraphSet &set, const std::vector<ProgramArrays> &programs,
                 const MatchParams &params, std::int64_t *values, std::uint8_t *unknown) {
    const auto n_programs = programs.size();
    over_blocks(set, programs, params,
                [&](Searcher &searcher, const Pattern &pattern, int program, int first, int last) {
                    for (int g = first; g < last; ++g) {
                        std::int64_t value = 0;
                        Answer answer = Answer::no;
                        if (params.activation == Activation::exists) {
                            answer = searcher.test(set[g], nullptr, params.step_budget);
                            value = answer == Answer::yes;
                        } else if (params.activation == Activation::count) {
                            answer = searcher.count(set[g], params.step_budget, value);
                        } else {
                            answer = count_subgraphs(searcher, pattern, set[g], params.step_budget,
                                                     value);
                        }
                        values[idx(g) * n_programs + idx(program)] = value;
                        unknown[idx(g) * n_programs + idx(program)] = answer == Answer::unknown;
                    }
                });
}

Answer count_subgraphs(Searcher &searcher, const Pattern &pattern, const EncodedGraph &graph,
                       std::int64_t budget, std::int64_t &found) {
    std::set<std::vector<std::int32_t>> seen;
    searcher.start(graph, nullptr);
    for (;;) {
        const Answer answer =
            searcher.next(budget == kNoBudget ? kNoBudget : budget - searcher.steps());
        if (answer != Answer::yes) {
            found = static_cast<std::int64_t>(seen.size());
            return answer;
        }
        const auto &image = searcher.witness();
        std::vector<std::int32_t> key(image.begin(), image.end());
        std::sort(key.begin(), key.end());
        std::vector<std::pair<std::int32_t, std::int32_t>> edges;
        for (int e = 0; e < pattern.m; ++e) {
            auto u = image[idx(pattern.source[idx(e)])], v = image[idx(pattern.target[idx(e)])];
            if (!graph.directed && u > v)
                std::swap(u, v);
            edges.emplace_back(u, v);
        }
        std::sort(edges.begin(), edges.end());
        edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
        for (const auto &[u, v] : edges) {
            key.push_back(u);
            key.push_back(v);
        }
        seen.insert(std::move(key));
    }
}

} // namespace gdlnn
