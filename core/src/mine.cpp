#include "gdlnn/mine.hpp"

#include <chrono>
#include <ctime>
#include <utility>

#include "descent.hpp"
#include "greedy.hpp"
#include "parallel.hpp"
#include "sequential.hpp"

namespace gdlnn {
namespace {

// Processor time of this thread, or the time of day where a system does not count it.
double thread_seconds() {
#ifdef CLOCK_THREAD_CPUTIME_ID
    timespec now{};
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0)
        return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
#endif
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

} // namespace

MiningData::MiningData(const GraphSet &set, std::vector<std::int32_t> labels, int n_labels)
    : set_(set), labels_(std::move(labels)) {
    for (int label = 0; label < n_labels; ++label) {
        std::vector<std::int32_t> order;
        for (const bool wanted : {true, false}) {
            for (int g = 0; g < set_.size(); ++g)
                if ((labels_[idx(g)] == label) == wanted)
                    order.push_back(g);
            if (wanted)
                n_positive_.push_back(static_cast<int>(order.size()));
        }
        orders_.push_back(std::move(order));
    }
}

Miner::Miner(const MiningData &data, const MineParams &params, const std::atomic<bool> *stop)
    : strategy_(params.strategy), descent_(std::make_unique<Descent>(data, params, stop)),
      greedy_(std::make_unique<Greedy>(*descent_)),
      sequential_(std::make_unique<Sequential>(*descent_, *greedy_)) {}
Miner::~Miner() = default;

MinedProgram Miner::mine(const MineTask &task) {
    descent_->start(task);
    if (strategy_ == Strategy::greedy)
        greedy_->run(Greedy::Offer::all);
    else
        sequential_->run();
    return descent_->finish();
}

MiningJob::MiningJob(const MiningData &data, const MineParams &params, std::vector<MineTask> tasks,
                     int n_threads)
    : data_(data), params_(params), tasks_(std::move(tasks)),
      thread_([this, n_threads] { run(n_threads); }) {}

MiningJob::~MiningJob() {
    stop();
    thread_.join();
}

void MiningJob::stop() { stop_ = true; }

bool MiningJob::running() const {
    const std::lock_guard lock(mutex_);
    return !ended_ || failure_ || !finished_.empty();
}

void MiningJob::run(int n_threads) {
    std::exception_ptr failure;
    try {
        parallel_for(static_cast<std::int64_t>(tasks_.size()), n_threads, &stop_, [&] {
            return [this, miner = Miner(data_, params_, &stop_)](std::int64_t item) mutable {
                const double start = thread_seconds();
                MinedProgram result = miner.mine(tasks_[idx(item)]);
                result.stats.seconds = thread_seconds() - start;
                result.task = static_cast<int>(item);
                if (result.stopped)
                    return;
                const std::lock_guard lock(mutex_);
                finished_.push_back(std::move(result));
                changed_.notify_all();
            };
        });
    } catch (...) {
        failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    failure_ = failure;
    ended_ = true;
    changed_.notify_all();
}

std::vector<MinedProgram> MiningJob::poll(double seconds) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                      [&] { return ended_ || !finished_.empty(); });
    if (const auto failure = std::exchange(failure_, nullptr))
        std::rethrow_exception(failure);
    return std::exchange(finished_, {});
}

} // namespace gdlnn
