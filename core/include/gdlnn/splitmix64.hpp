// splitmix64, the finaliser of Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators" (2014): the same well-mixed bits for a number on every machine.
#pragma once

#include <cstdint>

namespace gdlnn {

inline std::uint64_t splitmix64(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

} // namespace gdlnn
