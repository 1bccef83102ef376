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

// Element i of a tensor drawn from `r`; blocks a tensor of n elements takes.
float uniform_f32(const RandomRange& r, std::uint64_t i);
double uniform_f64(const RandomRange& r, std::uint64_t i);
double normal(const RandomRange& r, std::uint64_t i);
std::uint64_t random_bits(const RandomRange& r, std::uint64_t i);
inline std::uint64_t blocks_f32(std::uint64_t n) { return (n + 3) / 4; }
inline std::uint64_t blocks_64(std::uint64_t n) { return (n + 1) / 2; }

}  // namespace md
