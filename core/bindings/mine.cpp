#include "arrays.hpp"

#include <nanobind/stl/vector.h>

#include <memory>

#include "gdlnn/mine.hpp"

namespace gdlnn::bindings {
namespace {

// The data and the job together, so that the data lives as long as its threads do.
class Job {
  public:
    Job(const GraphSet &set, Vector<std::int32_t> labels, int n_labels, double epsilon,
        bool sequential, bool connected, std::int64_t step_budget, std::int64_t final_budget,
        bool lookahead, bool values, Vector<bool> nominal_node, Vector<bool> nominal_edge,
        Vector<std::int64_t> task_graphs, Vector<std::int64_t> task_offsets,
        Vector<std::int64_t> task_nodes, int n_threads)
        : data_(set, {labels.data(), labels.data() + labels.shape(0)}, n_labels) {
        MineParams params;
        params.epsilon = epsilon;
        params.strategy = sequential ? Strategy::sequential : Strategy::greedy;
        params.connected = connected;
        params.step_budget = step_budget;
        params.final_budget = final_budget;
        params.lookahead = lookahead;
        params.values = values;
        params.nominal.node.assign(nominal_node.data(),
                                   nominal_node.data() + nominal_node.shape(0));
        params.nominal.edge.assign(nominal_edge.data(),
                                   nominal_edge.data() + nominal_edge.shape(0));
        std::vector<MineTask> tasks;
        for (std::size_t t = 0; t < task_graphs.shape(0); ++t) {
            MineTask task;
            task.graph = static_cast<int>(task_graphs(t));
            for (auto i = task_offsets(t); i < task_offsets(t + 1); ++i)
                task.nodes.push_back(
                    static_cast<std::int32_t>(task_nodes(static_cast<std::size_t>(i))));
            tasks.push_back(std::move(task));
        }
        job_ = std::make_unique<MiningJob>(data_, params, std::move(tasks), n_threads);
    }
    ~Job() {
        nb::gil_scoped_release released;
        job_.reset();
    }
    std::vector<MinedProgram> poll(double seconds) {
        nb::gil_scoped_release released;
        return job_->poll(seconds);
    }
    bool running() const { return job_->running(); }
    void stop() { job_->stop(); }

  private:
    MiningData data_;
    std::unique_ptr<MiningJob> job_;
};

template <class T> auto column(const std::vector<T> &values) {
    const std::size_t n = values.size();
    return to_numpy(std::vector<T>(values), {n});
}

} // namespace

void register_mine(nb::module_ &m) {
    nb::class_<MinedProgram>(m, "MinedProgram", "One mined program in terms of its target graph.")
        .def_ro("task", &MinedProgram::task)
        .def_prop_ro(
            "nodes", [](const MinedProgram &p) { return column(p.nodes); }, nb::rv_policy::move)
        .def_prop_ro(
            "edges", [](const MinedProgram &p) { return column(p.edges); }, nb::rv_policy::move)
        .def_prop_ro(
            "node_lower", [](const MinedProgram &p) { return column(p.node_lower); },
            nb::rv_policy::move)
        .def_prop_ro(
            "node_upper", [](const MinedProgram &p) { return column(p.node_upper); },
            nb::rv_policy::move)
        .def_prop_ro(
            "edge_lower", [](const MinedProgram &p) { return column(p.edge_lower); },
            nb::rv_policy::move)
        .def_prop_ro(
            "edge_upper", [](const MinedProgram &p) { return column(p.edge_upper); },
            nb::rv_policy::move)
        .def_prop_ro(
            "support", [](const MinedProgram &p) { return column(p.support); }, nb::rv_policy::move)
        .def_ro("matched", &MinedProgram::matched)
        .def_ro("matched_of_label", &MinedProgram::matched_of_label)
        .def_ro("n_mutations", &MinedProgram::n_mutations)
        .def_ro("unresolved", &MinedProgram::unresolved)
        .def_ro("score", &MinedProgram::score)
        .def_prop_ro("tests", [](const MinedProgram &p) { return p.stats.tests; })
        .def_prop_ro("searches", [](const MinedProgram &p) { return p.stats.searches; })
        .def_prop_ro("steps", [](const MinedProgram &p) { return p.stats.steps; })
        .def_prop_ro("unknown", [](const MinedProgram &p) { return p.stats.unknown; })
        .def_prop_ro("seconds", [](const MinedProgram &p) { return p.stats.seconds; });
    nb::class_<Job>(m, "MiningJob",
                    "Mines tasks on threads of its own; poll hands out results as they come.")
        .def(nb::init<const GraphSet &, Vector<std::int32_t>, int, double, bool, bool, std::int64_t,
                      std::int64_t, bool, bool, Vector<bool>, Vector<bool>, Vector<std::int64_t>,
                      Vector<std::int64_t>, Vector<std::int64_t>, int>(),
             nb::keep_alive<1, 2>(), nb::arg("graphs"), nb::arg("labels"), nb::arg("n_labels"),
             nb::arg("epsilon"), nb::arg("sequential"), nb::arg("connected"),
             nb::arg("step_budget"), nb::arg("final_budget"), nb::arg("lookahead"),
             nb::arg("values"), nb::arg("nominal_node"), nb::arg("nominal_edge"),
             nb::arg("task_graphs"), nb::arg("task_offsets"), nb::arg("task_nodes"),
             nb::arg("n_threads"))
        .def("poll", &Job::poll, nb::arg("seconds"))
        .def_prop_ro("running", &Job::running)
        .def("stop", &Job::stop);
}

} // namespace gdlnn::bindings
