// The few things that the core's tests share: seeded numbers, checks, and running many cases.
#pragma once

#include <cstdint>
#include <cstdio>
#include <exception>
#include <random>
#include <stdexcept>
#include <string>

#include "gdlnn/bits.hpp"

namespace gdlnn::tests {

// The same numbers on every machine: the standard's distributions do not promise that.
class Rng {
  public:
    explicit Rng(std::uint64_t seed) : engine_(seed) {}
    int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
    int between(int low, int high) { return low + below(high - low + 1); }
    double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
    bool chance(double p) { return unit() < p; }
    std::uint64_t word() { return engine_(); }

  private:
    std::mt19937_64 engine_;
};

inline void check(bool holds, const char *what) {
    if (!holds)
        throw std::runtime_error(what);
}

struct Tally {
    int passed = 0;
    int failed = 0;

    // Runs test(seed) for seeds first, first + 1, …; a case that fails is named, so that it can be
    // run alone.
    template <class Test>
    void run(const char *name, std::uint64_t first, int n_cases, Test &&test) {
        for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(n_cases);
             ++seed) {
            try {
                test(seed);
                ++passed;
            } catch (const std::exception &error) {
                ++failed;
                std::printf("FAILED %s, seed %llu: %s\n", name,
                            static_cast<unsigned long long>(seed), error.what());
            }
        }
    }
};

void run_search_tests(Tally &tally, std::uint64_t first, int n_cases);
void run_forest_tests(Tally &tally, std::uint64_t first, int n_cases);
void run_mining_tests(Tally &tally, std::uint64_t first, int n_cases);
void run_canonical_tests(Tally &tally, std::uint64_t first, int n_cases);
void run_parts_tests(Tally &tally, std::uint64_t first, int n_cases);
void run_neighborhoods_tests(Tally &tally, std::uint64_t first, int n_cases);
void run_plan_tests(Tally &tally, std::uint64_t first, int n_cases);
void run_shrink_tests(Tally &tally, std::uint64_t first, int n_cases);

} // namespace gdlnn::tests
