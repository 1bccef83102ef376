// f16, bf16 and tf32 as bits: out of wider numbers with any rounding, and back.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "program.h"

namespace emulated {

inline float half_value(std::uint16_t bits) { return _cvtsh_ss(bits); }
inline float brain_value(std::uint16_t bits) { return __builtin_bit_cast(float, std::uint32_t{bits} << 16); }

// A double rounded once to a number of `mantissa` bits behind the leading one and `exponent` bits, as the bits of that
// format. What is too large becomes infinite, or the largest number where rounding says so.
std::uint64_t narrowed(double value, int mantissa, int exponent, Rounding rounding);

inline std::uint16_t half_bits(double value, Rounding rounding = Rounding::kNearest) {
  return value == value ? static_cast<std::uint16_t>(narrowed(value, 10, 5, rounding)) : 0x7fff;
}
inline std::uint16_t half_bits_nearest(float value) {
  return value == value ? static_cast<std::uint16_t>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT)) : 0x7fff;
}
inline std::uint16_t brain_bits(double value, Rounding rounding = Rounding::kNearest) {
  return value == value ? static_cast<std::uint16_t>(narrowed(value, 7, 8, rounding)) : 0x7fff;
}
inline std::uint16_t brain_bits_nearest(float value) {
  std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value);
  return value == value ? static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16) : 0x7fff;
}

// a * b + c rounded to odd in double: rounding that again to 16 bits is as rounding the exact value.
double product_sum_to_odd(double product, double c);

}  // namespace emulated
