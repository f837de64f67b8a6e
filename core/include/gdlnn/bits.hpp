// Bit sets as plain words: the few operations that the search and the miner share.
#pragma once

#include <bit>
#include <cstdint>

namespace gdlnn {

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

} // namespace gdlnn
