#include "canonical_search.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "gdlnn/splitmix64.hpp"

namespace gdlnn::canonical {

// --- twins

std::vector<std::int32_t> twin_classes(const LinkGraph &graph) {
    // Two vertices of one color are twins when their lists are equal, leaving the link between the
    // two aside; that link, where there is one, must look the same from both ends. Hashes propose,
    // lists decide.
    const int n = graph.n();
    std::vector<std::int32_t> result(n, -1);
    const auto hash = [](int vertex, int code) {
        return splitmix64(splitmix64(static_cast<std::uint64_t>(vertex)) +
                          static_cast<std::uint64_t>(code));
    };
    using Key = std::tuple<std::int32_t, std::int32_t, std::uint64_t>; // color, code or -1, hash
    std::vector<std::pair<Key, std::int32_t>> proposals;
    std::vector<std::int32_t> codes;
    for (int v = 0; v < n; ++v) {
        std::uint64_t sum = 0;
        codes.clear();
        for (const Link &link : graph.of(v)) {
            sum += hash(link.vertex, link.code);
            codes.push_back(link.code);
        }
        std::sort(codes.begin(), codes.end());
        codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
        proposals.emplace_back(Key{graph.color[v], -1, sum}, v);
        for (const int code : codes)
            proposals.emplace_back(Key{graph.color[v], code, sum + hash(v, code)}, v);
    }
    std::sort(proposals.begin(), proposals.end());
    const auto are_twins = [&](int u, int v) {
        const auto a = graph.of(u), b = graph.of(v);
        if (a.size() != b.size())
            return false;
        int ab = -1, ba = -1;
        std::size_t i = 0, j = 0;
        while (i < a.size() || j < b.size()) {
            if (i < a.size() && a[i].vertex == v)
                ab = a[i++].code;
            else if (j < b.size() && b[j].vertex == u)
                ba = b[j++].code;
            else if (i < a.size() && j < b.size() && a[i] == b[j])
                ++i, ++j;
            else
                return false;
        }
        return ab == ba;
    };
    int n_classes = 0;
    for (std::size_t i = 1, head = 0; i < proposals.size(); ++i) {
        const int u = proposals[head].second, v = proposals[i].second;
        if (proposals[i].first != proposals[head].first || !are_twins(u, v)) {
            head = i;
            continue;
        }
        if (result[u] < 0)
            result[u] = n_classes++;
        result[v] = result[u];
    }
    return result;
}

// --- Search

std::vector<std::int32_t> Search::run() {
    TraceComparison with_nothing;
    partition_.refine(with_nothing);
    if (partition_.discrete())
        return partition_.order();
    push_frame(0, true, 0);
    while (!frames_.empty()) {
        const std::size_t level = frames_.size() - 1;
        partition_.undo(frames_[level].mark);
        if (path_.size() > level) {
            depth_[path_.back()] = kNoDepth;
            path_.resize(level);
            trace_.resize(level);
        }
        const int v = next_candidate(frames_[level]);
        if (v < 0) {
            frames_.pop_back();
            continue;
        }
        path_.push_back(v);
        depth_[v] = static_cast<std::int32_t>(level);
        const int jump = visit(frames_[level], v);
        while (static_cast<int>(frames_.size()) > jump + 1) {
            frames_.pop_back();
            depth_[path_.back()] = kNoDepth;
            path_.pop_back();
            trace_.pop_back();
        }
    }
    return best_.order;
}

void Search::push_frame(int from, bool on_first, int against_best) {
    Frame frame;
    frame.mark = partition_.mark();
    frame.cell = partition_.first_open_cell(from);
    frame.on_first = on_first;
    frame.against_best = against_best;
    frames_.push_back(std::move(frame));
}

namespace {

int root(std::vector<std::int32_t> &parent, int i) {
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

} // namespace

// Merges candidates that an automorphism found since the last time maps to each other with the path
// left in place.
void Search::merge_orbits(Frame &frame, std::size_t level) {
    if (frame.automorphisms_seen == automorphisms_.size())
        return;
    for (std::size_t i = 0; i < frame.candidates.size(); ++i)
        slot_[frame.candidates[i]] = static_cast<std::int32_t>(i);
    for (; frame.automorphisms_seen < automorphisms_.size(); ++frame.automorphisms_seen) {
        const Automorphism &automorphism = automorphisms_[frame.automorphisms_seen];
        if (std::any_of(automorphism.begin(), automorphism.end(), [&](const auto &pair) {
                return depth_[pair.first] < static_cast<std::int32_t>(level);
            }))
            continue;
        for (const auto &[from, to] : automorphism) {
            if (slot_[from] < 0)
                continue;
            const int a = root(frame.parent, slot_[from]), b = root(frame.parent, slot_[to]);
            frame.parent[b] = a;
            frame.tried[a] |= frame.tried[b];
        }
    }
    for (const int v : frame.candidates)
        slot_[v] = -1;
}

// The next vertex to try, or -1. Most frames are left after their first child, so the list of
// candidates is made for the second.
int Search::next_candidate(Frame &frame) {
    const auto cell = partition_.cell(frame.cell);
    if (frame.first < 0)
        return frame.first = cell[0];
    if (frame.candidates.empty()) {
        frame.candidates.assign(cell.begin(), cell.end());
        std::iter_swap(frame.candidates.begin(),
                       std::find(frame.candidates.begin(), frame.candidates.end(), frame.first));
        frame.parent.resize(cell.size());
        std::iota(frame.parent.begin(), frame.parent.end(), 0);
        frame.tried.assign(cell.size(), 0);
        frame.tried[0] = 1;
        frame.next = 1;
        if (twins_[frame.first] >= 0)
            frame.tried_twins.push_back(twins_[frame.first]);
    }
    merge_orbits(frame, frames_.size() - 1);
    for (; frame.next < frame.candidates.size(); ++frame.next) {
        const int v = frame.candidates[frame.next];
        const int r = root(frame.parent, static_cast<int>(frame.next));
        if (frame.tried[r])
            continue;
        frame.tried[r] = 1;
        if (twins_[v] >= 0) {
            auto &twins = frame.tried_twins;
            const auto at = std::lower_bound(twins.begin(), twins.end(), twins_[v]);
            if (at != twins.end() && *at == twins_[v])
                continue;
            twins.insert(at, twins_[v]);
        }
        ++frame.next;
        return v;
    }
    return -1;
}

// Goes from a frame to its child. Returns the level of the frame to go on with.
int Search::visit(Frame &frame, int v) {
    const int level = static_cast<int>(frames_.size()) - 1;
    const auto at = static_cast<std::size_t>(level);
    const bool found = !first_.order.empty();
    // Equal traces lead to paths of equal length, except for hash collisions: then the path does
    // not count as better.
    const bool comparable = found && at < best_.trace.size();
    TraceComparison comparison(
        found && frame.on_first && at < first_.trace.size() ? &first_.trace[at] : nullptr,
        comparable ? &best_.trace[at] : nullptr,
        found && !comparable && frame.against_best == 0 ? -1 : frame.against_best);
    const bool worthwhile = partition_.individualize(v, comparison);
    trace_.push_back(std::move(comparison.trace()));
    const bool on_first = found ? comparison.on_first() : true;
    const int against_best = comparison.against_best();
    if (found && (!worthwhile || (!on_first && against_best < 0)))
        return level;
    if (partition_.discrete())
        return leaf(on_first, against_best);
    push_frame(frame.cell, on_first, against_best); // invalidates frame
    return level + 1;
}

int Search::leaf(bool on_first, int against_best) {
    const int level = static_cast<int>(frames_.size()) - 1;
    if (first_.order.empty()) {
        first_ = {path_, partition_.order(), trace_};
        make_best();
        return level;
    }
    // An automorphism onto a leaf seen before: everything below where the paths part has been seen
    // as well.
    if (on_first && record_if_automorphism(first_))
        return divergence(first_);
    if (against_best == 0) {
        against_best = compare_to_best();
        if (against_best == 0) {
            record_if_automorphism(best_);
            return divergence(best_);
        }
    }
    if (against_best > 0)
        make_best();
    return level;
}

int Search::divergence(const Leaf &other) const {
    int level = 0;
    while (path_[level] == other.path[level])
        ++level;
    return level;
}

bool Search::record_if_automorphism(const Leaf &other) {
    Automorphism automorphism;
    for (int i = 0; i < graph_.n(); ++i)
        if (other.order[i] != partition_.order()[i])
            automorphism.emplace_back(other.order[i], partition_.order()[i]);
    for (const auto &[from, to] : automorphism)
        slot_[from] = to;
    const auto image = [&](int v) { return slot_[v] < 0 ? v : slot_[v]; };
    bool same = true;
    for (const auto &[from, to] : automorphism) {
        const auto links = graph_.of(from), images = graph_.of(to);
        same = links.size() == images.size();
        for (const Link &link : images)
            code_[link.vertex] = link.code;
        for (std::size_t i = 0; same && i < links.size(); ++i)
            same = code_[image(links[i].vertex)] == links[i].code;
        for (const Link &link : images)
            code_[link.vertex] = -1;
        if (!same)
            break;
    }
    for (const auto &[from, to] : automorphism)
        slot_[from] = -1;
    if (same)
        automorphisms_.push_back(std::move(automorphism));
    return same;
}

// The links of the vertex at place i to earlier places.
void Search::row(const std::vector<std::int32_t> &order, const std::vector<std::int32_t> &position,
                 int i, std::vector<Link> &out) const {
    out.clear();
    for (const Link &link : graph_.of(order[i]))
        if (position[link.vertex] < i)
            out.push_back({position[link.vertex], link.code});
    std::sort(out.begin(), out.end());
}

int Search::compare_to_best() {
    const auto &order = partition_.order();
    std::vector<std::int32_t> position(graph_.n());
    for (int i = 0; i < graph_.n(); ++i)
        position[order[i]] = i;
    for (int i = 0; i < graph_.n(); ++i) {
        row(order, position, i, row_);
        row(best_.order, best_position_, i, best_row_);
        if (row_ != best_row_)
            return row_ < best_row_ ? -1 : 1;
    }
    return 0;
}

void Search::make_best() {
    best_ = {path_, partition_.order(), trace_};
    best_position_.resize(graph_.n());
    for (int i = 0; i < graph_.n(); ++i)
        best_position_[best_.order[i]] = i;
    for (Frame &frame : frames_)
        frame.against_best = 0;
}

} // namespace gdlnn::canonical
