// Compiling a plan: conditions, needs, roots and the order of variables. The walk over a graph is
// in plan_walk.cpp.
#include "gdlnn/plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "gdlnn/canonical.hpp"

namespace gdlnn {
namespace {

// Programs beyond this size are searched for one by one.
constexpr int kMaxVariables = 128;
constexpr int kMaxEdges = 1024;
// Features with more bounds are compared with each condition instead of looked up.
constexpr std::size_t kMaxBounds = 64;

using Certificate = std::vector<std::int32_t>;

} // namespace

// --- conditions
// ------------------------------------------------------------------------------------------------

int ConditionTable::number(const double *lower, const double *upper) {
    std::string key(idx(2 * d_) * sizeof(double), '\0');
    if (d_) {
        std::memcpy(key.data(), lower, idx(d_) * sizeof(double));
        std::memcpy(key.data() + idx(d_) * sizeof(double), upper, idx(d_) * sizeof(double));
    }
    const auto [at, fresh] = number_.try_emplace(std::move(key), n_);
    if (fresh) {
        lower_.insert(lower_.end(), lower, lower + d_);
        upper_.insert(upper_.end(), upper, upper + d_);
        ++n_;
    }
    return at->second;
}

void ConditionTable::close() {
    number_.clear();
    words_ = std::max(1, words_for(n_));
    for (int f = 0; f < d_; ++f) {
        Column column;
        column.feature = f;
        for (int i = 0; i < n_; ++i) {
            const double low = lower_[idx(i * d_ + f)], high = upper_[idx(i * d_ + f)];
            if (std::isinf(low) && std::isinf(high))
                continue;
            column.compared.push_back(i);
            for (const double bound : {low, high})
                if (!std::isinf(bound))
                    column.bounds.push_back(bound);
        }
        if (column.compared.empty())
            continue;
        std::sort(column.bounds.begin(), column.bounds.end());
        column.bounds.erase(std::unique(column.bounds.begin(), column.bounds.end()),
                            column.bounds.end());
        if (column.bounds.size() <= kMaxBounds) {
            // Position 2i + 1 is the i-th bound itself, position 2i the gap before it; the last
            // one is for missing values, which only an open interval admits.
            const std::size_t positions = 2 * column.bounds.size() + 1;
            column.sets.assign((positions + 1) * idx(words_), 0);
            const auto position = [&](double bound) {
                return 2 * (std::lower_bound(column.bounds.begin(), column.bounds.end(), bound) -
                            column.bounds.begin()) +
                       1;
            };
            for (int i = 0; i < n_; ++i) {
                const double low = lower_[idx(i * d_ + f)], high = upper_[idx(i * d_ + f)];
                const auto from = std::isinf(low) ? 0 : position(low);
                const auto to =
                    std::isinf(high) ? static_cast<std::ptrdiff_t>(positions) - 1 : position(high);
                if (std::isinf(low) && std::isinf(high))
                    set_bit(column.sets.data() + positions * idx(words_), i);
                for (auto at = from; at <= to; ++at)
                    set_bit(column.sets.data() + idx(at) * idx(words_), i);
            }
            column.compared.clear();
        } else {
            column.bounds.clear();
        }
        column.bounds.shrink_to_fit();
        columns_.push_back(std::move(column));
    }
}

void ConditionTable::satisfied(const double *values, Word *set) const {
    fill_first(set, words_, n_);
    for (const Column &column : columns_) {
        const double value = values[column.feature];
        if (column.sets.empty()) {
            for (const auto i : column.compared)
                if (!(value >= lower_[idx(i * d_ + column.feature)] &&
                      value <= upper_[idx(i * d_ + column.feature)]))
                    clear_bit(set, i);
            continue;
        }
        const auto at = std::lower_bound(column.bounds.begin(), column.bounds.end(), value);
        auto position =
            2 * (at - column.bounds.begin()) + (at != column.bounds.end() && *at == value);
        if (std::isnan(value))
            position = 2 * std::ssize(column.bounds) + 1;
        const Word *allowed = column.sets.data() + idx(position) * idx(words_);
        for (int i = 0; i < words_; ++i)
            set[i] &= allowed[i];
    }
}

std::size_t ConditionTable::bytes() const {
    std::size_t total = (lower_.capacity() + upper_.capacity()) * sizeof(double);
    for (const Column &column : columns_)
        total += column.bounds.capacity() * sizeof(double) + column.sets.capacity() * sizeof(Word) +
                 column.compared.capacity() * sizeof(std::int32_t);
    return total;
}

// --- compiling
// ------------------------------------------------------------------------------------------------

namespace {

// One program's shape: its links from both ends, self-loops left out.
struct Shape {
    struct Link {
        std::int32_t other, condition;
        bool outward;
        auto operator<=>(const Link &) const = default;
    };
    std::vector<std::vector<Link>> links;

    int n() const { return static_cast<int>(links.size()); }

    // Distances from a variable along links in either direction; -1 where there is no way.
    std::vector<std::int32_t> distances(int from) const {
        std::vector<std::int32_t> distance(links.size(), -1), queue{from};
        distance[idx(from)] = 0;
        for (std::size_t i = 0; i < queue.size(); ++i)
            for (const Link &link : links[idx(queue[i])])
                if (distance[idx(link.other)] < 0) {
                    distance[idx(link.other)] = distance[idx(queue[i])] + 1;
                    queue.push_back(link.other);
                }
        return distance;
    }
};

} // namespace

Plan::Plan(const std::vector<ProgramArrays> &programs, int n_node_features, int n_edge_features,
           bool directed, PlanParts parts)
    : d_(n_node_features), c_(n_edge_features), directed_(directed), parts_(parts),
      nodes_(n_node_features), edges_(n_edge_features) {
    node_start_.push_back(0);
    edge_start_.push_back(0);
    for (const ProgramArrays &program : programs) {
        node_lower_.insert(node_lower_.end(), program.node_lower,
                           program.node_lower + program.n * d_);
        node_upper_.insert(node_upper_.end(), program.node_upper,
                           program.node_upper + program.n * d_);
        edge_lower_.insert(edge_lower_.end(), program.edge_lower,
                           program.edge_lower + program.m * c_);
        edge_upper_.insert(edge_upper_.end(), program.edge_upper,
                           program.edge_upper + program.m * c_);
        ends_.insert(ends_.end(), program.edges, program.edges + 2 * program.m);
        node_start_.push_back(node_start_.back() + program.n);
        edge_start_.push_back(edge_start_.back() + program.m);
        Entry entry{};
        entry.n = program.n;
        entry.key = entry.parent = -1;
        entry.large = program.n > kMaxVariables || program.m > kMaxEdges;
        for (int x = 0; x < program.n; ++x)
            node_condition_.push_back(entry.large ? -1
                                                  : nodes_.number(program.node_lower + x * d_,
                                                                  program.node_upper + x * d_));
        for (int e = 0; e < program.m; ++e)
            edge_condition_.push_back(entry.large ? -1
                                                  : edges_.number(program.edge_lower + e * c_,
                                                                  program.edge_upper + e * c_));
        programs_.push_back(entry);
    }
    nodes_.close();
    edges_.close();
    root_.assign(programs_.size(), 0);
    find_kinds();
    find_needs();
    choose_roots();
    std::vector<std::int32_t> commonness(idx(nodes_.size()), 0);
    for (const auto condition : node_condition_)
        if (condition >= 0)
            ++commonness[idx(condition)];
    for (int p = 0; p < size(); ++p)
        if (!programs_[idx(p)].large)
            order_steps(p, commonness);
    hang_children();
}

ProgramArrays Plan::arrays(int p) const {
    const auto n = node_start_[idx(p)], m = edge_start_[idx(p)];
    ProgramArrays result;
    result.n = static_cast<int>(node_start_[idx(p + 1)] - n);
    result.m = static_cast<int>(edge_start_[idx(p + 1)] - m);
    result.node_lower = node_lower_.data() + n * d_;
    result.node_upper = node_upper_.data() + n * d_;
    result.edges = ends_.data() + 2 * m;
    result.edge_lower = edge_lower_.data() + m * c_;
    result.edge_upper = edge_upper_.data() + m * c_;
    return result;
}

// The kinds of variables: by their own condition and those of their neighbors. Variables with
// equal kinds share them.
void Plan::find_kinds() {
    for (int i = 0; i < nodes_.size(); ++i)
        kinds_.push_back({i, 0, 0});
    kind_ = node_condition_;
    if (!parts_.screens)
        return;
    std::map<std::pair<std::int32_t, std::vector<Link>>, std::int32_t> numbers;
    for (int p = 0; p < size(); ++p) {
        const Entry &entry = programs_[idx(p)];
        if (entry.large)
            continue;
        const auto first = node_start_[idx(p)];
        const std::int32_t *condition = node_condition_.data() + first;
        // Several edges to one neighbor count once where they ask the same.
        std::vector<std::set<std::pair<Link, std::int64_t>>> links(idx(entry.n));
        for (auto e = edge_start_[idx(p)]; e < edge_start_[idx(p + 1)]; ++e) {
            const auto u = ends_[idx(2 * e)], v = ends_[idx(2 * e + 1)];
            if (u == v)
                continue;
            const auto edge = edge_condition_[idx(e)];
            links[idx(u)].insert({{edge, condition[v], 1, true}, v});
            links[idx(v)].insert({{edge, condition[u], 1, !directed_}, u});
        }
        for (int x = 0; x < entry.n; ++x) {
            std::vector<Link> counted;
            Link last{-1, -1, 0, false};
            for (const auto &[link, other] : links[idx(x)]) {
                if (link == last) {
                    ++counted.back().count;
                } else {
                    counted.push_back(link);
                    last = link;
                }
            }
            if (counted.empty())
                continue;
            const auto [at, fresh] = numbers.try_emplace({condition[x], counted},
                                                         static_cast<std::int32_t>(kinds_.size()));
            if (fresh) {
                const auto start = static_cast<std::int32_t>(links_.size());
                links_.insert(links_.end(), counted.begin(), counted.end());
                kinds_.push_back({condition[x], start, static_cast<std::int32_t>(links_.size())});
            }
            kind_[idx(first + x)] = at->second;
        }
    }
}

// The kinds of nodes that each program needs.
void Plan::find_needs() {
    std::vector<std::int32_t> users(kinds_.size(), 0);
    for (int p = 0; p < size(); ++p) {
        Entry &entry = programs_[idx(p)];
        entry.first_need = entry.last_need = static_cast<std::int32_t>(needs_.size());
        if (entry.large || !parts_.screens)
            continue;
        std::map<std::int32_t, std::int32_t> counts;
        for (auto x = node_start_[idx(p)]; x < node_start_[idx(p + 1)]; ++x)
            ++counts[kind_[idx(x)]];
        for (const auto &[kind, count] : counts) {
            ++users[idx(kind)];
            needs_.push_back({kind, count});
        }
        entry.last_need = static_cast<std::int32_t>(needs_.size());
    }
    for (Entry &entry : programs_) {
        // The rarest first: it is what rules a program out.
        std::stable_sort(
            needs_.begin() + entry.first_need, needs_.begin() + entry.last_need,
            [&](const Need &a, const Need &b) { return users[idx(a.kind)] < users[idx(b.kind)]; });
        if (entry.first_need < entry.last_need)
            entry.key = needs_[idx(entry.first_need)].kind;
    }
}

// A program's root is a variable in its middle. Where what lies within a smaller distance of it is
// another program with that very root, the other one is its parent: the program can only be where
// the parent was found. Neighborhoods of radius r have those of radius r - 1 as parents.
void Plan::choose_roots() {
    std::vector<std::int32_t> by_size(programs_.size());
    std::iota(by_size.begin(), by_size.end(), 0);
    std::stable_sort(by_size.begin(), by_size.end(),
                     [&](int a, int b) { return programs_[idx(a)].n < programs_[idx(b)].n; });
    std::map<Certificate, std::int32_t> known; // rooted patterns of the programs so far
    std::set<std::pair<int, int>> sizes;       // their numbers of variables and edges
    for (const int p : by_size) {
        Entry &entry = programs_[idx(p)];
        if (entry.large || !entry.n)
            continue;
        const std::int32_t *condition = node_condition_.data() + node_start_[idx(p)];
        Shape shape;
        shape.links.resize(idx(entry.n));
        for (auto e = edge_start_[idx(p)]; e < edge_start_[idx(p + 1)]; ++e) {
            const auto u = static_cast<std::int32_t>(ends_[idx(2 * e)]),
                       v = static_cast<std::int32_t>(ends_[idx(2 * e + 1)]);
            if (u == v)
                continue;
            shape.links[idx(u)].push_back({v, edge_condition_[idx(e)], true});
            shape.links[idx(v)].push_back({u, edge_condition_[idx(e)], false});
        }
        const auto within = [&](const std::vector<std::int32_t> &distance, int radius, auto x) {
            return distance[idx(x)] >= 0 && distance[idx(x)] <= radius;
        };
        // Whether some program is as large as a part: most parts need no certificate.
        const auto may_be_known = [&](const std::vector<std::int32_t> &distance, int radius) {
            int n = 0, m = 0;
            for (int x = 0; x < entry.n; ++x)
                n += within(distance, radius, x);
            for (auto e = edge_start_[idx(p)]; e < edge_start_[idx(p + 1)]; ++e)
                m += within(distance, radius, ends_[idx(2 * e)]) &&
                     within(distance, radius, ends_[idx(2 * e + 1)]);
            return sizes.contains({n, m});
        };
        // The part within some distance of a root, in a form that equal parts share.
        const auto certificate = [&](int root, const std::vector<std::int32_t> &distance,
                                     int radius) {
            std::vector<std::int32_t> place(idx(entry.n), -1), colors, edges, edge_colors;
            for (int x = 0; x < entry.n; ++x)
                if (within(distance, radius, x)) {
                    place[idx(x)] = static_cast<std::int32_t>(colors.size());
                    colors.push_back(2 * condition[x] + (x == root));
                }
            for (auto e = edge_start_[idx(p)]; e < edge_start_[idx(p + 1)]; ++e) {
                const auto u = place[idx(ends_[idx(2 * e)])], v = place[idx(ends_[idx(2 * e + 1)])];
                if (u < 0 || v < 0)
                    continue;
                edges.insert(edges.end(), {u, v});
                edge_colors.push_back(edge_condition_[idx(e)]);
            }
            ColoredGraph graph;
            graph.n = static_cast<int>(colors.size());
            graph.m = static_cast<int>(edge_colors.size());
            graph.directed = directed_;
            graph.vertex_color = colors.data();
            graph.edges = edges.data();
            graph.edge_color = edge_colors.data();
            const auto order = canonical_order(graph);
            std::vector<std::int32_t> rank(order.size());
            for (std::size_t i = 0; i < order.size(); ++i)
                rank[idx(order[i])] = static_cast<std::int32_t>(i);
            std::vector<std::array<std::int32_t, 3>> arcs;
            for (std::size_t e = 0; e < edge_colors.size(); ++e) {
                auto u = rank[idx(edges[2 * e])], v = rank[idx(edges[2 * e + 1])];
                if (!directed_ && u > v)
                    std::swap(u, v);
                arcs.push_back({u, edge_colors[e], v});
            }
            std::sort(arcs.begin(), arcs.end());
            Certificate result{graph.n};
            for (const auto x : order)
                result.push_back(colors[idx(x)]);
            for (const auto &[u, color, v] : arcs)
                result.insert(result.end(), {u, v, color});
            return result;
        };
        std::vector<std::vector<std::int32_t>> distance(idx(entry.n));
        std::vector<std::int32_t> reach(idx(entry.n), 0);
        bool connected = true;
        for (int x = 0; x < entry.n; ++x) {
            distance[idx(x)] = shape.distances(x);
            for (const auto far : distance[idx(x)]) {
                connected = connected && far >= 0;
                reach[idx(x)] = std::max(reach[idx(x)], far);
            }
        }
        root_[idx(p)] =
            static_cast<std::int32_t>(std::min_element(reach.begin(), reach.end()) - reach.begin());
        if (!connected || !parts_.containment)
            continue;
        const int radius = reach[idx(root_[idx(p)])];
        for (int smaller = radius - 1; smaller >= 0 && entry.parent < 0; --smaller)
            for (int x = 0; x < entry.n && entry.parent < 0; ++x) {
                if (reach[idx(x)] != radius || !may_be_known(distance[idx(x)], smaller))
                    continue;
                const auto found = known.find(certificate(x, distance[idx(x)], smaller));
                if (found != known.end()) {
                    root_[idx(p)] = x;
                    entry.parent = found->second;
                }
            }
        known.try_emplace(certificate(root_[idx(p)], distance[idx(root_[idx(p)])], radius), p);
        sizes.emplace(entry.n, static_cast<int>(edge_start_[idx(p + 1)] - edge_start_[idx(p)]));
    }
}

// The order in which variables are placed, from the root outwards: those with most edges to placed
// ones first, then those whose condition is rarest.
void Plan::order_steps(int p, const std::vector<std::int32_t> &commonness) {
    Entry &entry = programs_[idx(p)];
    entry.first_step = static_cast<std::int32_t>(steps_.size());
    const int n = entry.n;
    const std::int32_t *condition = node_condition_.data() + node_start_[idx(p)];
    Shape shape;
    shape.links.resize(idx(n));
    std::vector<std::vector<std::int32_t>> loops(idx(n));
    for (auto e = edge_start_[idx(p)]; e < edge_start_[idx(p + 1)]; ++e) {
        const auto u = static_cast<std::int32_t>(ends_[idx(2 * e)]),
                   v = static_cast<std::int32_t>(ends_[idx(2 * e + 1)]);
        if (u == v) {
            loops[idx(u)].push_back(edge_condition_[idx(e)]);
            continue;
        }
        shape.links[idx(u)].push_back({v, edge_condition_[idx(e)], true});
        // Either end of an undirected edge may be its source.
        shape.links[idx(v)].push_back({u, edge_condition_[idx(e)], !directed_});
    }
    for (auto &links : shape.links)
        std::sort(links.begin(), links.end());
    std::vector<std::int32_t> position(idx(n), -1), back(idx(n), 0), placed;
    const auto twins = [&](int x, int y) {
        return condition[x] == condition[y] && loops[idx(x)].empty() && loops[idx(y)].empty() &&
               shape.links[idx(x)] == shape.links[idx(y)];
    };
    for (int k = 0; k < n; ++k) {
        int best = -1;
        if (k == 0) {
            best = root_[idx(p)];
        } else {
            for (int x = 0; x < n; ++x) {
                if (position[idx(x)] >= 0)
                    continue;
                const auto better = [&](int a, int b) {
                    if (back[idx(a)] != back[idx(b)])
                        return back[idx(a)] > back[idx(b)];
                    const auto common_a = commonness[idx(condition[a])],
                               common_b = commonness[idx(condition[b])];
                    return common_a != common_b ? common_a < common_b : a < b;
                };
                if (best < 0 || better(x, best))
                    best = x;
            }
        }
        Step step{};
        step.kind = kind_[idx(node_start_[idx(p)] + best)];
        step.first_check = static_cast<std::int32_t>(checks_.size());
        for (const auto &link : shape.links[idx(best)]) {
            ++back[idx(link.other)];
            if (position[idx(link.other)] >= 0)
                checks_.push_back({position[idx(link.other)], link.condition, link.outward});
        }
        step.last_check = static_cast<std::int32_t>(checks_.size());
        step.first_loop = static_cast<std::int32_t>(loops_.size());
        loops_.insert(loops_.end(), loops[idx(best)].begin(), loops[idx(best)].end());
        step.last_loop = static_cast<std::int32_t>(loops_.size());
        step.twin = -1;
        for (int earlier = parts_.twins ? k - 1 : 0; earlier > 0 && step.twin < 0;
             --earlier) // the root stays where it is put
            if (twins(placed[idx(earlier)], best))
                step.twin = earlier;
        position[idx(best)] = k;
        placed.push_back(best);
        steps_.push_back(step);
        variable_.push_back(best);
    }
}

void Plan::hang_children() {
    std::vector<std::vector<std::int32_t>> children(programs_.size());
    for (int p = 0; p < size(); ++p) {
        const Entry &entry = programs_[idx(p)];
        if (entry.large)
            large_.push_back(p);
        else if (entry.parent >= 0)
            children[idx(entry.parent)].push_back(p);
        else
            roots_.push_back({p, entry.key});
    }
    for (int p = 0; p < size(); ++p) {
        Entry &entry = programs_[idx(p)];
        entry.first_child = static_cast<std::int32_t>(children_.size());
        for (const auto child : children[idx(p)])
            children_.push_back({child, programs_[idx(child)].key});
        entry.last_child = static_cast<std::int32_t>(children_.size());
    }
}

std::vector<std::pair<std::int32_t, std::int32_t>> Plan::position_edges(int p) const {
    const Entry &entry = programs_[idx(p)];
    std::vector<std::int32_t> position(idx(entry.n));
    for (int k = 0; k < entry.n; ++k)
        position[idx(variable(entry.first_step + k))] = k;
    std::vector<std::pair<std::int32_t, std::int32_t>> edges;
    for (auto e = edge_start_[idx(p)]; e < edge_start_[idx(p + 1)]; ++e)
        edges.emplace_back(position[idx(ends_[idx(2 * e)])], position[idx(ends_[idx(2 * e + 1)])]);
    return edges;
}

std::size_t Plan::bytes() const {
    const auto size_of = [](const auto &values) { return values.capacity() * sizeof(values[0]); };
    return nodes_.bytes() + edges_.bytes() + size_of(programs_) + size_of(steps_) +
           size_of(variable_) + size_of(checks_) + size_of(loops_) + size_of(needs_) +
           size_of(kinds_) + size_of(links_) + size_of(roots_) + size_of(children_) +
           size_of(large_) + size_of(node_lower_) + size_of(node_upper_) + size_of(edge_lower_) +
           size_of(edge_upper_) + size_of(ends_) + size_of(node_start_) + size_of(edge_start_) +
           size_of(node_condition_) + size_of(edge_condition_) + size_of(kind_) + size_of(root_);
}

} // namespace gdlnn
