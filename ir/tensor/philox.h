// Philox 4x32-10: a counter in, four random words out. Counters are reserved from a generator in program order.
#pragma once

#include <array>
#include <cstdint>

namespace md {

using PhiloxBlock = std::array<std::uint32_t, 4>;
PhiloxBlock philox(std::uint64_t seed, std::uint64_t counter);

// A stretch of counters no other call gets.
struct RandomRange {
  std::uint64_t seed, first;
};
RandomRange reserve_random(std::uint64_t blocks);
void seed_generator(std::uint64_t seed);

// Numbers on [0, 1) of a word and of 64 bits, of which a block holds two.
inline float unit_f32(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }
inline double unit_f64(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }
inline std::uint64_t bits_of(const PhiloxBlock& b, std::uint64_t half) {
  return (std::uint64_t{b[2 * half + 1]} << 32) | b[2 * half];
}
// Two normally distributed numbers, of one block.
std::array<double, 2> normal_pair(const RandomRange& r, std::uint64_t block);
// Element i of a tensor drawn from `r`; blocks a tensor of n elements takes.
double uniform_f64(const RandomRange& r, std::uint64_t i);
std::uint64_t random_bits(const RandomRange& r, std::uint64_t i);
inline std::uint64_t blocks_f32(std::uint64_t n) { return (n + 3) / 4; }
inline std::uint64_t blocks_64(std::uint64_t n) { return (n + 1) / 2; }

}  // namespace md
