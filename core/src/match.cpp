#include "gdlnn/match.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "gdlnn/splitmix64.hpp"
#include "parallel.hpp"

namespace gdlnn {
namespace {

constexpr int kGraphsPerBlock = 256;

// A set of number sequences of one length, one after another in one block, found by hashing with
// open addressing. Cleared and filled again for every pair of program and graph, without freeing.
class SequenceSet {
  public:
    // Empties the set; sequences have `length` numbers from now on.
    void clear(std::size_t length) {
        length_ = length;
        size_ = 0;
        numbers_.clear();
        slots_.assign(kFewSlots, kEmpty); // few, so that one large set does not slow all later ones
    }
    std::size_t size() const { return size_; }

    void insert(const std::vector<std::int32_t> &sequence) {
        if (2 * (size_ + 1) > slots_.size())
            enlarge();
        const std::size_t slot = find(sequence.data());
        if (slots_[slot] != kEmpty)
            return;
        slots_[slot] = size_++;
        numbers_.insert(numbers_.end(), sequence.begin(), sequence.end());
    }

  private:
    static constexpr std::size_t kEmpty = SIZE_MAX;
    static constexpr std::size_t kFewSlots = 16;

    // The slot that holds a sequence, or the empty one where it belongs.
    std::size_t find(const std::int32_t *sequence) const {
        std::uint64_t hash = 0;
        for (std::size_t i = 0; i < length_; ++i)
            hash = splitmix64(hash ^ static_cast<std::uint64_t>(sequence[i]));
        const std::size_t mask = slots_.size() - 1; // the number of slots is a power of two
        std::size_t slot = hash & mask;
        while (slots_[slot] != kEmpty &&
               !std::equal(sequence, sequence + length_, numbers_.data() + slots_[slot] * length_))
            slot = (slot + 1) & mask;
        return slot;
    }
    void enlarge() {
        slots_.assign(2 * slots_.size(), kEmpty);
        for (std::size_t i = 0; i < size_; ++i)
            slots_[find(numbers_.data() + i * length_)] = i;
    }

    std::size_t length_ = 0, size_ = 0;
    std::vector<std::int32_t> numbers_;
    std::vector<std::size_t> slots_; // numbers of sequences
};

// Counts the different image nodes and image edges over all witnesses.
class SubgraphCounter {
  public:
    Answer count(Searcher &searcher, const Pattern &pattern, const EncodedGraph &graph,
                 std::int64_t budget, std::int64_t &found) {
        seen_.clear(idx(pattern.n) + 2 * idx(pattern.m));
        searcher.start(graph, nullptr);
        for (;;) {
            const Answer answer =
                searcher.next(budget == kNoBudget ? kNoBudget : budget - searcher.steps());
            if (answer != Answer::yes) {
                found = static_cast<std::int64_t>(seen_.size());
                return answer;
            }
            describe(searcher.witness(), pattern, graph.directed);
            seen_.insert(key_);
        }
    }

  private:
    // The nodes in order, then the edges in order, filled up to one length.
    void describe(const std::vector<std::int32_t> &image, const Pattern &pattern, bool directed) {
        key_.assign(image.begin(), image.end());
        std::sort(key_.begin(), key_.end());
        edges_.clear();
        for (int e = 0; e < pattern.m; ++e) {
            auto u = image[idx(pattern.source[idx(e)])], v = image[idx(pattern.target[idx(e)])];
            if (!directed && u > v)
                std::swap(u, v);
            edges_.emplace_back(u, v);
        }
        std::sort(edges_.begin(), edges_.end());
        edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
        for (const auto &[u, v] : edges_) {
            key_.push_back(u);
            key_.push_back(v);
        }
        key_.resize(idx(pattern.n) + 2 * idx(pattern.m), -1);
    }

    SequenceSet seen_;
    std::vector<std::int32_t> key_;
    std::vector<std::pair<std::int32_t, std::int32_t>> edges_;
};

// One thread's part of a batch: its buffers, and the program that it compiled last. A thread that
// takes several blocks of graphs of one program compiles it once.
class BlockMatcher {
  public:
    BlockMatcher(const GraphSet &set, const std::vector<ProgramArrays> &programs,
                 const MatchParams &params)
        : set_(set), programs_(programs), params_(params), searcher_(set, params.stop) {}

    void bind(int program) {
        if (program == program_)
            return;
        pattern_.emplace(set_, programs_[idx(program)]);
        searcher_.bind(*pattern_);
        program_ = program;
    }
    Answer exists(int graph) { return searcher_.test(set_[graph], nullptr, params_.step_budget); }
    Answer value(int graph, std::int64_t &value) {
        switch (params_.activation) {
        case Activation::count:
            return searcher_.count(set_[graph], params_.step_budget, value);
        case Activation::count_subgraphs:
            return counter_.count(searcher_, *pattern_, set_[graph], params_.step_budget, value);
        default:
            const Answer answer = exists(graph);
            value = answer == Answer::yes;
            return answer;
        }
    }

  private:
    const GraphSet &set_;
    const std::vector<ProgramArrays> &programs_;
    const MatchParams &params_;
    Searcher searcher_;
    SubgraphCounter counter_;
    int program_ = -1;
    std::optional<Pattern> pattern_;
};

// Calls ask(matcher, graph, place in the table) for every pair of graph and program, on as many
// threads as asked for. A piece of work is one program on a block of graphs.
template <class Ask>
void over_pairs(const GraphSet &set, const std::vector<ProgramArrays> &programs,
                const MatchParams &params, Ask &&ask) {
    const int blocks = (set.size() + kGraphsPerBlock - 1) / kGraphsPerBlock;
    const auto n_items = static_cast<std::int64_t>(programs.size()) * blocks;
    parallel_for(n_items, params.n_threads, params.stop, [&] {
        return [&, matcher = BlockMatcher(set, programs, params)](std::int64_t item) mutable {
            const int program = static_cast<int>(item / blocks);
            const int first = static_cast<int>(item % blocks) * kGraphsPerBlock;
            const int last = std::min(first + kGraphsPerBlock, set.size());
            matcher.bind(program);
            for (int graph = first; graph < last; ++graph)
                ask(matcher, graph, idx(graph) * programs.size() + idx(program));
        };
    });
}

} // namespace

void match_exists(const GraphSet &set, const std::vector<ProgramArrays> &programs,
                  const MatchParams &params, std::uint8_t *answers) {
    over_pairs(set, programs, params, [&](BlockMatcher &matcher, int graph, std::size_t place) {
        answers[place] = static_cast<std::uint8_t>(matcher.exists(graph));
    });
}

void match_batch(const GraphSet &set, const std::vector<ProgramArrays> &programs,
                 const MatchParams &params, std::int64_t *values, std::uint8_t *unknown) {
    over_pairs(set, programs, params, [&](BlockMatcher &matcher, int graph, std::size_t place) {
        unknown[place] = matcher.value(graph, values[place]) == Answer::unknown;
    });
}

Answer count_subgraphs(Searcher &searcher, const Pattern &pattern, const EncodedGraph &graph,
                       std::int64_t budget, std::int64_t &found) {
    return SubgraphCounter().count(searcher, pattern, graph, budget, found);
}

} // namespace gdlnn
