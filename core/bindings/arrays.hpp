// What the binding files share: views on NumPy arrays, programs in one batch, waiting without the
// GIL.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "gdlnn/graph_set.hpp"
#include "gdlnn/pattern.hpp"

namespace gdlnn::bindings {

namespace nb = nanobind;

template <class T> using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Programs as concatenated arrays; the Python side has checked them.
struct ProgramBatch {
    Matrix<double> node_lower, node_upper;
    Vector<std::int64_t> node_offsets;
    Matrix<std::int64_t> edges;
    Matrix<double> edge_lower, edge_upper;
    Vector<std::int64_t> edge_offsets;

    std::vector<ProgramArrays> programs() const {
        std::vector<ProgramArrays> result;
        const auto d = node_lower.shape(1), c = edge_lower.shape(1);
        for (std::size_t i = 0; i + 1 < node_offsets.shape(0); ++i) {
            const auto n = static_cast<std::size_t>(node_offsets(i)),
                       m = static_cast<std::size_t>(edge_offsets(i));
            result.push_back({static_cast<int>(node_offsets(i + 1) - node_offsets(i)),
                              static_cast<int>(edge_offsets(i + 1) - edge_offsets(i)),
                              node_lower.data() + n * d, node_upper.data() + n * d,
                              edges.data() + 2 * m, edge_lower.data() + m * c,
                              edge_upper.data() + m * c});
        }
        return result;
    }
};

// A NumPy array that owns what is in the vector.
template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T> &&values, std::vector<std::size_t> shape) {
    auto *owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return nb::ndarray<nb::numpy, T>(owned->data(), shape.size(), shape.data(), owner);
}

// A vector as an array of one dimension.
template <class T> auto given(std::vector<T> &&values) {
    const std::size_t n = values.size();
    return to_numpy(std::move(values), {n});
}

// Runs `work` on another thread without the GIL; Ctrl-C raises `stop`, waits for the work to end,
// and is passed on.
template <class Work> void run_interruptibly(std::atomic<bool> &stop, Work &&work) {
    std::mutex mutex;
    std::condition_variable done_changed;
    bool done = false;
    std::exception_ptr failure;
    bool interrupted = false;
    {
        nb::gil_scoped_release released;
        std::thread thread([&]() {
            try {
                work();
            } catch (...) {
                failure = std::current_exception();
            }
            const std::lock_guard lock(mutex);
            done = true;
            done_changed.notify_all();
        });
        std::unique_lock lock(mutex);
        while (!done_changed.wait_for(lock, std::chrono::milliseconds(50), [&] { return done; })) {
            lock.unlock();
            {
                nb::gil_scoped_acquire held;
                if (!interrupted && PyErr_CheckSignals() != 0) {
                    interrupted = true;
                    stop = true;
                }
            }
            lock.lock();
        }
        lock.unlock();
        thread.join();
    }
    if (interrupted)
        throw nb::python_error();
    if (failure)
        std::rethrow_exception(failure);
}

} // namespace gdlnn::bindings
