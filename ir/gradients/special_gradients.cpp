// Derivatives of special functions.
#include <numbers>

#include "ir/gradients/derivation.h"
#include "registry/ops/special.h"

namespace md {

namespace {

// The derivative of digamma. Upward by its recurrence, then the asymptotic series; below 1/2 by reflection (Abramowitz
// and Stegun 6.4.6, 6.4.7, 6.4.12).
Arg trigamma(const Derivation& d, const Arg& x) {
  const auto inverse_square = [&](const Arg& a) {
    const Arg r = d.call(id::Reciprocal, {a});
    return d.mul(r, r);
  };
  const Arg low = d.call(id::Lt, {x, 0.5});
  const Arg z = d.where(low, d.sub(1.0, x), x);
  constexpr int kSteps = 7;
  Arg sum = inverse_square(z);
  for (int i = 1; i < kSteps; ++i) sum = d.add(sum, inverse_square(d.add(z, static_cast<double>(i))));
  const Arg r = d.call(id::Reciprocal, {d.add(z, static_cast<double>(kSteps))}), square = d.mul(r, r);
  // Bernoulli's numbers B2, B4, ..., B14.
  constexpr double kBernoulli[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6};
  Arg series = 0.0;
  bool first = true;
  for (int i = 6; i >= 0; --i) {
    series = first ? d.mul(square, kBernoulli[i]) : d.mul(square, d.add(series, kBernoulli[i]));
    first = false;
  }
  sum = d.add(sum, d.add(d.mul(r, d.add(series, 1.0)), d.mul(square, 0.5)));
  const Arg sine = d.call(id::Sin, {d.mul(x, std::numbers::pi)});
  const Arg reflected = d.sub(d.mul(inverse_square(sine), std::numbers::pi * std::numbers::pi), sum);
  return d.where(low, reflected, sum);
}

}  // namespace

// Halves go through float32: the many steps of trigamma would each be rounded.
Gradients vjp_rule(ops::Digamma, const Derivation& d) {
  const DType t = d.tensor(0).dtype;
  const bool half = t == DType::Float16 || t == DType::BFloat16;
  return d.all({d.mul(d.g(), trigamma(d, half ? converted(d, d.arg(0), DType::Float32) : d.arg(0)))});
}
Gradients vjp_rule(ops::LGamma, const Derivation& d) { return d.all({d.mul(d.g(), d.call(id::Digamma, {d.arg(0)}))}); }
Gradients vjp_rule(ops::ErfInv, const Derivation& d) {
  constexpr double kScale = 1 / (2 * std::numbers::inv_sqrtpi);
  return d.all({d.mul(d.mul(d.call(id::Exp, {d.mul(d.y(), d.y())}), kScale), d.g())});
}
// Nothing flows where the operands are equal: there the result is the second one.
Gradients vjp_rule(ops::NextAfter, const Derivation& d) {
  const Arg zeros = d.zeros_like(d.g());
  const auto of_first = [&] { return d.where(d.call(id::Eq, {d.arg(0), d.arg(1)}), zeros, d.g()); };
  return d.all({d.wants(0) ? of_first() : Arg(), d.wants(1) ? zeros : Arg()});
}

}  // namespace md
