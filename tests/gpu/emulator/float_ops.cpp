// Arithmetic of f32 and f64, rounded to nearest: sums, products, quotients, roots, the smaller and the larger, signs.
#include "float_ops.h"

#include <cmath>

#include "elementwise.h"

namespace emulated {
namespace {

struct Plus {
  template <class T>
  static T run(T a, T b) {
    return a + b;
  }
};
struct Minus {
  template <class T>
  static T run(T a, T b) {
    return a - b;
  }
};
struct Times {
  template <class T>
  static T run(T a, T b) {
    return a * b;
  }
};
struct Over {
  template <class T>
  static T run(T a, T b) {
    return a / b;
  }
};
struct Fused {
  static float run(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
  static double run(double a, double b, double c) { return __builtin_fma(a, b, c); }
};
struct Root {
  static float run(float a) { return __builtin_sqrtf(a); }
  static double run(double a) { return __builtin_sqrt(a); }
};
struct Reciprocal {
  template <class T>
  static T run(T a) {
    return T{1} / a;
  }
};

// kFlags: denormals count as zeros, results are cut to [0, 1].
template <bool kFlags, class T>
T taken(T value, const Instruction& i) {
  return kFlags && i.flags & kFlushDenormals ? flushed(value) : value;
}
template <bool kFlags, class T>
T given(T value, const Instruction& i) {
  if (kFlags && i.flags & kFlushDenormals) value = flushed(value);
  if (kFlags && i.flags & kSaturate) value = saturated(value);
  return canonical(value);
}

template <class Op, class T, bool kFlags>
void float_unary(Warp& warp, const Instruction& i) {
  const T* a = warp.at<T>(i.a);
  T result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = given<kFlags>(Op::run(taken<kFlags>(a[lane], i)), i);
  put(warp, i.to, result);
}
template <class Op, class T, bool kFlags>
void float_binary(Warp& warp, const Instruction& i) {
  const T *a = warp.at<T>(i.a), *b = warp.at<T>(i.b);
  T result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane)
    result[lane] = given<kFlags>(Op::run(taken<kFlags>(a[lane], i), taken<kFlags>(b[lane], i)), i);
  put(warp, i.to, result);
}
template <class T, bool kFlags>
void float_fused(Warp& warp, const Instruction& i) {
  const T *a = warp.at<T>(i.a), *b = warp.at<T>(i.b), *c = warp.at<T>(i.c);
  T result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane)
    result[lane] =
        given<kFlags>(Fused::run(taken<kFlags>(a[lane], i), taken<kFlags>(b[lane], i), taken<kFlags>(c[lane], i)), i);
  put(warp, i.to, result);
}

bool is_half(Type type) {
  return type == Type::kF16 || type == Type::kF16x2 || type == Type::kBf16 || type == Type::kBf16x2;
}
bool is_full(Type type) { return type == Type::kF32 || type == Type::kF64; }

template <class Op>
Handler binary_of(Type type, bool flags) {
  if (type == Type::kF64) return float_binary<Op, double, false>;
  return flags ? Handler(float_binary<Op, float, true>) : float_binary<Op, float, false>;
}
template <class Op>
Handler unary_of(Type type, bool flags) {
  if (type == Type::kF64) return float_unary<Op, double, false>;
  return flags ? Handler(float_unary<Op, float, true>) : float_unary<Op, float, false>;
}

// The handler of a form that rounds, where it has a rounding of its own or none.
Handler rounded_or(Instruction& made, Type type, RoundedOp op, Handler nearest) {
  return made.rounding == Rounding::kNearest || made.rounding == Rounding::kNone ? nearest : rounded_handler(type, op);
}

void begin_form(Decoder& decoder, Instruction& made, Type type) {
  made.rounding = decoder.take_rounding();
  made.flags |= decoder.take_float_flags();
  if (decoder.take_type() != type) decoder.fail("one type expected");
}

}  // namespace

Type type_of_statement(const Statement& statement) {
  for (auto at = statement.modifiers.rbegin(); at != statement.modifiers.rend(); ++at)
    if (Type type = type_of(*at); type != Type::kNone) return type;
  return Type::kNone;
}

bool decode_float_sum(Decoder& decoder, Instruction& made, bool subtract) {
  Type type = type_of_statement(decoder.statement());
  if (is_half(type)) return decode_half(decoder, made, type, subtract ? HalfOp::kSub : HalfOp::kAdd);
  if (!is_full(type)) return false;
  begin_form(decoder, made, type);
  binary_operands(decoder, made, type);
  made.run = rounded_or(made, type, subtract ? RoundedOp::kSub : RoundedOp::kAdd,
                        subtract ? binary_of<Minus>(type, made.flags) : binary_of<Plus>(type, made.flags));
  return true;
}

bool decode_float_product(Decoder& decoder, Instruction& made) {
  Type type = type_of_statement(decoder.statement());
  if (is_half(type)) return decode_half(decoder, made, type, HalfOp::kMul);
  if (!is_full(type)) return false;
  begin_form(decoder, made, type);
  binary_operands(decoder, made, type);
  made.run = rounded_or(made, type, RoundedOp::kMul, binary_of<Times>(type, made.flags));
  return true;
}

bool decode_float_fma(Decoder& decoder, Instruction& made) {
  Type type = type_of_statement(decoder.statement());
  if (is_half(type)) return decode_half(decoder, made, type, decoder.take("relu") ? HalfOp::kFmaRelu : HalfOp::kFma);
  if (!is_full(type)) return false;
  begin_form(decoder, made, type);
  ternary_operands(decoder, made, type);
  Handler nearest = type == Type::kF64 ? Handler(float_fused<double, false>)
                    : made.flags       ? Handler(float_fused<float, true>)
                                       : Handler(float_fused<float, false>);
  made.run = rounded_or(made, type, RoundedOp::kFma, nearest);
  return true;
}

// The approximate forms are computed exactly rounded, which is within what they promise.
bool decode_float_quotient(Decoder& decoder, Instruction& made) {
  Type type = type_of_statement(decoder.statement());
  if (!is_full(type)) return false;
  decoder.take_any({"approx", "full"});
  begin_form(decoder, made, type);
  binary_operands(decoder, made, type);
  made.run = rounded_or(made, type, RoundedOp::kDiv, binary_of<Over>(type, made.flags));
  return true;
}

namespace {

template <class T, bool kMinimum, bool kNan, bool kMagnitude>
struct Choice {
  static T run(T a, T b) {
    if (a != a || b != b) {
      if (kNan) return a + b;
      return a == a ? a : b;
    }
    if (kMagnitude) a = std::fabs(a), b = std::fabs(b);
    if (a == b) return std::signbit(a) == kMinimum ? a : b;
    return (a < b) == kMinimum ? a : b;
  }
};

template <class T, bool kMinimum>
Handler choice_of(bool nan, bool flags) {
  constexpr bool kFlagged = sizeof(T) == 4;
  if (nan)
    return flags ? Handler(float_binary<Choice<T, kMinimum, true, false>, T, kFlagged>)
                 : float_binary<Choice<T, kMinimum, true, false>, T, false>;
  return flags ? Handler(float_binary<Choice<T, kMinimum, false, false>, T, kFlagged>)
               : float_binary<Choice<T, kMinimum, false, false>, T, false>;
}

// Signs are bits: what is not a number keeps its own.
template <class T, bool kNegate>
struct Sign {
  static T run(T a) {
    constexpr T kTop = static_cast<T>(T{1} << (8 * sizeof(T) - 1));
    return kNegate ? static_cast<T>(a ^ kTop) : static_cast<T>(a & ~kTop);
  }
};
template <bool kNegate>
void flushing_sign(Warp& warp, const Instruction& i) {
  const float* a = warp.at<float>(i.a);
  float result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = kNegate ? -flushed(a[lane]) : std::fabs(flushed(a[lane]));
  put(warp, i.to, result);
}

template <bool kNegate>
Handler sign_of(Type type, bool flush) {
  if (type == Type::kF64) return unary_loop<Sign<std::uint64_t, kNegate>, std::uint64_t>;
  return flush ? Handler(flushing_sign<kNegate>) : unary_loop<Sign<std::uint32_t, kNegate>, std::uint32_t>;
}

}  // namespace

bool decode_float_choice(Decoder& decoder, Instruction& made, bool minimum) {
  Type type = type_of_statement(decoder.statement());
  if (is_half(type)) return decode_half(decoder, made, type, minimum ? HalfOp::kMin : HalfOp::kMax);
  if (!is_full(type)) return false;
  bool nan = decoder.take("NaN");
  begin_form(decoder, made, type);
  binary_operands(decoder, made, type);
  if (type == Type::kF64)
    made.run = minimum ? choice_of<double, true>(nan, false) : choice_of<double, false>(nan, false);
  else
    made.run = minimum ? choice_of<float, true>(nan, made.flags) : choice_of<float, false>(nan, made.flags);
  return true;
}

bool decode_float_sign(Decoder& decoder, Instruction& made, bool negate) {
  Type type = type_of_statement(decoder.statement());
  if (is_half(type)) return decode_half(decoder, made, type, negate ? HalfOp::kNeg : HalfOp::kAbs);
  if (!is_full(type)) return false;
  begin_form(decoder, made, type);
  unary_operands(decoder, made, type);
  bool flush = made.flags & kFlushDenormals;
  made.run = negate ? sign_of<true>(type, flush) : sign_of<false>(type, flush);
  return true;
}

namespace {

void decode_fma(Decoder& decoder, Instruction& made) {
  if (!decode_float_fma(decoder, made)) decoder.fail("a type of floating point numbers expected");
}

template <class Op, RoundedOp kRounded>
void decode_root(Decoder& decoder, Instruction& made) {
  Type type = type_of_statement(decoder.statement());
  decoder.take("approx");
  begin_form(decoder, made, type);
  if (!is_full(type)) decoder.fail("f32 or f64 expected");
  unary_operands(decoder, made, type);
  made.run = rounded_or(made, type, kRounded, unary_of<Op>(type, made.flags));
}

// Approximations, out of the host's functions of f64.
template <double (*kFunction)(double)>
struct Approximate {
  static float run(float a) { return static_cast<float>(kFunction(a)); }
  static double run(double a) { return kFunction(a); }
};
double root_reciprocal(double a) { return 1 / std::sqrt(a); }

template <double (*kFunction)(double)>
void decode_approximate(Decoder& decoder, Instruction& made) {
  Type type = type_of_statement(decoder.statement());
  decoder.take("approx");
  begin_form(decoder, made, type);
  if (!is_full(type)) decoder.fail("f32 expected");
  unary_operands(decoder, made, type);
  made.run = unary_of<Approximate<kFunction>>(type, made.flags);
}

template <class T>
void sign_copy_loop(Warp& warp, const Instruction& i) {
  const T *a = warp.at<T>(i.a), *b = warp.at<T>(i.b);
  constexpr T kTop = static_cast<T>(T{1} << (8 * sizeof(T) - 1));
  T result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = (a[lane] & kTop) | (b[lane] & ~kTop);
  put(warp, i.to, result);
}

void decode_copysign(Decoder& decoder, Instruction& made) {
  Type type = decoder.want_type();
  binary_operands(decoder, made, type);
  made.run = type == Type::kF64 ? Handler(sign_copy_loop<std::uint64_t>) : sign_copy_loop<std::uint32_t>;
}

enum TestKind : std::uint8_t { kFinite, kInfinite, kNumber, kNotNumber, kNormal, kSubnormal };

template <class T>
void test_loop(Warp& warp, const Instruction& i) {
  const T* a = warp.at<T>(i.a);
  std::uint8_t result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    int what = std::fpclassify(a[lane]);
    bool is[] = {what != FP_NAN && what != FP_INFINITE,
                 what == FP_INFINITE,
                 what != FP_NAN,
                 what == FP_NAN,
                 what == FP_NORMAL,
                 what == FP_SUBNORMAL};
    result[lane] = is[i.kind];
  }
  put_bits(warp, i.to, packed(result));
}

void decode_testp(Decoder& decoder, Instruction& made) {
  std::uint8_t kind = 0;
  for (std::string_view name : {"finite", "infinite", "number", "notanumber", "normal", "subnormal"}) {
    if (decoder.take(name)) made.kind = kind;
    ++kind;
  }
  Type type = decoder.want_type();
  decoder.want(2);
  made.to = decoder.target(0, 0);
  made.a = decoder.source(1, type);
  made.run = type == Type::kF64 ? Handler(test_loop<double>) : test_loop<float>;
}

}  // namespace

void add_float_opcodes(DecodeTable& table) {
  table["fma"] = decode_fma;
  table["sqrt"] = decode_root<Root, RoundedOp::kSqrt>;
  table["rcp"] = decode_root<Reciprocal, RoundedOp::kRcp>;
  table["rsqrt"] = decode_approximate<root_reciprocal>;
  table["sin"] = decode_approximate<std::sin>;
  table["cos"] = decode_approximate<std::cos>;
  table["tanh"] = decode_approximate<std::tanh>;
  table["ex2"] = decode_approximate<std::exp2>;
  table["lg2"] = decode_approximate<std::log2>;
  table["copysign"] = decode_copysign;
  table["testp"] = decode_testp;
}

}  // namespace emulated
