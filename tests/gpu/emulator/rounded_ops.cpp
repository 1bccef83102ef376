// Arithmetic of f32 and f64 with directed rounding, by the host's rounding mode. Compiled so that the compiler minds
// it.
#include <cfenv>
#include <cmath>

#include "float_ops.h"

#pragma STDC FENV_ACCESS ON

namespace emulated {
namespace {

int host_mode(Rounding rounding) {
  switch (rounding) {
    case Rounding::kZero:
      return FE_TOWARDZERO;
    case Rounding::kDown:
      return FE_DOWNWARD;
    case Rounding::kUp:
      return FE_UPWARD;
    default:
      return FE_TONEAREST;
  }
}

template <class T, RoundedOp kOp>
T rounded(T a, T b, T c) {
  switch (kOp) {
    case RoundedOp::kAdd:
      return a + b;
    case RoundedOp::kSub:
      return a - b;
    case RoundedOp::kMul:
      return a * b;
    case RoundedOp::kDiv:
      return a / b;
    case RoundedOp::kFma:
      return std::fma(a, b, c);
    case RoundedOp::kSqrt:
      return std::sqrt(a);
    case RoundedOp::kRcp:
      return T{1} / a;
  }
  return a;
}

template <class T, RoundedOp kOp>
void rounded_loop(Warp& warp, const Instruction& i) {
  constexpr bool kOne = kOp == RoundedOp::kSqrt || kOp == RoundedOp::kRcp;
  const T *a = warp.at<T>(i.a), *b = kOne ? a : warp.at<T>(i.b), *c = kOp == RoundedOp::kFma ? warp.at<T>(i.c) : a;
  T result[kLanes] = {};
  int before = std::fegetround();
  std::fesetround(host_mode(i.rounding));
  auto seen = [&](T value) { return i.flags & kFlushDenormals ? flushed(value) : value; };
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!warp.runs(lane)) continue;
    T value = seen(rounded<T, kOp>(seen(a[lane]), seen(b[lane]), seen(c[lane])));
    result[lane] = canonical(i.flags & kSaturate ? saturated(value) : value);
  }
  std::fesetround(before);
  put(warp, i.to, result);
}

template <class T>
Handler handler_of(RoundedOp op) {
  switch (op) {
    case RoundedOp::kAdd:
      return rounded_loop<T, RoundedOp::kAdd>;
    case RoundedOp::kSub:
      return rounded_loop<T, RoundedOp::kSub>;
    case RoundedOp::kMul:
      return rounded_loop<T, RoundedOp::kMul>;
    case RoundedOp::kDiv:
      return rounded_loop<T, RoundedOp::kDiv>;
    case RoundedOp::kFma:
      return rounded_loop<T, RoundedOp::kFma>;
    case RoundedOp::kSqrt:
      return rounded_loop<T, RoundedOp::kSqrt>;
    case RoundedOp::kRcp:
      return rounded_loop<T, RoundedOp::kRcp>;
  }
  return nullptr;
}

}  // namespace

Handler rounded_handler(Type type, RoundedOp op) {
  return type == Type::kF64 ? handler_of<double>(op) : handler_of<float>(op);
}

}  // namespace emulated
