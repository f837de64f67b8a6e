// The core's own tests: seeded random cases, GDLNN_CASES of them, from seed GDLNN_SEED on.
#include <cstdlib>

#include "testing.hpp"

int main() {
    const char *cases = std::getenv("GDLNN_CASES"), *seed = std::getenv("GDLNN_SEED");
    const int n_cases = cases ? std::atoi(cases) : 1000;
    const std::uint64_t first = seed ? std::strtoull(seed, nullptr, 10) : 0;
    gdlnn::tests::Tally tally;
    gdlnn::tests::run_search_tests(tally, first, n_cases);
    gdlnn::tests::run_forest_tests(tally, first, (n_cases + 3) / 4);
    gdlnn::tests::run_mining_tests(tally, first, (n_cases + 9) / 10);
    gdlnn::tests::run_canonical_tests(tally, first, (n_cases + 3) / 4);
    gdlnn::tests::run_parts_tests(tally, first, (n_cases + 9) / 10);
    gdlnn::tests::run_neighborhoods_tests(tally, first, (n_cases + 9) / 10);
    gdlnn::tests::run_plan_tests(tally, first, (n_cases + 3) / 4);
    gdlnn::tests::run_shrink_tests(tally, first, (n_cases + 3) / 4);
    std::printf("%d passed, %d failed\n", tally.passed, tally.failed);
    return tally.failed ? 1 : 0;
}
