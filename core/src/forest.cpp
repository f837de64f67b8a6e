#include "gdlnn/forest.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "parallel.hpp"

namespace gdlnn {
namespace {

// Trees that a prediction walks at once, so that the memory fetches their next nodes together.
constexpr int kTreesAtOnce = 8;

std::int32_t branch(const ForestNode &node, const float *row) {
    return row[node.feature] <= node.threshold ? node.left : node.right;
}

// 1 / ((a + b) over a), for sets of up to n features.
class InverseBinomials {
  public:
    explicit InverseBinomials(int n) : width_(static_cast<std::size_t>(n) + 1) {
        table_.assign(width_ * width_, 1.0);
        for (std::size_t a = 1; a < width_; ++a)
            for (std::size_t b = 1; b < width_; ++b)
                table_[a * width_ + b] = table_[a * width_ + b - 1] * static_cast<double>(b) /
                                         static_cast<double>(a + b);
    }
    double operator()(std::size_t a, std::size_t b) const { return table_[a * width_ + b]; }

  private:
    std::size_t width_;
    std::vector<double> table_;
};

// Walks one tree with a row and the baseline at once.
class Walk {
  public:
    Walk(const Forest &forest, const InverseBinomials &shares, const float *baseline)
        : forest_(forest), shares_(shares), baseline_(baseline),
          side_(static_cast<std::size_t>(forest.n_features), kBoth) {}

    void run(std::int32_t root, const float *row, int wanted, double *out) {
        row_ = row;
        wanted_ = wanted;
        out_ = out;
        visit(root);
    }

  private:
    enum Side : std::uint8_t { kBoth, kRow, kBaseline };

    void visit(std::int32_t number) {
        const ForestNode &node = forest_.nodes[static_cast<std::size_t>(number)];
        const auto feature = node.feature;
        if (feature < 0) {
            leaf(forest_.values[static_cast<std::size_t>(node.left) *
                                    static_cast<std::size_t>(forest_.n_values) +
                                static_cast<std::size_t>(wanted_)]);
            return;
        }
        const auto of_row = branch(node, row_);
        const auto of_baseline = branch(node, baseline_);
        Side &side = side_[static_cast<std::size_t>(feature)];
        if (of_row == of_baseline || side == kRow) {
            visit(of_row);
        } else if (side == kBaseline) {
            visit(of_baseline);
        } else {
            side = kRow;
            from_row_.push_back(feature);
            visit(of_row);
            from_row_.pop_back();
            side = kBaseline;
            from_baseline_.push_back(feature);
            visit(of_baseline);
            from_baseline_.pop_back();
            side = kBoth;
        }
    }

    void leaf(double value) {
        const auto a = from_row_.size(), b = from_baseline_.size();
        const double share = value * shares_(a, b);
        for (const auto feature : from_row_)
            out_[feature] += share / static_cast<double>(a);
        for (const auto feature : from_baseline_)
            out_[feature] -= share / static_cast<double>(b);
    }

    const Forest &forest_;
    const InverseBinomials &shares_;
    const float *baseline_;
    const float *row_ = nullptr;
    int wanted_ = 0;
    double *out_ = nullptr;
    std::vector<Side> side_;
    std::vector<std::int32_t> from_row_, from_baseline_;
};

} // namespace

int largest_depth(const std::vector<ForestNode> &nodes) {
    std::vector<int> depth(nodes.size(), 0);
    int largest = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) { // children come after their parents
        if (nodes[i].feature < 0)
            continue;
        const int below = depth[i] + 1;
        for (const auto child : {nodes[i].left, nodes[i].right}) {
            int &known = depth[static_cast<std::size_t>(child)];
            known = std::max(known, below); // a damaged file may have several ways to a node
        }
        largest = std::max(largest, below);
    }
    return largest;
}

std::vector<double> predict(const Forest &forest, const float *rows, std::int64_t n_rows,
                            const ForestParams &params) {
    const auto width = static_cast<std::size_t>(forest.n_features);
    const auto n_values = static_cast<std::size_t>(forest.n_values);
    std::vector<double> result(static_cast<std::size_t>(n_rows) * n_values, 0.0);
    parallel_for(n_rows, params.n_threads, params.stop, [&] {
        return [&](std::int64_t item) {
            const float *row = rows + static_cast<std::size_t>(item) * width;
            double *out = result.data() + static_cast<std::size_t>(item) * n_values;
            for (int first = 0; first < forest.n_trees; first += kTreesAtOnce) {
                const int n_trees = std::min(kTreesAtOnce, forest.n_trees - first);
                std::array<const ForestNode *, kTreesAtOnce> at;
                for (int i = 0; i < n_trees; ++i)
                    at[i] = &forest.nodes[forest.roots[first + i]];
                for (bool changed = true; changed;) {
                    changed = false;
                    for (int i = 0; i < n_trees; ++i)
                        if (at[i]->feature >= 0) {
                            at[i] = &forest.nodes[branch(*at[i], row)];
                            changed = true;
                        }
                }
                for (int i = 0; i < n_trees; ++i) { // in the order of the trees: the same sum
                    const double *leaf =
                        forest.values + static_cast<std::size_t>(at[i]->left) * n_values;
                    for (std::size_t k = 0; k < n_values; ++k)
                        out[k] += leaf[k];
                }
            }
            for (std::size_t k = 0; k < n_values; ++k)
                out[k] /= forest.n_trees;
        };
    });
    return result;
}

std::vector<double> contributions(const Forest &forest, const float *rows, std::int64_t n_rows,
                                  const float *baseline, const std::int32_t *wanted,
                                  const ForestParams &params) {
    const auto width = static_cast<std::size_t>(forest.n_features);
    const InverseBinomials shares(forest.depth);
    std::vector<double> result(static_cast<std::size_t>(n_rows) * width, 0.0);
    parallel_for(n_rows, params.n_threads, params.stop, [&] {
        return [&, walk = Walk(forest, shares, baseline)](std::int64_t item) mutable {
            const auto row = static_cast<std::size_t>(item);
            double *out = result.data() + row * width;
            for (int tree = 0; tree < forest.n_trees; ++tree)
                walk.run(forest.roots[tree], rows + row * width, wanted[row], out);
            for (std::size_t feature = 0; feature < width; ++feature)
                out[feature] /= forest.n_trees;
        };
    });
    return result;
}

} // namespace gdlnn
