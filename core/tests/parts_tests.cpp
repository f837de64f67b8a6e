// Building blocks of the core: parallel_for does every item once and passes failures on, and
// a bit matrix agrees with a plain table.
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "bit_matrix.hpp"
#include "parallel.hpp"
#include "testing.hpp"

namespace gdlnn::tests {
namespace {

void parallel_case(std::uint64_t seed) {
    Rng rng(seed ^ 0x706172ULL);
    const int n_items = rng.below(40), n_threads = rng.between(0, 4);
    const int bad = rng.chance(0.5) ? rng.below(n_items + 1) : -1;
    std::vector<std::atomic<int>> done(idx(n_items));
    std::atomic<int> n_workers{0};
    std::atomic<bool> stop{false};
    bool failed = false;
    try {
        parallel_for(n_items, n_threads, rng.chance(0.5) ? &stop : nullptr, [&] {
            ++n_workers;
            return [&](std::int64_t item) {
                if (item == bad)
                    throw std::runtime_error("bad item");
                ++done[idx(item)];
            };
        });
    } catch (const std::runtime_error &) {
        failed = true;
    }
    check(failed == (bad >= 0 && bad < n_items), "a failure is lost or made up");
    check(n_workers >= 1 && n_workers <= std::max(1, std::min(n_threads, n_items)),
          "a number of workers");
    for (const auto &count : done)
        check(failed ? count <= 1 : count == 1, "an item is done twice or not at all");
    stop = true;
    parallel_for(n_items, n_threads, &stop,
                 [&] { return [&](std::int64_t item) { ++done[idx(item)]; }; });
    for (const auto &count : done)
        check(count <= 1, "an item is done after the stop");
}

void bit_matrix_case(std::uint64_t seed) {
    Rng rng(seed ^ 0x626974ULL);
    const int n_rows = rng.between(1, 150), n_columns = rng.between(1, 150);
    const int n_first = rng.below(n_rows + 1), words = words_for(n_columns);
    BitMatrix matrix;
    for (int use = 0; use < 2; ++use) {
        matrix.reset(n_rows, n_first, n_columns, words);
        std::vector<std::vector<std::uint8_t>> plain(idx(n_rows),
                                                     std::vector<std::uint8_t>(idx(n_columns), 0));
        std::vector<Word> row(idx(words));
        for (int round = 0; round < 20; ++round) {
            const int i = rng.below(n_rows);
            auto expected = plain[idx(i)];
            std::vector<int> differing;
            fill_words(row.data(), words, 0);
            for (int k = 0; k < n_columns; ++k) {
                expected[idx(k)] = rng.chance(0.3);
                if (expected[idx(k)])
                    set_bit(row.data(), k);
                if (expected[idx(k)] != plain[idx(i)][idx(k)])
                    differing.push_back(k);
            }
            plain[idx(i)] = expected;
            std::vector<int> changed;
            matrix.set_row(i, row.data(), [&](int k) { changed.push_back(k); });
            check(changed == differing, "the changed columns of a row");
        }
        for (int k = 0; k < n_columns; ++k) {
            int in_first = 0, in_rest = 0;
            for (int i = 0; i < n_rows; ++i) {
                const bool bit = plain[idx(i)][idx(k)];
                check(test_bit(matrix.row(i), k) == bit, "a bit by row");
                check(test_bit(matrix.column(k), i) == bit, "a bit by column");
                (i < n_first ? in_first : in_rest) += bit;
            }
            check(matrix.n_in_first(k) == in_first && matrix.n_in_rest(k) == in_rest,
                  "the counts of a column");
        }
    }
}

} // namespace

void run_parts_tests(Tally &tally, std::uint64_t first, int n_cases) {
    tally.run("parallel_for", first, n_cases, parallel_case);
    tally.run("bit matrix", first, n_cases, bit_matrix_case);
}

} // namespace gdlnn::tests
