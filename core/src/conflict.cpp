#include "conflict.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace gdlnn {

namespace {

// The first side with the greatest worth, or -1 where none has any.
template <class Sides, class Worth> inline int best_of(Sides sides, Worth &&worth) {
    int best = -1, most = 0;
    for (const int s : sides) {
        const int n = worth(s);
        if (n > most) {
            best = s;
            most = n;
        }
    }
    return best;
}

} // namespace

// --- levels

void ConflictAnalysis::start() {
    const Pattern &p = *domains_.problem().pattern;
    const auto n_rows = idx(p.n + 2), words = idx(domains_.problem().set->max_words());
    constraint_words_ = p.words;
    rows_.reserve(n_rows, p.words + domains_.var_words());
    while (row_of_level_.size() < n_rows)
        row_of_level_.push_back(static_cast<std::int32_t>(row_of_level_.size()));
    grow(refused_start_, n_rows);
    refused_.clear();
    for (std::vector<Word> *buffer : {&untried_, &rest_, &passing_, &offered_})
        grow(*buffer, words);
}

Reasons ConflictAnalysis::open_reasons(int level) {
    fill_words(rows_.row(row_of_level_[idx(level)]), rows_.words(), 0);
    return reasons(level);
}

void ConflictAnalysis::open_level(int level) {
    open_reasons(level);
    refused_start_[idx(level)] = refused_.size();
}

bool ConflictAnalysis::pass_up(int level, int x) {
    const Reasons from = reasons(level + 1);
    if (!test_bit(from.variables, x)) {
        std::swap(row_of_level_[idx(level)], row_of_level_[idx(level + 1)]);
        return false;
    }
    clear_bit(from.variables, x);
    or_words(rows_.row(row_of_level_[idx(level)]), rows_.row(row_of_level_[idx(level + 1)]),
             rows_.words());
    return true;
}

template <int W> void ConflictAnalysis::explain_level(int level, int x, const Word *tried) {
    const int w = W ? W : domains_.words();
    const Word *all = domains_.problem().graph->all.data();
    explain_refused<W>(level, x, reasons(level));
    for (int j = 0; j < w; ++j)
        untried_[idx(j)] = all[j] & ~tried[j];
    explain<W>(x, untried_.data(), reasons(level));
}

template <int W> void ConflictAnalysis::explain_empty(int x) {
    explain<W>(x, domains_.problem().graph->all.data(), open_reasons(0));
}

void ConflictAnalysis::explain_size() {
    const SearchProblem &problem = domains_.problem();
    const Reasons to = open_reasons(0);
    int needed = problem.graph->n + 1;
    for_each_bit(problem.variant->alive(), domains_.var_words(), [&](int x) {
        if (needed-- > 0)
            problem.pattern->touch_node(to.constraints, x);
    });
}

// --- why a variable cannot take some values

// Adds the reasons why y can take none of `values`.
template <int W> void ConflictAnalysis::explain(int y, const Word *values, Reasons to) {
    const Pattern &p = *domains_.problem().pattern;
    const int w = W ? W : domains_.words();
    Word *rest = rest_.data();
    copy_words(rest, values, w);
    [[maybe_unused]] const ReasonTrace tracing = trace_of(to);
    p.touch_node(to.constraints, y);
    if (domains_.has_placed_neighbor(y))
        explain_edges<W>(y, rest, to);
    explain_sides<W>(y, rest, to);
    if (!p.loops.empty())
        explain_loops<W>(y, rest, to);
    if (any_word(rest, w))
        explain_degree<W>(y, rest, to);
    for_each_bit(rest, w, [&](int v) { // all that is left is held by other variables
        assert(test_bit(domains_.held(), v));
        const int z = domains_.holder(v);
        p.touch_node(to.constraints, z);
        set_bit(to.variables, z);
    });
}

// Adds the reasons why the refused values of x left a neighbor without candidates. All values that
// emptied the same neighbor share one explanation: what they leave to it must be excluded by
// something else.
template <int W> void ConflictAnalysis::explain_refused(int level, int x, Reasons to) {
    [[maybe_unused]] const ReasonTrace tracing = trace_of(to);
    const SearchProblem &problem = domains_.problem();
    const Pattern &p = *problem.pattern;
    const EncodedGraph &g = *problem.graph;
    const int w = W ? W : domains_.words();
    const auto first = refused_start_[idx(level)];
    if (first == refused_.size())
        return;
    for (int i = p.incidence_start[idx(x)]; i < p.incidence_start[idx(x + 1)]; ++i) {
        const Incidence &link = p.incidences[idx(i)];
        const int e = link.edge;
        bool any = false;
        fill_words(offered_.data(), w, 0);
        for (auto r = first; r < refused_.size(); ++r) {
            if (refused_[r].incidence != i)
                continue;
            const int v = refused_[r].value;
            any = true;
            p.touch_edge(to.constraints, e);
            if (problem.variant->constrained(e))
                explain_wrong_edges<W>(e, link.outward ? g.out : g.incoming(), v, g.all.data(), to);
            problem.neighbors<W>(e, link.outward, v, passing_.data());
            clear_bit(passing_.data(), v); // a self-loop: x is there already
            or_words(offered_.data(), passing_.data(), w);
        }
        if (any)
            explain<W>(link.other, offered_.data(), to);
    }
}

// --- edges to placed neighbors

// The placed neighbor of y that comes next as a reason, or null; `after` is the place of the last
// one in that order. Earlier placed ones come first, as earlier reasons jump back further, and
// permanent edges before others. Inlined as it is the inner loop of explain_edges.
inline const Incidence *ConflictAnalysis::next_placed_neighbor(int y, int &after) const {
    const SearchProblem &problem = domains_.problem();
    const Pattern &p = *problem.pattern;
    const Incidence *next = nullptr;
    int earliest = 0;
    for (const Incidence &link : p.incidences_of(y)) {
        if (!problem.has_edge(link.edge) || !domains_.placed(link.other))
            continue;
        int order = 2 * domains_.level_of(link.other) + link.outward; // two edges may join a pair
        if (permanent && !test_bit(permanent, p.edge_id(link.edge)))
            order += 2 * p.n;
        if (order > after && (!next || order < earliest)) {
            next = &link;
            earliest = order;
        }
    }
    after = earliest;
    return next;
}

template <int W> void ConflictAnalysis::explain_edges(int y, Word *rest, Reasons to) {
    const SearchProblem &problem = domains_.problem();
    const EncodedGraph &g = *problem.graph;
    const int w = W ? W : domains_.words();
    Word *passing = passing_.data();
    for (int after = -1; any_word(rest, w);) {
        const Incidence *link = next_placed_neighbor(y, after);
        if (!link)
            return;
        // Seen from the neighbor z, the edge runs the other way.
        const int z = link->other, v = domains_.image(z), e = link->edge;
        const Adjacency &a = link->outward ? g.incoming() : g.out;
        problem.neighbors<W>(e, !link->outward, v, passing);
        Word excluded = 0;
        for (int j = 0; j < w; ++j)
            excluded |= rest[j] & ~passing[j];
        if (!excluded)
            continue;
        problem.pattern->touch_edge(to.constraints, e);
        set_bit(to.variables, z);
        // Non-neighbors need the edge alone; a neighbor over a wrong edge needs the sides that
        // make it wrong.
        if (problem.variant->constrained(e))
            explain_wrong_edges<W>(e, a, v, rest, to);
        and_words(rest, passing, w);
    }
}

// Adds sides of edge e that exclude every neighbor of v among `values` over an edge that does not
// pass.
template <int W>
void ConflictAnalysis::explain_wrong_edges(int e, const Adjacency &a, int v, const Word *values,
                                           Reasons to) {
    const SearchProblem &problem = domains_.problem();
    if (problem.set->has_edge_types()) {
        if (const Word wrong = types_met<W>(a, v, values) & ~problem.variant->allowed(e))
            explain_wrong_types(e, wrong, to);
        return;
    }
    for (auto i = idx(a.start[idx(v)]); i < idx(a.start[idx(v + 1)]); ++i)
        if (test_bit(values, a.node[i]))
            explain_wrong_edge(e, a.edge[i], to);
}

// The types of the edges between v and `values`.
template <int W>
inline Word ConflictAnalysis::types_met(const Adjacency &a, int v, const Word *values) const {
    const EncodedGraph &g = *domains_.problem().graph;
    const int w = W ? W : domains_.words();
    Word types = 0;
    if (!g.has_masks) {
        for (auto i = idx(a.start[idx(v)]); i < idx(a.start[idx(v + 1)]); ++i)
            if (test_bit(values, a.node[i]))
                types |= Word{1} << g.edge_type[idx(a.edge[i])];
    } else if (a.typed.empty()) { // one type
        if (intersect(a.any.data() + idx(v) * idx(w), values, w))
            types = Word{1} << g.types[0];
    } else {
        const Word *row = a.typed.data() + idx(v) * idx(w);
        for (std::size_t t = 0; t < g.types.size(); ++t, row += a.any.size())
            types |= Word{intersect(row, values, w)} << g.types[t];
    }
    return types;
}

// Adds sides of edge e that exclude all of some edge types: greedily the one that excludes most, as
// in greedy set cover (Chvátal 1979).
void ConflictAnalysis::explain_wrong_types(int e, Word wrong, Reasons to) {
    const SearchProblem &problem = domains_.problem();
    const Pattern &p = *problem.pattern;
    while (wrong) {
        const int best = best_of(p.edge_sides_of(e), [&](int s) {
            const Word excluded = wrong & ~p.edge_sides[idx(s)].types;
            if (!excluded || !problem.has_edge_side(s))
                return 0;
            return std::popcount(excluded) + preference(p.edge_side_id(s), to);
        });
        assert(best >= 0);
        p.touch_edge_side(to.constraints, best);
        wrong &= p.edge_sides[idx(best)].types;
    }
}

// Adds one side of edge e that excludes an edge of the graph, unless it passes them all.
void ConflictAnalysis::explain_wrong_edge(int e, int graph_edge, Reasons to) {
    const SearchProblem &problem = domains_.problem();
    const Pattern &p = *problem.pattern;
    const int best = best_of(p.edge_sides_of(e), [&](int s) {
        const Side &side = p.edge_sides[idx(s)];
        if (!problem.has_edge_side(s) ||
            passes(side, problem.edge_feature(graph_edge, side.feature)))
            return 0;
        return 1 + preference(p.edge_side_id(s), to);
    });
    if (best >= 0)
        p.touch_edge_side(to.constraints, best);
}

// --- intervals, loops, degrees

// Sides greedily: those that are part of the conflict anyway, then permanent ones, then the one
// that excludes most.
template <int W> void ConflictAnalysis::explain_sides(int y, Word *rest, Reasons to) {
    const SearchProblem &problem = domains_.problem();
    const Pattern &p = *problem.pattern;
    const int w = W ? W : domains_.words();
    Word *passing = passing_.data();
    while (const int n_rest = count_bits(rest, w)) {
        const int best = best_of(p.node_sides_of(y), [&](int s) {
            if (!problem.has_node_side(s))
                return 0;
            copy_words(passing, rest, w);
            problem.apply_side<W>(p.node_sides[idx(s)], passing);
            const int n = n_rest - count_bits(passing, w);
            return n ? n + preference(p.node_side_id(s), to) : 0;
        });
        if (best < 0)
            return;
        p.touch_node_side(to.constraints, best);
        problem.apply_side<W>(p.node_sides[idx(best)], rest);
    }
}

template <int W> void ConflictAnalysis::explain_loops(int y, Word *rest, Reasons to) {
    const SearchProblem &problem = domains_.problem();
    const Pattern &p = *problem.pattern;
    const EncodedGraph &g = *problem.graph;
    for (const auto e : p.loops) {
        if (p.source[idx(e)] != y || !problem.has_edge(e))
            continue;
        for (int v = 0; v < g.n; ++v) {
            if (!test_bit(rest, v))
                continue;
            const auto found = std::find(g.loop_node.begin(), g.loop_node.end(), v);
            if (found == g.loop_node.end()) {
                p.touch_edge(to.constraints, e);
                clear_bit(rest, v);
                continue;
            }
            const int loop = g.loop_edge[idx(found - g.loop_node.begin())];
            for (const int s : p.edge_sides_of(e)) {
                const Side &side = p.edge_sides[idx(s)];
                if (!problem.has_edge_side(s) ||
                    passes(side, problem.edge_feature(loop, side.feature)))
                    continue;
                p.touch_edge_side(to.constraints, s);
                clear_bit(rest, v);
                break;
            }
        }
    }
}

// A node with k neighbors cannot hold a variable with k + 1: those edges and their ends are the
// reason.
template <int W> void ConflictAnalysis::explain_degree(int y, Word *rest, Reasons to) {
    const EncodedGraph &g = *domains_.problem().graph;
    const Variant &variant = *domains_.problem().variant;
    const int w = W ? W : domains_.words();
    for (const bool outward : {true, false}) {
        if (!outward && !g.directed)
            break;
        const Adjacency &a = outward ? g.out : g.in;
        const int degree = !g.directed ? variant.degree(y)
                           : outward   ? variant.out_degree(y)
                                       : variant.in_degree(y);
        int needed = 0;
        for_each_bit(rest, w, [&](int v) {
            if (a.degree[idx(v)] < degree) {
                needed = std::max(needed, a.degree[idx(v)] + 1);
                clear_bit(rest, v);
            }
        });
        if (needed > 0)
            blame_edges(y, outward, needed, to);
    }
}

// Adds edges of y to different neighbors until `needed` of them are among the reasons; those that
// are part of the conflict anyway count first.
void ConflictAnalysis::blame_edges(int y, bool outward, int needed, Reasons to) {
    const SearchProblem &problem = domains_.problem();
    const Pattern &p = *problem.pattern;
    const bool directed = problem.graph->directed;
    for (const bool known : {true, false}) {
        for (const Incidence &link : p.incidences_of(y)) {
            if (needed <= 0)
                return;
            if (!problem.has_edge(link.edge) || (directed && link.outward != outward))
                continue;
            const int reverse = p.reverse_edge[idx(link.edge)];
            if (!directed && reverse >= 0 && problem.has_edge(reverse))
                continue;
            if (test_bit(to.constraints, p.edge_id(link.edge)) != known)
                continue;
            if (!known)
                p.touch_edge(to.constraints, link.edge);
            --needed;
        }
    }
}

template void ConflictAnalysis::explain_level<0>(int, int, const Word *);
template void ConflictAnalysis::explain_level<1>(int, int, const Word *);
template void ConflictAnalysis::explain_level<2>(int, int, const Word *);
template void ConflictAnalysis::explain_empty<0>(int);
template void ConflictAnalysis::explain_empty<1>(int);
template void ConflictAnalysis::explain_empty<2>(int);

} // namespace gdlnn
