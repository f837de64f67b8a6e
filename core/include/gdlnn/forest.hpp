// A forest of decision trees as arrays: its mean prediction, and exact Shapley values of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace gdlnn {

// An inner node sends a row to `left` if its feature is at most the threshold, otherwise to
// `right`; both are numbers of nodes of the whole forest, and larger than the node's own. A leaf
// has the feature -1 and `left` is its row of `values`. What a step needs lies side by side: most
// of the time of a walk goes to fetching nodes.
struct ForestNode {
    std::int32_t feature;
    float threshold;
    std::int32_t left;
    std::int32_t right;
};

// The trees end to end.
struct Forest {
    int n_features = 0;
    int n_values = 0; // per leaf: one per class, or one
    int n_trees = 0;
    const std::int32_t *roots = nullptr; // n_trees
    std::vector<ForestNode> nodes;
    const double *values = nullptr; // leaves × n_values
    int depth = 0;                  // of the deepest leaf, see `largest_depth`
};

// The depth of the deepest leaf, which contributions need; asked for once, as it visits every node.
int largest_depth(const std::vector<ForestNode> &nodes);

struct ForestParams {
    int n_threads = 1;
    std::atomic<bool> *stop = nullptr; // raised from outside, or by a failure on one thread
};

// The mean of the trees' leaves, rows × n_values.
std::vector<double> predict(const Forest &forest, const float *rows, std::int64_t n_rows,
                            const ForestParams &params);

// Shapley values of the features, rows × n_features: what each adds to the mean of one of the
// values (`wanted`, one per row) on the way from the baseline to the row. They sum to the
// difference of the predictions.
//
// In one tree a leaf is reached by a set of features exactly if the features on which row and
// baseline part on its path come from the row (A) or from the baseline (B), as the path asks. Such
// a leaf of value v adds v (|A|-1)! |B|! / (|A|+|B|)! to each feature of A, and takes
// v |A|! (|B|-1)! / (|A|+|B|)! from each of B.
std::vector<double> contributions(const Forest &forest, const float *rows, std::int64_t n_rows,
                                  const float *baseline, const std::int32_t *wanted,
                                  const ForestParams &params);

} // namespace gdlnn
