// Derivatives of composites that have one of their own: cheaper than that of their parts, or defined where theirs is
// not.
#include <cmath>
#include <numbers>

#include "ir/gradients/folded.h"
#include "registry/ops/activations.h"
#include "registry/ops/composites.h"
#include "registry/ops/folds.h"

namespace md {

// Rounded quotients are flat; the plain one is opened as Div.
Gradients vjp_rule(ops::DivMode, const Derivation& d) {
  if (!d.arg(2).is_none()) return d.all({d.zeros_like(d.g()), d.zeros_like(d.g())});
  return d.all({d.wants(0) ? d.div(d.g(), d.arg(1)) : Arg(),
                d.wants(1) ? d.mul(d.neg(d.g()), d.div(d.div(d.arg(0), d.arg(1)), d.arg(1))) : Arg()});
}

// --- Exponentials ----------------------------------------------------------------------------------------------------

namespace {
// The result, and its gradient, in the dtype of the sums.
struct Wide {
  Arg y, g;
};
Wide wide(const Derivation& d) {
  const DType t = wide_dtype(type_of(d.y()).dtype);
  return {converted(d, d.y(), t), converted(d, d.g(), t)};
}

Gradients softmax_gradients(const Derivation& d) {
  const auto [y, g] = wide(d);
  const Arg flow = d.mul(g, y);
  return d.all({d.sub(flow, d.mul(y, d.call(id::Sum, {flow, ListArg{{d.arg(1)}}, true})))});
}
}  // namespace

Gradients vjp_rule(ops::Softmax, const Derivation& d) { return softmax_gradients(d); }
Gradients vjp_rule(ops::SafeSoftmax, const Derivation& d) { return softmax_gradients(d); }

Gradients vjp_rule(ops::LogSoftmax, const Derivation& d) {
  const auto [y, g] = wide(d);
  const Arg total = d.call(id::Sum, {g, ListArg{{d.arg(1)}}, true});
  return d.all({d.sub(g, d.mul(d.call(id::Exp, {y}), total))});
}

Gradients vjp_rule(ops::LogSumExp, const Derivation& d) {
  const std::vector<int> dims = folded_dims(d, d.arg(1));
  const Arg y = unfolded(d, d.y(), dims);
  const Arg x = converted(d, d.arg(0), type_of(y).dtype);
  return d.all({d.mul(unfolded(d, d.g(), dims), d.call(id::Exp, {d.sub(x, y)}))});
}

// --- Where the parts have no slope, or none that is a number
// ----------------------------------------------------------

namespace {
double as_double(const Arg& number) {
  if (const auto* v = number.get_if<double>()) return *v;
  if (const auto* v = number.get_if<bool>()) return *v;
  return static_cast<double>(fixed_size(number.get<Size>()));
}

Arg is(const Derivation& d, OpId comparison, const Arg& x, double limit) { return d.call(comparison, {x, limit}); }

// Strictly between the limits.
Gradients inside(const Derivation& d, const Arg& low, const Arg& high) {
  const Arg at_low = d.call(id::Le, {d.arg(0), low}), at_high = d.call(id::Ge, {d.arg(0), high});
  return d.all({d.where(d.call(id::LogicalOr, {at_low, at_high}), 0.0, d.g())});
}

// x * log(y): nothing flows to x where it is 0 and the logarithm is not finite.
Gradients times_log(const Derivation& d, OpId log, double pole) {
  Gradients out(d.args.size());
  const auto both_hold = [&](const Arg& a, const Arg& b) { return d.call(id::LogicalAnd, {a, b}); };
  if (d.wants(0)) {
    const Arg nothing = both_hold(is(d, id::Eq, d.arg(0), 0), is(d, id::Le, d.arg(1), pole));
    out[0] = d.where(nothing, 0.0, d.mul(d.g(), d.call(log, {d.arg(1)})));
  }
  if (d.wants(1)) out[1] = d.div(d.mul(d.g(), d.arg(0)), pole == 0 ? d.arg(1) : d.sub(d.arg(1), pole));
  return out;
}
}  // namespace

Gradients vjp_rule(ops::Hardtanh, const Derivation& d) { return inside(d, d.arg(1), d.arg(2)); }
Gradients vjp_rule(ops::LeakyRelu, const Derivation& d) {
  return d.all({d.where(is(d, id::Gt, d.arg(0), 0), d.g(), d.mul(d.g(), d.arg(1)))});
}
Gradients vjp_rule(ops::Relu6, const Derivation& d) { return inside(d, 0, 6); }
Gradients vjp_rule(ops::Xlogy, const Derivation& d) { return times_log(d, id::Log, 0); }
Gradients vjp_rule(ops::Xlog1py, const Derivation& d) { return times_log(d, id::Log1p, -1); }

// (cos(a) - sin(a) / a) / x for a = pi x; 0 at 0.
Gradients vjp_rule(ops::Sinc, const Derivation& d) {
  const Arg at_zero = is(d, id::Eq, d.arg(0), 0);
  const Arg x = d.where(at_zero, 1.0, d.arg(0));
  const Arg angle = d.mul(x, std::numbers::pi);
  const Arg slope = d.div(d.sub(d.call(id::Cos, {angle}), d.div(d.call(id::Sin, {angle}), angle)), x);
  return d.all({d.mul(d.g(), d.where(at_zero, 0.0, slope))});
}

// (x - mean) / ((n - correction) y); 0 where all elements are equal.
Gradients vjp_rule(ops::Std, const Derivation& d) {
  const std::vector<int> dims = folded_dims(d, d.arg(1));
  const auto [whole, flow] = wide(d);
  const Arg y = unfolded(d, whole, dims), g = unfolded(d, flow, dims);
  const Arg x = converted(d, d.arg(0), type_of(y).dtype);
  Size count = 1;
  for (const int i : dims) count = count * d.sizes_of(0)[static_cast<std::size_t>(i)];
  const double correction = d.arg(2).is_none() ? 1 : as_double(d.arg(2));
  const Arg divisor = d.sub(d.mul(y, Arg(count)), d.mul(y, correction));
  const Arg mean = dims.empty() ? x : d.call(id::Mean, {x, dims_arg(dims), true});
  const Arg scale = d.where(is(d, id::Eq, y, 0), 0.0, d.div(g, divisor));
  return d.all({d.mul(d.sub(x, mean), scale)});
}

// --- Norms -----------------------------------------------------------------------------------------------------------

// 0 where the norm is 0: there is no slope, and this is the subgradient of the smallest norm.
Gradients vjp_rule(ops::VectorNorm, const Derivation& d) {
  const std::vector<int> dims = folded_dims(d, d.arg(2));
  const Arg y = unfolded(d, d.y(), dims), g = unfolded(d, d.g(), dims);
  const Arg x = converted(d, d.arg(0), type_of(y).dtype);
  const double p = as_double(d.arg(1));
  const auto zero_where = [&](const Arg& mask, const Arg& a) { return d.where(mask, 0.0, a); };
  const Arg no_norm = d.call(id::Eq, {y, 0}), no_element = d.call(id::Eq, {x, 0});
  const Arg size = d.call(id::Abs, {x}), sign = d.call(id::Sign, {x});
  const auto to_power = [&](const Arg& a, double n) { return d.call(id::PowScalar, {a, n}); };
  if (p == 0) return d.all({d.zeros_like(x)});
  if (p == 1) return d.all({d.mul(sign, g)});
  if (p == 2) return d.all({d.mul(g, zero_where(no_norm, d.div(x, y)))});
  if (std::isinf(p)) {
    const Arg found = converted(d, d.call(id::Eq, {size, y}), type_of(y).dtype);
    const Arg count = dims.empty() ? found : d.call(id::Sum, {found, dims_arg(dims), true});
    return d.all({d.mul(sign, d.mul(d.div(g, count), found))});
  }
  if (p < 1) {
    const Arg scaled = zero_where(no_element, d.mul(sign, to_power(size, p - 1)));
    return d.all({d.mul(scaled, d.mul(g, to_power(y, 1 - p)))});
  }
  if (p < 2) {
    const Arg scaled = d.mul(sign, to_power(size, p - 1));
    return d.all({d.mul(scaled, zero_where(no_norm, d.div(g, to_power(y, p - 1))))});
  }
  const Arg scaled = zero_where(no_element, d.mul(x, to_power(size, p - 2)));
  return d.all({d.mul(scaled, zero_where(no_norm, d.div(g, to_power(y, p - 1))))});
}

// --- Cells of recurrent layers ---------------------------------------------------------------------------------------

// The activations are computed again: they cost less than what would have to be kept.
Gradients vjp_rule(ops::LstmCell, const Derivation& d) {
  const Size columns = d.sizes_of(1).back();
  const auto part = [&](std::int64_t k) { return d.call(id::Narrow, {d.arg(0), -1, columns * Size(k), columns}); };
  const auto open = [&](std::int64_t k) { return d.call(id::Sigmoid, {part(k)}); };
  const auto slope = [&](const Arg& sigmoid) { return d.mul(sigmoid, d.sub(1.0, sigmoid)); };
  const auto tanh_slope = [&](const Arg& tanh) { return d.sub(1.0, d.mul(tanh, tanh)); };
  const Arg output = open(3), reached = d.call(id::Tanh, {d.results[1]}), forget = open(1);
  Arg of_next = d.grads[1];
  if (!d.grads[0].is_none()) {
    const Arg through = d.mul(d.mul(d.grads[0], output), tanh_slope(reached));
    of_next = of_next.is_none() ? through : d.add(of_next, through);
  }
  Gradients out(2);
  if (d.wants(1)) out[1] = d.mul(of_next, forget);
  if (!d.wants(0)) return out;
  const Arg input = open(0), candidate = d.call(id::Tanh, {part(2)});
  const Arg of_output = d.grads[0].is_none() ? d.zeros_like(output) : d.mul(d.mul(d.grads[0], reached), slope(output));
  ListArg gates;
  gates.items = {d.mul(d.mul(of_next, candidate), slope(input)), d.mul(d.mul(of_next, d.arg(1)), slope(forget)),
                 d.mul(d.mul(of_next, input), tanh_slope(candidate)), of_output};
  out[0] = d.call(id::Cat, {gates, -1});
  return out;
}

}  // namespace md
