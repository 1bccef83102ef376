// Composite random ops: distributions made of uniform and normal numbers, integers, fillings.
#include <cmath>

#include "ir/infer/expansion.h"
#include "registry/ops/randomness.h"

namespace md {
namespace {

double number_at(const Expansion& e, int i) { return e.arg(i).get<double>(); }

// The dtype of a tensor to fill, which must be a floating one.
DType filled_dtype(const Expansion& e) {
  const DType t = e.tensor(0).dtype;
  if (!is_floating(t)) e.fail(ErrorKind::NotImplemented, "needs a floating-point tensor, not {}", info(t).name);
  return t;
}

Arg drawn(const Expansion& e, OpId id, const SizeVec& sizes, DType t) { return e.call(id, {sizes_arg(sizes), t}); }

// spread * x + shift
Arg spread_out(const Expansion& e, const Arg& x, const Arg& spread, const Arg& shift) {
  return e.call(id::Add, {e.call(id::Mul, {x, spread}), shift});
}

void check_spread(const Expansion& e, double std) {
  if (!(std >= 0)) e.fail(ErrorKind::Runtime, "needs a standard deviation that is not negative, not {}", std);
}

}  // namespace

// --- Fillings --------------------------------------------------------------------------------------------------------

Arg expand_rule(ops::BernoulliFill, const Expansion& e) { return e.call(id::BernoulliP, {e.arg(0), e.arg(1)}); }

Arg expand_rule(ops::Uniform, const Expansion& e) {
  const DType t = filled_dtype(e);
  const double from = number_at(e, 1), to = number_at(e, 2);
  if (!(from <= to)) e.fail(ErrorKind::Runtime, "draws from [from, to), but from={} is greater than to={}", from, to);
  return spread_out(e, drawn(e, id::Rand, e.tensor(0).sizes, t), to - from, from);
}

Arg expand_rule(ops::NormalFill, const Expansion& e) {
  const DType t = filled_dtype(e);
  check_spread(e, number_at(e, 2));
  return spread_out(e, drawn(e, id::Randn, e.tensor(0).sizes, t), e.arg(2), e.arg(1));
}

namespace {

// What numbers of a formula are drawn in: at least float32, whatever is filled.
DType formula_dtype(DType filled) { return is_floating(filled) ? wide_dtype(filled) : DType::Float32; }

Arg uniform(const Expansion& e) { return drawn(e, id::Rand, e.tensor(0).sizes, formula_dtype(e.tensor(0).dtype)); }
void need_drawn_floats(const Expansion& e) {
  if (const DType t = e.tensor(0).dtype; !is_floating(t)) {
    e.fail(ErrorKind::Runtime, "is a continuous distribution: the tensor must be of a floating-point dtype, not {}",
           info(t).name);
  }
}
// log(1 - u)
Arg log_rest(const Expansion& e) { return e.call(id::Log1p, {e.call(id::Neg, {uniform(e)})}); }
Arg in_own_dtype(const Expansion& e, const Arg& x) { return converted(e, x, e.tensor(0).dtype); }

}  // namespace

Arg expand_rule(ops::Exponential, const Expansion& e) {
  need_drawn_floats(e);
  const double rate = number_at(e, 1);
  if (!(rate > 0)) e.fail(ErrorKind::Runtime, "expects lambd > 0.0, but found lambd={}", rate);
  return in_own_dtype(e, e.call(id::Div, {e.call(id::Neg, {log_rest(e)}), rate}));
}

Arg expand_rule(ops::Cauchy, const Expansion& e) {
  need_drawn_floats(e);
  const double sigma = number_at(e, 2);
  if (!(sigma > 0)) e.fail(ErrorKind::Runtime, "expects sigma > 0.0, but found sigma={}", sigma);
  const Arg angle = e.call(id::Mul, {e.call(id::Sub, {uniform(e), 0.5}), 0x1.921fb54442d18p+1});
  return in_own_dtype(e, spread_out(e, e.call(id::Tan, {angle}), sigma, e.arg(1)));
}

Arg expand_rule(ops::LogNormal, const Expansion& e) {
  const DType t = filled_dtype(e), wide = formula_dtype(t);
  if (!(number_at(e, 2) > 0)) e.fail(ErrorKind::Runtime, "expects std > 0.0, but found std={}", number_at(e, 2));
  const Arg normal = spread_out(e, drawn(e, id::Randn, e.tensor(0).sizes, wide), e.arg(2), e.arg(1));
  return converted(e, e.call(id::Exp, {normal}), t);
}

Arg expand_rule(ops::Geometric, const Expansion& e) {
  const double p = number_at(e, 1);
  if (!(p > 0 && p < 1)) e.fail(ErrorKind::Runtime, "expects p to be in (0, 1), but got p={}", p);
  const Arg trials = e.call(id::Ceil, {e.call(id::Div, {log_rest(e), std::log1p(-p)})});
  return in_own_dtype(e, e.call(id::ClampMin, {trials, 1.0}));
}

// --- Integers --------------------------------------------------------------------------------------------------------

namespace {

// One more than the largest integer random_() draws: what the dtype holds exactly.
std::int64_t exact_limit(DType t) {
  if (t == DType::Bool) return 2;
  if (t == DType::Int64) return INT64_MAX;
  if (is_integral(t)) return integer_max(t) + (t == DType::Int32 ? 0 : 1);
  const int digits = is_floating(t) ? info(t).digits : info(DType::Float64).digits;
  return (std::int64_t{1} << digits) + (is_half(t) ? 1 : 0);
}

Arg integers(const Expansion& e, const Arg& low, const Arg& high) {
  const Size from = low.get<Size>(), to = high.get<Size>();
  if (!guard_lt(from, to)) {
    e.fail(ErrorKind::Runtime, "draws from [from, to), but from={} is not less than to={}", to_string(from),
           to_string(to));
  }
  const TensorType x = e.tensor(0);
  return converted(e, e.call(id::Randint, {low, high, sizes_arg(x.sizes), DType::Int64}), x.dtype);
}

}  // namespace

Arg expand_rule(ops::RandomFill, const Expansion& e) { return integers(e, 0, exact_limit(e.tensor(0).dtype)); }
Arg expand_rule(ops::RandomTo, const Expansion& e) { return integers(e, 0, e.arg(1)); }
Arg expand_rule(ops::RandomFrom, const Expansion& e) {
  return integers(e, e.arg(1), e.arg(2).is_none() ? Arg(exact_limit(e.tensor(0).dtype)) : e.arg(2));
}

// --- Normal ----------------------------------------------------------------------------------------------------------

namespace {

DType floating(const Expansion& e, DType t) {
  if (!is_floating(t)) {
    e.fail(ErrorKind::NotImplemented, "expects floating point tensors for mean and std, not {}", info(t).name);
  }
  return t;
}

}  // namespace

Arg expand_rule(ops::Normal, const Expansion& e) {
  const TensorType mean = e.tensor(0);
  check_spread(e, number_at(e, 1));
  return spread_out(e, drawn(e, id::Randn, mean.sizes, floating(e, mean.dtype)), e.arg(1), e.arg(0));
}

Arg expand_rule(ops::NormalTensors, const Expansion& e) {
  const TensorType mean = e.tensor(0), std = e.tensor(1);
  const DType t = promote(floating(e, mean.dtype), floating(e, std.dtype));
  return spread_out(e, drawn(e, id::Randn, broadcast(e, mean.sizes, std.sizes), t), e.arg(1), e.arg(0));
}

Arg expand_rule(ops::NormalSpread, const Expansion& e) {
  const TensorType std = e.tensor(1);
  return spread_out(e, drawn(e, id::Randn, std.sizes, floating(e, std.dtype)), e.arg(1), e.arg(0));
}

Arg expand_rule(ops::NormalSize, const Expansion& e) {
  check_spread(e, number_at(e, 1));
  const Arg normal = e.call(id::Randn, {e.arg(2), e.arg(3), e.arg(4), e.arg(5)});
  if (!is_floating(type_of(normal).dtype)) floating(e, type_of(normal).dtype);
  return spread_out(e, normal, e.arg(1), e.arg(0));
}

}  // namespace md
