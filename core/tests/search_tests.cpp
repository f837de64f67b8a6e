// The search against brute force: answers, witnesses, counts, budgets, conflicts, mutations
// switched off.
#include <algorithm>
#include <optional>
#include <set>

#include "cases.hpp"
#include "gdlnn/match.hpp"
#include "gdlnn/search.hpp"

namespace gdlnn::tests {
namespace {

// One program on one graph; the searcher has seen other graphs and programs before, as in mining.
struct Question {
    Rng &rng;
    const Graphs &graphs;
    const GraphSet &set;
    const Program &program;
    const Pattern &pattern;
    Searcher &searcher;
    int g;

    const EncodedGraph &graph() const { return set[g]; }
};

bool contains(const Word *all, const Word *some, int words) {
    for (int i = 0; i < words; ++i)
        if (some[i] & ~all[i])
            return false;
    return true;
}

void check_answers(const Question &q, const std::vector<Image> &expected) {
    const bool truth = !expected.empty();
    check((q.searcher.test(q.graph(), nullptr, kNoBudget) == Answer::yes) == truth, "test");
    if (truth)
        check(std::find(expected.begin(), expected.end(), q.searcher.witness()) != expected.end(),
              "the witness is none");
    const std::int64_t steps = q.searcher.steps();
    for (const std::int64_t budget :
         {std::int64_t{1}, std::int64_t{q.rng.between(2, 9)}, steps + 1}) {
        const Answer answer = q.searcher.test(q.graph(), nullptr, budget);
        check(answer == Answer::unknown || (answer == Answer::yes) == truth,
              "a budgeted test is wrong");
        check(q.searcher.steps() <= budget, "a search overran its budget");
        check(budget <= steps || answer != Answer::unknown, "a sufficient budget did not suffice");
    }
}

void check_counts(const Question &q, const std::vector<Image> &expected) {
    const auto n = static_cast<std::int64_t>(expected.size());
    std::int64_t found = -1;
    check(q.searcher.count(q.graph(), kNoBudget, found) == Answer::no && found == n, "count");
    const Answer answer = q.searcher.count(q.graph(), q.rng.between(1, 20), found);
    check(answer == Answer::unknown ? found <= n : found == n, "a budgeted count is wrong");
    std::set<std::pair<Image, std::set<std::pair<int, int>>>> subgraphs;
    for (const Image &image : expected) {
        Image nodes = image;
        std::sort(nodes.begin(), nodes.end());
        std::set<std::pair<int, int>> edges;
        for (int e = 0; e < q.program.m; ++e) {
            const int u = image[idx(q.program.edges[idx(2 * e)])];
            const int v = image[idx(q.program.edges[idx(2 * e + 1)])];
            const bool turn = !q.graphs.directed[idx(q.g)] && u > v;
            edges.emplace(turn ? v : u, turn ? u : v);
        }
        subgraphs.emplace(std::move(nodes), std::move(edges));
    }
    count_subgraphs(q.searcher, q.pattern, q.graph(), kNoBudget, found);
    check(found == static_cast<std::int64_t>(subgraphs.size()), "count of distinct subgraphs");
}

void check_enumeration(const Question &q, std::vector<Image> expected) {
    std::vector<Image> found;
    q.searcher.start(q.graph(), nullptr);
    const bool paused = q.rng.chance(0.5);
    for (;;) {
        const Answer answer = q.searcher.next(paused ? q.rng.between(1, 3) : kNoBudget);
        if (answer == Answer::no)
            break;
        if (answer == Answer::yes)
            found.push_back(q.searcher.witness());
        else
            check(paused, "unknown without a budget");
    }
    check(q.searcher.next(kNoBudget) == Answer::no, "a search goes on after its end");
    std::sort(found.begin(), found.end());
    std::sort(expected.begin(), expected.end());
    check(found == expected, "enumeration");
}

// Asks about the program without `off`: the answer is right, and a conflict is enough, in use, and
// not in `off`. `ask` takes a budget.
template <class Ask> void check_conflict(const Question &q, const Word *off, Ask &&ask) {
    const int words = q.pattern.words;
    std::vector<Word> kept(idx(words), ~Word{0});
    for (int i = 0; off && i < words; ++i)
        kept[idx(i)] = ~off[i];
    const BruteForce brute(q.graphs, q.g);
    const bool truth = brute.matches(reduced(q.program, q.pattern, q.graphs, kept.data()));
    check((q.searcher.test(q.graph(), off, kNoBudget) == Answer::yes) == truth,
          "test without some");
    q.searcher.traced_reasons().assign(idx(words), 0);
    const Answer answer = ask(kNoBudget);
    check((answer == Answer::yes) == truth, "test with conflict");
    if (answer == Answer::no) {
        const Word *conflict = q.searcher.conflict();
        check(contains(kept.data(), conflict, words), "a conflict names what is switched off");
        check(!brute.matches(reduced(q.program, q.pattern, q.graphs, conflict)), "not a conflict");
        const int n_kept = count_bits(conflict, words_for(q.pattern.n));
        const bool by_size = n_kept > q.graph().n && count_bits(conflict, words) == n_kept;
        check(by_size || contains(q.searcher.traced_reasons().data(), conflict, words),
              "a conflict names a constraint that was no reason for anything");
    }
    const Answer budgeted = ask(q.rng.between(1, 6));
    check(budgeted == Answer::unknown || budgeted == answer, "a budgeted test with conflict");
}

int random_id(Rng &rng, const Pattern &pattern) {
    const int n_node_sides = static_cast<int>(pattern.node_sides.size());
    const int n_edge_sides = static_cast<int>(pattern.edge_sides.size());
    int k = rng.below(pattern.n + pattern.m + n_node_sides + n_edge_sides);
    if (k < pattern.n)
        return pattern.node_id(k);
    if ((k -= pattern.n) < pattern.m)
        return pattern.edge_id(k);
    if ((k -= pattern.m) < n_node_sides)
        return pattern.node_side_id(k);
    return pattern.edge_side_id(k - n_node_sides);
}

void check_without_some(const Question &q) {
    std::vector<Word> off(idx(q.pattern.words), 0);
    for (int k = q.rng.between(1, 4); k > 0; --k)
        q.pattern.switch_off(off.data(), random_id(q.rng, q.pattern));
    check_conflict(q, off.data(), [&](std::int64_t budget) {
        return q.searcher.test_with_conflict(q.graph(), off.data(), budget);
    });
}

// As the miner asks: constraints go one after another, and candidates are kept between questions.
void check_variants(const Question &q) {
    std::vector<Word> domains(idx(q.pattern.n) * idx(q.graph().words)),
        permanent(idx(q.pattern.words));
    std::vector<Word> valid(idx(std::max(1, words_for(q.pattern.n))), 0);
    const DomainCache cache{domains.data(), valid.data()};
    for (Word &word : permanent)
        word = q.rng.word();
    q.searcher.set_permanent(q.rng.chance(0.5) ? permanent.data() : nullptr);
    Variant settled;
    settled.reset(q.pattern);
    for (int round = 0; round < 4; ++round) {
        Variant tried = settled;
        const int id = random_id(q.rng, q.pattern);
        tried.remove(id);
        check_conflict(q, tried.off(), [&](std::int64_t budget) {
            return q.searcher.test_with_conflict(q.graph(), tried, cache, budget);
        });
        if (q.rng.chance(0.5))
            continue;
        settled = tried;
        for (int x = 0; x < q.pattern.n; ++x)
            if (settled.has_changed_sides(x))
                clear_bit(valid.data(), x);
        settled.settle_sides();
    }
    q.searcher.set_permanent(nullptr);
}

void check_question(const Question &q) {
    const auto expected = BruteForce(q.graphs, q.g).witnesses(q.program);
    if (expected.size() <= kMostWitnesses) {
        check_answers(q, expected);
        check_counts(q, expected);
        check_enumeration(q, expected);
    }
    check_conflict(q, nullptr, [&](std::int64_t budget) {
        return q.searcher.test_with_conflict(q.graph(), nullptr, budget);
    });
    if (q.pattern.n > 0) {
        check_without_some(q);
        check_variants(q);
    }
}

void check_batches(Rng &rng, const GraphSet &set, const std::vector<Program> &programs) {
    std::vector<ProgramArrays> arrays;
    for (const Program &program : programs)
        arrays.push_back(program.arrays());
    const std::size_t size = idx(set.size()) * arrays.size();
    MatchParams params;
    params.step_budget = rng.chance(0.5) ? kNoBudget : rng.between(1, 8);
    std::vector<std::uint8_t> one(size), three(size), unknown(size);
    std::vector<std::int64_t> values(size);
    match_exists(set, arrays, params, one.data());
    params.n_threads = 3;
    match_exists(set, arrays, params, three.data());
    check(one == three, "threads change an answer");
    match_batch(set, arrays, params, values.data(), unknown.data());
    for (std::size_t i = 0; i < size; ++i)
        check(one[i] == (unknown[i] ? 2 : values[i]), "the two batches differ");
}

void search_case(std::uint64_t seed) {
    Rng rng(seed);
    const Kind kind = random_kind(rng);
    Graphs graphs = random_graphs(rng, kind);
    const GraphSet set(graphs.arrays());
    check(set.bytes() > 0, "bytes");
    std::vector<Program> programs;
    for (int i = 0; i < 2; ++i) {
        programs.push_back(
            planted_program(rng, graphs, rng.below(graphs.size()), kind.max_variables));
        programs.push_back(
            random_program(rng, graphs, kind.max_nodes > 40 ? 1 : kind.max_variables));
    }
    Searcher searcher(set);
    std::vector<std::uint32_t> bias;
    for (const Program &program : programs) {
        const Pattern pattern(set, program.arrays());
        searcher.bind(pattern, rng.chance(0.3) ? &bias : nullptr);
        for (int g = 0; g < graphs.size(); ++g)
            check_question({rng, graphs, set, program, pattern, searcher, g});
    }
    check_batches(rng, set, programs);
}

// Chains that wind through sparse graphs: long searches, and too little room for the rest of a
// chain.
void winding_case(std::uint64_t seed) {
    Rng rng(seed ^ 0x77696e64ULL);
    Kind kind{2, 8, 11, rng.between(1, 2), rng.between(1, 2), 4, false};
    kind.chance_of_edge = 0.22;
    Graphs graphs = random_graphs(rng, kind);
    const GraphSet set(graphs.arrays());
    const Program program = chain_program(rng, graphs, rng.between(5, 9));
    const Pattern pattern(set, program.arrays());
    Searcher searcher(set);
    searcher.bind(pattern);
    for (int g = 0; g < graphs.size(); ++g)
        check_question({rng, graphs, set, program, pattern, searcher, g});
}

// A ring or a path as a set of one graph, or as a program with as many variables.
Graphs chain_graph(int n, bool closed) {
    Graphs graphs;
    graphs.node_offsets.push_back(n);
    graphs.directed.push_back(0);
    for (int v = 0; v + 1 < n + closed; ++v) {
        graphs.edges.push_back(v);
        graphs.edges.push_back((v + 1) % n);
    }
    graphs.edge_offsets.push_back(n - 1 + closed);
    return graphs;
}

// More variables and constraints than a word has bits; the answers are known.
void long_chain_case(std::uint64_t seed) {
    Rng rng(seed);
    const int n = rng.between(62, 140), size = rng.between(60, n + 1);
    const bool ring = rng.chance(0.5), closed = rng.chance(0.5);
    Graphs graphs = chain_graph(n, ring);
    const GraphSet set(graphs.arrays());
    const Graphs chain = chain_graph(size, closed);
    Program program;
    program.n = size;
    program.m = size - 1 + closed;
    program.edges = chain.edges;
    const Pattern pattern(set, program.arrays());
    Searcher searcher(set);
    searcher.bind(pattern);
    const bool truth = closed ? ring && size == n : size <= n;
    check((searcher.test_with_conflict(set[0], nullptr, kNoBudget) == Answer::yes) == truth,
          "a chain");
    if (!truth) {
        const Program core = reduced(program, pattern, graphs, searcher.conflict());
        const Pattern core_pattern(set, core.arrays());
        Searcher other(set);
        other.bind(core_pattern);
        check(other.test(set[0], nullptr, kNoBudget) == Answer::no, "not a conflict of a chain");
    }
}

} // namespace

void run_search_tests(Tally &tally, std::uint64_t first, int n_cases) {
    tally.run("search", first, n_cases, search_case);
    tally.run("winding chains", first, n_cases / 2, winding_case);
    tally.run("long chains", first, std::max(1, n_cases / 20), long_chain_case);
}

} // namespace gdlnn::tests
