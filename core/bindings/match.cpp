#include "arrays.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>

#include "gdlnn/match.hpp"

namespace gdlnn::bindings {
namespace {

std::int64_t budget_or_none(std::int64_t budget) { return budget < 0 ? kNoBudget : budget; }

// Steps that are over soon enough for Ctrl-C to wait; a step on a large graph takes longer.
std::int64_t inline_steps(const GraphSet &set) { return std::max(500, 50'000 / set.max_words()); }

int checked_graph(const GraphSet &set, int graph) {
    if (graph < 0 || graph >= set.size())
        throw nb::index_error("graph: not in the set");
    return graph;
}

// One witness after another; keeps its inputs alive through the Python object.
class Witnesses {
  public:
    Witnesses(const GraphSet &set, int graph, const ProgramBatch &batch)
        : graph_(set[checked_graph(set, graph)]), pattern_(set, batch.programs().at(0)),
          searcher_(set), most_steps_(inline_steps(set)) {
        searcher_.bind(pattern_);
        searcher_.start(graph_, nullptr);
    }
    // (answer, witness or None). A call takes a bounded time: after `unknown` the next one resumes
    // where this one stopped, so that the caller can check for Ctrl-C in between.
    nb::tuple next(std::int64_t budget) {
        Answer answer = Answer::no;
        {
            nb::gil_scoped_release released;
            answer = searcher_.next(std::min(most_steps_, budget_or_none(budget)));
        }
        if (answer != Answer::yes)
            return nb::make_tuple(static_cast<int>(answer), nb::none());
        std::vector<std::int64_t> image(searcher_.witness().begin(), searcher_.witness().end());
        const std::size_t n = image.size();
        return nb::make_tuple(static_cast<int>(answer), to_numpy(std::move(image), {n}));
    }
    std::int64_t steps() const { return searcher_.steps(); }

  private:
    const EncodedGraph &graph_;
    Pattern pattern_;
    Searcher searcher_;
    std::int64_t most_steps_;
};

std::unique_ptr<GraphSet> make_graph_set(Matrix<double> node_features,
                                         Vector<std::int64_t> node_offsets,
                                         Matrix<std::int64_t> edges, Matrix<double> edge_features,
                                         Vector<std::int64_t> edge_offsets, Vector<bool> directed) {
    GraphArrays arrays;
    arrays.n_graphs = static_cast<int>(directed.shape(0));
    arrays.n_node_features = static_cast<int>(node_features.shape(1));
    arrays.n_edge_features = static_cast<int>(edge_features.shape(1));
    arrays.node_features = node_features.data();
    arrays.node_offsets = node_offsets.data();
    arrays.edges = edges.data();
    arrays.edge_features = edge_features.data();
    arrays.edge_offsets = edge_offsets.data();
    arrays.directed = directed.data();
    nb::gil_scoped_release released;
    return std::make_unique<GraphSet>(arrays);
}

nb::ndarray<nb::numpy, std::uint8_t> exists(const GraphSet &set, const ProgramBatch &batch,
                                            std::int64_t budget, int n_threads) {
    const auto programs = batch.programs();
    const auto n_graphs = static_cast<std::size_t>(set.size());
    std::vector<std::uint8_t> answers(n_graphs * programs.size());
    std::atomic<bool> stop{false};
    MatchParams params;
    params.step_budget = budget_or_none(budget);
    params.stop = &stop;
    params.n_threads = n_threads;
    if (answers.size() ==
        1) { // a single question is not worth a thread, unless it turns out to be hard
        params.step_budget = std::min(params.step_budget, inline_steps(set));
        match_exists(set, programs, params, answers.data());
        const bool whole = params.step_budget == budget_or_none(budget);
        params.step_budget = budget_or_none(budget);
        if (answers[0] != static_cast<std::uint8_t>(Answer::unknown) || whole)
            return to_numpy(std::move(answers), {n_graphs, programs.size()});
    }
    run_interruptibly(stop, [&] { match_exists(set, programs, params, answers.data()); });
    return to_numpy(std::move(answers), {n_graphs, programs.size()});
}

nb::tuple counts(const GraphSet &set, const ProgramBatch &batch, bool subgraphs,
                 std::int64_t budget, int n_threads) {
    const auto programs = batch.programs();
    const auto n_graphs = static_cast<std::size_t>(set.size());
    std::vector<std::int64_t> values(n_graphs * programs.size());
    std::vector<std::uint8_t> unknown(values.size());
    std::atomic<bool> stop{false};
    MatchParams params;
    params.activation = subgraphs ? Activation::count_subgraphs : Activation::count;
    params.step_budget = budget_or_none(budget);
    params.stop = &stop;
    params.n_threads = n_threads;
    run_interruptibly(stop,
                      [&] { match_batch(set, programs, params, values.data(), unknown.data()); });
    return nb::make_tuple(to_numpy(std::move(values), {n_graphs, programs.size()}),
                          to_numpy(std::move(unknown), {n_graphs, programs.size()}));
}

// (answer, nodes, edges, node sides, edge sides): the constraints of a conflict after answer 0. A
// side is (owner, feature, upper).
nb::tuple conflict(const GraphSet &set, int graph, const ProgramBatch &batch, std::int64_t budget) {
    const Pattern pattern(set, batch.programs().at(0));
    Searcher searcher(set);
    searcher.bind(pattern);
    const Answer answer = searcher.test_with_conflict(set[checked_graph(set, graph)], nullptr,
                                                      budget_or_none(budget));
    std::vector<int> nodes, edges;
    std::vector<std::tuple<int, int, bool>> node_sides, edge_sides;
    if (answer == Answer::no) {
        for_each_bit(searcher.conflict(), pattern.words, [&](int id) {
            const auto side = [](const Side &s) {
                return std::tuple<int, int, bool>{s.owner, s.feature, s.kind == SideKind::upper};
            };
            if (pattern.is_node(id))
                nodes.push_back(id);
            else if (pattern.is_edge(id))
                edges.push_back(id - pattern.edge_base);
            else if (pattern.is_node_side(id))
                node_sides.push_back(side(
                    pattern.node_sides[static_cast<std::size_t>(id - pattern.node_side_base)]));
            else
                edge_sides.push_back(side(
                    pattern.edge_sides[static_cast<std::size_t>(id - pattern.edge_side_base)]));
        });
    }
    return nb::make_tuple(static_cast<int>(answer), nodes, edges, node_sides, edge_sides);
}

} // namespace

void register_match(nb::module_ &m) {
    nb::class_<GraphSet>(m, "GraphSet", "Graphs encoded once for matching and mining.")
        .def(nb::new_(&make_graph_set), nb::arg("node_features"), nb::arg("node_offsets"),
             nb::arg("edges"), nb::arg("edge_features"), nb::arg("edge_offsets"),
             nb::arg("directed"))
        .def("__len__", &GraphSet::size)
        .def_prop_ro("n_node_features", &GraphSet::n_node_features)
        .def_prop_ro("n_edge_features", &GraphSet::n_edge_features)
        .def_prop_ro("nbytes", &GraphSet::bytes);
    nb::class_<ProgramBatch>(m, "ProgramBatch", "Programs as concatenated arrays.")
        .def(nb::init<Matrix<double>, Matrix<double>, Vector<std::int64_t>, Matrix<std::int64_t>,
                      Matrix<double>, Matrix<double>, Vector<std::int64_t>>(),
             nb::arg("node_lower"), nb::arg("node_upper"), nb::arg("node_offsets"),
             nb::arg("edges"), nb::arg("edge_lower"), nb::arg("edge_upper"),
             nb::arg("edge_offsets"));
    nb::class_<Witnesses>(m, "Witnesses",
                          "The witnesses of one program in one graph, one after another.")
        .def(nb::init<const GraphSet &, int, const ProgramBatch &>(), nb::keep_alive<1, 2>(),
             nb::keep_alive<1, 4>(), nb::arg("graphs"), nb::arg("graph"), nb::arg("program"))
        .def("next", &Witnesses::next, nb::arg("budget"),
             "Answer (0 no, 1 yes, 2 not yet known: ask again) and the witness after 1.")
        .def_prop_ro("steps", &Witnesses::steps);
    m.def("exists", &exists, nb::arg("graphs"), nb::arg("programs"), nb::arg("budget"),
          nb::arg("n_threads"),
          "Graphs × programs: 0 no, 1 yes, 2 unknown. A negative budget means none.");
    m.def("counts", &counts, nb::arg("graphs"), nb::arg("programs"), nb::arg("subgraphs"),
          nb::arg("budget"), nb::arg("n_threads"),
          "Graphs × programs: numbers of witnesses or of distinct subgraphs, and where the budget "
          "ran out.");
    m.def("conflict", &conflict, nb::arg("graphs"), nb::arg("graph"), nb::arg("program"),
          nb::arg("budget"), "Answer, and after `no` the constraints of a conflict.");
}

} // namespace gdlnn::bindings
