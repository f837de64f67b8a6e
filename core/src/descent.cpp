#include "descent.hpp"

namespace gdlnn {

Descent::Descent(const MiningData &data, const MineParams &params, const std::atomic<bool> *stop)
    : data_(data), set_(data.set()), params_(params), stop_(stop), searcher_(data.set(), stop) {}

// --- set-up and result

void Descent::start(const MineTask &task) {
    task_ = &task;
    stats_ = {};
    n_mutations_ = 0;
    failed_searches_ = failed_steps_ = 0;
    target_.reset(set_, task);
    pattern_.emplace(set_, target_.arrays(), params_.values ? &params_.nominal : nullptr);
    current_.reset(*pattern_);
    searcher_.bind(*pattern_, &wipeouts_);
    searcher_.set_permanent(nullptr);
    const int label = data_.label(task.graph);
    order_ = &data_.order(label);
    knowledge_.reset(*pattern_, set_.size(), data_.n_positive(label),
                     params_.strategy == Strategy::greedy);
    caches_.reset(set_.size(), pattern_->n, [&](int i) { return graph(i).words; });
    applied_.resize(idx(pattern_->words));
    all_removals_.resize(idx(pattern_->words));
    test_all();
}

void Descent::test_all() {
    for (int i = 0; i < knowledge_.n_graphs() && !stopped(); ++i) {
        if (current_.n_alive() > graph(i).n + 1) {
            knowledge_.set_too_small(i);
            continue;
        }
        const Answer answer = test(i, current_);
        if (answer == Answer::yes)
            knowledge_.set_matched(i);
        else if (answer == Answer::no)
            knowledge_.add_conflict(i, conflict());
        else
            knowledge_.set_undecided(i);
    }
    refresh_score();
}

Answer Descent::search(int i, const Variant &variant, std::int64_t budget) {
    ++stats_.searches;
    const Answer answer = searcher_.test_with_conflict(graph(i), variant, caches_.of(i), budget);
    stats_.steps += searcher_.steps();
    if (answer == Answer::no) {
        ++failed_searches_;
        failed_steps_ += searcher_.steps();
    }
    return answer;
}

Answer Descent::test(int i, const Variant &variant) {
    count_test();
    const Answer answer = search(i, variant, params_.step_budget);
    stats_.unknown += answer == Answer::unknown;
    return answer;
}

void Descent::refresh_score() {
    const int positive = knowledge_.matched_positive();
    score_ = score_of(positive, positive + knowledge_.matched_negative());
}

MinedProgram Descent::finish() {
    MinedProgram result;
    result.stopped = stopped();
    if (result.stopped)
        return result;
    target_.write(current_, params_.values, result);
    recount(result);
    result.n_mutations = n_mutations_;
    result.stats = stats_;
    return result;
}

// Support and score of the final program; graphs left undecided are asked once more with the larger
// budget.
void Descent::recount(MinedProgram &result) {
    const int n_graphs = knowledge_.n_graphs();
    result.support.assign(idx(n_graphs), 0);
    for (int i = 0; i < n_graphs; ++i) {
        bool matches = knowledge_.state(i) == GraphState::matched;
        if (knowledge_.state(i) == GraphState::undecided) {
            const Answer answer = search(i, current_, params_.final_budget);
            matches = answer == Answer::yes;
            result.unresolved += answer == Answer::unknown;
        }
        if (!matches)
            continue;
        result.support[idx((*order_)[idx(i)])] = 1;
        ++result.matched;
        result.matched_of_label += knowledge_.positive(i);
    }
    result.score = score_of(result.matched_of_label, result.matched);
}

// --- applying mutations

void Descent::apply(std::span<const int> mutations) {
    fill_words(applied_.data(), pattern_->words, 0);
    bool lost_node = false;
    for (const int k : mutations) {
        set_bit(applied_.data(), k);
        lost_node = lost_node || pattern_->is_node(k);
        current_.remove(k);
        if (pattern_->is_node_side(k))
            caches_.invalidate(pattern_->node_sides[idx(k - pattern_->node_side_base)].owner);
    }
    current_.settle_sides();
    ++n_mutations_;
    if (knowledge_.tracking())
        knowledge_.apply(mutations.front());
    update_knowledge(applied_.data(), lost_node);
}

// Brings every graph up to date with a program that has lost the `applied` constraints.
void Descent::update_knowledge(const Word *applied, bool lost_node) {
    for (int i = 0; i < knowledge_.n_graphs(); ++i) {
        switch (knowledge_.state(i)) {
        case GraphState::matched:
            break;
        case GraphState::too_small:
            if (current_.n_alive() <= graph(i).n + 1)
                open_too_small(i);
            break;
        case GraphState::undecided:
            if (lost_node)
                retry_undecided(i);
            break;
        case GraphState::open:
            if (lost_node)
                knowledge_.forget_unknown(i);
            knowledge_.update(i, applied, current_.off());
            break;
        }
    }
    refresh_score();
}

// The program has at most one node too many: removing any one may help, nothing else can. Where a
// drop took two nodes at once, what helps now is not known.
void Descent::open_too_small(int i) {
    knowledge_.reopen(i);
    if (current_.n_alive() <= graph(i).n)
        return;
    fill_words(all_removals_.data(), pattern_->words, 0);
    copy_words(all_removals_.data(), current_.alive(), words_for(pattern_->n));
    knowledge_.add_conflict(i, all_removals_.data());
}

void Descent::retry_undecided(int i) {
    const Answer answer = test(i, current_);
    if (answer == Answer::yes) {
        knowledge_.set_matched(i);
    } else if (answer == Answer::no) {
        knowledge_.reopen(i);
        knowledge_.add_conflict(i, conflict());
    }
}

} // namespace gdlnn
