#include "gdlnn/canonical.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "canonical_search.hpp"

namespace gdlnn {
namespace {

using canonical::Link;
using canonical::LinkGraph;

// Sequences of numbers one after the other, to be ranked.
class Sequences {
  public:
    void add(std::int32_t value) { values_.push_back(value); }
    void close() { ends_.push_back(values_.size()); }
    std::span<const std::int32_t> operator[](std::size_t i) const {
        const std::size_t from = i ? ends_[i - 1] : 0;
        return {values_.data() + from, ends_[i] - from};
    }
    // Rank of each sequence among the distinct ones, in lexicographic order.
    std::vector<std::int32_t> ranks() const {
        std::vector<std::int32_t> order(ends_.size()), result(ends_.size());
        std::iota(order.begin(), order.end(), 0);
        const auto less = [&](std::size_t a, std::size_t b) {
            return std::ranges::lexicographical_compare((*this)[a], (*this)[b]);
        };
        std::sort(order.begin(), order.end(), less);
        std::int32_t rank = 0;
        for (std::size_t i = 0; i < order.size(); ++i) {
            rank += i > 0 && less(order[i - 1], order[i]);
            result[order[i]] = rank;
        }
        return result;
    }

  private:
    std::vector<std::int32_t> values_;
    std::vector<std::size_t> ends_;
};

// One link per pair of vertices, whose code describes all edges between them seen from the owner;
// loops become part of the vertex's color.
LinkGraph simple_graph(const ColoredGraph &graph) {
    enum Direction : std::int32_t { both, outward, inward };
    struct Side {
        std::int32_t owner, other, direction, color;
        auto operator<=>(const Side &) const = default;
    };
    std::vector<Side> sides;
    sides.reserve(2 * static_cast<std::size_t>(graph.m));
    for (int e = 0; e < graph.m; ++e) {
        const std::int32_t u = graph.edges[2 * e], v = graph.edges[2 * e + 1];
        sides.push_back({u, v, graph.directed ? outward : both, graph.edge_color[e]});
        if (u != v)
            sides.push_back({v, u, graph.directed ? inward : both, graph.edge_color[e]});
    }
    std::sort(sides.begin(), sides.end());

    LinkGraph result;
    result.start.assign(static_cast<std::size_t>(graph.n) + 1, 0);
    Sequences kinds, colors;
    std::size_t i = 0;
    for (int v = 0; v < graph.n; ++v) {
        colors.add(graph.vertex_color[v]);
        while (i < sides.size() && sides[i].owner == v) {
            const std::int32_t other = sides[i].other;
            if (other != v)
                result.links.push_back({other, 0});
            for (; i < sides.size() && sides[i].owner == v && sides[i].other == other; ++i) {
                Sequences &kept = other == v ? colors : kinds;
                kept.add(sides[i].direction);
                kept.add(sides[i].color);
            }
            if (other != v)
                kinds.close();
        }
        colors.close();
        result.start[v + 1] = static_cast<std::int32_t>(result.links.size());
    }
    const auto codes = kinds.ranks();
    for (std::size_t k = 0; k < codes.size(); ++k)
        result.links[k].code = codes[k];
    result.color = colors.ranks();
    return result;
}

struct Child {
    std::int32_t code, kind, vertex;
    auto operator<=>(const Child &) const = default;
};

// Removes leaves, layer by layer, until rings, a single vertex or a single link is left. The color
// of a vertex encodes the removed subtrees, as in the tree isomorphism of Aho, Hopcroft and Ullman
// (1974), so that trees need no search.
class Peeler {
  public:
    explicit Peeler(const LinkGraph &graph)
        : graph_(graph), children_(graph.n()), degree_(graph.n()), alive_(graph.n(), 1),
          round_(graph.n(), -1) {
        std::vector<std::int32_t> layer, next;
        for (int v = 0; v < graph.n(); ++v) {
            degree_[v] = graph.start[v + 1] - graph.start[v];
            if (degree_[v] == 1)
                layer.push_back(v);
        }
        for (int round = 0; !layer.empty(); ++round, layer.swap(next)) {
            next.clear();
            peel(layer, round, next);
        }
    }

    bool alive(int v) const { return alive_[v]; }
    const std::vector<Child> &children(int v) const { return children_[v]; }
    // Color of a vertex with all that hangs on it.
    void describe(int v, Sequences &out) {
        std::sort(children_[v].begin(), children_[v].end());
        out.add(graph_.color[v]);
        for (const Child &child : children_[v]) {
            out.add(child.code);
            out.add(child.kind);
        }
        out.close();
    }

  private:
    std::int32_t parent(int v) const {
        for (const Link &link : graph_.of(v))
            if (alive_[link.vertex])
                return link.vertex;
        return -1;
    }

    void peel(std::vector<std::int32_t> &layer, int round, std::vector<std::int32_t> &next) {
        for (const int v : layer)
            if (degree_[v] == 1)
                round_[v] = round;
        std::vector<std::pair<std::int32_t, std::int32_t>> leaves; // vertex and parent
        for (const int v : layer)
            if (round_[v] == round)
                if (const int p = parent(v); round_[p] != round)
                    leaves.emplace_back(v, p);
        Sequences trees;
        for (const auto &[v, p] : leaves)
            describe(v, trees);
        const auto ranks = trees.ranks();
        for (std::size_t i = 0; i < leaves.size(); ++i) {
            const auto [v, p] = leaves[i];
            alive_[v] = 0;
            const auto links = graph_.of(p);
            const auto link = std::lower_bound(links.begin(), links.end(), Link{v, INT32_MIN});
            children_[p].push_back({link->code, n_kinds_ + ranks[i], v});
            if (--degree_[p] == 1)
                next.push_back(p);
        }
        n_kinds_ += static_cast<std::int32_t>(
            leaves.size()); // the same in every graph with the same layers
    }

    const LinkGraph &graph_;
    std::vector<std::vector<Child>> children_;
    std::vector<std::int32_t> degree_;
    std::vector<std::uint8_t> alive_;
    std::vector<std::int32_t> round_;
    std::int32_t n_kinds_ = 0;
};

// A connected component of what is left after peeling, in canonical order, and what to sort
// components by.
struct Component {
    std::vector<std::int32_t> order;
    std::vector<std::int32_t> certificate;
};

Component canonical_component(const LinkGraph &core, const std::vector<std::int32_t> &members,
                              std::vector<std::int32_t> &local) {
    LinkGraph part;
    part.start.push_back(0);
    for (std::size_t i = 0; i < members.size(); ++i)
        local[members[i]] = static_cast<std::int32_t>(i);
    for (const int v : members) {
        part.color.push_back(core.color[v]);
        for (const Link &link : core.of(v))
            part.links.push_back({local[link.vertex], link.code});
        std::sort(part.links.begin() + part.start.back(), part.links.end());
        part.start.push_back(static_cast<std::int32_t>(part.links.size()));
    }
    const auto order = canonical::Search(part).run();

    Component result;
    std::vector<std::int32_t> position(members.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        position[order[i]] = static_cast<std::int32_t>(i);
        result.order.push_back(members[order[i]]);
        result.certificate.push_back(part.color[order[i]]);
    }
    std::vector<Link> row;
    for (const int v : order) {
        row.clear();
        for (const Link &link : part.of(v))
            row.push_back({position[link.vertex], link.code});
        std::sort(row.begin(), row.end());
        for (const Link &link : row) {
            result.certificate.push_back(link.vertex);
            result.certificate.push_back(link.code);
        }
        result.certificate.push_back(-1);
    }
    return result;
}

// What is left after peeling: the same numbering, with no links to or from what was taken off.
LinkGraph core_graph(const LinkGraph &graph, Peeler &peeler) {
    LinkGraph core;
    core.start.push_back(0);
    core.color.assign(graph.n(), -1);
    std::vector<std::int32_t> kept;
    Sequences colors;
    for (int v = 0; v < graph.n(); ++v) {
        if (peeler.alive(v)) {
            kept.push_back(v);
            peeler.describe(v, colors);
            for (const Link &link : graph.of(v))
                if (peeler.alive(link.vertex))
                    core.links.push_back(link);
        }
        core.start.push_back(static_cast<std::int32_t>(core.links.size()));
    }
    const auto ranks = colors.ranks();
    for (std::size_t i = 0; i < kept.size(); ++i)
        core.color[kept[i]] = ranks[i];
    return core;
}

} // namespace

std::vector<std::int32_t> canonical_order(const ColoredGraph &input) {
    const LinkGraph graph = simple_graph(input);
    Peeler peeler(graph);
    const LinkGraph core = core_graph(graph, peeler);

    std::vector<Component> components;
    std::vector<std::uint8_t> seen(graph.n(), 0);
    std::vector<std::int32_t> local(graph.n(), -1);
    for (int v = 0; v < graph.n(); ++v) {
        if (!peeler.alive(v) || seen[v])
            continue;
        std::vector<std::int32_t> members{v};
        seen[v] = 1;
        for (std::size_t i = 0; i < members.size(); ++i)
            for (const Link &link : core.of(members[i]))
                if (!seen[link.vertex]) {
                    seen[link.vertex] = 1;
                    members.push_back(link.vertex);
                }
        components.push_back(canonical_component(core, members, local));
    }
    std::sort(components.begin(), components.end(),
              [](const Component &a, const Component &b) { return a.certificate < b.certificate; });

    std::vector<std::int32_t> order;
    order.reserve(graph.n());
    for (const Component &component : components) {
        std::size_t next = order.size();
        order.insert(order.end(), component.order.begin(), component.order.end());
        for (; next < order.size(); ++next) // what hangs on a vertex, breadth first
            for (const Child &child : peeler.children(order[next]))
                order.push_back(child.vertex);
    }
    return order;
}

} // namespace gdlnn
