// Shapley values of a forest against their definition: every set of features, row by row.
#include <cmath>

#include "gdlnn/forest.hpp"
#include "testing.hpp"

namespace gdlnn::tests {
namespace {

struct RandomForest {
    int n_features;
    std::vector<std::int32_t> roots;
    std::vector<ForestNode> nodes;
    std::vector<double> values;

    Forest forest() const {
        const auto n_trees = static_cast<int>(roots.size());
        return {n_features, 2, n_trees, roots.data(), nodes, values.data(), largest_depth(nodes)};
    }

    std::int32_t grow(Rng &rng, int depth) {
        const auto node = static_cast<std::int32_t>(nodes.size());
        const bool leaf = depth == 0 || rng.chance(0.2);
        const auto feature = leaf ? -1 : rng.below(n_features);
        const auto threshold = static_cast<float>(rng.below(4)) + 0.5F;
        nodes.push_back({feature, threshold, static_cast<std::int32_t>(values.size() / 2), 0});
        if (leaf) {
            values.push_back(rng.unit());
            values.push_back(rng.unit());
            return node;
        }
        const auto below = grow(rng, depth - 1);
        const auto above = grow(rng, depth - 1);
        nodes[idx(node)].left = below;
        nodes[idx(node)].right = above;
        return node;
    }
};

std::vector<float> random_row(Rng &rng, int n_features) {
    std::vector<float> row;
    for (int i = 0; i < n_features; ++i)
        row.push_back(static_cast<float>(rng.below(5)));
    return row;
}

// What a feature adds to the mean over all orders, by its definition.
std::vector<double> by_definition(const Forest &forest, const std::vector<float> &row,
                                  const std::vector<float> &baseline, int wanted) {
    const int n = forest.n_features;
    std::vector<double> of_set(std::size_t{1} << n);
    for (std::size_t set = 0; set < of_set.size(); ++set) {
        std::vector<float> mixed;
        for (int i = 0; i < n; ++i)
            mixed.push_back(set >> i & 1U ? row[idx(i)] : baseline[idx(i)]);
        of_set[set] = predict(forest, mixed.data(), 1, {})[idx(wanted)];
    }
    std::vector<double> result(idx(n), 0.0);
    for (std::size_t set = 0; set < of_set.size(); ++set) {
        const int size = __builtin_popcountll(set);
        for (int i = 0; i < n; ++i)
            if (!(set >> i & 1U))
                result[idx(i)] += std::tgamma(size + 1) * std::tgamma(n - size) /
                                  std::tgamma(n + 1) *
                                  (of_set[set | std::size_t{1} << i] - of_set[set]);
    }
    return result;
}

void shapley_values_follow_their_definition(std::uint64_t seed) {
    Rng rng(seed);
    RandomForest made;
    made.n_features = rng.between(1, 6);
    for (int tree = rng.between(1, 4); tree > 0; --tree)
        made.roots.push_back(made.grow(rng, rng.between(0, 6)));
    const Forest forest = made.forest();
    const auto row = random_row(rng, made.n_features);
    const auto baseline = random_row(rng, made.n_features);
    const std::int32_t wanted = rng.below(2);
    const auto found = contributions(forest, row.data(), 1, baseline.data(), &wanted, {2, nullptr});
    const auto expected = by_definition(forest, row, baseline, wanted);
    for (std::size_t i = 0; i < expected.size(); ++i)
        check(std::abs(found[i] - expected[i]) < 1e-12, "a Shapley value differs");
}

} // namespace

void run_forest_tests(Tally &tally, std::uint64_t first, int n_cases) {
    tally.run("Shapley values", first, n_cases, shapley_values_follow_their_definition);
}

} // namespace gdlnn::tests
