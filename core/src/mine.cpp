#include "gdlnn/mine.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <exception>
#include <utility>

#include "descent.hpp"

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

// Hides the descent's header from users of the miner.
class Miner::Descent : public gdlnn::Descent {
  public:
    using gdlnn::Descent::Descent;
};

Miner::Miner(const MiningData &data, const MineParams &params, const std::atomic<bool> *stop)
    : descent_(std::make_unique<Descent>(data, params, stop)) {}
Miner::~Miner() = default;
MinedProgram Miner::mine(const MineTask &task) { return descent_->mine(task); }

MiningJob::MiningJob(const MiningData &data, const MineParams &params, std::vector<MineTask> tasks,
                     int n_threads)
    : data_(data), params_(params), tasks_(std::move(tasks)) {
    const int n = std::max(1, std::min(n_threads, static_cast<int>(tasks_.size())));
    active_ = n; // counted down by threads that end, perhaps before the last one begins
    for (int t = 0; t < n; ++t)
        threads_.emplace_back([this] { work(); });
}

MiningJob::~MiningJob() {
    stop();
    for (auto &thread : threads_)
        thread.join();
}

void MiningJob::stop() { stop_ = true; }

bool MiningJob::running() const {
    const std::lock_guard lock(mutex_);
    return active_ > 0 || !finished_.empty();
}

void MiningJob::work() {
    try {
        Miner miner(data_, params_, &stop_);
        for (;;) {
            const std::size_t task = next_.fetch_add(1);
            if (task >= tasks_.size() || stop_)
                break;
            const double start = thread_seconds();
            MinedProgram result = miner.mine(tasks_[task]);
            result.stats.seconds = thread_seconds() - start;
            result.task = static_cast<int>(task);
            if (result.stopped)
                break;
            const std::lock_guard lock(mutex_);
            finished_.push_back(std::move(result));
            changed_.notify_all();
        }
    } catch (...) {
        const std::lock_guard lock(mutex_);
        failure_ = std::current_exception();
        stop_ = true;
    }
    const std::lock_guard lock(mutex_);
    --active_;
    changed_.notify_all();
}

std::vector<MinedProgram> MiningJob::poll(double seconds) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                      [&] { return active_ == 0 || !finished_.empty(); });
    if (failure_)
        std::rethrow_exception(failure_);
    return std::exchange(finished_, {});
}

} // namespace gdlnn
