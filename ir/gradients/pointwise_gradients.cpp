// Derivatives of pointwise ops. Gradients come out in the broadcast sizes and the compute dtype; vjp() fits them.
#include <numbers>

#include "ir/gradients/derivation.h"
#include "registry/ops/elementary.h"
#include "registry/ops/kernels.h"

namespace md {

namespace {

// Of two operands, each worked out only if it is wanted.
template <class F0, class F1>
Gradients both(const Derivation& d, F0 first, F1 second) {
  return d.all({d.wants(0) ? first() : Arg(), d.wants(1) ? second() : Arg()});
}

Gradients zero(const Derivation& d) { return d.all({d.zeros_like(d.g())}); }
Gradients passed(const Derivation& d) { return d.all({d.g()}); }

Arg squared(const Derivation& d, const Arg& x) { return d.mul(x, x); }
// 1 - x
Arg rest_of_one(const Derivation& d, const Arg& x) { return d.sub(1.0, x); }
Arg rsqrt(const Derivation& d, const Arg& x) { return d.call(id::Rsqrt, {x}); }
Arg both_hold(const Derivation& d, const Arg& a, const Arg& b) { return d.call(id::LogicalAnd, {a, b}); }

}  // namespace

// --- Arithmetic ------------------------------------------------------------------------------------------------------

Gradients vjp_rule(ops::Add, const Derivation& d) { return d.all({d.g(), d.g()}); }

Gradients vjp_rule(ops::Sub, const Derivation& d) {
  return both(d, [&] { return d.g(); }, [&] { return d.neg(d.g()); });
}

Gradients vjp_rule(ops::Mul, const Derivation& d) {
  return both(d, [&] { return d.mul(d.g(), d.arg(1)); }, [&] { return d.mul(d.g(), d.arg(0)); });
}

Gradients vjp_rule(ops::Div, const Derivation& d) {
  return both(
      d, [&] { return d.div(d.g(), d.arg(1)); },
      [&] { return d.mul(d.neg(d.g()), d.div(d.div(d.arg(0), d.arg(1)), d.arg(1))); });
}

Gradients vjp_rule(ops::Remainder, const Derivation& d) {
  return both(
      d, [&] { return d.g(); }, [&] { return d.mul(d.neg(d.g()), d.call(id::Floor, {d.div(d.arg(0), d.arg(1))})); });
}

Gradients vjp_rule(ops::Fmod, const Derivation& d) {
  return both(
      d, [&] { return d.g(); }, [&] { return d.mul(d.neg(d.g()), d.call(id::Trunc, {d.div(d.arg(0), d.arg(1))})); });
}

Gradients vjp_rule(ops::TruncDivide, const Derivation& d) { return d.all({d.zeros_like(d.g()), d.zeros_like(d.g())}); }

namespace {
// n x^(n-1) g, and 0 for n = 0 whatever x is.
Arg gradient_of_base(const Derivation& d, const Arg& x, const Arg& n) {
  if (n.is_number()) {
    if (n == Arg(0) || n == Arg(0.0) || n == Arg(false)) return d.zeros_like(d.g());
    const Arg less =
        n.is<double>() ? Arg(n.get<double>() - 1) : Arg((n.is<bool>() ? Size(1) : n.get<Size>()) - Size(1));
    return d.mul(d.g(), d.mul(d.call(id::PowScalar, {x, less}), n));
  }
  const Arg power = d.call(id::Pow, {x, d.sub(n, 1.0)});
  return d.where(d.call(id::Eq, {n, 0}), 0.0, d.mul(d.g(), d.mul(n, power)));
}

// y log(x) g, and 0 where x is 0 and the exponent is not negative.
Arg gradient_of_exponent(const Derivation& d, const Arg& x, const Arg& n) {
  const Arg log = x.is_number() ? d.call(id::Log, {d.call(id::FullLike, {d.g(), x})}) : d.call(id::Log, {x});
  const Arg flows = d.mul(d.g(), d.mul(d.y(), log));
  const Arg at_zero = x.is_number() ? Arg(x == Arg(0) || x == Arg(0.0) || x == Arg(false)) : d.call(id::Eq, {x, 0});
  const Arg above = d.call(id::Ge, {n, 0});
  if (const bool* known = at_zero.get_if<bool>()) return *known ? d.where(above, 0.0, flows) : flows;
  return d.where(both_hold(d, at_zero, above), 0.0, flows);
}
}  // namespace

Gradients vjp_rule(ops::Pow, const Derivation& d) {
  return both(
      d, [&] { return gradient_of_base(d, d.arg(0), d.arg(1)); },
      [&] { return gradient_of_exponent(d, d.arg(0), d.arg(1)); });
}

Gradients vjp_rule(ops::Neg, const Derivation& d) { return d.all({d.neg(d.g())}); }
Gradients vjp_rule(ops::Abs, const Derivation& d) { return d.all({d.mul(d.g(), d.call(id::Sign, {d.arg(0)}))}); }
Gradients vjp_rule(ops::Sign, const Derivation& d) { return zero(d); }
Gradients vjp_rule(ops::Reciprocal, const Derivation& d) { return d.all({d.mul(d.neg(d.g()), squared(d, d.y()))}); }

// --- Exponentials, powers, trigonometry ------------------------------------------------------------------------------

Gradients vjp_rule(ops::Exp, const Derivation& d) { return d.all({d.mul(d.g(), d.y())}); }
Gradients vjp_rule(ops::Exp2, const Derivation& d) { return d.all({d.mul(d.mul(d.g(), d.y()), std::numbers::ln2)}); }
Gradients vjp_rule(ops::Expm1, const Derivation& d) { return d.all({d.mul(d.g(), d.add(d.y(), 1.0))}); }
Gradients vjp_rule(ops::Log, const Derivation& d) { return d.all({d.div(d.g(), d.arg(0))}); }
Gradients vjp_rule(ops::Log2, const Derivation& d) { return d.all({d.div(d.g(), d.mul(d.arg(0), std::numbers::ln2))}); }
Gradients vjp_rule(ops::Log10, const Derivation& d) {
  return d.all({d.div(d.g(), d.mul(d.arg(0), std::numbers::ln10))});
}
Gradients vjp_rule(ops::Log1p, const Derivation& d) { return d.all({d.div(d.g(), d.add(d.arg(0), 1.0))}); }
Gradients vjp_rule(ops::Sqrt, const Derivation& d) { return d.all({d.div(d.g(), d.mul(d.y(), 2.0))}); }
Gradients vjp_rule(ops::Rsqrt, const Derivation& d) {
  return d.all({d.mul(d.mul(d.g(), -0.5), d.mul(squared(d, d.y()), d.y()))});
}
Gradients vjp_rule(ops::Sin, const Derivation& d) { return d.all({d.mul(d.g(), d.call(id::Cos, {d.arg(0)}))}); }
Gradients vjp_rule(ops::Cos, const Derivation& d) { return d.all({d.mul(d.g(), d.neg(d.call(id::Sin, {d.arg(0)})))}); }
Gradients vjp_rule(ops::Tan, const Derivation& d) { return d.all({d.mul(d.g(), d.add(squared(d, d.y()), 1.0))}); }
Gradients vjp_rule(ops::Tanh, const Derivation& d) { return d.all({d.mul(d.g(), rest_of_one(d, squared(d, d.y())))}); }
Gradients vjp_rule(ops::Sigmoid, const Derivation& d) {
  return d.all({d.mul(d.g(), d.mul(rest_of_one(d, d.y()), d.y()))});
}

namespace {
constexpr double kErfSlope = std::numbers::inv_sqrtpi * 2;  // of erf at 0
Arg bell(const Derivation& d) { return d.call(id::Exp, {d.neg(squared(d, d.arg(0)))}); }
}  // namespace

Gradients vjp_rule(ops::Erf, const Derivation& d) { return d.all({d.mul(d.mul(bell(d), kErfSlope), d.g())}); }
Gradients vjp_rule(ops::Erfc, const Derivation& d) { return d.all({d.mul(d.mul(bell(d), -kErfSlope), d.g())}); }
Gradients vjp_rule(ops::Asin, const Derivation& d) {
  return d.all({d.mul(d.g(), rsqrt(d, rest_of_one(d, squared(d, d.arg(0)))))});
}
Gradients vjp_rule(ops::Acos, const Derivation& d) {
  return d.all({d.mul(d.g(), d.neg(rsqrt(d, rest_of_one(d, squared(d, d.arg(0))))))});
}
Gradients vjp_rule(ops::Atan, const Derivation& d) { return d.all({d.div(d.g(), d.add(squared(d, d.arg(0)), 1.0))}); }
Gradients vjp_rule(ops::Atan2, const Derivation& d) {
  const Arg square = d.add(squared(d, d.arg(0)), squared(d, d.arg(1)));
  const Arg scale = d.where(d.call(id::Eq, {square, 0}), 0.0, d.call(id::Reciprocal, {square}));
  return both(
      d, [&] { return d.mul(d.g(), d.mul(d.arg(1), scale)); },
      [&] { return d.mul(d.g(), d.mul(d.neg(d.arg(0)), scale)); });
}
Gradients vjp_rule(ops::Sinh, const Derivation& d) { return d.all({d.mul(d.g(), d.call(id::Cosh, {d.arg(0)}))}); }
Gradients vjp_rule(ops::Cosh, const Derivation& d) { return d.all({d.mul(d.g(), d.call(id::Sinh, {d.arg(0)}))}); }
Gradients vjp_rule(ops::Asinh, const Derivation& d) {
  return d.all({d.mul(d.g(), rsqrt(d, d.add(squared(d, d.arg(0)), 1.0)))});
}
Gradients vjp_rule(ops::Acosh, const Derivation& d) {
  return d.all({d.mul(d.g(), rsqrt(d, d.sub(squared(d, d.arg(0)), 1.0)))});
}
Gradients vjp_rule(ops::Atanh, const Derivation& d) {
  return d.all({d.div(d.g(), rest_of_one(d, squared(d, d.arg(0))))});
}
Gradients vjp_rule(ops::Hypot, const Derivation& d) {
  return both(
      d, [&] { return d.mul(d.g(), d.div(d.arg(0), d.y())); }, [&] { return d.mul(d.g(), d.div(d.arg(1), d.y())); });
}

// --- Activations -----------------------------------------------------------------------------------------------------

Gradients vjp_rule(ops::Relu, const Derivation& d) { return d.all({d.where(d.call(id::Le, {d.y(), 0}), 0.0, d.g())}); }

Gradients vjp_rule(ops::Silu, const Derivation& d) {
  const Arg gate = d.call(id::Sigmoid, {d.arg(0)});
  const Arg slope = d.mul(gate, d.add(d.mul(d.arg(0), rest_of_one(d, gate)), 1.0));
  return d.all({d.mul(d.g(), slope)});
}

Gradients vjp_rule(ops::Mish, const Derivation& d) {
  const Arg gate = d.call(id::Sigmoid, {d.arg(0)});
  const Arg t = d.call(id::Tanh, {d.call(id::Softplus, {d.arg(0)})});
  const Arg slope = d.add(t, d.mul(d.mul(d.arg(0), gate), rest_of_one(d, squared(d, t))));
  return d.all({d.mul(d.g(), slope)});
}

Gradients vjp_rule(ops::GeluErf, const Derivation& d) {
  const Arg& x = d.arg(0);
  const Arg below = d.mul(d.add(d.call(id::Erf, {d.mul(x, std::numbers::sqrt2 / 2)}), 1.0), 0.5);
  constexpr double kPeak = std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2;  // 1 / sqrt(2 pi)
  const Arg density = d.mul(d.call(id::Exp, {d.mul(squared(d, x), -0.5)}), kPeak);
  return d.all({d.mul(d.g(), d.add(below, d.mul(x, density)))});
}

Gradients vjp_rule(ops::GeluTanh, const Derivation& d) {
  constexpr double kBeta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, kKappa = 0.044715;
  const Arg& x = d.arg(0);
  const Arg square = squared(d, x);
  const Arg t = d.call(id::Tanh, {d.mul(d.add(x, d.mul(d.mul(square, x), kKappa)), kBeta)});
  const Arg inner = d.mul(d.add(d.mul(square, 3 * kKappa), 1.0), kBeta);
  const Arg left = d.mul(d.add(t, 1.0), 0.5);
  const Arg right = d.mul(d.mul(d.mul(x, 0.5), rest_of_one(d, squared(d, t))), inner);
  return d.all({d.mul(d.g(), d.add(left, right))});
}

Gradients vjp_rule(ops::LogSigmoid, const Derivation& d) {
  return d.all({d.mul(d.g(), d.call(id::Sigmoid, {d.neg(d.arg(0))}))});
}

Gradients vjp_rule(ops::HardSigmoid, const Derivation& d) {
  const Arg inside = both_hold(d, d.call(id::Gt, {d.arg(0), -3.0}), d.call(id::Lt, {d.arg(0), 3.0}));
  return d.all({d.where(inside, d.div(d.g(), 6.0), 0.0)});
}

Gradients vjp_rule(ops::HardSwish, const Derivation& d) {
  const Arg& x = d.arg(0);
  const Arg ramp = d.mul(d.g(), d.add(d.div(x, 3.0), 0.5));
  const Arg below_three = d.where(d.call(id::Lt, {x, 3.0}), ramp, d.g());
  return d.all({d.where(d.call(id::Le, {x, -3.0}), 0.0, below_three)});
}

// --- Rounding, limits, choice ----------------------------------------------------------------------------------------

Gradients vjp_rule(ops::Floor, const Derivation& d) { return zero(d); }
Gradients vjp_rule(ops::Ceil, const Derivation& d) { return zero(d); }
Gradients vjp_rule(ops::Trunc, const Derivation& d) { return zero(d); }
Gradients vjp_rule(ops::Round, const Derivation& d) { return zero(d); }

namespace {
// Equals share the gradient; a NaN passes it to both. `less` says which operand loses.
Gradients of_extreme(const Derivation& d, OpId loses) {
  const auto of = [&](int i) {
    const Arg &x = d.arg(i), &other = d.arg(1 - i);
    const Arg shared = d.where(d.call(id::Eq, {x, other}), d.div(d.g(), 2.0), d.g());
    return d.where(d.call(loses, {x, other}), 0.0, shared);
  };
  return both(d, [&] { return of(0); }, [&] { return of(1); });
}

// Of clamp_min and clamp_max: `self` where it stays, the limit elsewhere.
Gradients of_limit(const Derivation& d, OpId stays, OpId goes) {
  return both(
      d, [&] { return d.where(d.call(stays, {d.arg(0), d.arg(1)}), d.g(), 0.0); },
      [&] { return d.where(d.call(goes, {d.arg(0), d.arg(1)}), d.g(), 0.0); });
}

// Of fmax and fmin: the first wins if it is not worse or the second is NaN.
Gradients of_number_extreme(const Derivation& d, OpId wins) {
  const Arg first = d.call(id::LogicalOr, {d.call(wins, {d.arg(0), d.arg(1)}), d.call(id::IsNan, {d.arg(1)})});
  return both(d, [&] { return d.where(first, d.g(), 0.0); }, [&] { return d.where(first, 0.0, d.g()); });
}
}  // namespace

Gradients vjp_rule(ops::Maximum, const Derivation& d) { return of_extreme(d, id::Lt); }
Gradients vjp_rule(ops::Minimum, const Derivation& d) { return of_extreme(d, id::Gt); }
Gradients vjp_rule(ops::ClampMin, const Derivation& d) { return of_limit(d, id::Ge, id::Lt); }
Gradients vjp_rule(ops::ClampMax, const Derivation& d) { return of_limit(d, id::Le, id::Gt); }
Gradients vjp_rule(ops::Fmax, const Derivation& d) { return of_number_extreme(d, id::Ge); }
Gradients vjp_rule(ops::Fmin, const Derivation& d) { return of_number_extreme(d, id::Le); }

Gradients vjp_rule(ops::CopySign, const Derivation& d) {
  return both(
      d,
      [&] {
        const Arg at_zero = d.call(id::Eq, {d.arg(0), 0});
        return d.mul(d.g(), d.where(at_zero, 0.0, d.div(d.y(), d.arg(0))));
      },
      [&] { return d.zeros_like(d.g()); });
}

Gradients vjp_rule(ops::Where, const Derivation& d) {
  return d.all({NoneArg{}, d.wants(1) ? d.where(d.arg(0), d.g(), 0.0) : Arg(),
                d.wants(2) ? d.where(d.arg(0), 0.0, d.g()) : Arg()});
}

// --- Copies ----------------------------------------------------------------------------------------------------------

Gradients vjp_rule(ops::Clone, const Derivation& d) { return passed(d); }
Gradients vjp_rule(ops::Compact, const Derivation& d) { return passed(d); }
Gradients vjp_rule(ops::Convert, const Derivation& d) { return passed(d); }
Gradients vjp_rule(ops::CopyToDevice, const Derivation& d) { return d.all({on_device(d, d.g(), device_of(d.arg(0)))}); }
// What was in `self` is gone: zeros, as torch has it, not nothing.
Gradients vjp_rule(ops::Copy, const Derivation& d) {
  return both(d, [&] { return d.zeros_like(d.g()); }, [&] { return d.g(); });
}
Gradients vjp_rule(ops::Fill, const Derivation& d) {
  return both(d, [&] { return d.zeros_like(d.g()); }, [&] { return d.g(); });
}
Gradients vjp_rule(ops::Zero, const Derivation& d) { return zero(d); }

}  // namespace md
