// Composite ops: activations, weighted sums, logarithms, replaced values.
#include <cmath>
#include <limits>

#include "ir/composites/arithmetic.h"
#include "ir/infer/expansion.h"
#include "registry/ops/activations.h"

namespace md {
namespace {

void need_floats(const Expansion& e, int arg = 0) {
  const DType t = e.tensor(arg).dtype;
  if (!is_floating(t)) e.fail(ErrorKind::NotImplemented, "not defined for {} tensors", info(t).name);
}

// Several steps on half-size floats are taken in float32 and rounded once.
Arg widened(const Expansion& e, const Arg& x) { return converted(e, x, wide_dtype(type_of(x).dtype)); }
Arg narrowed(const Expansion& e, const Arg& result, const Arg& like) {
  const DType t = type_of(like).dtype;
  return is_half(t) ? converted(e, result, t) : result;
}

Arg div(const Expansion& e, const Arg& a, const Arg& b) { return e.call(id::Div, {a, b}); }
Arg where(const Expansion& e, const Arg& c, const Arg& a, const Arg& b) { return e.call(id::Where, {c, a, b}); }

// x above 0, scale * alpha * (exp(x / width) - 1) below, all scaled.
Arg exponential_unit(const Expansion& e, double alpha, double scale, double inner) {
  need_floats(e);
  const Arg x = widened(e, e.arg(0));
  // Limited, for the side that is not taken has to have a finite slope.
  const Arg low = where(e, e.call(id::Le, {x, 0}), x, 0.0);
  const Arg grown = e.call(id::Expm1, {inner == 1 ? low : mul(e, low, inner)});
  const Arg below = mul(e, grown, alpha * scale), above = scale == 1 ? x : mul(e, x, scale);
  return narrowed(e, where(e, e.call(id::Le, {x, 0}), below, above), e.arg(0));
}

}  // namespace

// --- Activations -----------------------------------------------------------------------------------------------------

Arg expand_rule(ops::Gelu, const Expansion& e) {
  const std::string& how = e.arg(1).get<std::string>();
  if (how != "none" && how != "tanh") e.fail(ErrorKind::Runtime, "approximate argument must be either none or tanh.");
  return e.call(how == "tanh" ? id::GeluTanh : id::GeluErf, {e.arg(0)});
}

Arg expand_rule(ops::Softplus, const Expansion& e) {
  need_floats(e);
  const Arg x = widened(e, e.arg(0)), &beta = e.arg(1);
  const Arg scaled = mul(e, x, beta);
  const Arg limited = e.call(id::ClampMax, {scaled, e.arg(2)});  // the slope of exp stays finite
  const Arg smooth = div(e, e.call(id::Log1p, {e.call(id::Exp, {limited})}), beta);
  return narrowed(e, where(e, e.call(id::Gt, {scaled, e.arg(2)}), x, smooth), e.arg(0));
}

Arg expand_rule(ops::LeakyRelu, const Expansion& e) {
  need_floats(e);
  const Arg x = widened(e, e.arg(0));
  return narrowed(e, where(e, e.call(id::Gt, {x, 0}), x, mul(e, x, e.arg(1))), e.arg(0));
}

Arg expand_rule(ops::Elu, const Expansion& e) { return exponential_unit(e, number(e.arg(1)), 1, 1); }

Arg expand_rule(ops::Selu, const Expansion& e) {
  return exponential_unit(e, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1);
}

Arg expand_rule(ops::Celu, const Expansion& e) {
  const double alpha = number(e.arg(1));
  if (alpha == 0) throw OpError(ErrorKind::Runtime, "ZeroDivisionError: alpha cannot be 0 for CELU");
  return exponential_unit(e, alpha, 1, 1 / alpha);
}

Arg expand_rule(ops::Hardtanh, const Expansion& e) {
  if (e.tensor(0).dtype == DType::Bool) e.fail(ErrorKind::Runtime, "bool tensors are not supported");
  const DType t = e.tensor(0).dtype;
  if (t == DType::UInt8 && (number(e.arg(1)) <= -1 || number(e.arg(2)) <= -1)) {
    e.fail(ErrorKind::Runtime, "cannot do hardtanh on an unsigned type with negative limits");
  }
  const auto bound = [&](int i) -> Arg {
    return is_floating(t) ? e.arg(i) : Arg(static_cast<std::int64_t>(number(e.arg(i))));
  };
  return e.call(id::Clamp, {e.arg(0), bound(1), bound(2)});
}

Arg expand_rule(ops::Relu6, const Expansion& e) {
  if (e.tensor(0).dtype == DType::Bool) e.fail(ErrorKind::Runtime, "bool tensors are not supported");
  return e.call(id::Clamp, {e.arg(0), 0, 6});
}

Arg expand_rule(ops::Threshold, const Expansion& e) {
  if (e.tensor(0).dtype == DType::Bool) e.fail(ErrorKind::NotImplemented, "not defined for bool tensors");
  const Arg x = widened(e, e.arg(0));
  const Arg result = where(e, e.call(id::Le, {x, e.arg(1)}), e.arg(2), x);
  return converted(e, result, e.tensor(0).dtype);
}

Arg expand_rule(ops::Prelu, const Expansion& e) {
  const TensorType x = e.tensor(0), w = e.tensor(1);
  need_floats(e);
  if (x.dtype != w.dtype) {
    e.fail(ErrorKind::Runtime, "Type promoting not supported. Got {} and {}", info(x.dtype).name, info(w.dtype).name);
  }
  Arg weight = e.arg(1);
  if (!guard_eq(product(w.sizes), 1)) {
    if (w.dim() != 1) e.fail(ErrorKind::Runtime, "the weight needs one dimension, not {}", w.dim());
    const Size channels = x.dim() > 1 ? x.sizes[1] : Size(1);
    if (!guard_eq(w.sizes[0], channels)) {
      e.fail(ErrorKind::Runtime,
             "Mismatch of parameter numbers and input channel size. Found parameter numbers = {} "
             "and channel size = {}.",
             to_string(w.sizes[0]), to_string(channels));
    }
    SizeVec sizes(static_cast<std::size_t>(x.dim()), Size(1));
    sizes[1] = w.sizes[0];
    weight = reshaped(e, weight, sizes);
  } else {
    weight = reshaped(e, weight, SizeVec(static_cast<std::size_t>(x.dim()), Size(1)));
  }
  return where(e, e.call(id::Gt, {e.arg(0), 0}), e.arg(0), mul(e, weight, e.arg(0)));
}

Arg expand_rule(ops::Softsign, const Expansion& e) { return div(e, e.arg(0), add(e, e.call(id::Abs, {e.arg(0)}), 1)); }

Arg expand_rule(ops::Tanhshrink, const Expansion& e) { return sub(e, e.arg(0), e.call(id::Tanh, {e.arg(0)})); }

Arg expand_rule(ops::Softshrink, const Expansion& e) {
  need_floats(e);
  const double lambd = number(e.arg(1));
  if (!(lambd >= 0)) e.fail(ErrorKind::Runtime, "lambda must be greater or equal to 0, but found to be {}.", lambd);
  const Arg x = widened(e, e.arg(0));
  const Arg low = where(e, e.call(id::Lt, {x, -lambd}), add(e, x, lambd), mul(e, x, 0));
  return narrowed(e, where(e, e.call(id::Gt, {x, lambd}), sub(e, x, lambd), low), e.arg(0));
}

Arg expand_rule(ops::Hardshrink, const Expansion& e) {
  need_floats(e);
  const double lambd = number(e.arg(1));
  const Arg& x = e.arg(0);
  const Arg inside = e.call(id::LogicalAnd, {e.call(id::Ge, {x, -lambd}), e.call(id::Le, {x, lambd})});
  return where(e, inside, 0.0, x);
}

Arg expand_rule(ops::Glu, const Expansion& e) {
  need_floats(e);
  const TensorType x = e.tensor(0);
  if (x.dim() == 0) e.fail(ErrorKind::Runtime, "glu does not support 0-dimensional tensors");
  const int d = checked_dim(e, e.size(1), x.dim());
  if (!guard_eq(mod(x.sizes[d], 2), 0)) {
    e.fail(ErrorKind::Runtime, "Halving dimension must be even, but dimension {} is size {}", d, to_string(x.sizes[d]));
  }
  const Size half = floordiv(x.sizes[d], 2);
  const Arg value = e.call(id::Narrow, {e.arg(0), d, 0, half}), gate = e.call(id::Narrow, {e.arg(0), d, half, half});
  return mul(e, value, e.call(id::Sigmoid, {gate}));
}

// --- Arithmetic ------------------------------------------------------------------------------------------------------

Arg expand_rule(ops::TrueDivide, const Expansion& e) { return div(e, e.arg(0), e.arg(1)); }

Arg expand_rule(ops::Divide, const Expansion& e) { return e.call(id::DivMode, {e.arg(0), e.arg(1), e.arg(2)}); }

Arg expand_rule(ops::Frac, const Expansion& e) {
  need_floats(e);
  return sub(e, e.arg(0), e.call(id::Trunc, {e.arg(0)}));
}

Arg expand_rule(ops::Positive, const Expansion& e) {
  if (e.tensor(0).dtype == DType::Bool) {
    e.fail(ErrorKind::Runtime, "The `+` operator, on a bool tensor is not supported.");
  }
  return e.arg(0);
}

namespace {

void need_same_dtype(const Expansion& e, int a, int b) {
  const DType x = e.tensor(a).dtype, y = e.tensor(b).dtype;
  if (x != y)
    e.fail(ErrorKind::Runtime, "expected dtype {} for argument {}, but got {}", info(x).name, b + 1, info(y).name);
}

// From the end that is nearer, so that both are met exactly.
Arg from_start(const Expansion& e, const Arg& start, const Arg& end, const Arg& weight) {
  return add(e, start, mul(e, weight, sub(e, end, start)));
}
Arg from_end(const Expansion& e, const Arg& start, const Arg& end, const Arg& rest) {
  return sub(e, end, mul(e, sub(e, end, start), rest));
}

}  // namespace

Arg expand_rule(ops::Lerp, const Expansion& e) {
  need_floats(e);
  need_same_dtype(e, 0, 1);
  need_same_dtype(e, 0, 2);
  const Arg start = widened(e, e.arg(0)), end = widened(e, e.arg(1)), weight = widened(e, e.arg(2));
  const Arg near = e.call(id::Lt, {e.call(id::Abs, {weight}), 0.5});
  const Arg back = from_end(e, start, end, sub(e, 1, weight));
  return narrowed(e, where(e, near, from_start(e, start, end, weight), back), e.arg(0));
}

Arg expand_rule(ops::LerpScalar, const Expansion& e) {
  need_floats(e);
  need_same_dtype(e, 0, 1);
  const Arg start = widened(e, e.arg(0)), end = widened(e, e.arg(1));
  const double weight = number(e.arg(2));
  const bool near = std::abs(weight) < 0.5;
  return narrowed(e, near ? from_start(e, start, end, weight) : from_end(e, start, end, 1 - weight), e.arg(0));
}

namespace {
// value * x, unchanged for 1. Where all is whole, so is the weight.
Arg weighted(const Expansion& e, const Arg& x, const Arg& value) {
  bool floats = false;
  for (int i = 0; i < 3; ++i) floats |= is_differentiable(e.tensor(i).dtype);
  if (value.is<std::complex<double>>()) return mul(e, x, value);
  const double v = floats ? number(value) : std::trunc(number(value));
  if (v == 1) return x;
  return mul(e, x, floats ? value : Arg(static_cast<std::int64_t>(v)));
}
}  // namespace

Arg expand_rule(ops::Addcmul, const Expansion& e) {
  bool bools = true;
  for (int i = 0; i < 3; ++i) bools &= e.tensor(i).dtype == DType::Bool;
  if (bools) e.fail(ErrorKind::NotImplemented, "not defined for bool tensors");
  return add(e, e.arg(0), mul(e, weighted(e, e.arg(1), e.arg(3)), e.arg(2)));
}

Arg expand_rule(ops::Addcdiv, const Expansion& e) {
  if (!is_differentiable(e.tensor(1).dtype) && !is_differentiable(e.tensor(2).dtype)) {
    e.fail(ErrorKind::Runtime, "Integer division with addcdiv is no longer supported; use addcmul or div");
  }
  return add(e, e.arg(0), div(e, weighted(e, e.arg(1), e.arg(3)), e.arg(2)));
}

Arg expand_rule(ops::FloatPower, const Expansion& e) {
  const auto wide = [&](const Arg& a) { return a.is_number() ? a : converted(e, a, DType::Float64); };
  const Arg base = wide(e.arg(0)), exponent = wide(e.arg(1));
  if (base.is_number() && exponent.is_number()) e.fail(ErrorKind::Type, "one of the operands must be a tensor");
  if (exponent.is_number()) return e.call(id::PowScalar, {base, number(exponent)});
  return e.call(id::Pow, {base.is_number() ? Arg(number(base)) : base, exponent});
}

Arg expand_rule(ops::Ldexp, const Expansion& e) {
  const DType t = e.tensor(0).dtype;
  const bool whole = !is_floating(e.tensor(1).dtype);
  const Arg exponent = whole ? converted(e, e.arg(1), is_floating(t) ? t : default_dtype()) : e.arg(1);
  return mul(e, e.arg(0), e.call(id::Pow, {2.0, exponent}));
}

namespace {
Arg times_angle(const Expansion& e, double factor) {
  const DType t = e.tensor(0).dtype;
  return mul(e, is_floating(t) ? e.arg(0) : converted(e, e.arg(0), default_dtype()), factor);
}
}  // namespace

Arg expand_rule(ops::Deg2Rad, const Expansion& e) { return times_angle(e, M_PI / 180); }
Arg expand_rule(ops::Rad2Deg, const Expansion& e) { return times_angle(e, 180 / M_PI); }

// --- Logarithms ------------------------------------------------------------------------------------------------------

namespace {

// What both operands become in arithmetic.
DType promoted(const Expansion& e) {
  const Arg operands[] = {e.arg(0), e.arg(1)};
  return compute_types(op(id::Add), operands).result;
}

// larger + rest(-|a - b|); of equal infinities that infinity, whose difference is NaN.
template <class Rest>
Arg log_of_sum(const Expansion& e, Rest&& rest) {
  const DType t = promoted(e);
  if (!is_floating(t)) need_floats(e);
  const Arg a = widened(e, converted(e, e.arg(0), t)), b = widened(e, converted(e, e.arg(1), t));
  const Arg larger = e.call(id::Maximum, {a, b});
  const Arg sum = add(e, larger, rest(e.call(id::Neg, {e.call(id::Abs, {sub(e, a, b)})})));
  const Arg endless = e.call(id::LogicalAnd, {e.call(id::IsInf, {a}), e.call(id::Eq, {a, b})});
  return converted(e, where(e, endless, a, sum), t);
}

// x * log(y); 0 where x is 0, NaN where y is NaN.
Arg times_log(const Expansion& e, OpId log) {
  const Arg &x = e.arg(0), &y = e.arg(1);
  if (x.is_number() && y.is_number()) e.fail(ErrorKind::Type, "one of the operands must be a tensor");
  if (y.is_number()) {
    const Arg product = mul(e, x, log == id::Log ? std::log(number(y)) : std::log1p(number(y)));
    return std::isnan(number(y)) ? product : where(e, e.call(id::Eq, {x, 0}), 0.0, product);
  }
  const DType t = promoted(e);
  const Arg product = mul(e, x, e.call(log, {is_floating(t) ? converted(e, y, t) : y}));
  if (!x.is_number()) {
    const Arg settled =
        e.call(id::LogicalAnd, {e.call(id::Eq, {x, 0}), e.call(id::LogicalNot, {e.call(id::IsNan, {y})})});
    return where(e, settled, 0.0, product);
  }
  return number(x) == 0 ? where(e, e.call(id::IsNan, {y}), product, 0.0) : product;
}

}  // namespace

Arg expand_rule(ops::LogAddExp, const Expansion& e) {
  return log_of_sum(e, [&](const Arg& d) { return e.call(id::Log1p, {e.call(id::Exp, {d})}); });
}

Arg expand_rule(ops::LogAddExp2, const Expansion& e) {
  return log_of_sum(e, [&](const Arg& d) {
    return mul(e, e.call(id::Log1p, {e.call(id::Exp2, {d})}), 0x1.71547652b82fep+0);  // log2(e)
  });
}

Arg expand_rule(ops::Ndtr, const Expansion& e) {
  const Arg x = widened(e, e.arg(0));
  return narrowed(e, mul(e, e.call(id::Erfc, {mul(e, x, -M_SQRT1_2)}), 0.5), e.arg(0));
}

Arg expand_rule(ops::Mvlgamma, const Expansion& e) {
  const std::int64_t p = fixed_size(e.size(1));
  if (p < 1) e.fail(ErrorKind::Runtime, "p has to be at least 1");
  const Arg x = widened(e, e.arg(0));
  Arg sum = e.call(id::LGamma, {x});
  for (std::int64_t j = 1; j < p; ++j) sum = add(e, sum, e.call(id::LGamma, {sub(e, x, static_cast<double>(j) / 2)}));
  const double shift = static_cast<double>(p * (p - 1)) / 4 * std::log(M_PI);
  return narrowed(e, p > 1 ? add(e, sum, shift) : sum, e.arg(0));
}

Arg expand_rule(ops::Logit, const Expansion& e) {
  const DType t = e.tensor(0).dtype;
  Arg x = is_floating(t) ? widened(e, e.arg(0)) : converted(e, e.arg(0), default_dtype());
  if (const auto* eps = e.arg(1).get_if<double>(); eps && *eps >= 0) x = e.call(id::Clamp, {x, *eps, 1 - *eps});
  const Arg result = e.call(id::Log, {div(e, x, sub(e, 1, x))});
  return is_floating(t) ? narrowed(e, result, e.arg(0)) : result;
}

Arg expand_rule(ops::Xlogy, const Expansion& e) { return times_log(e, id::Log); }
Arg expand_rule(ops::Xlog1py, const Expansion& e) { return times_log(e, id::Log1p); }

Arg expand_rule(ops::Entr, const Expansion& e) {
  const DType t = e.tensor(0).dtype;
  const Arg x = is_floating(t) ? e.arg(0) : converted(e, e.arg(0), default_dtype());
  const Arg product = mul(e, e.call(id::Neg, {x}), e.call(id::Log, {x}));
  const Arg low = where(e, e.call(id::Lt, {x, 0}), -std::numeric_limits<double>::infinity(), product);
  return where(e, e.call(id::Eq, {x, 0}), 0.0, low);
}

Arg expand_rule(ops::Sinc, const Expansion& e) {
  const DType t = e.tensor(0).dtype;
  const Arg x = is_floating(t) ? widened(e, e.arg(0)) : converted(e, e.arg(0), default_dtype());
  const Arg angle = mul(e, x, M_PI);
  const Arg result = where(e, e.call(id::Eq, {x, 0}), 1.0, div(e, e.call(id::Sin, {angle}), angle));
  return is_floating(t) ? narrowed(e, result, e.arg(0)) : result;
}

// --- Replacing values ------------------------------------------------------------------------------------------------

Arg expand_rule(ops::NanToNum, const Expansion& e) {
  const DType t = e.tensor(0).dtype;
  const Arg& x = e.arg(0);
  if (!is_floating(t)) return e.call(id::Clone, {x});
  const auto given = [&](int i, double otherwise) { return e.arg(i).is_none() ? otherwise : e.arg(i).get<double>(); };
  const Arg above = where(e, e.call(id::IsPosInf, {x}), given(2, floating_max(t)), x);
  const Arg below = where(e, e.call(id::IsNegInf, {x}), given(3, -floating_max(t)), above);
  return where(e, e.call(id::IsNan, {x}), given(1, 0), below);
}

Arg expand_rule(ops::Heaviside, const Expansion& e) {
  if (e.tensor(0).dtype != e.tensor(1).dtype) {
    e.fail(ErrorKind::Runtime, "two tensors of one dtype are needed, and the dtypes are {} and {}",
           info(e.tensor(0).dtype).name, info(e.tensor(1).dtype).name);
  }
  return e.call(id::Step, {e.arg(0), e.arg(1)});
}

Arg expand_rule(ops::IsReal, const Expansion& e) { return e.call(id::FullLike, {e.arg(0), true, DType::Bool}); }

Arg expand_rule(ops::WhereMethod, const Expansion& e) { return where(e, e.arg(1), e.arg(0), e.arg(2)); }

Arg expand_rule(ops::LstmCell, const Expansion& e) {
  need_floats(e);
  need_floats(e, 1);
  const TensorType gates = e.tensor(0), cell = e.tensor(1);
  if (gates.dim() == 0 || cell.dim() == 0) e.fail(ErrorKind::Runtime, "states and gates have columns");
  const Size columns = cell.sizes.back();
  if (!guard_eq(gates.sizes.back(), columns * Size(4)))
    e.fail(ErrorKind::Runtime, "got {} columns of gates for {} of the cell", to_string(gates.sizes.back()),
           to_string(columns));
  const auto part = [&](std::int64_t k) { return e.call(id::Narrow, {e.arg(0), -1, columns * Size(k), columns}); };
  const auto open = [&](std::int64_t k) { return e.call(id::Sigmoid, {part(k)}); };
  const Arg added = mul(e, open(0), e.call(id::Tanh, {part(2)}));
  const Arg next = add(e, mul(e, open(1), e.arg(1)), added);
  return ListArg{{mul(e, open(3), e.call(id::Tanh, {next})), next}, true};
}

}  // namespace md
