// More pointwise ops with bodies of their own: inverse and hyperbolic functions, activations, shifts, signs.
#pragma once

#include "registry/ops/math_inverse.h"
#include "registry/ops/pointwise.h"

namespace md::ops {

constexpr OpDecl floats_only(OpDecl d) {
  d.floats_only = true;
  return d;
}
// A function of minidynamo.nn.functional and of nothing else; floats only.
constexpr OpDecl functional_body(std::string_view name, std::string_view signature, std::string_view where,
                                 std::string_view doc) {
  return also(floats_only(internal_pointwise(name, signature, Promote::Arithmetic, doc)), where);
}

// --- Inverse and hyperbolic functions ------------------------------------------------------------------------------

struct Erfc {
  static constexpr OpDecl decl = also(
      pointwise("erfc", "erfc(Tensor self) -> Tensor", Promote::IntToFloat, "1 - erf(x), accurate where that is tiny."),
      "special.erfc");
  template <class B>
  static auto body(B& b, V<B> x) {
    return math::erfc(b, x);
  }
};

struct Asin {
  static constexpr OpDecl decl =
      also(pointwise("asin", "asin(Tensor self) -> Tensor", Promote::IntToFloat, "Inverse sine; NaN outside [-1, 1]."),
           "arcsin");
  template <class B>
  static auto body(B& b, V<B> x) {
    return math::asin(b, x);
  }
};

struct Acos {
  static constexpr OpDecl decl = also(
      pointwise("acos", "acos(Tensor self) -> Tensor", Promote::IntToFloat, "Inverse cosine; NaN outside [-1, 1]."),
      "arccos");
  template <class B>
  static auto body(B& b, V<B> x) {
    return math::acos(b, x);
  }
};

struct Atan {
  static constexpr OpDecl decl =
      also(pointwise("atan", "atan(Tensor self) -> Tensor", Promote::IntToFloat, "Inverse tangent."), "arctan");
  template <class B>
  static auto body(B& b, V<B> x) {
    return math::atan(b, x);
  }
};

struct Atan2 {
  static constexpr OpDecl decl =
      also(pointwise("atan2", "atan2(Tensor self, Tensor other) -> Tensor", Promote::IntToFloat,
                     "The angle of the point (other, self), in (-pi, pi]; special cases as C's atan2."),
           "arctan2");
  template <class B>
  static auto body(B& b, V<B> y, V<B> x) {
    return math::atan2(b, y, x);
  }
};

struct Sinh {
  static constexpr OpDecl decl =
      pointwise("sinh", "sinh(Tensor self) -> Tensor", Promote::IntToFloat, "Hyperbolic sine.");
  template <class B>
  static auto body(B& b, V<B> x) {
    return math::sinh(b, x);
  }
};

struct Cosh {
  static constexpr OpDecl decl =
      pointwise("cosh", "cosh(Tensor self) -> Tensor", Promote::IntToFloat, "Hyperbolic cosine.");
  template <class B>
  static auto body(B& b, V<B> x) {
    return math::cosh(b, x);
  }
};

struct Asinh {
  static constexpr OpDecl decl = also(
      pointwise("asinh", "asinh(Tensor self) -> Tensor", Promote::IntToFloat, "Inverse hyperbolic sine."), "arcsinh");
  template <class B>
  static auto body(B& b, V<B> x) {
    return math::asinh(b, x);
  }
};

struct Acosh {
  static constexpr OpDecl decl = also(pointwise("acosh", "acosh(Tensor self) -> Tensor", Promote::IntToFloat,
                                                "Inverse hyperbolic cosine; NaN below 1."),
                                      "arccosh");
  template <class B>
  static auto body(B& b, V<B> x) {
    return math::acosh(b, x);
  }
};

struct Atanh {
  static constexpr OpDecl decl = also(pointwise("atanh", "atanh(Tensor self) -> Tensor", Promote::IntToFloat,
                                                "Inverse hyperbolic tangent; NaN outside [-1, 1]."),
                                      "arctanh");
  template <class B>
  static auto body(B& b, V<B> x) {
    return math::atanh(b, x);
  }
};

struct Hypot {
  static constexpr OpDecl decl =
      floats_only(pointwise("hypot", "hypot(Tensor self, Tensor other) -> Tensor", Promote::Arithmetic,
                            "sqrt(x * x + y * y) without overflow on the way; infinite if either is."));
  template <class B>
  static auto body(B& b, V<B> x, V<B> y) {
    const auto one = b.constant(1), infinity = b.constant(math::kInfinity);
    const auto p = b.abs(x), q = b.abs(y);
    const auto larger = b.select(b.gt(p, q), p, q);
    const auto up = math::pick(b, 0x1p80, 0x1p600), down = math::pick(b, 0x1p-80, 0x1p-600);
    const auto high = b.gt(larger, math::pick(b, 0x1p50, 0x1p500)),
               low = b.lt(larger, math::pick(b, 0x1p-50, 0x1p-500));
    const auto factor = b.select(high, down, b.select(low, up, one)),
               back = b.select(high, up, b.select(low, down, one));
    const auto s = b.mul(p, factor), t = b.mul(q, factor);
    const auto r = b.mul(b.sqrt(b.fma(s, s, b.mul(t, t))), back);
    return b.select(b.mor(b.eq(p, infinity), b.eq(q, infinity)), infinity, r);
  }
};

// --- Activations ---------------------------------------------------------------------------------------------------

struct Silu {
  static constexpr OpDecl decl = functional_body("silu", "silu(Tensor self) -> Tensor", "nn.functional.silu",
                                                 "x * sigmoid(x), computed as x / (1 + exp(-x)).");
  template <class B>
  static auto body(B& b, V<B> x) {
    return b.div(x, b.add(b.constant(1), math::exp(b, b.neg(x))));
  }
};

struct Mish {
  static constexpr OpDecl decl =
      functional_body("mish", "mish(Tensor self) -> Tensor", "nn.functional.mish", "x * tanh(log(1 + exp(x))).");
  template <class B>
  static auto body(B& b, V<B> x) {
    return b.mul(x, math::tanh(b, math::log1p(b, math::exp(b, x))));
  }
};

struct GeluErf {
  static constexpr OpDecl decl = floats_only(internal_pointwise(
      "gelu_erf", "gelu_erf(Tensor self) -> Tensor", Promote::Arithmetic, "x / 2 * (1 + erf(x / sqrt(2)))."));
  template <class B>
  static auto body(B& b, V<B> x) {
    const auto share = b.add(b.constant(1), math::erf(b, b.mul(x, b.constant(0x1.6a09e667f3bcdp-1))));
    return b.mul(b.mul(x, b.constant(0.5)), share);
  }
};

struct GeluTanh {
  static constexpr OpDecl decl = floats_only(
      internal_pointwise("gelu_tanh", "gelu_tanh(Tensor self) -> Tensor", Promote::Arithmetic,
                         "x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))): Hendrycks and Gimpel's formula."));
  template <class B>
  static auto body(B& b, V<B> x) {
    const auto cube = b.mul(b.mul(x, x), x);
    const auto inner = b.mul(b.constant(0x1.9884533d43651p-1), b.add(x, b.mul(b.constant(0.044715), cube)));
    return b.mul(b.mul(b.constant(0.5), x), b.add(b.constant(1), math::tanh(b, inner)));
  }
};

struct LogSigmoid {
  static constexpr OpDecl decl = functional_body("logsigmoid", "logsigmoid(Tensor self) -> Tensor",
                                                 "nn.functional.logsigmoid", "min(x, 0) - log(1 + exp(-|x|)).");
  template <class B>
  static auto body(B& b, V<B> x) {
    const auto zero = b.constant(0);
    const auto least = b.select(b.gt(x, zero), zero, x);
    return b.sub(least, math::log1p(b, math::exp(b, b.neg(b.abs(x)))));
  }
};

// x + 3 limited to [0, 6]
struct HardGate {
  template <class B>
  static auto gate(B& b, V<B> x) {
    const auto zero = b.constant(0), six = b.constant(6), shifted = b.add(x, b.constant(3));
    return b.select(b.lt(shifted, zero), zero, b.select(b.gt(shifted, six), six, shifted));
  }
};

struct HardSigmoid : HardGate {
  static constexpr OpDecl decl = functional_body("hardsigmoid", "hardsigmoid(Tensor self) -> Tensor",
                                                 "nn.functional.hardsigmoid", "min(max(x + 3, 0), 6) / 6.");
  template <class B>
  static auto body(B& b, V<B> x) {
    return b.div(gate(b, x), b.constant(6));
  }
};

struct HardSwish : HardGate {
  static constexpr OpDecl decl = functional_body("hardswish", "hardswish(Tensor self) -> Tensor",
                                                 "nn.functional.hardswish", "x * min(max(x + 3, 0), 6) / 6.");
  template <class B>
  static auto body(B& b, V<B> x) {
    return b.div(b.mul(x, gate(b, x)), b.constant(6));
  }
};

// --- Signs, limits -------------------------------------------------------------------------------------------------

struct Fmax {
  static constexpr OpDecl decl{.name = "fmax",
                               .signature = "fmax(Tensor self, Tensor other) -> Tensor",
                               .kind = OpKind::Pointwise,
                               .promote = Promote::Arithmetic,
                               .doc = "Elementwise larger value, broadcast; a NaN gives way to the other."};
  template <class B>
  static auto body(B& b, V<B> x, V<B> y) {
    return b.select(b.mor(b.gt(x, y), b.ne(y, y)), x, y);
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

struct Fmin {
  static constexpr OpDecl decl{.name = "fmin",
                               .signature = "fmin(Tensor self, Tensor other) -> Tensor",
                               .kind = OpKind::Pointwise,
                               .promote = Promote::Arithmetic,
                               .doc = "Elementwise smaller value, broadcast; a NaN gives way to the other."};
  template <class B>
  static auto body(B& b, V<B> x, V<B> y) {
    return b.select(b.mor(b.lt(x, y), b.ne(y, y)), x, y);
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

struct CopySign {
  static constexpr OpDecl decl =
      pointwise("copysign", "copysign(Tensor self, Operand other) -> Tensor", Promote::IntToFloat,
                "|self| with the sign of `other`, zeros' and NaN's too.");
  template <class B>
  static auto body(B& b, V<B> x, V<B> y) {
    return math::flip(b, b.abs(x), math::sign_bits(b, y));
  }
};

struct SignBit {
  static constexpr OpDecl decl =
      predicate("signbit", "signbit(Tensor self) -> Tensor", "Whether the sign bit is set: below 0, or -0, or -NaN.");
  template <class B>
  static auto body(B& b, V<B> x) {
    return b.ilt(b.as_bits(x), b.iconst(0));
  }
  template <class B>
  static auto body_int(B& b, V<B> x) {
    return b.lt(x, b.constant(0));
  }
  template <class B>
  static auto body_bool(B& b, M<B>) {
    return b.mconst(false);
  }
};

struct IsPosInf {
  static constexpr OpDecl decl = predicate("isposinf", "isposinf(Tensor self) -> Tensor", "Plus infinity.");
  template <class B>
  static auto body(B& b, V<B> x) {
    return b.eq(x, b.highest());
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

struct IsNegInf {
  static constexpr OpDecl decl = predicate("isneginf", "isneginf(Tensor self) -> Tensor", "Minus infinity.");
  template <class B>
  static auto body(B& b, V<B> x) {
    return b.eq(x, b.lowest());
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

struct Step {
  static constexpr OpDecl decl =
      no_gradient(internal_pointwise("step", "step(Tensor self, Tensor values) -> Tensor", Promote::Arithmetic,
                                     "Heaviside's function: 0 below 0 and for NaN, 1 above, `values` at 0."));
  template <class B>
  static auto body(B& b, V<B> x, V<B> at_zero) {
    const auto zero = b.constant(0);
    return b.select(b.eq(x, zero), at_zero, b.select(b.gt(x, zero), b.constant(1), zero));
  }
  template <class B>
  static auto body_bool(B& b, M<B> x, M<B> at_zero) {
    return b.mor(x, at_zero);
  }
};

// --- Shifts --------------------------------------------------------------------------------------------------------

// A shift by a count that differs from lane to lane is made of shifts by powers of two.
struct Shift {
  template <class B, class One>
  static auto by(B& b, typename B::I x, typename B::I count, One&& one) {
    for (int i = 0; (1 << i) < b.width(); ++i) {
      const auto bit = b.iand(b.isar(count, i), b.iconst(1));
      x = b.iselect(b.ieq(bit, b.iconst(1)), one(x, 1 << i), x);
    }
    return x;
  }
  template <class B>
  static auto out_of_range(B& b, V<B> count) {
    return b.mor(b.lt(count, b.constant(0)), b.ge(count, b.constant(b.width())));
  }
};

struct LeftShift : Shift {
  static constexpr OpDecl decl =
      pointwise("bitwise_left_shift", "bitwise_left_shift(Operand self, Operand other) -> Tensor", Promote::Bitwise,
                "Bits moved up by `other` places; 0 if that is negative or past the width. Integers only.");
  template <class B>
  static auto body_int(B& b, V<B> x, V<B> y) {
    const auto moved = by(b, b.as_bits(x), b.as_bits(y), [&](auto v, int n) { return b.ishl(v, n); });
    return b.select(out_of_range(b, y), b.constant(0), b.from_bits(moved));
  }
};

struct RightShift : Shift {
  static constexpr OpDecl decl =
      pointwise("bitwise_right_shift", "bitwise_right_shift(Operand self, Operand other) -> Tensor", Promote::Bitwise,
                "Bits moved down by `other` places, the sign kept; all sign if that is negative or past the width. "
                "Integers only.");
  template <class B>
  static auto body_int(B& b, V<B> x, V<B> y) {
    const auto bits = b.as_bits(x);
    const auto moved = by(b, bits, b.as_bits(y), [&](auto v, int n) { return b.isar(v, n); });
    const auto sign = b.from_bits(b.isar(bits, b.width() - 1));
    return b.select(out_of_range(b, y), sign, b.from_bits(moved));
  }
};

}  // namespace md::ops
