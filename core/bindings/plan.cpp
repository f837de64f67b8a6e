#include "arrays.hpp"

#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <memory>

#include "gdlnn/plan.hpp"

namespace gdlnn::bindings {
namespace {

// Steps of one search that are over soon enough for Ctrl-C to wait.
constexpr std::int64_t kInlineSteps = 5000;

std::unique_ptr<Plan> make_plan(const ProgramBatch &batch, bool directed, bool screens,
                                bool containment, bool twins) {
    const auto programs = batch.programs();
    const auto d = static_cast<int>(batch.node_lower.shape(1)),
               c = static_cast<int>(batch.edge_lower.shape(1));
    nb::gil_scoped_release released;
    return std::make_unique<Plan>(programs, d, c, directed, PlanParts{screens, containment, twins});
}

GraphArrays graph_arrays(const Matrix<double> &node_features,
                         const Vector<std::int64_t> &node_offsets,
                         const Matrix<std::int64_t> &edges, const Matrix<double> &edge_features,
                         const Vector<std::int64_t> &edge_offsets, const Vector<bool> &directed) {
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
    return arrays;
}

// (start, programs, unknown start, unknown): per graph the programs that match and those not known.
nb::tuple match_plan(const Plan &plan, Matrix<double> node_features,
                     Vector<std::int64_t> node_offsets, Matrix<std::int64_t> edges,
                     Matrix<double> edge_features, Vector<std::int64_t> edge_offsets,
                     Vector<bool> directed, std::int64_t budget, int n_threads) {
    const GraphArrays graphs =
        graph_arrays(node_features, node_offsets, edges, edge_features, edge_offsets, directed);
    std::atomic<bool> stop{false};
    PlanParams params;
    params.step_budget = budget < 0 ? INT64_MAX : budget;
    params.n_threads = n_threads;
    params.stop = &stop;
    PlanMatches found;
    bool decided = false;
    if (graphs.n_graphs == 1) { // not worth a thread, unless it turns out to be hard
        const std::int64_t whole = params.step_budget;
        params.step_budget = std::min(whole, kInlineSteps);
        {
            nb::gil_scoped_release released;
            found = plan.match(graphs, params);
        }
        decided = found.unknown.empty() || params.step_budget == whole;
        params.step_budget = whole;
    }
    if (!decided)
        run_interruptibly(stop, [&] { found = plan.match(graphs, params); });
    return nb::make_tuple(given(std::move(found.start)), given(std::move(found.programs)),
                          given(std::move(found.unknown_start)), given(std::move(found.unknown)));
}

// (start, images, image start, complete) for every question (graph, program); see PlanWitnesses.
nb::tuple find_witnesses(const Plan &plan, Matrix<double> node_features,
                         Vector<std::int64_t> node_offsets, Matrix<std::int64_t> edges,
                         Matrix<double> edge_features, Vector<std::int64_t> edge_offsets,
                         Vector<bool> directed, Vector<std::int32_t> graph,
                         Vector<std::int32_t> program, int most, int n_threads) {
    const GraphArrays graphs =
        graph_arrays(node_features, node_offsets, edges, edge_features, edge_offsets, directed);
    const std::vector<std::int32_t> asked_graphs(graph.data(), graph.data() + graph.shape(0));
    const std::vector<std::int32_t> asked_programs(program.data(),
                                                   program.data() + program.shape(0));
    std::atomic<bool> stop{false};
    PlanParams params;
    params.n_threads = n_threads;
    params.stop = &stop;
    PlanWitnesses found;
    const auto work = [&] {
        found = plan.witnesses(graphs, asked_graphs, asked_programs, most, params);
    };
    if (graphs.n_graphs == 1) {
        nb::gil_scoped_release released;
        work();
    } else {
        run_interruptibly(stop, work);
    }
    return nb::make_tuple(given(std::move(found.start)), given(std::move(found.images)),
                          given(std::move(found.image_start)), given(std::move(found.complete)));
}

} // namespace

void register_plan(nb::module_ &m) {
    nb::class_<Plan>(m, "Plan", "Programs compiled to be matched together.")
        .def(nb::new_(&make_plan), nb::arg("programs"), nb::arg("directed"),
             nb::arg("screens") = true, nb::arg("containment") = true, nb::arg("twins") = true)
        .def("__len__", &Plan::size)
        .def_prop_ro("nbytes", &Plan::bytes)
        .def("match", &match_plan, nb::arg("node_features"), nb::arg("node_offsets"),
             nb::arg("edges"), nb::arg("edge_features"), nb::arg("edge_offsets"),
             nb::arg("directed"), nb::arg("budget"), nb::arg("n_threads"))
        .def("witnesses", &find_witnesses, nb::arg("node_features"), nb::arg("node_offsets"),
             nb::arg("edges"), nb::arg("edge_features"), nb::arg("edge_offsets"),
             nb::arg("directed"), nb::arg("graph"), nb::arg("program"), nb::arg("most"),
             nb::arg("n_threads"));
}

} // namespace gdlnn::bindings
