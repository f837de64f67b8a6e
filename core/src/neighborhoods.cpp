#include "gdlnn/neighborhoods.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <unordered_map>

#include "gdlnn/bits.hpp"
#include "gdlnn/canonical.hpp"
#include "parallel.hpp"

namespace gdlnn {
namespace {

// The ball in canonical order: its sizes, the colors of its nodes, and its edges with theirs. Two
// balls are the same pattern exactly where their certificates are equal.
using Certificate = std::vector<std::int32_t>;

struct CertificateHash {
    std::size_t operator()(const Certificate &c) const {
        std::uint64_t hash = 0x9e3779b97f4a7c15ULL;
        for (const auto value : c) {
            hash = (hash ^ static_cast<std::uint32_t>(value)) * 0xbf58476d1ce4e5b9ULL;
            hash ^= hash >> 29;
        }
        return hash;
    }
};

// The patterns of some graphs in a row, each with its first ball.
struct Found {
    std::unordered_map<Certificate, std::size_t, CertificateHash> number;
    std::vector<Neighborhood> patterns;

    Neighborhood &of(const Certificate &certificate) {
        const auto [at, fresh] = number.try_emplace(certificate, patterns.size());
        if (fresh)
            patterns.emplace_back();
        return patterns[at->second];
    }
};

// Goes through the balls of one graph after another, reusing its buffers.
class Collector {
  public:
    Collector(const ColoredGraphs &graphs, const NeighborhoodParams &params, Found &found)
        : graphs_(graphs), params_(params), found_(found) {}

    void collect(int graph) {
        graph_ = graph;
        n_ = static_cast<int>(graphs_.node_offsets[graph + 1] - graphs_.node_offsets[graph]);
        m_ = static_cast<int>(graphs_.edge_offsets[graph + 1] - graphs_.edge_offsets[graph]);
        colors_ = graphs_.node_colors + graphs_.node_offsets[graph];
        edges_ = graphs_.edges + 2 * graphs_.edge_offsets[graph];
        edge_colors_ = graphs_.edge_colors + graphs_.edge_offsets[graph];
        link();
        recorded_.clear();
        place_.assign(idx(n_), -1);
        for (int center = 0; center < n_; ++center)
            grow(center);
    }

  private:
    void link() {
        start_.assign(idx(n_) + 1, 0);
        for (int i = 0; i < 2 * m_; ++i)
            ++start_[idx(edges_[i] + 1)];
        for (int v = 0; v < n_; ++v)
            start_[idx(v + 1)] += start_[idx(v)];
        links_.resize(idx(2 * m_));
        std::vector<std::int32_t> next(start_.begin(), start_.end() - 1);
        for (int i = 0; i < 2 * m_; ++i)
            links_[idx(next[idx(edges_[i])]++)] = i / 2;
    }

    // The balls of one node, from the node alone outwards; ends where a ball is the whole
    // component.
    void grow(int center) {
        ball_.assign(1, center);
        place_[idx(center)] = 0;
        std::size_t done = 0;
        for (int radius = 0; radius <= params_.radius; ++radius) {
            if (radius) {
                const std::size_t before = ball_.size();
                for (; done < before && !too_large(); ++done)
                    for (int i = start_[idx(ball_[done])];
                         i < start_[idx(ball_[done] + 1)] && !too_large(); ++i)
                        for (int end = 0; end < 2 && !too_large(); ++end)
                            reach(static_cast<std::int32_t>(edges_[2 * links_[idx(i)] + end]));
                if (ball_.size() == before)
                    break;
            }
            if (too_large())
                break;
            record(center, radius);
        }
        for (const auto v : ball_)
            place_[idx(v)] = -1;
    }

    bool too_large() const {
        return params_.max_nodes && static_cast<int>(ball_.size()) > params_.max_nodes;
    }

    void reach(std::int32_t v) {
        if (place_[idx(v)] < 0) {
            place_[idx(v)] = static_cast<std::int32_t>(ball_.size());
            ball_.push_back(v);
        }
    }

    void record(int center, int radius) {
        // In dense graphs many nodes have the same ball, whose canonical order is dear.
        sorted_ = ball_;
        std::sort(sorted_.begin(), sorted_.end());
        if (!recorded_.insert(sorted_).second)
            return;
        vertex_colors_.clear();
        inner_edges_.clear();
        inner_colors_.clear();
        for (std::size_t i = 0; i < ball_.size(); ++i) {
            const auto v = ball_[i];
            vertex_colors_.push_back(colors_[v]);
            for (int k = start_[idx(v)]; k < start_[idx(v + 1)]; ++k) {
                const int e = links_[idx(k)];
                // Every edge once: where it leaves its source, and a self-loop at the first of its
                // ends.
                if (edges_[2 * e] != v || place_[idx(edges_[2 * e + 1])] < 0 ||
                    (edges_[2 * e] == edges_[2 * e + 1] && k > start_[idx(v)] &&
                     links_[idx(k - 1)] == e))
                    continue;
                inner_edges_.push_back(static_cast<std::int32_t>(i));
                inner_edges_.push_back(place_[idx(edges_[2 * e + 1])]);
                inner_colors_.push_back(edge_colors_[e]);
            }
        }
        ColoredGraph graph;
        graph.n = static_cast<int>(ball_.size());
        graph.m = static_cast<int>(inner_colors_.size());
        graph.directed = graphs_.directed;
        graph.vertex_color = vertex_colors_.data();
        graph.edges = inner_edges_.data();
        graph.edge_color = inner_colors_.data();
        const std::vector<std::int32_t> order = canonical_order(graph);
        certify(order);
        Neighborhood &pattern = found_.of(certificate_);
        if (pattern.nodes.empty()) {
            pattern.graph = graph_;
            pattern.center = center;
            pattern.radius = radius;
            for (const auto i : order)
                pattern.nodes.push_back(ball_[idx(i)]);
        }
        if (pattern.graphs.empty() || pattern.graphs.back() != graph_)
            pattern.graphs.push_back(graph_);
    }

    void certify(const std::vector<std::int32_t> &order) {
        rank_.resize(order.size());
        for (std::size_t i = 0; i < order.size(); ++i)
            rank_[idx(order[i])] = static_cast<std::int32_t>(i);
        arcs_.clear();
        for (std::size_t e = 0; e < inner_colors_.size(); ++e) {
            auto u = rank_[idx(inner_edges_[2 * e])], v = rank_[idx(inner_edges_[2 * e + 1])];
            if (!graphs_.directed && u > v)
                std::swap(u, v);
            arcs_.push_back({u, v, inner_colors_[e]});
        }
        std::sort(arcs_.begin(), arcs_.end());
        certificate_.assign(
            {static_cast<std::int32_t>(order.size()), static_cast<std::int32_t>(arcs_.size())});
        for (const auto i : order)
            certificate_.push_back(vertex_colors_[idx(i)]);
        for (const auto &[u, v, color] : arcs_)
            certificate_.insert(certificate_.end(), {u, v, color});
    }

    struct Arc {
        std::int32_t source, target, color;
        auto operator<=>(const Arc &) const = default;
    };

    const ColoredGraphs &graphs_;
    const NeighborhoodParams &params_;
    Found &found_;
    int graph_ = 0, n_ = 0, m_ = 0;
    const std::int32_t *colors_ = nullptr, *edge_colors_ = nullptr;
    const std::int64_t *edges_ = nullptr;
    std::vector<std::int32_t> start_, links_; // per node the numbers of its edges
    std::vector<std::int32_t> ball_, place_;  // nodes reached, and the place of each among them
    std::vector<std::int32_t> sorted_;
    std::set<std::vector<std::int32_t>> recorded_; // the balls of this graph so far
    std::vector<std::int32_t> vertex_colors_, inner_edges_, inner_colors_;
    std::vector<std::int32_t> rank_;
    std::vector<Arc> arcs_;
    Certificate certificate_;
};

// Adds the patterns of later graphs to those of earlier ones.
void merge(Found &into, Found &&later) {
    for (const auto &[certificate, number] : later.number) {
        Neighborhood &fresh = later.patterns[number];
        Neighborhood &known = into.of(certificate);
        if (known.nodes.empty())
            known = std::move(fresh);
        else
            known.graphs.insert(known.graphs.end(), fresh.graphs.begin(), fresh.graphs.end());
    }
}

} // namespace

std::vector<Neighborhood> neighborhoods(const ColoredGraphs &graphs,
                                        const NeighborhoodParams &params) {
    // Each part of the graphs is collected on one thread, and the parts are merged in order.
    const int n_parts = std::clamp(params.n_threads, 1, std::max(1, graphs.n_graphs));
    std::vector<Found> parts(idx(n_parts));
    parallel_for(n_parts, n_parts, params.stop, [&] {
        return [&](std::int64_t part) {
            Collector collector(graphs, params, parts[idx(part)]);
            const int first = static_cast<int>(graphs.n_graphs * part / n_parts);
            const int last = static_cast<int>(graphs.n_graphs * (part + 1) / n_parts);
            for (int g = first; g < last && !(params.stop && params.stop->load()); ++g)
                collector.collect(g);
        };
    });
    for (int part = 1; part < n_parts; ++part)
        merge(parts[0], std::move(parts[idx(part)]));
    std::vector<Neighborhood> result;
    for (auto &pattern : parts[0].patterns)
        if (static_cast<int>(pattern.graphs.size()) >= params.min_support)
            result.push_back(std::move(pattern));
    std::sort(result.begin(), result.end(), [](const Neighborhood &a, const Neighborhood &b) {
        if (a.nodes.size() != b.nodes.size())
            return a.nodes.size() < b.nodes.size();
        if (a.graph != b.graph)
            return a.graph < b.graph;
        return a.radius != b.radius ? a.radius < b.radius : a.center < b.center;
    });
    return result;
}

} // namespace gdlnn
