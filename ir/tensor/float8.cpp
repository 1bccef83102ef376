// The 8-bit floats: their bits from and to float32.
#include <algorithm>
#include <cmath>

#include "ir/tensor/stored_numbers.h"

namespace md {
namespace {

struct Float8Layout {
  int fraction, bias;     // binary digits behind the leading one; what is added to exponents
  bool infinities, fnuz;  // fnuz: one NaN, where -0 would be, and no -0
  float largest;
};
constexpr Float8Layout layout_of(DType t) {
  switch (t) {
    case DType::Float8E5M2:
      return {2, 15, true, false, 57344};
    case DType::Float8E4M3FNUZ:
      return {3, 8, false, true, 240};
    case DType::Float8E5M2FNUZ:
      return {2, 16, false, true, 57344};
    default:
      return {3, 7, false, false, 448};
  }
}
constexpr int kNaN = 0x7f, kFnuzNaN = 0x80, kInfinity = 0x7c;

}  // namespace

float float8_value(DType t, std::uint8_t bits) {
  const Float8Layout l = layout_of(t);
  const int magnitude = bits & 0x7f, exponent = magnitude >> l.fraction;
  const int digits = magnitude & ((1 << l.fraction) - 1), one = 1 << l.fraction;
  float v;
  if (l.fnuz && bits == kFnuzNaN) {
    v = NAN;
  } else if (l.infinities && magnitude >= kInfinity) {
    v = magnitude == kInfinity ? INFINITY : NAN;
  } else if (!l.fnuz && !l.infinities && magnitude == kNaN) {
    v = NAN;
  } else {
    v = exponent ? std::ldexp(static_cast<float>(one + digits), exponent - l.bias - l.fraction)
                 : std::ldexp(static_cast<float>(digits), 1 - l.bias - l.fraction);
  }
  return bits & 0x80 ? -v : v;
}

std::uint8_t float8_bits(DType t, float v) {
  const Float8Layout l = layout_of(t);
  const int sign = std::signbit(v) ? 0x80 : 0;
  const float x = std::fabs(v);
  const auto not_a_number = static_cast<std::uint8_t>(l.fnuz ? kFnuzNaN : kNaN | sign);
  if (std::isnan(v)) return not_a_number;
  const int lowest = 1 - l.bias;
  int exponent = x > 0 && !std::isinf(x) ? std::max(std::ilogb(x), lowest) : lowest;
  const float steps = std::isinf(x) ? 0 : std::nearbyint(std::ldexp(x, l.fraction - exponent));
  const float rounded = std::ldexp(steps, exponent - l.fraction);
  const bool too_large = std::isinf(x) || rounded > l.largest;
  if (too_large && !l.infinities && !l.fnuz) return static_cast<std::uint8_t>((kNaN - 1) | sign);
  if (too_large) return l.infinities ? static_cast<std::uint8_t>(kInfinity | sign) : not_a_number;
  int digits = static_cast<int>(steps);
  const int one = 1 << l.fraction;
  if (digits == 2 * one) digits = one, ++exponent;
  const int magnitude = digits < one ? digits : (exponent + l.bias) << l.fraction | (digits - one);
  if (l.fnuz && magnitude == 0) return 0;
  return static_cast<std::uint8_t>(magnitude | sign);
}

}  // namespace md
