#include "gdlnn/shrink.hpp"

#include <memory>
#include <utility>

#include "parallel.hpp"

namespace gdlnn {
namespace {

// A program that has to stay, and where it is now.
struct Held {
    const Pattern *pattern;
    std::size_t slot; // in the task
    std::vector<std::int32_t> witness;
    std::vector<Word> used; // the nodes of the witness
};

// One graph being shrunk. Owns the remaining subgraph and the place of each program in it.
class Shrinker {
  public:
    // A search looks for candidates among `all` alone, so that a copy of the graph with fewer nodes
    // there is searched as the induced subgraph. Its degrees stay those of the whole graph: they
    // can only let a candidate through that fails later.
    Shrinker(Searcher &searcher, const EncodedGraph &graph, std::int64_t budget)
        : searcher_(searcher), rest_(graph), budget_(budget) {}

    ShrinkResult run(const std::vector<const Pattern *> &patterns,
                     const std::vector<std::int32_t> &order) {
        ShrinkResult result;
        hold(patterns, result);
        result.kept.assign(idx(rest_.n), 0);
        if (held_.empty())
            return result;
        // Once is enough: a node that is needed is needed by every smaller rest too.
        for (const auto v : order)
            try_without(v);
        for (int v = 0; v < rest_.n; ++v)
            result.kept[idx(v)] = test_bit(rest_.all.data(), v);
        for (Held &held : held_)
            result.witnesses[held.slot] = std::move(held.witness);
        result.complete = complete_;
        return result;
    }

  private:
    void hold(const std::vector<const Pattern *> &patterns, ShrinkResult &result) {
        result.witnesses.resize(patterns.size());
        result.matched.assign(patterns.size(), 0);
        for (std::size_t i = 0; i < patterns.size(); ++i) {
            Held held{patterns[i], i, {}, {}};
            if (!find(held))
                continue;
            result.matched[i] = 1;
            held_.push_back(std::move(held));
        }
        result.complete = complete_;
    }

    // Looks for the program in what is left; only where it is there does `held` change.
    bool find(Held &held) {
        searcher_.bind(*held.pattern);
        const Answer answer = searcher_.test(rest_, nullptr, budget_);
        complete_ = complete_ && answer != Answer::unknown;
        if (answer != Answer::yes)
            return false;
        held.witness = searcher_.witness();
        held.used.assign(idx(rest_.words), 0);
        for (const auto v : held.witness)
            set_bit(held.used.data(), v);
        return true;
    }

    void try_without(int v) {
        clear_bit(rest_.all.data(), v);
        shrunk_.clear();
        for (std::size_t i = 0; i < held_.size(); ++i) {
            if (!test_bit(held_[i].used.data(), v))
                continue; // the witness does not use v
            Held shrunk{held_[i].pattern, held_[i].slot, {}, {}};
            if (!find(shrunk)) {
                set_bit(rest_.all.data(), v);
                return;
            }
            shrunk_.emplace_back(i, std::move(shrunk));
        }
        for (auto &[i, shrunk] : shrunk_)
            held_[i] = std::move(shrunk);
    }

    Searcher &searcher_;
    EncodedGraph rest_;
    std::int64_t budget_;
    bool complete_ = true;
    std::vector<Held> held_;
    std::vector<std::pair<std::size_t, Held>> shrunk_;
};

// The patterns that some task asks for; the others stay null.
std::vector<std::unique_ptr<Pattern>> compile(const GraphSet &set,
                                              const std::vector<ProgramArrays> &programs,
                                              const std::vector<ShrinkTask> &tasks) {
    std::vector<std::unique_ptr<Pattern>> patterns(programs.size());
    for (const ShrinkTask &task : tasks)
        for (const int p : task.programs)
            if (!patterns[idx(p)])
                patterns[idx(p)] = std::make_unique<Pattern>(set, programs[idx(p)]);
    return patterns;
}

} // namespace

std::vector<ShrinkResult> shrink(const GraphSet &set, const std::vector<ProgramArrays> &programs,
                                 const std::vector<ShrinkTask> &tasks, const ShrinkParams &params) {
    const auto patterns = compile(set, programs, tasks);
    std::vector<ShrinkResult> results(tasks.size());
    parallel_for(static_cast<std::int64_t>(tasks.size()), params.n_threads, params.stop, [&] {
        return [&, searcher = Searcher(set, params.stop)](std::int64_t item) mutable {
            const ShrinkTask &task = tasks[idx(item)];
            std::vector<const Pattern *> chosen;
            for (const int p : task.programs)
                chosen.push_back(patterns[idx(p)].get());
            Shrinker shrinker(searcher, set[task.graph], params.step_budget);
            results[idx(item)] = shrinker.run(chosen, task.order);
        };
    });
    return results;
}

} // namespace gdlnn
