// Arithmetic of f16 and bf16, one or two in a register.
#include <bit>
#include <cmath>

#include "elementwise.h"
#include "float_ops.h"
#include "small_floats.h"

namespace emulated {

std::uint64_t narrowed(double value, int mantissa, int exponent, Rounding rounding) {
  auto bits = std::bit_cast<std::uint64_t>(value);
  std::uint64_t sign = bits >> 63, high = sign << (mantissa + exponent);
  std::uint64_t infinite = ((std::uint64_t{1} << exponent) - 1) << mantissa;
  if (std::isinf(value)) return high | infinite;
  if (value == 0) return high;
  int bias = (1 << (exponent - 1)) - 1, power;
  double fraction = std::frexp(std::fabs(value), &power);  // in [0.5, 1)
  auto digits = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  int place = std::max(power - 1, 1 - bias);  // of the leading digit, at least the smallest normal one's
  int dropped = 52 - mantissa + (place - (power - 1));
  std::uint64_t kept = dropped >= 64 ? 0 : digits >> dropped;
  std::uint64_t rest = dropped >= 64 ? 1 : digits & ((std::uint64_t{1} << dropped) - 1);
  std::uint64_t half = dropped >= 64 ? 2 : std::uint64_t{1} << (dropped - 1);
  bool up = false;
  switch (rounding) {
    case Rounding::kNearest:
      up = rest > half || (rest == half && kept & 1);
      break;
    case Rounding::kNearestAway:
      up = rest >= half;
      break;
    case Rounding::kUp:
      up = rest && !sign;
      break;
    case Rounding::kDown:
      up = rest && sign;
      break;
    default:
      break;
  }
  kept += up;
  // The leading digit counts into the exponent, where a carry belongs as well.
  std::uint64_t result = (static_cast<std::uint64_t>(place + bias - 1) << mantissa) + kept;
  if (result >= infinite) {
    bool to_infinity = rounding == Rounding::kNearest || rounding == Rounding::kNearestAway ||
                       (rounding == Rounding::kUp && !sign) || (rounding == Rounding::kDown && sign);
    result = to_infinity ? infinite : infinite - 1;
  }
  return high | result;
}

double product_sum_to_odd(double product, double c) {
  double sum = product + c;
  double back = sum - product;
  double rest = (product - (sum - back)) + (c - back);
  auto bits = std::bit_cast<std::uint64_t>(sum);
  if (rest == 0 || !std::isfinite(sum) || bits & 1) return sum;
  bool away = (rest > 0) == (sum > 0);
  return std::bit_cast<double>(away ? bits + 1 : bits - 1);
}

namespace {

struct Half {
  static double value(std::uint16_t bits) { return half_value(bits); }
  static std::uint16_t bits(double value) { return half_bits(value); }
};
struct Brain {
  static double value(std::uint16_t bits) { return brain_value(bits); }
  static std::uint16_t bits(double value) { return brain_bits(value); }
};

template <HalfOp kOp, class Format>
std::uint16_t half_result(std::uint16_t x, std::uint16_t y, std::uint16_t z, const Instruction& i) {
  if (kOp == HalfOp::kNeg) return x ^ 0x8000;
  if (kOp == HalfOp::kAbs) return x & 0x7fff;
  auto seen = [&](std::uint16_t bits) {
    double value = Format::value(bits);
    bool denormal = i.flags & kFlushDenormals && !(bits & 0x7c00);
    return denormal ? std::copysign(0.0, value) : value;
  };
  double a = seen(x), b = seen(y), result = 0;
  switch (kOp) {
    case HalfOp::kAdd:
      result = a + b;
      break;
    case HalfOp::kSub:
      result = a - b;
      break;
    case HalfOp::kMul:
      result = a * b;
      break;
    case HalfOp::kFma:
    case HalfOp::kFmaRelu:
      result = product_sum_to_odd(a * b, seen(z));
      break;
    default: {
      constexpr bool kMinimum = kOp == HalfOp::kMin;
      if (a != a || b != b) {
        result = i.kind ? a + b : (a == a ? a : b);
      } else if (a == b) {
        result = std::signbit(a) == kMinimum ? a : b;
      } else {
        result = (a < b) == kMinimum ? a : b;
      }
    }
  }
  if (i.flags & kSaturate) result = saturated(result);
  if (kOp == HalfOp::kFmaRelu && result == result) result = result > 0 ? result : 0.0;
  std::uint16_t bits = Format::bits(result);
  return i.flags & kFlushDenormals && !(bits & 0x7c00) ? bits & 0x8000 : bits;
}

template <HalfOp kOp, class Format, int kCount>
void half_loop(Warp& warp, const Instruction& i) {
  using T = std::conditional_t<kCount == 1, std::uint16_t, std::uint32_t>;
  constexpr bool kOne = kOp == HalfOp::kNeg || kOp == HalfOp::kAbs;
  constexpr bool kThree = kOp == HalfOp::kFma || kOp == HalfOp::kFmaRelu;
  const T *a = warp.at<T>(i.a), *b = kOne ? a : warp.at<T>(i.b), *c = kThree ? warp.at<T>(i.c) : a;
  T result[kLanes] = {};
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!warp.runs(lane)) continue;
    for (int part = 0; part < kCount; ++part) {
      auto half = [&](T value) { return static_cast<std::uint16_t>(value >> (16 * part)); };
      result[lane] |= static_cast<T>(
          static_cast<T>(half_result<kOp, Format>(half(a[lane]), half(b[lane]), half(c[lane]), i)) << (16 * part));
    }
  }
  put(warp, i.to, result);
}

template <HalfOp kOp>
Handler half_handler(Type type) {
  switch (type) {
    case Type::kF16:
      return half_loop<kOp, Half, 1>;
    case Type::kF16x2:
      return half_loop<kOp, Half, 2>;
    case Type::kBf16:
      return half_loop<kOp, Brain, 1>;
    default:
      return half_loop<kOp, Brain, 2>;
  }
}

}  // namespace

bool decode_half(Decoder& decoder, Instruction& made, Type type, HalfOp op) {
  made.rounding = decoder.take_rounding();
  if (made.rounding != Rounding::kNone && made.rounding != Rounding::kNearest) decoder.fail("only .rn is there");
  made.flags |= decoder.take_float_flags();
  made.kind = decoder.take("NaN");
  decoder.take_type();
  switch (op) {
    case HalfOp::kNeg:
      unary_operands(decoder, made, type), made.run = half_handler<HalfOp::kNeg>(type);
      break;
    case HalfOp::kAbs:
      unary_operands(decoder, made, type), made.run = half_handler<HalfOp::kAbs>(type);
      break;
    case HalfOp::kAdd:
      binary_operands(decoder, made, type), made.run = half_handler<HalfOp::kAdd>(type);
      break;
    case HalfOp::kSub:
      binary_operands(decoder, made, type), made.run = half_handler<HalfOp::kSub>(type);
      break;
    case HalfOp::kMul:
      binary_operands(decoder, made, type), made.run = half_handler<HalfOp::kMul>(type);
      break;
    case HalfOp::kMin:
      binary_operands(decoder, made, type), made.run = half_handler<HalfOp::kMin>(type);
      break;
    case HalfOp::kMax:
      binary_operands(decoder, made, type), made.run = half_handler<HalfOp::kMax>(type);
      break;
    case HalfOp::kFma:
      ternary_operands(decoder, made, type), made.run = half_handler<HalfOp::kFma>(type);
      break;
    case HalfOp::kFmaRelu:
      ternary_operands(decoder, made, type), made.run = half_handler<HalfOp::kFmaRelu>(type);
      break;
  }
  return true;
}

}  // namespace emulated
