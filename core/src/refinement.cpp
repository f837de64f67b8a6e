#include "refinement.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "gdlnn/splitmix64.hpp"

namespace gdlnn::canonical {

// --- TraceComparison

bool TraceComparison::add(std::uint64_t step) {
    const std::size_t i = trace_.size();
    trace_.push_back(step);
    if (first_ && (i >= first_->size() || (*first_)[i] != step))
        first_ = nullptr;
    if (!best_)
        return true;
    if (against_best_ == 0 && (i >= best_->size() || (*best_)[i] != step))
        against_best_ = i < best_->size() && (*best_)[i] < step ? 1 : -1;
    return first_ || against_best_ >= 0;
}

// --- Partition

Partition::Partition(const LinkGraph &graph)
    : graph_(graph), element_(graph.n()), position_(graph.n()), cell_(graph.n()),
      length_(graph.n()), queued_(graph.n(), 0), key_(graph.n(), 0) {
    std::iota(element_.begin(), element_.end(), 0);
    std::stable_sort(element_.begin(), element_.end(),
                     [&](int a, int b) { return graph.color[a] < graph.color[b]; });
    int start = 0;
    for (int i = 0; i < graph.n(); ++i) {
        if (i == 0 || graph.color[element_[i]] != graph.color[element_[i - 1]]) {
            start = i;
            length_[start] = 0;
            ++n_cells_;
            enqueue(start);
        }
        position_[element_[i]] = i;
        cell_[element_[i]] = start;
        ++length_[start];
    }
}

int Partition::first_open_cell(int from) const {
    while (length_[from] == 1)
        ++from;
    return from;
}

void Partition::split(int start, int at) {
    length_[at] = start + length_[start] - at;
    length_[start] = at - start;
    for (int i = at; i < at + length_[at]; ++i)
        cell_[element_[i]] = at;
    splits_.emplace_back(start, at);
    ++n_cells_;
}

void Partition::undo(std::size_t mark) {
    while (splits_.size() > mark) {
        const auto [start, at] = splits_.back();
        splits_.pop_back();
        for (int i = at; i < at + length_[at]; ++i)
            cell_[element_[i]] = start;
        length_[start] += length_[at];
        --n_cells_;
    }
}

void Partition::enqueue(int start) {
    if (!queued_[start]) {
        queued_[start] = 1;
        queue_.push_back(start);
    }
}

void Partition::place(int v, int position) {
    const int other = element_[position], old = position_[v];
    element_[old] = other;
    position_[other] = old;
    element_[position] = v;
    position_[v] = position;
}

bool Partition::refine(TraceComparison &comparison) {
    trace_ = 0;
    bool worthwhile = true;
    for (std::size_t head = 0; head < queue_.size(); ++head) {
        const int splitter = queue_[head];
        queued_[splitter] = 0;
        if (worthwhile && !discrete()) {
            split_by(splitter);
            worthwhile = comparison.add(trace_);
        }
    }
    queue_.clear();
    return worthwhile && comparison.add(splitmix64(trace_ + static_cast<std::uint64_t>(n_cells_)));
}

bool Partition::individualize(int v, TraceComparison &comparison) {
    const int start = cell_[v];
    place(v, start);
    split(start, start + 1);
    enqueue(start);
    return refine(comparison);
}

void Partition::split_by(int splitter) {
    members_.assign(cell(splitter).begin(), cell(splitter).end());
    touched_.clear();
    for (const int u : members_)
        for (const Link &link : graph_.of(u)) {
            if (key_[link.vertex] == 0)
                touched_.push_back(link.vertex);
            key_[link.vertex] += splitmix64(static_cast<std::uint64_t>(link.code)) | 1;
        }
    // A sum that wraps to zero is seen twice here and keyed once: drop the double.
    std::sort(touched_.begin(), touched_.end(), [&](int a, int b) {
        return std::tuple(cell_[a], key_[a], a) < std::tuple(cell_[b], key_[b], b);
    });
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    trace_ = splitmix64(trace_ ^ static_cast<std::uint64_t>(splitter));
    for (std::size_t from = 0; from < touched_.size();) {
        std::size_t to = from;
        while (to < touched_.size() && cell_[touched_[to]] == cell_[touched_[from]])
            ++to;
        // split_cell gives later members other cells, so the group is found before it runs.
        split_cell({touched_.data() + from, to - from});
        from = to;
    }
    for (const int v : touched_)
        key_[v] = 0;
}

void Partition::split_cell(std::span<const std::int32_t> touched) {
    const int start = cell_[touched[0]], size = length_[start];
    const int first = start + size - static_cast<int>(touched.size());
    for (std::size_t i = touched.size(); i-- > 0;)
        place(touched[i], first + static_cast<int>(i));
    fragments_.clear();
    fragments_.push_back(start);
    for (std::size_t i = 0; i < touched.size(); ++i) {
        const int at = first + static_cast<int>(i);
        const std::uint64_t before = i > 0 ? key_[touched[i - 1]] : 0;
        if (key_[touched[i]] != before || i == 0) {
            trace_ = splitmix64(trace_ ^ key_[touched[i]]) + static_cast<std::uint64_t>(at);
            if (at > start)
                fragments_.push_back(at);
        }
    }
    if (fragments_.size() == 1)
        return;
    for (std::size_t i = fragments_.size(); i-- > 1;)
        split(start, fragments_[i]);
    // Counts into a cell that is no splitter any more are known; all fragments but one then tell
    // the rest.
    int spared = -1;
    if (!queued_[start])
        for (const int fragment : fragments_)
            if (spared < 0 || length_[fragment] > length_[spared])
                spared = fragment;
    for (const int fragment : fragments_)
        if (fragment != spared)
            enqueue(fragment);
}

} // namespace gdlnn::canonical
