// parallel_for: the only place where the core starts threads to share work between them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace gdlnn {

// Handles the items 0 to n_items - 1, in any order, on up to n_threads threads, the calling one
// included. `make_worker` is called once on each thread; what it returns is called with one item
// after another, so that the items of a thread share buffers.
//
// Raising `stop` (may be null) ends the loop after the items under way. So does an exception: it
// raises `stop`, so that long items on other threads can end early too, and the first one is
// rethrown here, as it must not leave its thread.
template <class MakeWorker>
void parallel_for(std::int64_t n_items, int n_threads, std::atomic<bool> *stop,
                  MakeWorker &&make_worker) {
    std::atomic<bool> never{false};
    std::atomic<bool> &ending = stop ? *stop : never;
    std::atomic<std::int64_t> next{0};
    std::mutex failure_mutex;
    std::exception_ptr failure;
    const auto run = [&]() {
        try {
            auto worker = make_worker();
            while (!ending.load(std::memory_order_relaxed)) {
                const std::int64_t item = next.fetch_add(1, std::memory_order_relaxed);
                if (item >= n_items)
                    return;
                worker(item);
            }
        } catch (...) {
            const std::lock_guard lock(failure_mutex);
            if (!failure)
                failure = std::current_exception();
            ending = true;
        }
    };
    std::vector<std::thread> threads;
    const auto n_extra = std::max<std::int64_t>(1, std::min<std::int64_t>(n_threads, n_items)) - 1;
    threads.reserve(static_cast<std::size_t>(n_extra));
    try {
        for (std::int64_t t = 0; t < n_extra; ++t)
            threads.emplace_back(run);
    } catch (const std::system_error &) {
        // The system gives no more threads: those there are do all the work.
    }
    run();
    for (auto &thread : threads)
        thread.join();
    if (failure)
        std::rethrow_exception(failure);
}

} // namespace gdlnn
