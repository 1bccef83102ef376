// sin, cos and tan of arguments too large for the reduction in vector lanes: Payne and Hanek's method, plain scalar
// C++. Reached through the builder's call_rare, so it need not be fast; float32 goes through float64.
#pragma once

#include <cstdint>
#include <cstring>
#include <iterator>

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

// sin(r + low) and cos(r + low) for |r| <= pi/4, each as a sum of two parts.
struct SineCosine {
  double sine, sine_low, cosine, cosine_low;
};
template <class B>
SineCosine sine_cosine(double r, double low) {
  const double z = r * r;
  double ps = 0, pc = 0;
  for (int i = static_cast<int>(std::size(math_tables::kSin64)) - 1; i >= 0; --i) {
    ps = __builtin_fma(ps, z, math_tables::kSin64[i]);
  }
  for (int i = static_cast<int>(std::size(math_tables::kCos64)) - 1; i >= 0; --i) {
    pc = __builtin_fma(pc, z, math_tables::kCos64[i]);
  }
  const double st = __builtin_fma(r * z, ps, low * (1 - 0.5 * z)), ct = __builtin_fma(z, pc, -r * low);
  const double s = r + st, c = 1 + ct;
  return {s, st - (s - r), c, ct - (c - 1)};
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
    const SineCosine f = sine_cosine<B>(a.high, a.low);
    const bool odd = a.quadrant & 1;
    const double sign = x < 0 ? -1 : 1;
    if (F == AngleFunction::Sin) return (a.quadrant & 2 ? -sign : sign) * (odd ? f.cosine : f.sine);
    if (F == AngleFunction::Cos) return ((a.quadrant + 1) & 2 ? -1 : 1) * (odd ? f.sine : f.cosine);
    return sign * (odd ? -quotient(f.cosine, f.cosine_low, f.sine, f.sine_low)
                       : quotient(f.sine, f.sine_low, f.cosine, f.cosine_low));
  }
  static double quotient(double n, double n_low, double d, double d_low) {
    const double q = n / d;
    return q + (__builtin_fma(-q, d, n) + n_low - q * d_low) / d;
  }
  template <class B>
  static float eval(float x) {
    return static_cast<float>(eval<B>(static_cast<double>(x)));
  }
};

}  // namespace md::math
