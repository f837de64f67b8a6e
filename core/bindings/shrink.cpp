#include "arrays.hpp"

#include "gdlnn/shrink.hpp"

namespace gdlnn::bindings {
namespace {

// One task per graph: the programs its row of `use` marks, its nodes in the order given.
std::vector<ShrinkTask> tasks_of(const GraphSet &set, std::size_t n_programs,
                                 const Matrix<bool> &use, const Vector<std::int64_t> &order) {
    const auto n_graphs = static_cast<std::size_t>(set.size());
    if (use.shape(0) != n_graphs || use.shape(1) != n_programs)
        throw nb::value_error("use: expected one row per graph, one column per program");
    std::vector<ShrinkTask> tasks(n_graphs);
    std::size_t at = 0;
    for (std::size_t g = 0; g < n_graphs; ++g) {
        const auto n = static_cast<std::size_t>(set[static_cast<int>(g)].n);
        if (at + n > order.shape(0))
            throw nb::value_error("order: expected every node of every graph");
        ShrinkTask &task = tasks[g];
        task.graph = static_cast<int>(g);
        for (std::size_t p = 0; p < n_programs; ++p)
            if (use(g, p))
                task.programs.push_back(static_cast<int>(p));
        for (std::size_t i = 0; i < n; ++i) {
            const auto v = order(at + i);
            if (v < 0 || static_cast<std::size_t>(v) >= n)
                throw nb::value_error("order: expected nodes of their graph");
            task.order.push_back(static_cast<std::int32_t>(v));
        }
        at += n;
    }
    return tasks;
}

// (kept per node, matched per use, witnesses of the matched uses end to end, complete per graph)
nb::tuple shrink_batch(const GraphSet &set, const ProgramBatch &batch, Matrix<bool> use,
                       Vector<std::int64_t> order, std::int64_t budget, int n_threads) {
    const auto programs = batch.programs();
    const auto tasks = tasks_of(set, programs.size(), use, order);
    std::atomic<bool> stop{false};
    ShrinkParams params;
    params.step_budget = budget < 0 ? kNoBudget : budget;
    params.n_threads = n_threads;
    params.stop = &stop;
    std::vector<ShrinkResult> results;
    run_interruptibly(stop, [&] { results = shrink(set, programs, tasks, params); });
    std::vector<std::uint8_t> kept, matched, complete;
    std::vector<std::int32_t> witnesses;
    for (const ShrinkResult &result : results) {
        kept.insert(kept.end(), result.kept.begin(), result.kept.end());
        matched.insert(matched.end(), result.matched.begin(), result.matched.end());
        for (const auto &witness : result.witnesses)
            witnesses.insert(witnesses.end(), witness.begin(), witness.end());
        complete.push_back(result.complete);
    }
    const auto column = [](auto &&values) {
        const std::size_t n = values.size();
        return to_numpy(std::move(values), {n});
    };
    return nb::make_tuple(column(std::move(kept)), column(std::move(matched)),
                          column(std::move(witnesses)), column(std::move(complete)));
}

} // namespace

void register_shrink(nb::module_ &m) {
    m.def("shrink", &shrink_batch, nb::arg("graphs"), nb::arg("programs"), nb::arg("use"),
          nb::arg("order"), nb::arg("budget"), nb::arg("n_threads"),
          "Of each graph the nodes that are enough for the programs its row marks: kept per node, "
          "matched per mark, witnesses end to end, complete per graph.");
}

} // namespace gdlnn::bindings
