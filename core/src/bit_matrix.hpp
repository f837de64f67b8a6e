// BitMatrix: a matrix of bits that can be read by row and by column.
//
// Owns the rows, the same bits transposed, and the number of set bits in each column, counted apart
// for the first rows and for the rest. In mining a row is a graph (those of the target's label come
// first) and a column a mutation. The miner writes results for a graph by row, and reads by column
// the graphs on which a mutation is still to be tested.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gdlnn/bits.hpp"

namespace gdlnn {

class BitMatrix {
  public:
    // All bits clear. `row_words` may leave room for more columns than there are.
    void reset(int n_rows, int n_first_rows, int n_columns, int row_words) {
        n_first_rows_ = n_first_rows;
        rows_.clear(idx(n_rows), row_words);
        columns_.clear(idx(n_columns), words_for(n_rows));
        n_in_first_.assign(idx(n_columns), 0);
        n_in_rest_.assign(idx(n_columns), 0);
    }

    const Word *row(int i) const { return rows_.row(i); }
    int row_words() const { return rows_.words(); }
    const Word *column(int k) const { return columns_.row(k); }
    int column_words() const { return columns_.words(); }
    int n_in_first(int k) const { return n_in_first_[idx(k)]; }
    int n_in_rest(int k) const { return n_in_rest_[idx(k)]; }

    // Replaces a row, and calls changed(k) for every column where it differs.
    template <class Changed> void set_row(int i, const Word *bits, Changed &&changed) {
        Word *old = rows_.row(i);
        auto &counts = i < n_first_rows_ ? n_in_first_ : n_in_rest_;
        const auto word = idx(i / kWordBits);
        const Word bit = Word{1} << (i % kWordBits);
        for (int j = 0; j < rows_.words(); ++j) {
            for (Word differs = old[j] ^ bits[j]; differs; differs &= differs - 1) {
                const int at = std::countr_zero(differs), k = j * kWordBits + at;
                counts[idx(k)] += (bits[j] >> at) & 1U ? 1 : -1;
                columns_.row(k)[word] ^= bit;
                changed(k);
            }
            old[j] = bits[j];
        }
    }

  private:
    int n_first_rows_ = 0;
    BitRows rows_, columns_;
    std::vector<std::int32_t> n_in_first_, n_in_rest_; // per column
};

} // namespace gdlnn
