// Pointwise ops: out[i] = body(in0[i], in1[i], ...). See ops/builder.h for what a body may say.
#pragma once

#include "registry/op.h"
#include "registry/ops/math.h"

namespace md::ops {

template <class B>
using V = typename B::V;
template <class B>
using M = typename B::M;

// Most pointwise ops are a function, a method and an in-place method.
constexpr OpDecl pointwise(std::string_view name, std::string_view signature, Promote promote, std::string_view doc) {
  return {
      .name = name, .signature = signature, .kind = OpKind::Pointwise, .promote = promote, .inplace = true, .doc = doc};
}
// A function and a method without in-place form, because the result dtype is bool or a copy is the point.
constexpr OpDecl predicate(std::string_view name, std::string_view signature, std::string_view doc) {
  return {.name = name, .signature = signature, .kind = OpKind::Pointwise, .promote = Promote::Compare, .doc = doc};
}
// Reached through composite ops and Python operators only.
constexpr OpDecl internal_pointwise(std::string_view name, std::string_view signature, Promote promote,
                                    std::string_view doc) {
  return {.name = name,
          .signature = signature,
          .kind = OpKind::Pointwise,
          .promote = promote,
          .function = false,
          .method = false,
          .doc = doc};
}
constexpr OpDecl without_bools(OpDecl d) {
  d.no_bools = true;
  return d;
}
constexpr OpDecl failing(OpDecl d) {
  d.can_fail = true;
  return d;
}
constexpr OpDecl exact_number(OpDecl d) {
  d.exact_number = true;
  return d;
}
constexpr OpDecl number_fits(OpDecl d) {
  d.number_fits = true;
  return d;
}

// --- Arithmetic ----------------------------------------------------------------------------------------------------

struct Add {
  static constexpr OpDecl decl = pointwise("add", "add(Operand self, Operand other) -> Tensor", Promote::Arithmetic,
                                           "Sum, broadcast. Two bool tensors: logical or.");
  template <class B>
  static auto body(B& b, V<B> x, V<B> y) {
    return b.add(x, y);
  }
  template <class B>
  static auto body_bool(B& b, M<B> x, M<B> y) {
    return b.mor(x, y);
  }
};

struct Sub {
  static constexpr OpDecl decl =
      also(without_bools(pointwise("sub", "sub(Operand self, Operand other) -> Tensor", Promote::Arithmetic,
                                   "Difference, broadcast. Bool operands are refused.")),
           "subtract");
  template <class B>
  static auto body(B& b, V<B> x, V<B> y) {
    return b.sub(x, y);
  }
};

struct Mul {
  static constexpr OpDecl decl =
      also(exact_number(pointwise("mul", "mul(Operand self, Operand other) -> Tensor", Promote::Arithmetic,
                                  "Product, broadcast. Two bool tensors: logical and.")),
           "multiply");
  template <class B>
  static auto body(B& b, V<B> x, V<B> y) {
    return b.mul(x, y);
  }
  template <class B>
  static auto body_bool(B& b, M<B> x, M<B> y) {
    return b.mand(x, y);
  }
};

struct Div {
  static constexpr OpDecl decl =
      exact_number(pointwise("div", "div(Operand self, Operand other) -> Tensor", Promote::IntToFloat,
                             "True division: integers divide in the default float dtype."));
  template <class B>
  static auto body(B& b, V<B> x, V<B> y) {
    return b.div(x, y);
  }
};

// What the integer divisions share: 0 fails, and -1 is kept from the machine's division because MIN / -1 traps there.
struct IntegerDivision {
  static constexpr std::string_view failure = "ZeroDivisionError";
  template <class B>
  static auto fails_int(B& b, V<B>, V<B> y) {
    return b.eq(y, b.constant(0));
  }
  template <class B>
  static auto safe_divisor(B& b, V<B> y) {
    const auto one = b.constant(1);
    return b.select(b.mor(b.eq(y, b.constant(0)), b.eq(y, b.constant(-1))), one, y);
  }
  // Quotient toward zero; MIN / -1 wraps to MIN.
  template <class B>
  static auto truncated(B& b, V<B> x, V<B> y) {
    return b.select(b.eq(y, b.constant(-1)), b.neg(x), b.idiv(x, safe_divisor(b, y)));
  }
  // x - y * truncated(x, y), never negative zero or a trap.
  template <class B>
  static auto rest(B& b, V<B> x, V<B> y) {
    return b.imod(x, safe_divisor(b, y));
  }
  // Whether a remainder has the sign that flooring does not want.
  template <class B>
  static auto wrong_sign(B& b, V<B> rest, V<B> y) {
    const auto zero = b.constant(0);
    return b.mand(b.ne(rest, zero), b.mxor(b.lt(rest, zero), b.lt(y, zero)));
  }
};

struct FloorDivide : IntegerDivision {
  static constexpr OpDecl decl = no_gradient(exact_number(
      failing(pointwise("floor_divide", "floor_divide(Operand self, Operand other) -> Tensor", Promote::Arithmetic,
                        "Quotient rounded down, as Python's //. Integer division by zero raises."))));
  // CPython's float floor division: exact remainder first, so that the quotient is never one too high.
  template <class B>
  static auto body(B& b, V<B> x, V<B> y) {
    const auto zero = b.constant(0), one = b.constant(1), quotient = b.div(x, y);
    const auto rest = b.fmod(x, y);
    auto exact = b.div(b.sub(x, rest), y);
    exact = b.select(wrong_sign(b, rest, y), b.sub(exact, one), exact);
    auto whole = b.floor(exact);
    whole = b.select(b.gt(b.sub(exact, whole), b.constant(0.5)), b.add(whole, one), whole);
    // An exact zero takes the sign of the true quotient.
    const auto signed_zero = b.select(b.ilt(b.as_bits(quotient), b.iconst(0)), b.constant(-0.0), zero);
    const auto result = b.select(b.ne(exact, zero), whole, signed_zero);
    return b.select(b.eq(y, zero), quotient, result);
  }
  template <class B>
  static auto body_int(B& b, V<B> x, V<B> y) {
    const auto q = truncated(b, x, y);
    return b.select(wrong_sign(b, rest(b, x, y), y), b.sub(q, b.constant(1)), q);
  }
};

struct Remainder : IntegerDivision {
  static constexpr OpDecl decl =
      failing(pointwise("remainder", "remainder(Operand self, Operand other) -> Tensor", Promote::Arithmetic,
                        "Remainder with the sign of the divisor, as Python's %. Integer remainder by zero raises."));
  template <class B>
  static auto body(B& b, V<B> x, V<B> y) {
    const auto r = b.fmod(x, y);
    return b.select(wrong_sign(b, r, y), b.add(r, y), r);
  }
  template <class B>
  static auto body_int(B& b, V<B> x, V<B> y) {
    const auto r = rest(b, x, y);
    return b.select(wrong_sign(b, r, y), b.add(r, y), r);
  }
};

struct Fmod : IntegerDivision {
  static constexpr OpDecl decl =
      failing(pointwise("fmod", "fmod(Operand self, Operand other) -> Tensor", Promote::Arithmetic,
                        "Remainder with the sign of the dividend, as C's fmod. Integer remainder by zero raises."));
  template <class B>
  static auto body(B& b, V<B> x, V<B> y) {
    return b.fmod(x, y);
  }
  template <class B>
  static auto body_int(B& b, V<B> x, V<B> y) {
    return rest(b, x, y);
  }
};

struct TruncDivide : IntegerDivision {
  static constexpr OpDecl decl = exact_number(
      failing(internal_pointwise("trunc_divide", "trunc_divide(Operand self, Operand other) -> Tensor",
                                 Promote::Arithmetic, "Quotient rounded toward zero: div(rounding_mode='trunc').")));
  template <class B>
  static auto body(B& b, V<B> x, V<B> y) {
    return b.trunc(b.div(x, y));
  }
  template <class B>
  static auto body_int(B& b, V<B> x, V<B> y) {
    return truncated(b, x, y);
  }
};

struct Pow {
  static constexpr OpDecl decl = pointwise("pow", "pow(Operand self, Tensor exponent) -> Tensor", Promote::Arithmetic,
                                           "Power. A negative integer exponent gives 0 unless the base is 1 or -1.");
  template <class B>
  static auto body(B& b, V<B> x, V<B> y) {
    return math::pow(b, x, y);
  }
  // Square and multiply over every bit of the exponent; products wrap.
  template <class B>
  static auto body_int(B& b, V<B> x, V<B> y) {
    const auto one = b.constant(1), zero = b.constant(0);
    auto result = one, power = x;
    for (int i = 0; i + 1 < b.width(); ++i) {  // the sign bit is dealt with below
      const auto bit = b.iand(b.isar(b.as_bits(y), i), b.iconst(1));
      result = b.select(b.ieq(bit, b.iconst(1)), b.mul(result, power), result);
      power = b.mul(power, power);
    }
    const auto odd = b.ieq(b.iand(b.as_bits(y), b.iconst(1)), b.iconst(1));
    const auto of_minus_one = b.select(odd, b.constant(-1), one);
    const auto of_negative = b.select(b.eq(x, one), one, b.select(b.eq(x, b.constant(-1)), of_minus_one, zero));
    return b.select(b.lt(y, zero), of_negative, result);
  }
};

struct Neg {
  static constexpr OpDecl decl = also(pointwise("neg", "neg(Tensor self) -> Tensor", Promote::Arithmetic,
                                                "Negation. A bool tensor is refused: use logical_not."),
                                      "negative");
  template <class B>
  static auto body(B& b, V<B> x) {
    return b.neg(x);
  }
};

struct Abs {
  static constexpr OpDecl decl = also(pointwise("abs", "abs(Tensor self) -> Tensor", Promote::Arithmetic,
                                                "Absolute value; the smallest integer wraps."),
                                      "absolute");
  template <class B>
  static auto body(B& b, V<B> x) {
    return b.abs(x);
  }
  template <class B>
  static auto body_int(B& b, V<B> x) {
    return b.select(b.lt(x, b.constant(0)), b.neg(x), x);
  }
};

struct Sign {
  static constexpr OpDecl decl =
      also(pointwise("sign", "sign(Tensor self) -> Tensor", Promote::Arithmetic, "-1, 0 or 1; 0 for NaN."), "sgn");
  template <class B>
  static auto body(B& b, V<B> x) {
    const auto zero = b.constant(0);
    return b.select(b.gt(x, zero), b.constant(1), b.select(b.lt(x, zero), b.constant(-1), zero));
  }
  template <class B>
  static auto body_bool(B&, M<B> x) {
    return x;
  }
};

struct Reciprocal {
  static constexpr OpDecl decl =
      pointwise("reciprocal", "reciprocal(Tensor self) -> Tensor", Promote::IntToFloat, "1 / x.");
  template <class B>
  static auto body(B& b, V<B> x) {
    return b.div(b.constant(1), x);
  }
};

// --- Exponentials, powers, trigonometry
// --------------------------------------------------------------------------------

struct Exp {
  static constexpr OpDecl decl = pointwise("exp", "exp(Tensor self) -> Tensor", Promote::IntToFloat, "e to the x.");
  template <class B>
  static auto body(B& b, V<B> x) {
    return math::exp(b, x);
  }
};

struct Exp2 {
  static constexpr OpDecl decl =
      also(pointwise("exp2", "exp2(Tensor self) -> Tensor", Promote::IntToFloat, "2 to the x."), "special.exp2");
  template <class B>
  static auto body(B& b, V<B> x) {
    return math::exp2(b, x);
  }
};

struct Expm1 {
  static constexpr OpDecl decl =
      also(pointwise("expm1", "expm1(Tensor self) -> Tensor", Promote::IntToFloat, "exp(x) - 1, exact near 0."),
           "special.expm1");
  template <class B>
  static auto body(B& b, V<B> x) {
    return math::expm1(b, x);
  }
};

struct Log {
  static constexpr OpDecl decl =
      pointwise("log", "log(Tensor self) -> Tensor", Promote::IntToFloat, "Natural logarithm; NaN below 0, -inf at 0.");
  template <class B>
  static auto body(B& b, V<B> x) {
    return math::log(b, x);
  }
};

struct Log2 {
  static constexpr OpDecl decl =
      pointwise("log2", "log2(Tensor self) -> Tensor", Promote::IntToFloat, "Logarithm to base 2.");
  template <class B>
  static auto body(B& b, V<B> x) {
    return math::log2(b, x);
  }
};

struct Log10 {
  static constexpr OpDecl decl =
      pointwise("log10", "log10(Tensor self) -> Tensor", Promote::IntToFloat, "Logarithm to base 10.");
  template <class B>
  static auto body(B& b, V<B> x) {
    return math::log10(b, x);
  }
};

struct Log1p {
  static constexpr OpDecl decl =
      also(pointwise("log1p", "log1p(Tensor self) -> Tensor", Promote::IntToFloat, "log(1 + x), exact near 0."),
           "special.log1p");
  template <class B>
  static auto body(B& b, V<B> x) {
    return math::log1p(b, x);
  }
};

struct Sqrt {
  static constexpr OpDecl decl =
      pointwise("sqrt", "sqrt(Tensor self) -> Tensor", Promote::IntToFloat, "Square root, correctly rounded.");
  template <class B>
  static auto body(B& b, V<B> x) {
    return b.sqrt(x);
  }
};

struct Rsqrt {
  static constexpr OpDecl decl =
      pointwise("rsqrt", "rsqrt(Tensor self) -> Tensor", Promote::IntToFloat, "1 / sqrt(x), both steps rounded.");
  template <class B>
  static auto body(B& b, V<B> x) {
    return b.div(b.constant(1), b.sqrt(x));
  }
};

struct Sin {
  static constexpr OpDecl decl =
      pointwise("sin", "sin(Tensor self) -> Tensor", Promote::IntToFloat, "Sine of radians.");
  template <class B>
  static auto body(B& b, V<B> x) {
    return math::sin(b, x);
  }
};

struct Cos {
  static constexpr OpDecl decl =
      pointwise("cos", "cos(Tensor self) -> Tensor", Promote::IntToFloat, "Cosine of radians.");
  template <class B>
  static auto body(B& b, V<B> x) {
    return math::cos(b, x);
  }
};

struct Tan {
  static constexpr OpDecl decl =
      pointwise("tan", "tan(Tensor self) -> Tensor", Promote::IntToFloat, "Tangent of radians.");
  template <class B>
  static auto body(B& b, V<B> x) {
    return math::tan(b, x);
  }
};

struct Tanh {
  static constexpr OpDecl decl =
      pointwise("tanh", "tanh(Tensor self) -> Tensor", Promote::IntToFloat, "Hyperbolic tangent.");
  template <class B>
  static auto body(B& b, V<B> x) {
    return math::tanh(b, x);
  }
};

struct Sigmoid {
  static constexpr OpDecl decl =
      also(pointwise("sigmoid", "sigmoid(Tensor self) -> Tensor", Promote::IntToFloat, "1 / (1 + exp(-x))."),
           "special.expit");
  template <class B>
  static auto body(B& b, V<B> x) {
    return math::sigmoid(b, x);
  }
};

struct Erf {
  static constexpr OpDecl decl =
      also(pointwise("erf", "erf(Tensor self) -> Tensor", Promote::IntToFloat, "Error function."), "special.erf");
  template <class B>
  static auto body(B& b, V<B> x) {
    return math::erf(b, x);
  }
};

// --- Rounding, limits
// --------------------------------------------------------------------------------------------------

struct Relu {
  static constexpr OpDecl decl =
      pointwise("relu", "relu(Tensor self) -> Tensor", Promote::Arithmetic, "max(x, 0); NaN stays NaN.");
  template <class B>
  static auto body(B& b, V<B> x) {
    const auto zero = b.constant(0);
    return b.select(b.lt(x, zero), zero, x);
  }
};

// The larger of two; a NaN wins; of equals (so of -0 and 0) the second.
struct Larger {
  template <class B>
  static auto body(B& b, V<B> x, V<B> y) {
    return b.select(b.mor(b.gt(x, y), b.ne(x, x)), x, y);
  }
  template <class B>
  static auto body_int(B& b, V<B> x, V<B> y) {
    return b.select(b.gt(x, y), x, y);
  }
  template <class B>
  static auto body_bool(B& b, M<B> x, M<B> y) {
    return b.mor(x, y);
  }
};

// The smaller of two; a NaN wins; of equals the second.
struct Smaller {
  template <class B>
  static auto body(B& b, V<B> x, V<B> y) {
    return b.select(b.mor(b.lt(x, y), b.ne(x, x)), x, y);
  }
  template <class B>
  static auto body_int(B& b, V<B> x, V<B> y) {
    return b.select(b.lt(x, y), x, y);
  }
  template <class B>
  static auto body_bool(B& b, M<B> x, M<B> y) {
    return b.mand(x, y);
  }
};

struct Maximum : Larger {
  static constexpr OpDecl decl{.name = "maximum",
                               .signature = "maximum(Tensor self, Tensor other) -> Tensor",
                               .kind = OpKind::Pointwise,
                               .promote = Promote::Arithmetic,
                               .doc = "Elementwise larger value, broadcast; NaN if either is NaN."};
};

struct Minimum : Smaller {
  static constexpr OpDecl decl{.name = "minimum",
                               .signature = "minimum(Tensor self, Tensor other) -> Tensor",
                               .kind = OpKind::Pointwise,
                               .promote = Promote::Arithmetic,
                               .doc = "Elementwise smaller value, broadcast; NaN if either is NaN."};
};

struct ClampMin : Larger {
  static constexpr OpDecl decl =
      number_fits(pointwise("clamp_min", "clamp_min(Tensor self, Operand min) -> Tensor", Promote::Arithmetic,
                            "Values below `min` become `min`; NaN stays NaN."));
};

struct ClampMax : Smaller {
  static constexpr OpDecl decl =
      number_fits(pointwise("clamp_max", "clamp_max(Tensor self, Operand max) -> Tensor", Promote::Arithmetic,
                            "Values above `max` become `max`; NaN stays NaN."));
};

struct Floor {
  static constexpr OpDecl decl =
      pointwise("floor", "floor(Tensor self) -> Tensor", Promote::Arithmetic, "Largest integral value not above x.");
  template <class B>
  static auto body(B& b, V<B> x) {
    return b.floor(x);
  }
  template <class B>
  static auto body_int(B&, V<B> x) {
    return x;
  }
};

struct Ceil {
  static constexpr OpDecl decl =
      pointwise("ceil", "ceil(Tensor self) -> Tensor", Promote::Arithmetic, "Smallest integral value not below x.");
  template <class B>
  static auto body(B& b, V<B> x) {
    return b.ceil(x);
  }
  template <class B>
  static auto body_int(B&, V<B> x) {
    return x;
  }
};

struct Trunc {
  static constexpr OpDecl decl = also(
      pointwise("trunc", "trunc(Tensor self) -> Tensor", Promote::Arithmetic, "Integral value toward zero."), "fix");
  template <class B>
  static auto body(B& b, V<B> x) {
    return b.trunc(x);
  }
  template <class B>
  static auto body_int(B&, V<B> x) {
    return x;
  }
};

struct Round {
  static constexpr OpDecl decl = also(pointwise("round", "round(Tensor self) -> Tensor", Promote::Arithmetic,
                                                "Nearest integral value, halves to even."),
                                      "special.round");
  template <class B>
  static auto body(B& b, V<B> x) {
    return b.rint(x);
  }
  template <class B>
  static auto body_int(B&, V<B> x) {
    return x;
  }
};

struct Where {
  static constexpr OpDecl decl{.name = "where",
                               .signature = "where(Tensor condition, Operand self, Operand other) -> Tensor",
                               .kind = OpKind::Pointwise,
                               .promote = Promote::Select,
                               .method = false,
                               .number_fits = true,
                               .doc = "`self` where the bool tensor `condition` holds, else `other`; all broadcast."};
  template <class B>
  static auto body(B& b, M<B> c, V<B> x, V<B> y) {
    return b.select(c, x, y);
  }
  template <class B>
  static auto body_bool(B& b, M<B> c, M<B> x, M<B> y) {
    return b.mor(b.mand(c, x), b.mand(b.mnot(c), y));
  }
};

// --- Comparisons, logic
// ------------------------------------------------------------------------------------------------

struct Eq {
  static constexpr OpDecl decl =
      pointwise("eq", "eq(Operand self, Operand other) -> Tensor", Promote::Compare, "x == y.");
  template <class B>
  static auto body(B& b, V<B> x, V<B> y) {
    return b.eq(x, y);
  }
  template <class B>
  static auto body_bool(B& b, M<B> x, M<B> y) {
    return b.mnot(b.mxor(x, y));
  }
};

struct Ne {
  static constexpr OpDecl decl =
      also(pointwise("ne", "ne(Operand self, Operand other) -> Tensor", Promote::Compare, "x != y."), "not_equal");
  template <class B>
  static auto body(B& b, V<B> x, V<B> y) {
    return b.ne(x, y);
  }
  template <class B>
  static auto body_bool(B& b, M<B> x, M<B> y) {
    return b.mxor(x, y);
  }
};

struct Lt {
  static constexpr OpDecl decl =
      also(pointwise("lt", "lt(Operand self, Operand other) -> Tensor", Promote::Compare, "x < y."), "less");
  template <class B>
  static auto body(B& b, V<B> x, V<B> y) {
    return b.lt(x, y);
  }
  template <class B>
  static auto body_bool(B& b, M<B> x, M<B> y) {
    return b.mand(b.mnot(x), y);
  }
};

struct Le {
  static constexpr OpDecl decl =
      also(pointwise("le", "le(Operand self, Operand other) -> Tensor", Promote::Compare, "x <= y."), "less_equal");
  template <class B>
  static auto body(B& b, V<B> x, V<B> y) {
    return b.le(x, y);
  }
  template <class B>
  static auto body_bool(B& b, M<B> x, M<B> y) {
    return b.mor(b.mnot(x), y);
  }
};

struct Gt {
  static constexpr OpDecl decl =
      also(pointwise("gt", "gt(Operand self, Operand other) -> Tensor", Promote::Compare, "x > y."), "greater");
  template <class B>
  static auto body(B& b, V<B> x, V<B> y) {
    return b.gt(x, y);
  }
  template <class B>
  static auto body_bool(B& b, M<B> x, M<B> y) {
    return b.mand(x, b.mnot(y));
  }
};

struct Ge {
  static constexpr OpDecl decl =
      also(pointwise("ge", "ge(Operand self, Operand other) -> Tensor", Promote::Compare, "x >= y."), "greater_equal");
  template <class B>
  static auto body(B& b, V<B> x, V<B> y) {
    return b.ge(x, y);
  }
  template <class B>
  static auto body_bool(B& b, M<B> x, M<B> y) {
    return b.mor(x, b.mnot(y));
  }
};

struct LogicalAnd {
  static constexpr OpDecl decl =
      pointwise("logical_and", "logical_and(Tensor self, Tensor other) -> Tensor", Promote::Logical, "Both nonzero.");
  template <class B>
  static auto body_bool(B& b, M<B> x, M<B> y) {
    return b.mand(x, y);
  }
};

struct LogicalOr {
  static constexpr OpDecl decl =
      pointwise("logical_or", "logical_or(Tensor self, Tensor other) -> Tensor", Promote::Logical, "Either nonzero.");
  template <class B>
  static auto body_bool(B& b, M<B> x, M<B> y) {
    return b.mor(x, y);
  }
};

struct LogicalXor {
  static constexpr OpDecl decl = pointwise("logical_xor", "logical_xor(Tensor self, Tensor other) -> Tensor",
                                           Promote::Logical, "Exactly one nonzero.");
  template <class B>
  static auto body_bool(B& b, M<B> x, M<B> y) {
    return b.mxor(x, y);
  }
};

struct LogicalNot {
  static constexpr OpDecl decl =
      pointwise("logical_not", "logical_not(Tensor self) -> Tensor", Promote::Logical, "True where x is zero.");
  template <class B>
  static auto body_bool(B& b, M<B> x) {
    return b.mnot(x);
  }
};

struct BitwiseAnd {
  static constexpr OpDecl decl = pointwise("bitwise_and", "bitwise_and(Operand self, Operand other) -> Tensor",
                                           Promote::Bitwise, "Bits set in both; bool and integers only.");
  template <class B>
  static auto body_int(B& b, V<B> x, V<B> y) {
    return b.from_bits(b.iand(b.as_bits(x), b.as_bits(y)));
  }
  template <class B>
  static auto body_bool(B& b, M<B> x, M<B> y) {
    return b.mand(x, y);
  }
};

struct BitwiseOr {
  static constexpr OpDecl decl = pointwise("bitwise_or", "bitwise_or(Operand self, Operand other) -> Tensor",
                                           Promote::Bitwise, "Bits set in either; bool and integers only.");
  template <class B>
  static auto body_int(B& b, V<B> x, V<B> y) {
    return b.from_bits(b.ior(b.as_bits(x), b.as_bits(y)));
  }
  template <class B>
  static auto body_bool(B& b, M<B> x, M<B> y) {
    return b.mor(x, y);
  }
};

struct BitwiseXor {
  static constexpr OpDecl decl = pointwise("bitwise_xor", "bitwise_xor(Operand self, Operand other) -> Tensor",
                                           Promote::Bitwise, "Bits set in exactly one; bool and integers only.");
  template <class B>
  static auto body_int(B& b, V<B> x, V<B> y) {
    return b.from_bits(b.ixor(b.as_bits(x), b.as_bits(y)));
  }
  template <class B>
  static auto body_bool(B& b, M<B> x, M<B> y) {
    return b.mxor(x, y);
  }
};

struct BitwiseNot {
  static constexpr OpDecl decl = pointwise("bitwise_not", "bitwise_not(Tensor self) -> Tensor", Promote::Bitwise,
                                           "Every bit flipped; bool and integers only.");
  template <class B>
  static auto body_int(B& b, V<B> x) {
    return b.from_bits(b.ixor(b.as_bits(x), b.iconst(-1)));
  }
  template <class B>
  static auto body_bool(B& b, M<B> x) {
    return b.mnot(x);
  }
};

struct IsNan {
  static constexpr OpDecl decl = predicate("isnan", "isnan(Tensor self) -> Tensor", "Not a number.");
  template <class B>
  static auto body(B& b, V<B> x) {
    return b.ne(x, x);
  }
  template <class B>
  static auto body_bool(B& b, M<B>) {
    return b.mconst(false);
  }
};

struct IsInf {
  static constexpr OpDecl decl = predicate("isinf", "isinf(Tensor self) -> Tensor", "Plus or minus infinity.");
  template <class B>
  static auto body(B& b, V<B> x) {
    return b.eq(b.abs(x), b.highest());
  }
  template <class B>
  static auto body_int(B& b, V<B> x) {
    return b.ne(x, x);
  }
  template <class B>
  static auto body_bool(B& b, M<B>) {
    return b.mconst(false);
  }
};

struct IsFinite {
  static constexpr OpDecl decl =
      predicate("isfinite", "isfinite(Tensor self) -> Tensor", "Neither infinite nor not a number.");
  template <class B>
  static auto body(B& b, V<B> x) {
    return b.lt(b.abs(x), b.highest());
  }
  template <class B>
  static auto body_int(B& b, V<B> x) {
    return b.eq(x, x);
  }
  template <class B>
  static auto body_bool(B& b, M<B>) {
    return b.mconst(true);
  }
};

// --- Copies
// ------------------------------------------------------------------------------------------------------------

struct Identity {
  template <class B>
  static auto body(B&, V<B> x) {
    return x;
  }
  template <class B>
  static auto body_bool(B&, M<B> x) {
    return x;
  }
};

struct Clone : Identity {
  static constexpr OpDecl decl{.name = "clone",
                               .signature = "clone(Tensor self) -> Tensor",
                               .kind = OpKind::Pointwise,
                               .promote = Promote::KeepFirst,
                               .doc = "A copy with storage of its own; a dense permuted layout is kept."};
};

struct Compact : Identity {
  static constexpr OpDecl decl{.name = "compact",
                               .signature = "compact(Tensor self) -> Tensor",
                               .kind = OpKind::Pointwise,
                               .promote = Promote::KeepFirst,
                               .function = false,
                               .method = false,
                               .row_major = true,
                               .doc = "A contiguous copy: what contiguous() and reshape() do when they must."};
};

struct Convert : Identity {
  static constexpr OpDecl decl =
      internal_pointwise("convert", "convert(Tensor self, *, dtype dtype) -> Tensor", Promote::Convert,
                         "A copy in another dtype. Floats out of an integer's range give "
                         "its smallest value; a float is truncated toward zero.");
};

struct CopyToDevice : Identity {
  static constexpr OpDecl decl =
      internal_pointwise("copy_to_device", "copy_to_device(Tensor self, device? device=None) -> Tensor",
                         Promote::KeepFirst, "A copy on another device; elements that are on none cannot be copied.");
};

// The second operand, in the dtype of the first: the value an in-place copy writes.
struct Second {
  template <class B>
  static auto body(B&, V<B>, V<B> y) {
    return y;
  }
  template <class B>
  static auto body_bool(B&, M<B>, M<B> y) {
    return y;
  }
};

struct Copy : Second {
  static constexpr OpDecl decl{.name = "copy",
                               .signature = "copy(Tensor self, Tensor other) -> Tensor",
                               .kind = OpKind::Pointwise,
                               .promote = Promote::KeepFirst,
                               .function = false,
                               .method = false,
                               .inplace = true,
                               .doc = "`other` broadcast to `self` and converted to its dtype."};
};

struct Fill : Second {
  static constexpr OpDecl decl{.name = "fill",
                               .signature = "fill(Tensor self, Operand value) -> Tensor",
                               .kind = OpKind::Pointwise,
                               .promote = Promote::KeepFirst,
                               .function = true,
                               .method = false,
                               .inplace = true,
                               .number_fits = true,
                               .doc = "The number (or 0-d tensor) `value` everywhere."};
};

struct Zero {
  static constexpr OpDecl decl{.name = "zero",
                               .signature = "zero(Tensor self) -> Tensor",
                               .kind = OpKind::Pointwise,
                               .promote = Promote::KeepFirst,
                               .function = false,
                               .method = false,
                               .inplace = true,
                               .doc = "Zero everywhere."};
  template <class B>
  static auto body(B& b, V<B>) {
    return b.constant(0);
  }
  template <class B>
  static auto body_bool(B& b, M<B>) {
    return b.mconst(false);
  }
};

}  // namespace md::ops
