// The walk over one graph: which programs of a plan it contains, and where.
#include <algorithm>
#include <memory>
#include <numeric>

#include "gdlnn/canonical.hpp"
#include "gdlnn/plan.hpp"
#include "gdlnn/search.hpp"
#include "gdlnn/splitmix64.hpp"
#include "parallel.hpp"

namespace gdlnn {
namespace {

// Steps of the walk for one program in one graph before it is left to the search with backjumping,
// which takes longer for a step and fewer of them where it is hard.
#ifndef GDLNN_PLAN_WALK_STEPS
#define GDLNN_PLAN_WALK_STEPS 2000
#endif
constexpr std::int64_t kWalkSteps = GDLNN_PLAN_WALK_STEPS;
// Steps for the images of one program in one graph.
constexpr std::int64_t kImageSteps = 200'000;
// Words of adjacency beyond which a graph is too large for the walk.
constexpr std::size_t kMaxAdjacencyWords = std::size_t{1} << 22;

// One graph of many, as the walk reads it.
struct GraphView {
    int n = 0, m = 0;
    const double *node_features = nullptr;
    const std::int64_t *edges = nullptr;
    const double *edge_features = nullptr;
};

GraphView view_of(const GraphArrays &graphs, int g) {
    GraphView view;
    const auto node = graphs.node_offsets[g], edge = graphs.edge_offsets[g];
    view.n = static_cast<int>(graphs.node_offsets[g + 1] - node);
    view.m = static_cast<int>(graphs.edge_offsets[g + 1] - edge);
    view.node_features = graphs.node_features + node * graphs.n_node_features;
    view.edges = graphs.edges + 2 * edge;
    view.edge_features = graphs.edge_features + edge * graphs.n_edge_features;
    return view;
}

// Ranks of the rows of a table among each other, by their values: equal rows have equal ranks.
std::vector<std::int32_t> row_ranks(const double *table, int n, int width) {
    std::vector<std::int32_t> order(idx(n)), rank(idx(n), 0);
    std::iota(order.begin(), order.end(), 0);
    const auto less = [&](int a, int b) {
        return std::lexicographical_compare(table + a * width, table + (a + 1) * width,
                                            table + b * width, table + (b + 1) * width, value_less);
    };
    std::sort(order.begin(), order.end(), less);
    for (int i = 1; i < n; ++i)
        rank[idx(order[idx(i)])] =
            rank[idx(order[idx(i - 1)])] + less(order[idx(i - 1)], order[idx(i)]);
    return rank;
}

// Memory of one thread, for one graph after another. `W` is the number of words of a set of nodes,
// 0 where it is only known at run time.
class Scratch {
  public:
    explicit Scratch(const Plan &plan) : plan_(plan) {
        set_.resize(idx(std::max(plan.node_conditions().words(), plan.edge_conditions().words())));
    }

    // Whether the graph is small enough for the walk.
    bool fits(const GraphView &graph) const {
        const std::size_t words = idx(words_for(std::max(1, graph.n)));
        return idx(plan_.edge_conditions().size()) * idx(graph.n) * words <= kMaxAdjacencyWords &&
               idx(plan_.n_kinds()) * words <= kMaxAdjacencyWords;
    }

    // Reads a graph, its nodes in the given order (null: as they are).
    void load(const GraphView &graph, const std::int32_t *order) {
        n_ = graph.n;
        width_ = std::max(1, words_for(n_));
        const auto w = idx(width_);
        const ConditionTable &nodes = plan_.node_conditions(), &edges = plan_.edge_conditions();
        mask_.resize(idx(plan_.n_kinds()) * w);
        std::fill_n(mask_.begin(), idx(nodes.size()) * w, 0);
        known_.assign(idx(plan_.n_kinds()), 0);
        std::fill_n(known_.begin(), idx(nodes.size()), 1);
        place_.resize(idx(n_));
        for (int i = 0; i < n_; ++i) {
            const int v = order ? order[i] : i;
            place_[idx(v)] = i;
            nodes.satisfied(graph.node_features +
                                static_cast<std::ptrdiff_t>(v) * plan_.n_node_features(),
                            set_.data());
            for_each_bit(set_.data(), nodes.words(),
                         [&](int condition) { set_bit(mask_.data() + idx(condition) * w, i); });
        }
        const std::size_t table = idx(edges.size()) * idx(n_) * w;
        out_.assign(table, 0);
        if (plan_.directed())
            in_.assign(table, 0);
        loop_.assign(idx(edges.size()) * w, 0);
        for (int e = 0; e < graph.m; ++e) {
            const auto u = place_[idx(graph.edges[2 * e])], v = place_[idx(graph.edges[2 * e + 1])];
            edges.satisfied(graph.edge_features +
                                static_cast<std::ptrdiff_t>(e) * plan_.n_edge_features(),
                            set_.data());
            for_each_bit(set_.data(), edges.words(), [&](int condition) {
                if (u == v) {
                    set_bit(loop_.data() + idx(condition) * w, u);
                    return;
                }
                set_bit(out_.data() + (idx(condition) * idx(n_) + idx(u)) * w, v);
                Word *back = plan_.directed() ? in_.data() : out_.data();
                set_bit(back + (idx(condition) * idx(n_) + idx(v)) * w, u);
            });
        }
    }

    int n() const { return n_; }
    int width() const { return width_; }
    // The nodes that are of a kind; worked out when first asked for.
    const Word *mask(int kind) {
        Word *kept = mask_.data() + idx(kind) * idx(width_);
        if (!known_[idx(kind)]) {
            known_[idx(kind)] = 1;
            find(plan_.kind(kind), kept);
        }
        return kept;
    }
    const Word *loops(int condition) const { return loop_.data() + idx(condition) * idx(width_); }
    // The nodes x with an edge from x to v (`towards`), or from v to x, that satisfies a condition.
    const Word *linked(int condition, int v, bool towards) const {
        const auto &table = plan_.directed() && towards ? in_ : out_;
        return table.data() + (idx(condition) * idx(n_) + idx(v)) * idx(width_);
    }

    // The number of nodes that are of a kind.
    int count(int kind) { return count_bits(mask(kind), width_); }

  private:
    void find(const Plan::Kind &kind, Word *kept) {
        copy_words(kept, mask(kind.condition), width_);
        for (int l = kind.first_link; l < kind.last_link; ++l) {
            const Plan::Link &link = plan_.link(l);
            const Word *others = mask(link.node);
            for_each_bit(kept, width_, [&](int v) {
                const Word *next = linked(link.edge, v, !link.outward);
                int found = 0;
                for (int i = 0; i < width_; ++i)
                    found += std::popcount(next[i] & others[i]);
                if (found < link.count)
                    clear_bit(kept, v);
            });
        }
    }

    const Plan &plan_;
    int n_ = 0, width_ = 1;
    std::vector<Word> set_;
    std::vector<Word> mask_;          // per kind its nodes
    std::vector<std::uint8_t> known_; // per kind whether they are worked out
    std::vector<Word> out_, in_,
        loop_; // per edge condition and node the nodes it leads to, comes from
    std::vector<std::int32_t> place_;
};

// Places the variables of one program in its fixed order: backtracking over sets of candidates.
template <int W> class Placement {
  public:
    Placement(const Plan &plan, Scratch &graph) : plan_(plan), graph_(graph) {}

    // Calls found(image) for every placement with the root at a node; stops where it returns true,
    // or when the steps are spent. The answer: whether it stopped at a placement, or ran out
    // (unknown).
    template <class Found>
    Answer at(const Plan::Entry &entry, int root, std::int64_t &steps, Found &&found) {
        const int n = entry.n, w = width();
        if (image_.size() < idx(n))
            image_.resize(idx(n));
        if (candidates_.size() < idx(n) * idx(w))
            candidates_.resize(idx(n) * idx(w));
        used_.assign(idx(w), 0);
        image_[0] = root;
        set_bit(used_.data(), root);
        if (n == 1)
            return found(image_.data()) ? Answer::yes : Answer::no;
        int k = 1;
        narrow(entry, k);
        for (;;) {
            Word *candidates = candidates_.data() + idx(k) * idx(w);
            const int v = take_first(candidates);
            if (v < 0) {
                if (--k == 0)
                    return Answer::no;
                clear_bit(used_.data(), image_[idx(k)]);
                continue;
            }
            if (--steps < 0)
                return Answer::unknown;
            image_[idx(k)] = v;
            if (k + 1 == n) {
                if (found(image_.data()))
                    return Answer::yes;
                continue;
            }
            set_bit(used_.data(), v);
            narrow(entry, ++k);
        }
    }

  private:
    int width() const { return W ? W : graph_.width(); }

    int take_first(Word *bits) const {
        for (int i = 0; i < width(); ++i)
            if (bits[i]) {
                const int v = i * kWordBits + std::countr_zero(bits[i]);
                bits[i] &= bits[i] - 1;
                return v;
            }
        return -1;
    }

    // The nodes that the variable at a position may take besides those that are placed.
    void narrow(const Plan::Entry &entry, int k) {
        const int w = width();
        const Plan::Step &step = plan_.step(entry.first_step + k);
        Word *candidates = candidates_.data() + idx(k) * idx(w);
        const Word *allowed = graph_.mask(step.kind);
        for (int i = 0; i < w; ++i)
            candidates[i] = allowed[i] & ~used_[idx(i)];
        for (int c = step.first_check; c < step.last_check; ++c) {
            const Plan::Check &check = plan_.check(c);
            const Word *linked =
                graph_.linked(check.condition, image_[idx(check.position)], check.outward);
            for (int i = 0; i < w; ++i)
                candidates[i] &= linked[i];
        }
        for (int l = step.first_loop; l < step.last_loop; ++l) {
            const Word *looped = graph_.loops(plan_.loop(l));
            for (int i = 0; i < w; ++i)
                candidates[i] &= looped[i];
        }
        if (step.twin >= 0) { // exchanging twins gives nothing new: later ones get later nodes
            const int after = image_[idx(step.twin)];
            for (int i = 0; i < after / kWordBits; ++i)
                candidates[i] = 0;
            candidates[after / kWordBits] &= ~Word{1} << (after % kWordBits);
        }
    }

    const Plan &plan_;
    Scratch &graph_;
    std::vector<std::int32_t> image_;
    std::vector<Word> candidates_, used_;
};

// Which programs a graph contains: from programs without a parent down to their children, each with
// the nodes at which its root may be.
template <int W> class Walk {
  public:
    Walk(const Plan &plan, Scratch &graph, std::vector<std::int32_t> &matched,
         std::vector<std::int32_t> &undecided, std::int64_t most_steps)
        : plan_(plan), graph_(graph), placement_(plan, graph), matched_(matched),
          undecided_(undecided), most_steps_(std::min(kWalkSteps, most_steps)) {}

    void run() {
        everywhere_.assign(idx(width()), ~Word{0});
        stack_.clear();
        for (const Plan::Child &root : plan_.roots()) {
            if (root.key >= 0 && graph_.count(root.key) == 0)
                continue;
            visit(root.program, 0);
            while (!stack_.empty())
                next();
        }
    }

  private:
    // A matched program whose children are being visited.
    struct Frame {
        std::int32_t next, last; // children
        std::size_t depth;       // of its roots in roots_
    };

    int width() const { return W ? W : graph_.width(); }

    bool meets_needs(const Plan::Entry &entry) {
        if (entry.n > graph_.n())
            return false;
        for (int i = entry.first_need; i < entry.last_need; ++i)
            if (graph_.count(plan_.need(i).kind) < plan_.need(i).count)
                return false;
        return true;
    }

    // Tries a program at the roots that its parent has at this depth, or everywhere at depth 0.
    void visit(int p, std::size_t depth) {
        const Plan::Entry &entry = plan_.entry(p);
        if (!entry.n) {
            matched_.push_back(p);
            return;
        }
        if (!meets_needs(entry))
            return;
        const int w = width();
        const bool has_children = entry.first_child < entry.last_child;
        if (roots_.size() < (depth + 2) * idx(w))
            roots_.resize((depth + 2) * idx(w));
        const Word *outer = depth ? roots_.data() + depth * idx(w) : everywhere_.data();
        Word *roots = roots_.data() + (depth + 1) * idx(w);
        const Plan::Step &first = plan_.step(entry.first_step);
        const Word *allowed = graph_.mask(first.kind);
        for (int i = 0; i < w; ++i)
            roots[i] = allowed[i] & outer[i];
        for (int l = first.first_loop; l < first.last_loop; ++l)
            for (int i = 0; i < w; ++i)
                roots[i] &= graph_.loops(plan_.loop(l))[i];
        bool found = false, spent = false;
        std::int64_t steps = most_steps_;
        const auto once = [](const std::int32_t *) { return true; };
        for (int i = 0; i < w && !spent; ++i) {
            for (Word rest = roots[i]; rest && !spent; rest &= rest - 1) {
                const int v = i * kWordBits + std::countr_zero(rest);
                const Answer answer = placement_.at(entry, v, steps, once);
                if (answer == Answer::unknown) {
                    spent = true;
                } else if (answer == Answer::no) {
                    clear_bit(roots, v);
                } else {
                    found = true;
                    if (!has_children)
                        break;
                }
            }
            if (found && !has_children)
                break;
        }
        if (found)
            matched_.push_back(p);
        else if (spent)
            undecided_.push_back(p);
        if (has_children && (found || spent)) // roots that were not tried stay: they may be right
            stack_.push_back({entry.first_child, entry.last_child, depth + 1});
    }

    void next() {
        Frame &frame = stack_.back();
        while (frame.next < frame.last) {
            const Plan::Child &child = plan_.child(frame.next++);
            if (child.key >= 0 && graph_.count(child.key) == 0)
                continue;
            visit(child.program, frame.depth);
            return;
        }
        stack_.pop_back();
    }

    const Plan &plan_;
    Scratch &graph_;
    Placement<W> placement_;
    std::vector<std::int32_t> &matched_, &undecided_;
    std::int64_t most_steps_;
    std::vector<Word> everywhere_, roots_;
    std::vector<Frame> stack_;
};

// Decides what the walk left open, by searches of their own on an encoding of the graph.
void decide(const Plan &plan, const GraphArrays &graphs, int g,
            const std::vector<std::int32_t> &open, const PlanParams &params,
            std::vector<std::int32_t> &matched, std::vector<std::int32_t> &unknown) {
    const GraphView view = view_of(graphs, g);
    const std::int64_t nodes[2] = {0, view.n}, edges[2] = {0, view.m};
    GraphArrays one = graphs;
    one.n_graphs = 1;
    one.n_node_features = plan.n_node_features(); // another number only where there is no row
    one.n_edge_features = plan.n_edge_features();
    one.node_features = view.node_features;
    one.node_offsets = nodes;
    one.edges = view.edges;
    one.edge_features = view.edge_features;
    one.edge_offsets = edges;
    one.directed = graphs.directed + g;
    const GraphSet set(one);
    Searcher searcher(set, params.stop);
    for (const int p : open) {
        const Pattern pattern(set, plan.arrays(p));
        searcher.bind(pattern);
        const Answer answer = searcher.test(set[0], nullptr, params.step_budget);
        if (answer == Answer::yes)
            matched.push_back(p);
        else if (answer == Answer::unknown)
            unknown.push_back(p);
    }
}

// The distinct subgraphs that images cover: nodes and edges, whichever variable is where. They are
// told apart by sums of hashes, which do not depend on the order of nodes and edges.
class Covered {
  public:
    Covered(std::vector<std::pair<std::int32_t, std::int32_t>> edges, bool directed)
        : edges_(std::move(edges)), directed_(directed) {
        if (!directed_) // edges (x, y) and (y, x) of a program are one edge of an undirected graph
            for (auto &[a, b] : edges_)
                if (a > b)
                    std::swap(a, b);
        std::sort(edges_.begin(), edges_.end());
        edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
    }

    // Whether an image covers a subgraph that no earlier one did; at most `most` are kept.
    bool add(const std::int32_t *image, int n, int most) {
        std::uint64_t key = 0;
        for (int i = 0; i < n; ++i)
            key += splitmix64(static_cast<std::uint64_t>(image[i]));
        for (const auto &[a, b] : edges_) {
            auto u = static_cast<std::uint64_t>(image[a]), v = static_cast<std::uint64_t>(image[b]);
            if (!directed_ && u > v)
                std::swap(u, v);
            key += splitmix64((u + 1) << 32 | v);
        }
        if (std::find(seen_.begin(), seen_.end(), key) != seen_.end())
            return false;
        if (static_cast<int>(seen_.size()) >= most) {
            more_ = true;
            return false;
        }
        seen_.push_back(key);
        return true;
    }
    // Whether there was one more than are kept.
    bool more() const { return more_; }

  private:
    std::vector<std::pair<std::int32_t, std::int32_t>> edges_; // between positions
    bool directed_, more_ = false;
    std::vector<std::uint64_t> seen_;
};

// The nodes of a graph in an order that does not depend on how they are numbered.
std::vector<std::int32_t> canonical_nodes(const GraphView &view, const GraphArrays &graphs,
                                          bool directed) {
    const auto colors = row_ranks(view.node_features, view.n, graphs.n_node_features);
    const auto edge_colors = row_ranks(view.edge_features, view.m, graphs.n_edge_features);
    const std::vector<std::int32_t> edges(view.edges, view.edges + 2 * view.m);
    ColoredGraph graph;
    graph.n = view.n;
    graph.m = view.m;
    graph.directed = directed;
    graph.vertex_color = colors.data();
    graph.edges = edges.data();
    graph.edge_color = edge_colors.data();
    return canonical_order(graph);
}

// A graph with its nodes in another order, encoded for searches of their own.
struct Reordered {
    std::vector<double> node_features;
    std::vector<std::int64_t> edges;
    std::unique_ptr<GraphSet> set;

    Reordered(const Plan &plan, const GraphView &view, const GraphArrays &graphs, int g,
              const std::vector<std::int32_t> &order) {
        std::vector<std::int64_t> place(idx(view.n));
        for (int i = 0; i < view.n; ++i) {
            place[idx(order[idx(i)])] = i;
            const double *row = view.node_features +
                                static_cast<std::ptrdiff_t>(order[idx(i)]) * graphs.n_node_features;
            node_features.insert(node_features.end(), row, row + graphs.n_node_features);
        }
        for (int i = 0; i < 2 * view.m; ++i)
            edges.push_back(place[idx(view.edges[i])]);
        const std::int64_t nodes[2] = {0, view.n}, ends[2] = {0, view.m};
        GraphArrays one = graphs;
        one.n_graphs = 1;
        one.n_node_features = plan.n_node_features();
        one.n_edge_features = plan.n_edge_features();
        one.node_features = node_features.data();
        one.node_offsets = nodes;
        one.edges = edges.data();
        one.edge_features = view.edge_features;
        one.edge_offsets = ends;
        one.directed = graphs.directed + g;
        set = std::make_unique<GraphSet>(one);
    }
};

template <class Work> void by_width(int width, Work &&work) {
    switch (width) {
    case 1:
        return work(std::integral_constant<int, 1>{});
    case 2:
        return work(std::integral_constant<int, 2>{});
    case 3:
        return work(std::integral_constant<int, 3>{});
    default:
        return work(std::integral_constant<int, 0>{});
    }
}

// Runs task(thread-local scratch, item) over items on threads.
template <class Task>
void over_items(const Plan &plan, int n_items, const PlanParams &params, Task &&task) {
    parallel_for(n_items, params.n_threads, params.stop, [&] {
        return [&, scratch = Scratch(plan)](std::int64_t item) mutable {
            task(scratch, static_cast<int>(item));
        };
    });
}

} // namespace

PlanMatches Plan::match(const GraphArrays &graphs, const PlanParams &params) const {
    std::vector<std::vector<std::int32_t>> matched(idx(graphs.n_graphs)),
        unknown(idx(graphs.n_graphs));
    over_items(*this, graphs.n_graphs, params, [&](Scratch &scratch, int g) {
        const GraphView view = view_of(graphs, g);
        auto &found = matched[idx(g)];
        std::vector<std::int32_t> open;
        if (scratch.fits(view)) {
            scratch.load(view, nullptr);
            by_width(scratch.width(), [&](auto width) {
                Walk<decltype(width)::value>(*this, scratch, found, open, params.step_budget).run();
            });
            for (const auto p : large_)
                if (programs_[idx(p)].n <= view.n)
                    open.push_back(p);
        } else {
            open.resize(programs_.size());
            std::iota(open.begin(), open.end(), 0);
        }
        if (!open.empty())
            decide(*this, graphs, g, open, params, found, unknown[idx(g)]);
        std::sort(found.begin(), found.end());
        std::sort(unknown[idx(g)].begin(), unknown[idx(g)].end());
    });
    PlanMatches result;
    const auto flatten = [](const auto &rows, std::vector<std::int64_t> &start,
                            std::vector<std::int32_t> &all) {
        start.push_back(0);
        for (const auto &row : rows) {
            all.insert(all.end(), row.begin(), row.end());
            start.push_back(static_cast<std::int64_t>(all.size()));
        }
    };
    flatten(matched, result.start, result.programs);
    flatten(unknown, result.unknown_start, result.unknown);
    return result;
}

PlanWitnesses Plan::witnesses(const GraphArrays &graphs, const std::vector<std::int32_t> &graph,
                              const std::vector<std::int32_t> &program, int most,
                              const PlanParams &params) const {
    const int n_questions = static_cast<int>(graph.size());
    std::vector<int> first; // per graph that is asked about: its first question
    for (int i = 0; i < n_questions; ++i)
        if (i == 0 || graph[idx(i)] != graph[idx(i - 1)])
            first.push_back(i);
    first.push_back(n_questions);
    std::vector<std::vector<std::int32_t>> images(idx(n_questions));
    PlanWitnesses result;
    result.complete.assign(idx(n_questions), 1);
    over_items(*this, static_cast<int>(first.size()) - 1, params, [&](Scratch &scratch, int item) {
        const int g = graph[idx(first[idx(item)])];
        const GraphView view = view_of(graphs, g);
        const auto order = canonical_nodes(view, graphs, directed_);
        const bool walks = scratch.fits(view);
        std::unique_ptr<Reordered> reordered;
        if (walks)
            scratch.load(view, order.data());
        for (int i = first[idx(item)]; i < first[idx(item + 1)]; ++i) {
            const int p = program[idx(i)];
            const Entry &entry = programs_[idx(p)];
            auto &found = images[idx(i)];
            if (walks && !entry.large) {
                if (!entry.n)
                    continue;
                Covered covered(position_edges(p), directed_);
                const auto add = [&](const std::int32_t *image) {
                    if (covered.add(image, entry.n, most)) {
                        const auto at = found.size();
                        found.resize(at + idx(entry.n));
                        for (int k = 0; k < entry.n; ++k)
                            found[at + idx(variable(entry.first_step + k))] = order[idx(image[k])];
                    }
                    return covered.more();
                };
                std::int64_t steps = kImageSteps;
                by_width(scratch.width(), [&](auto width) {
                    Placement<decltype(width)::value> placement(*this, scratch);
                    const Step &root = step(entry.first_step);
                    std::vector<Word> roots(scratch.mask(root.kind),
                                            scratch.mask(root.kind) + scratch.width());
                    for (int l = root.first_loop; l < root.last_loop; ++l)
                        for (int w = 0; w < scratch.width(); ++w)
                            roots[idx(w)] &= scratch.loops(loop(l))[w];
                    bool done = false;
                    for_each_bit(roots.data(), scratch.width(), [&](int v) {
                        if (!done && placement.at(entry, v, steps, add) != Answer::no) {
                            done = true;
                            result.complete[idx(i)] = 0;
                        }
                    });
                });
                continue;
            }
            if (!reordered)
                reordered = std::make_unique<Reordered>(*this, view, graphs, g, order);
            const ProgramArrays source = arrays(p);
            const Pattern pattern(*reordered->set, source);
            std::vector<std::pair<std::int32_t, std::int32_t>> edges;
            for (int e = 0; e < source.m; ++e)
                edges.emplace_back(source.edges[2 * e], source.edges[2 * e + 1]);
            Covered covered(std::move(edges), directed_);
            Searcher searcher(*reordered->set, params.stop);
            searcher.bind(pattern);
            searcher.start((*reordered->set)[0], nullptr);
            for (std::int64_t left = kImageSteps;;) {
                const std::int64_t before = searcher.steps();
                const Answer answer = searcher.next(left);
                left -= searcher.steps() - before;
                if (answer != Answer::yes) {
                    result.complete[idx(i)] = answer == Answer::no;
                    break;
                }
                const auto &image = searcher.witness();
                if (covered.add(image.data(), source.n, most))
                    for (const auto v : image)
                        found.push_back(order[idx(v)]);
                if (covered.more() || left <= 0) {
                    result.complete[idx(i)] = 0;
                    break;
                }
            }
        }
    });
    result.start.push_back(0);
    result.image_start.push_back(0);
    for (int i = 0; i < n_questions; ++i) {
        const int n = programs_[idx(program[idx(i)])].n;
        // The empty program has one image, which is empty too.
        const auto count = n ? static_cast<std::int64_t>(images[idx(i)].size()) / n : 1;
        result.start.push_back(result.start.back() + count);
        result.images.insert(result.images.end(), images[idx(i)].begin(), images[idx(i)].end());
        result.image_start.push_back(static_cast<std::int64_t>(result.images.size()));
    }
    return result;
}

} // namespace gdlnn
