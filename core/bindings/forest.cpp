#include "arrays.hpp"

#include "gdlnn/forest.hpp"

namespace gdlnn::bindings {
namespace {

// The arrays of a forest, checked once: no row can lead outside of them, nor in a circle.
class CheckedForest {
  public:
    CheckedForest(int n_features, Vector<std::int32_t> roots, Vector<std::int32_t> feature,
                  Vector<float> threshold, Vector<std::int32_t> left, Vector<std::int32_t> right,
                  Matrix<double> values)
        : roots_(roots), values_(values) {
        const auto n = static_cast<std::int64_t>(feature.shape(0));
        const auto n_leaves = static_cast<std::int64_t>(values.shape(0));
        bool fine = n_features >= 0 && roots.shape(0) > 0 && values.shape(1) > 0 &&
                    threshold.shape(0) == feature.shape(0) && left.shape(0) == feature.shape(0) &&
                    right.shape(0) == feature.shape(0);
        for (std::size_t tree = 0; fine && tree < roots.shape(0); ++tree)
            fine = roots(tree) >= 0 && roots(tree) < n;
        for (std::int64_t node = 0; fine && node < n; ++node) {
            const auto i = static_cast<std::size_t>(node);
            if (feature(i) < 0)
                fine = left(i) >= 0 && left(i) < n_leaves;
            else
                fine = feature(i) < n_features && left(i) > node && left(i) < n &&
                       right(i) > node && right(i) < n;
        }
        if (!fine)
            throw nb::value_error("forest: expected trees whose children follow their parents");
        std::vector<ForestNode> nodes(feature.shape(0));
        for (std::size_t i = 0; i < nodes.size(); ++i)
            nodes[i] = {feature(i), threshold(i), left(i), right(i)};
        const int depth = largest_depth(nodes);
        forest_ = {n_features,
                   static_cast<int>(values.shape(1)),
                   static_cast<int>(roots.shape(0)),
                   roots_.data(),
                   std::move(nodes),
                   values_.data(),
                   depth};
    }

    nb::ndarray<nb::numpy, double> predict(Matrix<float> rows, int n_threads) const {
        check(rows.shape(1));
        std::atomic<bool> stop{false};
        std::vector<double> found;
        const auto n = static_cast<std::int64_t>(rows.shape(0));
        {
            nb::gil_scoped_release released;
            found = gdlnn::predict(forest_, rows.data(), n, {n_threads, &stop});
        }
        return to_numpy(std::move(found), {rows.shape(0), values_.shape(1)});
    }

    nb::ndarray<nb::numpy, double> contributions(Matrix<float> rows, Vector<float> baseline,
                                                 Vector<std::int32_t> wanted, int n_threads) const {
        check(rows.shape(1));
        check(baseline.shape(0));
        if (wanted.shape(0) != rows.shape(0))
            throw nb::value_error("wanted: expected one per row");
        for (std::size_t i = 0; i < wanted.shape(0); ++i)
            if (wanted(i) < 0 || wanted(i) >= forest_.n_values)
                throw nb::value_error("wanted: expected the number of a value");
        std::atomic<bool> stop{false};
        std::vector<double> found;
        const auto n = static_cast<std::int64_t>(rows.shape(0));
        {
            nb::gil_scoped_release released;
            found = gdlnn::contributions(forest_, rows.data(), n, baseline.data(), wanted.data(),
                                         {n_threads, &stop});
        }
        return to_numpy(std::move(found), {rows.shape(0), rows.shape(1)});
    }

  private:
    void check(std::size_t width) const {
        if (width != static_cast<std::size_t>(forest_.n_features))
            throw nb::value_error("rows: expected one column per feature of the forest");
    }

    Vector<std::int32_t> roots_;
    Matrix<double> values_;
    Forest forest_;
};

} // namespace

void register_forest(nb::module_ &m) {
    nb::class_<CheckedForest>(m, "Forest")
        .def(nb::init<int, Vector<std::int32_t>, Vector<std::int32_t>, Vector<float>,
                      Vector<std::int32_t>, Vector<std::int32_t>, Matrix<double>>(),
             nb::arg("n_features"), nb::arg("roots"), nb::arg("feature"), nb::arg("threshold"),
             nb::arg("left"), nb::arg("right"), nb::arg("values"))
        .def("predict", &CheckedForest::predict, nb::arg("rows"), nb::arg("n_threads"),
             "The mean of the trees' leaves, rows × values.")
        .def("contributions", &CheckedForest::contributions, nb::arg("rows"), nb::arg("baseline"),
             nb::arg("wanted"), nb::arg("n_threads"),
             "Shapley values of the features for one of the values per row.");
}

} // namespace gdlnn::bindings
