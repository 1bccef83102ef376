// sin, cos and tan of arguments too large for the reduction in vector lanes: Payne and Hanek's method, plain scalar
// C++. Reached through the builder's call_rare, so it need not be fast; float32 goes through float64.
#pragma once

#include <cstdint>
#include <cstring>

#include "registry/ops/math_tables.h"

namespace md::math {

enum class AngleFunction { Sin, Cos, Tan };

// An angle as quadrant * pi/2 + (high + low), |high| <= pi/4.
struct ReducedAngle {
  unsigned quadrant;
  double high, low;
};

// x: finite, at least 2^14. The product of its 53-bit significand with the 192 bits of 2/pi that decide the quadrant
// and 126 fraction bits; what is dropped is below 2^-126, and no double is closer than 2^-62 to a multiple of pi/2.
template <class B>
ReducedAngle reduce_large_angle(double x) {
  using U128 = unsigned __int128;
  std::uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  const int exponent = static_cast<int>(bits >> 52) - 1075;
  const std::uint64_t significand = (bits & ((1ull << 52) - 1)) | 1ull << 52;
  const int first = exponent + 62;  // the table has 64 leading zero bits; bits of weight 4 and above do not matter
  const int word = first >> 6, shift = first & 63;
  std::uint64_t w[3];
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t a = math_tables::kTwoOverPi[word + i], b = math_tables::kTwoOverPi[word + i + 1];
    w[i] = shift ? a << shift | b >> (64 - shift) : a;
  }
  const U128 product = (static_cast<U128>(significand * w[0]) << 64) + static_cast<U128>(significand) * w[1] +
                       (static_cast<U128>(significand) * w[2] >> 64);
  const U128 quadrant = (product + (static_cast<U128>(1) << 125)) >> 126;
  const __int128 fraction = static_cast<__int128>(product - (quadrant << 126));
  const double high = static_cast<double>(fraction);
  const double low = static_cast<double>(fraction - static_cast<__int128>(high));
  constexpr double kPio2High = 0x1.921fb54442d18p+0, kPio2Low = 0x1.1a62633145c07p-54, kUnit = 0x1p-126;
  const double r = high * kPio2High;
  const double tail = __builtin_fma(high, kPio2High, -r) + (high * kPio2Low + low * kPio2High);
  return {static_cast<unsigned>(quadrant) & 3, r * kUnit, tail * kUnit};
}

// sin(r + low) for 0 <= r <= pi/2.
template <class B>
double sin_of_reduced(double r, double low) {
  const double z = r * r;
  double p = 0;
  for (int i = static_cast<int>(std::size(math_tables::kSin64)) - 1; i >= 0; --i) {
    p = __builtin_fma(p, z, math_tables::kSin64[i]);
  }
  return r + __builtin_fma(r * z, p, low * (1 - 0.5 * z));
}

template <AngleFunction F>
struct LargeAngle {
  static constexpr const char* kName = F == AngleFunction::Sin   ? "minidynamo_large_sin"
                                       : F == AngleFunction::Cos ? "minidynamo_large_cos"
                                                                 : "minidynamo_large_tan";
  template <class B>
  static double eval(double x) {
    const double size = __builtin_fabs(x);
    if (!(size <= 0x1.fffffffffffffp+1023)) return x - x;  // infinite or NaN
    const ReducedAngle a = reduce_large_angle<B>(size);
    const double high = __builtin_fabs(a.high), low = a.high < 0 ? -a.low : a.low;
    const double s = __builtin_copysign(sin_of_reduced<B>(high, low), a.high);
    // cos(r) = sin(pi/2 - r), the difference in two parts
    constexpr double kPio2High = 0x1.921fb54442d18p+0, kPio2Low = 0x1.1a62633145c07p-54;
    const double rest = kPio2High - high;
    const double c = sin_of_reduced<B>(rest, ((kPio2High - rest) - high) + (kPio2Low - low));
    const bool odd = a.quadrant & 1;
    const double sign = x < 0 ? -1 : 1;
    if (F == AngleFunction::Tan) return sign * (odd ? -c / s : s / c);
    if (F == AngleFunction::Sin) return (a.quadrant & 2 ? -sign : sign) * (odd ? c : s);
    return ((a.quadrant + 1) & 2 ? -1 : 1) * (odd ? s : c);
  }
  template <class B>
  static float eval(float x) {
    return static_cast<float>(eval<B>(static_cast<double>(x)));
  }
};

}  // namespace md::math
