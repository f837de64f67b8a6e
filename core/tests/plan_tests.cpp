// Plans against brute force: matches, budgets, threads, images, and programs that are part of
// others.
#include <algorithm>
#include <set>

#include "cases.hpp"
#include "gdlnn/plan.hpp"

namespace gdlnn::tests {
namespace {

using Subgraph = std::pair<Image, std::set<std::pair<int, int>>>;

// The nodes and edges that an image covers.
Subgraph covered(const Program &program, const Image &image, bool directed) {
    Subgraph result{image, {}};
    std::sort(result.first.begin(), result.first.end());
    for (int e = 0; e < program.m; ++e) {
        const int u = image[idx(program.edges[idx(2 * e)])];
        const int v = image[idx(program.edges[idx(2 * e + 1)])];
        const bool turn = !directed && u > v;
        result.second.emplace(turn ? v : u, turn ? u : v);
    }
    return result;
}

// The program without its last variable: part of it, so that the plan can share their search.
Program shortened(const Program &program, const Graphs &graphs) {
    Program result;
    result.n = program.n - 1;
    result.node_lower.assign(program.node_lower.begin(),
                             program.node_lower.begin() + result.n * graphs.d);
    result.node_upper.assign(program.node_upper.begin(),
                             program.node_upper.begin() + result.n * graphs.d);
    for (int e = 0; e < program.m; ++e) {
        const auto u = program.edges[idx(2 * e)], v = program.edges[idx(2 * e + 1)];
        if (std::max(u, v) >= result.n)
            continue;
        result.edges.insert(result.edges.end(), {u, v});
        ++result.m;
        const auto first = idx(e * graphs.c), last = first + idx(graphs.c);
        for (auto i = first; i < last; ++i) {
            result.edge_lower.push_back(program.edge_lower[i]);
            result.edge_upper.push_back(program.edge_upper[i]);
        }
    }
    return result;
}

// One graph of a set, as a set of its own.
GraphArrays alone(const GraphArrays &all, int g) {
    GraphArrays one = all;
    one.n_graphs = 1;
    one.node_offsets += g;
    one.edge_offsets += g;
    one.directed += g;
    return one;
}

bool has(const std::vector<std::int32_t> &programs, int p) {
    return std::binary_search(programs.begin(), programs.end(), p);
}

void check_images(const Plan &plan, const GraphArrays &graph, const Graphs &graphs, int g,
                  const std::vector<Program> &programs, int most) {
    std::vector<std::int32_t> rows(programs.size(), 0), columns;
    for (std::size_t p = 0; p < programs.size(); ++p)
        columns.push_back(static_cast<std::int32_t>(p));
    const PlanWitnesses found = plan.witnesses(graph, rows, columns, most, {});
    for (std::size_t p = 0; p < programs.size(); ++p) {
        const auto everything = BruteForce(graphs, g).witnesses(programs[p]);
        if (everything.size() > kMostWitnesses)
            continue;
        std::set<Subgraph> expected, listed;
        for (const Image &image : everything)
            expected.insert(covered(programs[p], image, graphs.directed[idx(g)]));
        const auto count = found.start[p + 1] - found.start[p];
        for (std::int64_t i = 0; i < count; ++i) {
            const auto at = found.images.begin() + found.image_start[p] + i * programs[p].n;
            const Image image(at, at + programs[p].n);
            check(std::find(everything.begin(), everything.end(), image) != everything.end(),
                  "an image is none");
            listed.insert(covered(programs[p], image, graphs.directed[idx(g)]));
        }
        check(listed.size() == idx(static_cast<int>(count)), "two images cover the same");
        check(listed.size() == std::min(expected.size(), idx(most)), "number of images");
        check(found.complete[p] == (expected.size() <= idx(most)), "complete");
    }
}

void plan_case(std::uint64_t seed) {
    Rng rng(seed ^ 0x706c616eULL);
    const Kind kind = random_kind(rng);
    Graphs graphs = random_graphs(rng, kind);
    const GraphArrays all = graphs.arrays();
    std::vector<Program> programs;
    for (int i = 0; i < 3; ++i) {
        programs.push_back(
            planted_program(rng, graphs, rng.below(graphs.size()), kind.max_variables));
        programs.push_back(
            random_program(rng, graphs, kind.max_nodes > 40 ? 1 : kind.max_variables));
    }
    for (int i = 0; i < 6; ++i)
        if (programs[idx(i)].n > 0)
            programs.push_back(shortened(programs[idx(i)], graphs));
    programs.push_back(programs[0]);
    std::vector<ProgramArrays> arrays;
    for (const Program &program : programs)
        arrays.push_back(program.arrays());
    for (const bool directed : {false, true}) {
        const PlanParts parts{rng.chance(0.8), rng.chance(0.8), rng.chance(0.8)};
        const Plan plan(arrays, graphs.d, graphs.c, directed, parts);
        check(plan.size() == static_cast<int>(programs.size()) && plan.bytes() > 0, "size");
        for (int g = 0; g < graphs.size(); ++g) {
            if (static_cast<bool>(graphs.directed[idx(g)]) != directed)
                continue;
            const GraphArrays graph = alone(all, g);
            PlanParams params;
            const PlanMatches whole = plan.match(graph, params);
            check(whole.unknown.empty(), "unknown without a budget");
            params.step_budget = rng.between(1, 8);
            const PlanMatches part = plan.match(graph, params);
            for (int p = 0; p < plan.size(); ++p) {
                const bool truth = BruteForce(graphs, g).matches(programs[idx(p)]);
                check(has(whole.programs, p) == truth, "match");
                check(has(part.unknown, p) || has(part.programs, p) == truth, "a budgeted match");
                check(!has(part.unknown, p) || !has(part.programs, p), "known and unknown");
            }
            check_images(plan, graph, graphs, g, programs, rng.chance(0.5) ? 60 : 2);
        }
    }
}

// Graphs of one direction together, on one thread and on three.
void batch_case(std::uint64_t seed) {
    Rng rng(seed ^ 0x62617463ULL);
    Kind kind;
    kind.n_graphs = 12;
    Graphs graphs = random_graphs(rng, kind);
    const bool directed = rng.chance(0.5);
    std::fill(graphs.directed.begin(), graphs.directed.end(), static_cast<std::uint8_t>(directed));
    std::vector<Program> programs;
    std::vector<ProgramArrays> arrays;
    for (int i = 0; i < 20; ++i)
        programs.push_back(planted_program(rng, graphs, rng.below(graphs.size()), 5));
    for (const Program &program : programs)
        arrays.push_back(program.arrays());
    const Plan plan(arrays, graphs.d, graphs.c, directed);
    const GraphArrays all = graphs.arrays();
    PlanParams params;
    const PlanMatches one = plan.match(all, params);
    params.n_threads = 3;
    const PlanMatches three = plan.match(all, params);
    check(one.start == three.start && one.programs == three.programs, "threads change an answer");
    std::vector<std::int32_t> rows, columns;
    for (int g = 0; g < graphs.size(); ++g) {
        const PlanMatches single = plan.match(alone(all, g), params);
        const std::vector<std::int32_t> row(one.programs.begin() + one.start[idx(g)],
                                            one.programs.begin() + one.start[idx(g + 1)]);
        check(single.programs == row, "a graph alone has another answer");
        rows.insert(rows.end(), row.size(), g);
        columns.insert(columns.end(), row.begin(), row.end());
    }
    const PlanWitnesses few = plan.witnesses(all, rows, columns, 3, params);
    params.n_threads = 1;
    const PlanWitnesses same = plan.witnesses(all, rows, columns, 3, params);
    check(few.images == same.images && few.start == same.start && few.complete == same.complete,
          "threads change an image");
    for (std::size_t i = 0; i < rows.size(); ++i)
        check(few.start[i + 1] > few.start[i], "a match without an image");
}

// A ring or a path of n nodes, without features.
Program chain(int n, bool closed) {
    Program program;
    program.n = n;
    program.m = n - 1 + closed;
    for (int e = 0; e < program.m; ++e)
        program.edges.insert(program.edges.end(), {e, (e + 1) % n});
    return program;
}

// Chains round the sizes at which a program is searched for on its own; the answers are known.
void long_chain_case(std::uint64_t seed) {
    Rng rng(seed);
    const int n = rng.between(100, 160);
    const bool ring = rng.chance(0.5);
    const Program host = chain(n, ring);
    Graphs graphs;
    graphs.node_offsets.push_back(n);
    graphs.edges = host.edges;
    graphs.edge_offsets.push_back(host.m);
    graphs.directed.push_back(0);
    std::vector<Program> programs;
    std::vector<ProgramArrays> arrays;
    for (const bool closed : {false, true})
        for (const int size : {3, 64, 100, 128, 129, n, n + 1})
            programs.push_back(chain(size, closed));
    for (const Program &program : programs)
        arrays.push_back(program.arrays());
    const Plan plan(arrays, 0, 0, false);
    const PlanMatches found = plan.match(graphs.arrays(), {});
    for (int p = 0; p < plan.size(); ++p) {
        const Program &program = programs[idx(p)];
        const bool closed = program.m == program.n;
        check(has(found.programs, p) == (closed ? ring && program.n == n : program.n <= n),
              "a chain");
    }
}

} // namespace

void run_plan_tests(Tally &tally, std::uint64_t first, int n_cases) {
    tally.run("plan", first, n_cases, plan_case);
    tally.run("plans of batches", first, n_cases / 2, batch_case);
    tally.run("plans of long chains", first, std::max(1, n_cases / 50), long_chain_case);
}

} // namespace gdlnn::tests
