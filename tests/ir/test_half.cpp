// The 16-bit floats: every bit pattern, every rounding boundary, and the rounding as a body against the conversion.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "ir/core/scalar_builder.h"
#include "registry/half.h"

namespace md {
namespace {

template <class T>
T of_bits(std::uint32_t bits) {
  return {static_cast<std::uint16_t>(bits)};
}

// From the definition: sign, exponent field, fraction field.
double defined_value(std::uint32_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits & 0x7fff) >> fraction_bits;
  const double fraction = bits & ((1u << fraction_bits) - 1);
  double v;
  if (exponent == (1 << exponent_bits) - 1) {
    v = fraction == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    v = std::ldexp(fraction, 1 - bias - fraction_bits);
  } else {
    v = std::ldexp(fraction + std::ldexp(1.0, fraction_bits), exponent - bias - fraction_bits);
  }
  return bits & 0x8000 ? -v : v;
}

template <class T>
void check_every_value(int exponent_bits) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float v = widen(of_bits<T>(bits));
    const double expected = defined_value(bits, exponent_bits);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(v) && std::isnan(widen(narrow<T>(v)))) << bits;
      continue;
    }
    EXPECT_EQ(v, expected) << bits;
    EXPECT_EQ(std::signbit(v), std::signbit(expected)) << bits;
    EXPECT_EQ(narrow<T>(v).bits, bits);
  }
}
TEST(Half, EveryFloat16) { check_every_value<Float16>(5); }
TEST(Half, EveryBFloat16) { check_every_value<BFloat16>(8); }

// Between neighbours: below the midpoint, at it (the even one wins), above it. `limit` bits are infinity.
template <class T>
void check_boundaries(std::uint32_t infinity) {
  for (std::uint32_t bits = 0; bits + 1 < infinity; ++bits) {
    const double low = widen(of_bits<T>(bits)), high = widen(of_bits<T>(bits + 1));
    const auto middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(middle, (low + high) / 2);
    EXPECT_EQ(narrow<T>(std::nextafter(middle, 0.0f)).bits, bits);
    EXPECT_EQ(narrow<T>(middle).bits, bits % 2 ? bits + 1 : bits);
    EXPECT_EQ(narrow<T>(std::nextafter(middle, INFINITY)).bits, bits + 1);
    EXPECT_EQ(narrow<T>(-middle).bits, narrow<T>(middle).bits | 0x8000);
  }
}
TEST(Half, Float16Boundaries) {
  check_boundaries<Float16>(0x7c00);
  EXPECT_EQ(to_float16(std::nextafter(65520.0f, 0.0f)).bits, 0x7bff);
  EXPECT_EQ(to_float16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(to_float16(std::numeric_limits<float>::denorm_min()).bits, 0);
}
TEST(Half, BFloat16Boundaries) {
  EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::quiet_NaN()).bits, 0x7fc0);
  check_boundaries<BFloat16>(0x7f80);
}

// What compiled code does in registers is what storing and loading does.
TEST(Half, RoundingAsABody) {
  ScalarBuilder<float> b;
  const auto same = [](float x, float y) { return x == y ? std::signbit(x) == std::signbit(y) : x != x && y != y; };
  for (std::uint64_t bits = 0; bits <= 0xffffffff; bits += 1021) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    ASSERT_TRUE(same(round_to_float16(b, x), widen(to_float16(x)))) << x;
    ASSERT_TRUE(same(round_to_bfloat16(b, x), widen(to_bfloat16(x)))) << x;
  }
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const float low = widen(of_bits<Float16>(bits)), high = widen(of_bits<Float16>(bits + 1));
    for (const float x : {low, high == INFINITY ? 65520.0f : (low + high) / 2}) {
      for (const float y : {std::nextafter(x, 0.0f), x, std::nextafter(x, INFINITY)}) {
        ASSERT_TRUE(same(round_to_float16(b, y), widen(to_float16(y)))) << y;
        ASSERT_TRUE(same(round_to_float16(b, -y), widen(to_float16(-y)))) << y;
      }
    }
  }
}

}  // namespace
}  // namespace md
