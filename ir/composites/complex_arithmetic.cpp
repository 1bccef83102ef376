// Arithmetic, elementary functions and comparisons of complex numbers, by their parts.
#include <cmath>
#include <numbers>

#include "ir/composites/complex_parts.h"
#include "ir/composites/complex_rules.h"

namespace md {

namespace {

DType result_dtype(const Expansion& e) { return promoted_dtype(e.args.first(static_cast<std::size_t>(e.op.operands))); }

struct TwoOperands : PartsCaller {
  explicit TwoOperands(const Expansion& expansion)
      : PartsCaller{expansion},
        type(result_dtype(expansion)),
        x(parts(expansion.arg(0), type)),
        y(parts(expansion.arg(1), type)) {}
  DType type;
  ComplexParts x, y;
};

struct OneOperand : PartsCaller {
  explicit OneOperand(const Expansion& expansion) : PartsCaller{expansion}, z(parts(0)) {}
  ComplexParts z;
};

// Both together where both are complex: the last dimensions broadcast.
Arg added(const Expansion& e, OpId id) {
  const PartsCaller p{e};
  // At once; in a graph each part is a value of its own.
  const bool at_once = e.arg(0).is<TensorRef>() && e.arg(1).is<TensorRef>();
  if (at_once && is_complex_tensor(e.arg(0)) && is_complex_tensor(e.arg(1))) {
    const DType t = to_real(result_dtype(e));
    const auto both = [&](int i) { return converted(e, p.pairs(e.arg(i)), t); };
    return p.of_pairs(e.call(id, {both(0), both(1)}));
  }
  const TwoOperands c(e);
  return id == id::Add ? c.joined({c.add(c.x.re, c.y.re), c.add(c.x.im, c.y.im)})
                       : c.joined({c.sub(c.x.re, c.y.re), c.sub(c.x.im, c.y.im)});
}

ComplexParts logarithm(const PartsCaller& p, const ComplexParts& z) {
  return {p.fn(id::Log, p.hypot(z.re, z.im)), p.atan2(z.im, z.re)};
}

Arg scaled_logarithm(const Expansion& e, double base) {
  const OneOperand c(e);
  const ComplexParts y = logarithm(c, c.z);
  return c.joined({c.div(y.re, base), c.div(y.im, base)});
}

ComplexParts polar_parts(const PartsCaller& p, const Arg& size, const Arg& angle) {
  return {p.mul(size, p.fn(id::Cos, angle)), p.mul(size, p.fn(id::Sin, angle))};
}

// A tensor to a power: by size and angle.
ComplexParts power_parts(const PartsCaller& p, const ComplexParts& z, const ComplexParts& w) {
  const Arg size = p.absolute(z), angle = p.angle(z);
  if (w.im == Arg(0.0)) return polar_parts(p, p.e.call(id::Pow, {size, w.re}), p.mul(angle, w.re));
  const Arg zero = p.is_zero(z), log = p.fn(id::Log, p.where(zero, 1.0, size));
  const Arg grown = p.fn(id::Exp, p.sub(p.mul(log, w.re), p.mul(angle, w.im)));
  const ComplexParts y = polar_parts(p, grown, p.add(p.mul(log, w.im), p.mul(angle, w.re)));
  return {p.where(zero, 0.0, y.re), p.where(zero, 0.0, y.im)};
}

// A number to the power of a tensor.
ComplexParts number_power(const PartsCaller& p, std::complex<double> base, const ComplexParts& w) {
  if (base == 0.0) {
    const Arg one = converted(p.e, p.is_zero(w), type_of(w.re).dtype);
    return {one, 0.0};
  }
  const double log = std::log(std::abs(base)), angle = std::arg(base);
  const Arg grown = p.fn(id::Exp, p.sub(p.mul(w.re, log), p.mul(w.im, angle)));
  return polar_parts(p, grown, p.add(p.mul(w.im, log), p.mul(w.re, angle)));
}

Arg to_number_power(const Expansion& e, const Arg& x, const Arg& exponent) {
  const Arg operands[] = {x, exponent};
  const DType t = promoted_dtype(operands);
  const Arg z = as_complex(e, x, t);
  const std::complex<double> n = complex_number(exponent);
  const PartsCaller p{e};
  if (n == 0.0) return e.call(id::FullLike, {z, 1});
  if (n == 1.0) return e.call(id::Clone, {z});
  if (n == 2.0) return e.call(id::Mul, {z, z});
  if (n == 3.0) return e.call(id::Mul, {e.call(id::Mul, {z, z}), z});
  if (n == -1.0) return e.call(id::Reciprocal, {z});
  if (n == -2.0) return e.call(id::Reciprocal, {e.call(id::Mul, {z, z})});
  if (n == 0.5) return e.call(id::Sqrt, {z});
  if (n == -0.5) return e.call(id::Rsqrt, {z});
  return p.joined(power_parts(p, p.parts(z, t), {n.real(), n.imag()}));
}

// Beyond this the quotient that is bounded so is 1 to the last digit.
Arg bounded(const PartsCaller& p, const Arg& x) {
  return p.e.call(id::ClampMax, {p.e.call(id::ClampMin, {x, -25.0}), 25.0});
}

// tanh(a + ib), by twice the angle.
ComplexParts hyperbolic_tangent(const PartsCaller& p, const Arg& a, const Arg& b) {
  const Arg u = p.mul(bounded(p, a), 2.0), v = p.mul(b, 2.0);
  const Arg divisor = p.add(p.fn(id::Cosh, u), p.fn(id::Cos, v));
  return {p.div(p.fn(id::Sinh, u), divisor), p.div(p.fn(id::Sin, v), divisor)};
}

// Kahan's: by square roots of 1 - z and 1 + z, so that the branches are right and nothing cancels.
ComplexParts inverse_sine(const PartsCaller& p, const ComplexParts& z) {
  const ComplexParts u = p.square_root({p.sub(1.0, z.re), p.neg(z.im)});
  const ComplexParts v = p.square_root({p.add(1.0, z.re), z.im});
  const ComplexParts both = p.product(u, v), turned = p.product({u.re, p.neg(u.im)}, v);
  return {p.atan2(z.re, both.re), p.fn(id::Asinh, turned.im)};
}

ComplexParts inverse_hyperbolic_tangent(const PartsCaller& p, const ComplexParts& z) {
  const Arg bb = p.mul(z.im, z.im), above = p.add(1.0, z.re), below = p.sub(1.0, z.re);
  const Arg ratio = p.div(p.add(p.mul(above, above), bb), p.add(p.mul(below, below), bb));
  const Arg angle = p.atan2(p.mul(z.im, 2.0), p.sub(p.mul(below, above), bb));
  return {p.mul(p.fn(id::Log, ratio), 0.25), p.mul(angle, 0.5)};
}

// f(z) = -i g(iz).
template <class G>
Arg turned_function(const Expansion& e, G&& g) {
  const OneOperand c(e);
  const ComplexParts y = g(c, ComplexParts{c.neg(c.z.im), c.z.re});
  return c.joined({y.im, c.neg(y.re)});
}

Arg either(const Expansion& e, OpId id) {
  const OneOperand c(e);
  return e.call(id::LogicalOr, {c.fn(id, c.z.re), c.fn(id, c.z.im)});
}

}  // namespace

namespace complex_rule {

Arg add(const Expansion& e) { return added(e, id::Add); }
Arg sub(const Expansion& e) { return added(e, id::Sub); }

Arg mul(const Expansion& e) {
  const TwoOperands c(e);
  return c.joined(c.product(c.x, c.y));
}

Arg div(const Expansion& e) {
  const TwoOperands c(e);
  return c.joined(c.quotient(c.x, c.y));
}

Arg neg(const Expansion& e) {
  const PartsCaller p{e};
  return p.elementwise(e.arg(0), [&](const Arg& part) { return p.neg(part); });
}

Arg pow(const Expansion& e) {
  if (e.arg(1).is_number()) return to_number_power(e, e.arg(0), e.arg(1));
  const PartsCaller p{e};
  const DType t = result_dtype(e);
  const ComplexParts w = p.parts(e.arg(1), t);
  if (e.arg(0).is_number()) return p.joined(number_power(p, complex_number(e.arg(0)), w));
  return p.joined(power_parts(p, p.parts(e.arg(0), t), w));
}

Arg pow_scalar(const Expansion& e) { return to_number_power(e, e.arg(0), e.arg(1)); }
Arg square(const Expansion& e) { return e.call(id::Mul, {e.arg(0), e.arg(0)}); }

Arg float_power(const Expansion& e) {
  const auto wide = [&](const Arg& a) { return a.is_number() ? a : as_complex(e, a, DType::Complex128); };
  const Arg base = wide(e.arg(0)), exponent = wide(e.arg(1));
  if (base.is_number() && exponent.is_number()) e.fail(ErrorKind::Type, "one of the operands must be a tensor");
  return e.call(exponent.is_number() ? id::PowScalar : id::Pow, {base, exponent});
}

Arg reciprocal(const Expansion& e) {
  const OneOperand c(e);
  return c.joined(c.quotient({1.0, 0.0}, c.z));
}

Arg abs(const Expansion& e) {
  const OneOperand c(e);
  return c.absolute(c.z);
}

Arg sgn(const Expansion& e) {
  const OneOperand c(e);
  const Arg zero = c.is_zero(c.z), size = c.where(zero, 1.0, c.absolute(c.z));
  return c.joined({c.div(c.z.re, size), c.div(c.z.im, size)});
}

Arg exp(const Expansion& e) {
  const OneOperand c(e);
  return c.joined(polar_parts(c, c.fn(id::Exp, c.z.re), c.z.im));
}

Arg exp2(const Expansion& e) { return e.call(id::Exp, {e.call(id::Mul, {e.arg(0), std::numbers::ln2})}); }

Arg expm1(const Expansion& e) {
  const OneOperand c(e);
  const Arg half = c.fn(id::Sin, c.mul(c.z.im, 0.5)), grown = c.fn(id::Expm1, c.z.re);
  const Arg re = c.sub(c.mul(grown, c.fn(id::Cos, c.z.im)), c.mul(c.mul(half, half), 2.0));
  return c.joined({re, c.mul(c.fn(id::Exp, c.z.re), c.fn(id::Sin, c.z.im))});
}

Arg log(const Expansion& e) {
  const OneOperand c(e);
  return c.joined(logarithm(c, c.z));
}
Arg log2(const Expansion& e) { return scaled_logarithm(e, std::numbers::ln2); }
Arg log10(const Expansion& e) { return scaled_logarithm(e, std::numbers::ln10); }

Arg log1p(const Expansion& e) {
  const OneOperand c(e);
  const Arg square = c.add(c.mul(c.z.re, c.add(c.z.re, 2.0)), c.mul(c.z.im, c.z.im));
  return c.joined({c.mul(c.fn(id::Log1p, square), 0.5), c.atan2(c.z.im, c.add(c.z.re, 1.0))});
}

Arg sqrt(const Expansion& e) {
  const OneOperand c(e);
  return c.joined(c.square_root(c.z));
}
Arg rsqrt(const Expansion& e) {
  const OneOperand c(e);
  return c.joined(c.quotient({1.0, 0.0}, c.square_root(c.z)));
}

Arg sin(const Expansion& e) {
  const OneOperand c(e);
  const auto [a, b] = c.z;
  return c.joined({c.mul(c.fn(id::Sin, a), c.fn(id::Cosh, b)), c.mul(c.fn(id::Cos, a), c.fn(id::Sinh, b))});
}
Arg cos(const Expansion& e) {
  const OneOperand c(e);
  const auto [a, b] = c.z;
  return c.joined({c.mul(c.fn(id::Cos, a), c.fn(id::Cosh, b)), c.neg(c.mul(c.fn(id::Sin, a), c.fn(id::Sinh, b)))});
}
Arg sinh(const Expansion& e) {
  const OneOperand c(e);
  const auto [a, b] = c.z;
  return c.joined({c.mul(c.fn(id::Sinh, a), c.fn(id::Cos, b)), c.mul(c.fn(id::Cosh, a), c.fn(id::Sin, b))});
}
Arg cosh(const Expansion& e) {
  const OneOperand c(e);
  const auto [a, b] = c.z;
  return c.joined({c.mul(c.fn(id::Cosh, a), c.fn(id::Cos, b)), c.mul(c.fn(id::Sinh, a), c.fn(id::Sin, b))});
}
Arg tanh(const Expansion& e) {
  const OneOperand c(e);
  return c.joined(hyperbolic_tangent(c, c.z.re, c.z.im));
}
Arg tan(const Expansion& e) {
  return turned_function(e,
                         [](const PartsCaller& p, const ComplexParts& z) { return hyperbolic_tangent(p, z.re, z.im); });
}

Arg asin(const Expansion& e) {
  const OneOperand c(e);
  return c.joined(inverse_sine(c, c.z));
}
Arg acos(const Expansion& e) {
  const OneOperand c(e);
  const ComplexParts u = c.square_root({c.sub(1.0, c.z.re), c.neg(c.z.im)});
  const ComplexParts v = c.square_root({c.add(1.0, c.z.re), c.z.im});
  const ComplexParts turned = c.product({v.re, c.neg(v.im)}, u);
  return c.joined({c.mul(c.atan2(u.re, v.re), 2.0), c.fn(id::Asinh, turned.im)});
}
Arg acosh(const Expansion& e) {
  const OneOperand c(e);
  const ComplexParts u = c.square_root({c.sub(c.z.re, 1.0), c.z.im});
  const ComplexParts v = c.square_root({c.add(c.z.re, 1.0), c.z.im});
  const ComplexParts turned = c.product({u.re, c.neg(u.im)}, v);
  return c.joined({c.fn(id::Asinh, turned.re), c.mul(c.atan2(u.im, v.re), 2.0)});
}
Arg atanh(const Expansion& e) {
  const OneOperand c(e);
  return c.joined(inverse_hyperbolic_tangent(c, c.z));
}
Arg asinh(const Expansion& e) { return turned_function(e, inverse_sine); }
Arg atan(const Expansion& e) { return turned_function(e, inverse_hyperbolic_tangent); }

// sin(pi z) / (pi z); 1 at 0.
Arg sinc(const Expansion& e) {
  const Arg zero = e.call(id::Eq, {e.arg(0), 0});
  const Arg turned = e.call(id::Mul, {e.call(id::Where, {zero, 1, e.arg(0)}), std::numbers::pi});
  return e.call(id::Where, {zero, 1, e.call(id::Div, {e.call(id::Sin, {turned}), turned})});
}

Arg lerp(const Expansion& e) {
  return e.call(id::Add, {e.arg(0), e.call(id::Mul, {e.call(id::Sub, {e.arg(1), e.arg(0)}), e.arg(2)})});
}

Arg sigmoid(const Expansion& e) {
  const Arg grown = e.call(id::Exp, {e.call(id::Neg, {e.arg(0)})});
  return e.call(id::Reciprocal, {e.call(id::Add, {grown, 1.0})});
}
Arg silu(const Expansion& e) { return e.call(id::Mul, {e.arg(0), e.call(id::Sigmoid, {e.arg(0)})}); }

// --- Comparisons -----------------------------------------------------------------------------------------------------

Arg eq(const Expansion& e) {
  const TwoOperands c(e);
  const auto same = [&](const Arg& a, const Arg& b) {
    if (a.is<double>() && b.is<double>()) return e.call(id::Full, {ListArg{}, a == b, DType::Bool});
    return a.is<double>() ? e.call(id::Eq, {b, a}) : e.call(id::Eq, {a, b});
  };
  return e.call(id::LogicalAnd, {same(c.x.re, c.y.re), same(c.x.im, c.y.im)});
}
Arg ne(const Expansion& e) { return e.call(id::LogicalNot, {e.call(id::Eq, {e.arg(0), e.arg(1)})}); }

Arg is_nan(const Expansion& e) { return either(e, id::IsNan); }
Arg is_inf(const Expansion& e) { return either(e, id::IsInf); }
Arg is_finite(const Expansion& e) {
  const OneOperand c(e);
  return e.call(id::LogicalAnd, {c.fn(id::IsFinite, c.z.re), c.fn(id::IsFinite, c.z.im)});
}
Arg is_real(const Expansion& e) { return e.call(id::Eq, {OneOperand(e).z.im, 0.0}); }

// Of operands as masks: what is not zero.
Arg by_masks(const Expansion& e) {
  std::vector<Arg> args(e.args.begin(), e.args.end());
  for (Arg& a : args)
    if (is_complex_tensor(a)) a = e.call(id::Ne, {a, 0});
  return e.caller.call(e.op, std::move(args));
}

Arg refuse_order(const Expansion& e) {
  DType t = DType::Complex64;
  for (const Arg& a : e.args)
    if (is_complex_tensor(a)) t = type_of(a).dtype;
  e.fail(ErrorKind::NotImplemented, "not implemented for '{}'", info(t).guard_name);
}

}  // namespace complex_rule
}  // namespace md
