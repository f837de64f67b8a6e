// Why a search failed: for every value that a variable could not take, a constraint that excludes
// it.
#include <algorithm>
#include <cassert>

#include "search_neighbours.hpp"

namespace gdlnn {

#ifdef GDLNN_TRACE_REASONS
namespace {

// Notes what an explanation adds to a row, so that tests can tell reasons from what lay in the row
// before.
struct ReasonTrace {
    ReasonTrace(std::vector<Word> &to, const Word *from, int words)
        : reasons(to), row(from), before(from, from + words) {}
    ReasonTrace(const ReasonTrace &) = delete;
    ReasonTrace &operator=(const ReasonTrace &) = delete;
    ~ReasonTrace() {
        reasons.resize(std::max(reasons.size(), before.size()));
        for (std::size_t i = 0; i < before.size(); ++i)
            reasons[i] |= row[i] & ~before[i];
    }
    std::vector<Word> &reasons;
    const Word *row;
    std::vector<Word> before;
};

} // namespace
#define TRACE_REASONS(row) const ReasonTrace trace(reasons, row, p_->words)
#else
#define TRACE_REASONS(row) static_cast<void>(0)
#endif

// Adds the reasons why y can take none of `values`: constraints, and the placed variables they
// speak of.
template <int W>
void Searcher::explain(int y, const Word *values, Word *constraints, Word *levels) {
    const int w = W ? W : width_;
    Word *rest = scratch_.data() + 2 * w;
    copy_words(rest, values, w);
    TRACE_REASONS(constraints);
    p_->touch_node(constraints, y);
    if (touches_[idx(y)])
        explain_edges<W>(y, rest, constraints, levels);
    explain_sides<W>(y, rest, constraints);
    if (any_word(rest, w))
        explain_loops<W>(y, rest, constraints);
    if (any_word(rest, w))
        explain_degree<W>(y, rest, constraints);
    for_each_bit(rest, w, [&](int t) {
        assert(test_bit(used_.data(), t));
        const int z = owner_[idx(t)];
        p_->touch_node(constraints, z);
        set_bit(levels, z);
    });
}

// Adds the reasons why the values of x at this level that left a neighbour without candidates did
// so. All values that emptied the same neighbour share one explanation: what they leave to it must
// be excluded by something else.
template <int W> void Searcher::explain_blocked(int x, Word *constraints, Word *levels) {
    TRACE_REASONS(constraints);
    const Pattern &p = *p_;
    const EncodedGraph &g = *g_;
    const int w = W ? W : width_;
    const auto first = blocked_start_[idx(level_)];
    Word *mask = scratch_.data() + 3 * w, *rest = scratch_.data() + 4 * w;
    for (int i = p.incidence_start[idx(x)]; i < p.incidence_start[idx(x + 1)]; ++i) {
        const Incidence &link = p.incidences[idx(i)];
        const int e = link.edge, y = link.other;
        bool any = false;
        fill_words(rest, w, 0);
        for (auto b = first; b < blocked_.size(); ++b) {
            if (blocked_[b].incidence != i)
                continue;
            const int v = blocked_[b].value;
            any = true;
            p.touch_edge(constraints, e);
            if (variant_->constrained(e))
                explain_wrong_edges<W>(e, link.outward ? g.out : g.incoming(), v, g.all.data(),
                                       constraints);
            neighbours<W>(e, link.outward, v, mask);
            clear_bit(mask, v); // a self-loop: x is there already
            or_words(rest, mask, w);
        }
        if (any)
            explain<W>(y, rest, constraints, levels);
    }
}

// Adds sides of edge e that exclude every neighbour of v among `values` over an edge that does not
// pass.
template <int W>
void Searcher::explain_wrong_edges(int e, const Adjacency &a, int v, const Word *values,
                                   Word *constraints) {
    const EncodedGraph &g = *g_;
    const int w = W ? W : width_;
    if (!set_.has_edge_types()) {
        for (auto i = idx(a.start[idx(v)]); i < idx(a.start[idx(v + 1)]); ++i)
            if (test_bit(values, a.node[i]))
                explain_wrong_edge(e, a.edge[i], constraints);
        return;
    }
    Word wrong = 0; // the types of those edges
    if (g.has_masks && a.typed.empty()) {
        Word met = 0;
        for (int j = 0; j < w; ++j)
            met |= a.any[idx(v * w + j)] & values[j];
        wrong = met ? Word{1} << g.types[0] : 0;
    } else if (g.has_masks) {
        const Word *row = a.typed.data() + idx(v) * idx(w);
        for (std::size_t t = 0; t < g.types.size(); ++t, row += a.any.size()) {
            Word met = 0;
            for (int j = 0; j < w; ++j)
                met |= row[j] & values[j];
            wrong |= Word{met != 0} << g.types[t];
        }
    } else {
        for (auto i = idx(a.start[idx(v)]); i < idx(a.start[idx(v + 1)]); ++i)
            if (test_bit(values, a.node[i]))
                wrong |= Word{1} << g.edge_type[idx(a.edge[i])];
    }
    explain_wrong_types(e, wrong & ~variant_->allowed(e), constraints);
}

// Adds sides of edge e that exclude all of some edge types.
void Searcher::explain_wrong_types(int e, Word wrong, Word *constraints) {
    const Pattern &p = *p_;
    while (wrong) {
        int best = -1, most = 0;
        for (int s = p.edge_side_start[idx(e)]; s < p.edge_side_start[idx(e + 1)]; ++s) {
            const Word excluded = wrong & ~p.edge_sides[idx(s)].types;
            if (!excluded || variant_->is_off(p.edge_side_id(s)))
                continue;
            const int n = std::popcount(excluded) + rank_of(p.edge_side_id(s), constraints);
            if (n > most) {
                best = s;
                most = n;
            }
        }
        assert(best >= 0);
        p.touch_edge_side(constraints, best);
        wrong &= p.edge_sides[idx(best)].types;
    }
}

// Adds one side of edge e that excludes an edge of the graph, unless it passes them all.
void Searcher::explain_wrong_edge(int e, int graph_edge, Word *constraints) {
    const Pattern &p = *p_;
    const double *features = g_->edge_features + graph_edge * set_.n_edge_features();
    int best = -1, most = -1;
    for (int s = p.edge_side_start[idx(e)]; s < p.edge_side_start[idx(e + 1)]; ++s) {
        const Side &side = p.edge_sides[idx(s)];
        if (variant_->is_off(p.edge_side_id(s)) || passes(side, features[side.feature]))
            continue;
        if (rank_of(p.edge_side_id(s), constraints) > most) {
            best = s;
            most = rank_of(p.edge_side_id(s), constraints);
        }
    }
    if (best >= 0)
        p.touch_edge_side(constraints, best);
}

// The earliest placed neighbour that excludes a value explains it: earlier reasons jump back
// further.
template <int W> void Searcher::explain_edges(int y, Word *rest, Word *constraints, Word *levels) {
    const Pattern &p = *p_;
    const EncodedGraph &g = *g_;
    const int w = W ? W : width_;
    Word *mask = scratch_.data() + 3 * w;
    for (int after = -1; any_word(rest, w);) {
        const Incidence *link = nullptr;
        int earliest = 0;
        for (int i = p.incidence_start[idx(y)]; i < p.incidence_start[idx(y + 1)]; ++i) {
            const Incidence &other = p.incidences[idx(i)];
            if (variant_->is_off(p.edge_id(other.edge)) || image_[idx(other.other)] < 0)
                continue;
            int order =
                2 * level_of_[idx(other.other)] + other.outward; // two edges may join the same pair
            if (lasting && !test_bit(lasting, p.edge_id(other.edge)))
                order += 2 * p.n;
            if (order > after && (!link || order < earliest)) {
                link = &other;
                earliest = order;
            }
        }
        if (!link)
            return;
        after = earliest;
        const int z = link->other, v = image_[idx(z)], e = link->edge;
        const Adjacency &a =
            link->outward ? g.incoming() : g.out; // seen from z the edge runs the other way
        neighbours<W>(e, !link->outward, v, mask);
        bool removes = false;
        for (int j = 0; j < w; ++j)
            removes = removes || (rest[j] & ~mask[j]);
        if (!removes)
            continue;
        p.touch_edge(constraints, e);
        set_bit(levels, z);
        // Non-neighbours need the edge alone; a neighbour over a wrong edge needs the sides that
        // make it wrong.
        if (variant_->constrained(e))
            explain_wrong_edges<W>(e, a, v, rest, constraints);
        for (int j = 0; j < w; ++j)
            rest[j] &= mask[j];
    }
}

// Sides greedily: those that are part of the conflict anyway, then lasting ones, then the one that
// excludes most.
template <int W> void Searcher::explain_sides(int y, Word *rest, Word *constraints) {
    const Pattern &p = *p_;
    const int w = W ? W : width_;
    Word *mask = scratch_.data() + 3 * w;
    while (any_word(rest, w)) {
        int best = -1, most = 0;
        for (int s = p.node_side_start[idx(y)]; s < p.node_side_start[idx(y + 1)]; ++s) {
            if (variant_->is_off(p.node_side_id(s)))
                continue;
            copy_words(mask, rest, w);
            apply_side<W>(set_, *g_, p.node_sides[idx(s)], mask);
            int n = count_bits(rest, w) - count_bits(mask, w);
            if (n > 0)
                n += rank_of(p.node_side_id(s), constraints);
            if (n > most) {
                best = s;
                most = n;
            }
        }
        if (best < 0)
            return;
        p.touch_node_side(constraints, best);
        apply_side<W>(set_, *g_, p.node_sides[idx(best)], rest);
    }
}

template <int W> void Searcher::explain_loops(int y, Word *rest, Word *constraints) {
    const Pattern &p = *p_;
    const EncodedGraph &g = *g_;
    for (const auto e : p.loops) {
        if (p.source[idx(e)] != y || variant_->is_off(p.edge_id(e)))
            continue;
        for (int t = 0; t < g.n; ++t) {
            if (!test_bit(rest, t))
                continue;
            const auto at =
                std::find(g.loop_node.begin(), g.loop_node.end(), t) - g.loop_node.begin();
            if (at == static_cast<std::ptrdiff_t>(g.loop_node.size())) {
                p.touch_edge(constraints, e);
                clear_bit(rest, t);
                continue;
            }
            for (int s = p.edge_side_start[idx(e)]; s < p.edge_side_start[idx(e + 1)]; ++s) {
                const Side &side = p.edge_sides[idx(s)];
                if (variant_->is_off(p.edge_side_id(s)) ||
                    passes(side, g.edge_features[g.loop_edge[idx(at)] * set_.n_edge_features() +
                                                 side.feature]))
                    continue;
                p.touch_edge_side(constraints, s);
                clear_bit(rest, t);
                break;
            }
        }
    }
}

// A node with k neighbours cannot hold a variable with k + 1: those edges and their ends are the
// reason.
template <int W> void Searcher::explain_degree(int y, Word *rest, Word *constraints) {
    const Pattern &p = *p_;
    const EncodedGraph &g = *g_;
    const int w = W ? W : width_;
    for (const bool outward : {true, false}) {
        if (!outward && !g.directed)
            break;
        const Adjacency &a = outward ? g.out : g.in;
        const int degree = !g.directed ? variant_->degree(y)
                           : outward   ? variant_->out_degree(y)
                                       : variant_->in_degree(y);
        int needed = 0;
        for (int j = 0; j < w; ++j) {
            for (Word left = rest[j]; left; left &= left - 1) {
                const int t = j * kWordBits + std::countr_zero(left);
                if (a.degree[idx(t)] < degree) {
                    needed = std::max(needed, a.degree[idx(t)] + 1);
                    clear_bit(rest, t);
                }
            }
        }
        // Edges that are part of the conflict anyway come first.
        for (const bool known : {true, false}) {
            for (int i = p.incidence_start[idx(y)]; i < p.incidence_start[idx(y + 1)] && needed > 0;
                 ++i) {
                const Incidence &link = p.incidences[idx(i)];
                if (variant_->is_off(p.edge_id(link.edge)) ||
                    (g.directed && link.outward != outward))
                    continue;
                const int twin = p.twin[idx(link.edge)];
                if (!g.directed && twin >= 0 && !variant_->is_off(p.edge_id(twin)))
                    continue;
                if (test_bit(constraints, p.edge_id(link.edge)) != known)
                    continue;
                if (!known)
                    p.touch_edge(constraints, link.edge);
                --needed;
            }
            if (!known)
                break;
        }
    }
}

void Searcher::explain_size() {
    Word *c = constraint_rows_.data();
    fill_words(c, p_->words, 0);
    int needed = g_->n + 1;
    for_each_bit(variant_->alive(), var_words_, [&](int x) {
        if (needed-- > 0)
            p_->touch_node(c, x);
    });
    conflict_ = c;
}

template void Searcher::explain<0>(int, const Word *, Word *, Word *);
template void Searcher::explain_blocked<0>(int, Word *, Word *);
template void Searcher::explain<1>(int, const Word *, Word *, Word *);
template void Searcher::explain_blocked<1>(int, Word *, Word *);
template void Searcher::explain<2>(int, const Word *, Word *, Word *);
template void Searcher::explain_blocked<2>(int, Word *, Word *);

} // namespace gdlnn
