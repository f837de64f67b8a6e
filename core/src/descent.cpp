#include "descent.hpp"

#include <algorithm>
#include <limits>

namespace gdlnn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A fixed, well-mixed number for each (seed, mutation): the order of random ties.
std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

} // namespace

Descent::Descent(const MiningData &data, const MineParams &params, const std::atomic<bool> *stop)
    : data_(data), set_(data.set()), params_(params), stop_(stop), searcher_(data.set(), stop) {}

MinedProgram Descent::mine(const MineTask &task) {
    start(task);
    first_tests();
    if (params_.strategy == Strategy::greedy)
        greedy();
    else
        sequential();
    return finish();
}

// --- set-up and result
// ---------------------------------------------------------------------------------------------

void Descent::start(const MineTask &task) {
    task_ = &task;
    stats_ = {};
    const EncodedGraph &g = set_[task.graph];
    const int d = set_.n_node_features(), c = set_.n_edge_features();
    std::vector<std::int64_t> position(idx(g.n), -1);
    node_lower_.clear();
    for (std::size_t x = 0; x < task.nodes.size(); ++x) {
        const auto v = task.nodes[x];
        position[idx(v)] = static_cast<std::int64_t>(x);
        node_lower_.insert(node_lower_.end(), g.node_features + v * d,
                           g.node_features + (v + 1) * d);
    }
    node_upper_ = node_lower_;
    // Edges in the order and orientation of the graph: among directed graphs, those of an
    // undirected target count too.
    ends_.clear();
    edge_numbers_.clear();
    edge_lower_.clear();
    for (int e = 0; e < g.m; ++e) {
        const auto u = position[idx(g.ends[idx(2 * e)])], v = position[idx(g.ends[idx(2 * e + 1)])];
        if (u < 0 || v < 0)
            continue;
        edge_numbers_.push_back(e);
        ends_.push_back(u);
        ends_.push_back(v);
        edge_lower_.insert(edge_lower_.end(), g.edge_features + e * c,
                           g.edge_features + (e + 1) * c);
    }
    edge_upper_ = edge_lower_;
    ProgramArrays program;
    program.n = static_cast<int>(task.nodes.size());
    program.m = static_cast<int>(edge_numbers_.size());
    program.node_lower = node_lower_.data();
    program.node_upper = node_upper_.data();
    program.edges = ends_.data();
    program.edge_lower = edge_lower_.data();
    program.edge_upper = edge_upper_.data();
    pattern_.emplace(set_, program);
    searcher_.bind(*pattern_, &root_bias_);
    searcher_.set_permanent(nullptr);
    counting_ = params_.strategy == Strategy::greedy;
    drops_only_ = false;

    const int label = data_.label(task.graph);
    order_ = &data_.order(label);
    n_positive_ = data_.n_positive(label);
    n_graphs_ = set_.size();
    n_alive_ = program.n;
    n_mutations_ = 0;
    positive_count_ = negative_count_ = 0;
    failed_searches_ = failed_steps_ = 0;
    pw_ = idx(pattern_->words);
    gw_ = idx(words_for(n_graphs_));
    const auto n_ids = idx(pattern_->n_ids), graphs = idx(n_graphs_);
    current_.reset(*pattern_);
    bits_.assign(pw_, 0);
    reached_.assign(pw_, 0);
    vw_ = idx(std::max(1, words_for(program.n)));
    domain_start_.resize(idx(n_graphs_));
    std::size_t domain_words = 0;
    for (int i = 0; i < n_graphs_; ++i) {
        domain_start_[idx(i)] = domain_words;
        domain_words += idx(graph(i).words) * idx(program.n);
    }
    if (domains_.size() < domain_words)
        domains_.resize(domain_words);
    domain_valid_.assign(idx(n_graphs_) * vw_, 0);
    node_cleared_.assign(idx(program.n), 0);
    edge_cleared_.assign(idx(program.m), 0);
    state_.assign(graphs, State::open);
    n_closures_.assign(graphs, 0);
    evicted_.assign(graphs, 0);
    look_limit_.assign(graphs, kUnlimited);
    if (closures_.size() < graphs * kMaxClosures * pw_)
        closures_.resize(graphs * kMaxClosures * pw_);
    united_.assign(graphs * pw_, 0);
    cand_.assign(graphs * pw_, 0);
    known_.assign(graphs * pw_, 0);
    unknown_.assign(graphs * pw_, 0);
    cand_t_.assign(n_ids * gw_, 0);
    known_t_.assign(n_ids * gw_, 0);
    known_pos_.assign(n_ids, 0);
    known_neg_.assign(n_ids, 0);
    open_pos_.assign(n_ids, 0);
    open_neg_.assign(n_ids, 0);
    bound_.assign(n_ids, 0);
    stale_.assign(n_ids, 1);
    priority_.assign(n_ids, 0);
    if (task.random_ties)
        for (std::size_t k = 0; k < n_ids; ++k)
            priority_[k] = mix(task.seed ^ mix(k));
}

void Descent::first_tests() {
    for (int i = 0; i < n_graphs_ && !stopped(); ++i) {
        if (n_alive_ > graph(i).n + 1) {
            state_[idx(i)] = State::asleep;
            continue;
        }
        ++stats_.tests;
        const Answer answer = search(i, current_, params_.step_budget);
        if (answer == Answer::yes)
            become_matched(i);
        else if (answer == Answer::no)
            add_closure(i, searcher_.conflict());
        else {
            ++stats_.unknown;
            state_[idx(i)] = State::limbo;
        }
    }
    score_ = score_of(positive_count_, positive_count_ + negative_count_);
}

Answer Descent::search(int i, const Variant &variant, std::int64_t budget) {
    ++stats_.searches;
    const DomainCache cache{domains_.data() + domain_start_[idx(i)],
                            domain_valid_.data() + idx(i) * vw_};
    const Answer answer = searcher_.test_with_conflict(graph(i), variant, cache, budget);
    stats_.steps += searcher_.steps();
    if (answer == Answer::no) {
        ++failed_searches_;
        failed_steps_ += searcher_.steps();
    }
    return answer;
}

MinedProgram Descent::finish() {
    MinedProgram result;
    result.stopped = stopped();
    if (result.stopped)
        return result;
    const Pattern &p = *pattern_;
    const int d = set_.n_node_features(), c = set_.n_edge_features();
    for (std::size_t s = 0; s < p.node_sides.size(); ++s)
        if (test_bit(off(), p.node_side_id(static_cast<int>(s)))) {
            const Side &side = p.node_sides[s];
            (side.upper ? node_upper_ : node_lower_)[idx(side.owner * d + side.feature)] =
                side.upper ? kInfinity : -kInfinity;
        }
    for (std::size_t s = 0; s < p.edge_sides.size(); ++s)
        if (test_bit(off(), p.edge_side_id(static_cast<int>(s)))) {
            const Side &side = p.edge_sides[s];
            (side.upper ? edge_upper_ : edge_lower_)[idx(side.owner * c + side.feature)] =
                side.upper ? kInfinity : -kInfinity;
        }
    const auto copy = [](std::vector<double> &to, const std::vector<double> &from, int row,
                         int width, bool cleared, double open) {
        for (int f = 0; f < width; ++f)
            to.push_back(cleared ? open : from[idx(row * width + f)]);
    };
    for (int x = 0; x < p.n; ++x) {
        if (test_bit(off(), x))
            continue;
        result.nodes.push_back(task_->nodes[idx(x)]);
        copy(result.node_lower, node_lower_, x, d, node_cleared_[idx(x)], -kInfinity);
        copy(result.node_upper, node_upper_, x, d, node_cleared_[idx(x)], kInfinity);
    }
    for (int e = 0; e < p.m; ++e) {
        if (test_bit(off(), p.edge_id(e)))
            continue;
        result.edges.push_back(edge_numbers_[idx(e)]);
        copy(result.edge_lower, edge_lower_, e, c, edge_cleared_[idx(e)], -kInfinity);
        copy(result.edge_upper, edge_upper_, e, c, edge_cleared_[idx(e)], kInfinity);
    }
    recount(result);
    result.n_mutations = n_mutations_;
    result.stats = stats_;
    return result;
}

// Support and score of the final program; graphs left unknown are asked once more with the larger
// budget.
void Descent::recount(MinedProgram &result) {
    result.support.assign(idx(n_graphs_), 0);
    for (int i = 0; i < n_graphs_; ++i) {
        bool matches = state_[idx(i)] == State::matched;
        if (state_[idx(i)] == State::limbo) {
            const Answer answer = search(i, current_, params_.final_budget);
            matches = answer == Answer::yes;
            result.unresolved += answer == Answer::unknown;
        }
        if (!matches)
            continue;
        result.support[idx((*order_)[idx(i)])] = 1;
        ++result.matched;
        result.matched_of_label += positive(i);
    }
    result.score = score_of(result.matched_of_label, result.matched);
}

// --- knowledge about graphs
// ----------------------------------------------------------------------------------------

// A conflict narrows the mutations that could make the program match: only those that touch every
// conflict.
void Descent::add_closure(int i, const Word *bits) {
    auto &count = n_closures_[idx(i)];
    int slot = count;
    if (slot == kMaxClosures) { // the largest conflict says least
        int largest = -1;
        for (int c = 0; c < kMaxClosures; ++c) {
            const int size = count_bits(closure(i, c), static_cast<int>(pw_));
            if (size > largest) {
                largest = size;
                slot = c;
            }
        }
        evicted_[idx(i)] = 1;
    } else {
        ++count;
    }
    copy_words(closure(i, slot), bits, static_cast<int>(pw_));
    or_words(united(i), bits, static_cast<int>(pw_));
    if (!counting_)
        return;
    if (count == 1 && !evicted_[idx(i)]) {
        for (std::size_t j = 0; j < pw_; ++j)
            bits_[j] = bits[j] & ~known(i)[j] & ~unknown(i)[j];
    } else {
        for (std::size_t j = 0; j < pw_; ++j)
            bits_[j] = cand(i)[j] & bits[j];
    }
    set_candidates(i, bits_.data());
}

// Replaces the open mutations of a graph; the counts change only where bits differ.
void Descent::set_candidates(int i, const Word *bits) {
    Word *old = cand(i);
    auto &counts = positive(i) ? open_pos_ : open_neg_;
    const auto word = idx(i >> 6);
    const Word mask = Word{1} << (i & 63);
    for (std::size_t j = 0; j < pw_; ++j) {
        for (Word changed = old[j] ^ bits[j]; changed; changed &= changed - 1) {
            const int k = static_cast<int>(j) * kWordBits + std::countr_zero(changed);
            const bool added = (bits[j] >> (k & 63)) & 1U;
            counts[idx(k)] += added ? 1 : -1;
            cand_of(k)[word] ^= mask;
            stale_[idx(k)] = 1;
        }
        old[j] = bits[j];
    }
}

// The program with mutation k matches graph i, and so it does with every mutation that takes k
// along.
void Descent::add_known(int i, int k) {
    Word *reached = reached_.data();
    fill_words(reached, static_cast<int>(pw_), 0);
    pattern_->touch(reached, k);
    auto &counts = positive(i) ? known_pos_ : known_neg_;
    for (std::size_t j = 0; j < pw_; ++j) {
        for (Word fresh = reached[j] & ~known(i)[j]; fresh; fresh &= fresh - 1) {
            const int id = static_cast<int>(j) * kWordBits + std::countr_zero(fresh);
            ++counts[idx(id)];
            set_bit(known_of(id), i);
            stale_[idx(id)] = 1;
        }
        known(i)[j] |= reached[j];
        bits_[j] = cand(i)[j] & ~reached[j];
    }
    set_candidates(i, bits_.data());
}

void Descent::become_matched(int i) {
    state_[idx(i)] = State::matched;
    ++(positive(i) ? positive_count_ : negative_count_);
    fill_words(bits_.data(), static_cast<int>(pw_), 0);
    if (!counting_)
        return;
    set_candidates(i, bits_.data());
    auto &counts = positive(i) ? known_pos_ : known_neg_;
    for_each_bit(known(i), static_cast<int>(pw_), [&](int k) {
        --counts[idx(k)];
        clear_bit(known_of(k), i);
        stale_[idx(k)] = 1;
    });
}

// Conflicts that the applied mutations touch prove nothing any more.
void Descent::drop_closures(int i, const Word *applied) {
    const int w = static_cast<int>(pw_);
    bool touched = evicted_[idx(i)];
    for (std::size_t j = 0; j < pw_ && !touched; ++j)
        touched = united(i)[j] & applied[j];
    if (!touched)
        return;
    evicted_[idx(i)] = 0;
    int kept = 0;
    fill_words(united(i), w, 0);
    std::vector<Word> &narrowed = bits_;
    for (std::size_t j = 0; j < pw_; ++j)
        narrowed[j] = ~off()[j] & ~known(i)[j] & ~unknown(i)[j];
    if (pattern_->n_ids % kWordBits)
        narrowed[pw_ - 1] &= (Word{1} << (pattern_->n_ids % kWordBits)) - 1;
    for (int c = 0; c < n_closures_[idx(i)]; ++c) {
        const Word *bits = closure(i, c);
        bool hit = false;
        for (std::size_t j = 0; j < pw_ && !hit; ++j)
            hit = bits[j] & applied[j];
        if (hit)
            continue;
        if (kept != c)
            copy_words(closure(i, kept), bits, w);
        ++kept;
        or_words(united(i), bits, w);
        for (std::size_t j = 0; j < pw_; ++j)
            narrowed[j] &= bits[j];
    }
    n_closures_[idx(i)] = static_cast<std::uint8_t>(kept);
    if (!counting_)
        return;
    if (kept == 0) // sections end before their words do: leave out ids that are none
        for (int k = 0; k < pattern_->n_ids; ++k)
            if ((k >= pattern_->n && k < pattern_->edge_base) ||
                (k >= pattern_->edge_base + pattern_->m && k < pattern_->node_side_base) ||
                (k >= pattern_->node_side_base + static_cast<int>(pattern_->node_sides.size()) &&
                 k < pattern_->edge_side_base))
                clear_bit(narrowed.data(), k);
    set_candidates(i, narrowed.data());
}

// Brings every graph up to date with a program that has lost the `applied` constraints.
void Descent::after_step(const Word *applied, bool lost_node) {
    for (int i = 0; i < n_graphs_; ++i) {
        switch (state_[idx(i)]) {
        case State::matched:
            break;
        case State::asleep:
            if (n_alive_ <=
                graph(i).n + 1) { // one node too many: removing any one may help, nothing else can
                state_[idx(i)] = State::open;
                if (n_alive_ <= graph(i).n)
                    break; // a drop took two nodes at once: what helps now is not known
                fill_words(reached_.data(), static_cast<int>(pw_), 0);
                copy_words(reached_.data(), current_.alive(), static_cast<int>(vw_));
                add_closure(i, reached_.data());
            }
            break;
        case State::limbo:
            if (lost_node)
                retry_limbo(i);
            break;
        case State::open:
            if (lost_node && any_word(unknown(i), static_cast<int>(pw_))) {
                fill_words(unknown(i), static_cast<int>(pw_), 0);
                evicted_[idx(i)] = 1; // so that the mutations asked in vain come back
            }
            drop_closures(i, applied);
            break;
        }
    }
    score_ = score_of(positive_count_, positive_count_ + negative_count_);
}

void Descent::retry_limbo(int i) {
    ++stats_.tests;
    const Answer answer = search(i, current_, params_.step_budget);
    if (answer == Answer::unknown) {
        ++stats_.unknown;
        return;
    }
    if (answer == Answer::yes) {
        become_matched(i);
        return;
    }
    state_[idx(i)] = State::open;
    fill_words(unknown(i), static_cast<int>(pw_), 0);
    n_closures_[idx(i)] = 0;
    evicted_[idx(i)] = 0;
    fill_words(united(i), static_cast<int>(pw_), 0);
    add_closure(i, searcher_.conflict());
}

} // namespace gdlnn
