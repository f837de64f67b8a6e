// Bit sets as plain words: the few operations that the search and the miner share, and BitRows,
// many sets of one length in one block.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gdlnn {

// An index of a vector: sizes are counted as int here, and vectors take std::size_t.
inline std::size_t idx(long long i) { return static_cast<std::size_t>(i); }

using Word = std::uint64_t;
inline constexpr int kWordBits = 64;

inline int words_for(int n_bits) { return (n_bits + kWordBits - 1) / kWordBits; }
inline int round_to_word(int n_bits) { return words_for(n_bits) * kWordBits; }

inline bool test_bit(const Word *bits, int i) { return (bits[i >> 6] >> (i & 63)) & 1U; }
inline void set_bit(Word *bits, int i) { bits[i >> 6] |= Word{1} << (i & 63); }
inline void clear_bit(Word *bits, int i) { bits[i >> 6] &= ~(Word{1} << (i & 63)); }

inline void fill_words(Word *bits, int words, Word value) {
    for (int i = 0; i < words; ++i)
        bits[i] = value;
}
inline void copy_words(Word *to, const Word *from, int words) {
    for (int i = 0; i < words; ++i)
        to[i] = from[i];
}
inline void or_words(Word *to, const Word *from, int words) {
    for (int i = 0; i < words; ++i)
        to[i] |= from[i];
}
inline void and_words(Word *to, const Word *from, int words) {
    for (int i = 0; i < words; ++i)
        to[i] &= from[i];
}
inline void remove_words(Word *to, const Word *from, int words) {
    for (int i = 0; i < words; ++i)
        to[i] &= ~from[i];
}
// Whether two sets have a bit in common. Sets are a word or two as a rule: an early end would cost
// more than it saves.
inline bool intersect(const Word *a, const Word *b, int words) {
    Word common = 0;
    for (int i = 0; i < words; ++i)
        common |= a[i] & b[i];
    return common != 0;
}
inline bool any_word(const Word *bits, int words) {
    for (int i = 0; i < words; ++i)
        if (bits[i])
            return true;
    return false;
}
inline int count_bits(const Word *bits, int words) {
    int n = 0;
    for (int i = 0; i < words; ++i)
        n += std::popcount(bits[i]);
    return n;
}
// The first n bits set, the rest of the words clear.
inline void fill_first(Word *bits, int words, int n) {
    for (int i = 0; i < words; ++i) {
        const int left = n - i * kWordBits;
        bits[i] = left >= kWordBits ? ~Word{0} : left > 0 ? (Word{1} << left) - 1 : 0;
    }
}

// Calls visit(i) for every set bit, in increasing order.
template <class Visit> inline void for_each_bit(const Word *bits, int words, Visit &&visit) {
    for (int i = 0; i < words; ++i)
        for (Word rest = bits[i]; rest; rest &= rest - 1)
            visit(i * kWordBits + std::countr_zero(rest));
}

// Enlarges a buffer to a size; it never shrinks, so that later searches reuse it.
template <class T> void grow(std::vector<T> &buffer, std::size_t size) {
    if (buffer.size() < size)
        buffer.resize(size);
}

// Bit sets of one length, one after another. A block that has been large enough once is kept, so
// the rows hold whatever was there before until they are written.
class BitRows {
  public:
    // Allocates rows of the given number of words.
    void reserve(std::size_t rows, int words) {
        words_ = words;
        grow(bits_, rows * idx(words));
    }
    // The same, with every row empty.
    void clear(std::size_t rows, int words) {
        words_ = words;
        bits_.assign(rows * idx(words), 0);
    }
    // Rows of another length in the room there is.
    void set_words(int words) { words_ = words; }
    int words() const { return words_; }

    // W is the length where it is known at compile time, else 0.
    template <int W = 0> Word *row(long long i) { return bits_.data() + idx(i) * length<W>(); }
    template <int W = 0> const Word *row(long long i) const {
        return bits_.data() + idx(i) * length<W>();
    }

  private:
    template <int W> std::size_t length() const { return W ? idx(W) : idx(words_); }

    int words_ = 0;
    std::vector<Word> bits_;
};

} // namespace gdlnn
