// Composite reductions: exponentials, counts, moments, norms, differences. Order statistics are in composite_order.cpp.
#include <cmath>
#include <limits>

#include "ir/composites/arithmetic.h"
#include "ir/infer/expansion.h"
#include "registry/ops/folds.h"

namespace md {
namespace {

// The operand in the dtype the sum is taken in: `dtype` if given; half-size floats in float32.
struct Widened {
  Arg x;
  DType result;
};
Widened widened(const Expansion& e, const Arg& x, const Arg& dtype) {
  const DType t = dtype.is_none() ? type_of(x).dtype : dtype.get<DType>();
  if (!is_floating(t)) e.fail(ErrorKind::NotImplemented, "not defined for {} tensors", info(t).name);
  return {converted(e, x, wide_dtype(t)), t};
}

Arg sum(const Expansion& e, const Arg& x, const Arg& dim, bool keepdim) {
  return e.call(id::Sum, {x, dim, keepdim, NoneArg{}});
}

bool is_empty(const Arg& x) { return guard_eq(product(type_of(x).sizes), 0); }

// The given dimensions from 0 on; all of them if none is given.
Arg all_dims(const Expansion& e, const Arg& dim, int rank) {
  ListArg dims;
  const auto* list = dim.get_if<ListArg>();
  if (list && !list->items.empty()) {
    for (const Arg& d : list->items) dims.items.emplace_back(checked_dim(e, d.get<Size>(), rank));
  } else {
    for (int i = 0; i < rank; ++i) dims.items.emplace_back(i);
  }
  return dims;
}

}  // namespace

// --- Exponentials ----------------------------------------------------------------------------------------------------

Arg expand_rule(ops::LogSumExp, const Expansion& e) {
  const Arg given = is_floating(e.tensor(0).dtype) ? e.arg(0) : converted(e, e.arg(0), default_dtype());
  const auto [x, t] = widened(e, given, NoneArg{});
  const Arg dims = all_dims(e, e.arg(1), type_of(x).dim());
  if (is_empty(x)) return converted(e, e.call(id::Log, {sum(e, e.call(id::Exp, {x}), dims, e.flag(2))}), t);
  const Arg largest = e.call(id::AMax, {x, dims, true});
  // An infinite maximum would give NaN as a difference.
  const Arg shift = e.call(id::Where, {e.call(id::IsInf, {largest}), 0.0, largest});
  const Arg total = e.call(id::Log, {sum(e, e.call(id::Exp, {sub(e, x, shift)}), dims, true)});
  const Arg result = add(e, total, shift);
  return converted(e, e.flag(2) ? result : e.call(id::SqueezeDim, {result, dims}), t);
}

namespace {

// x - max along the dimension of a softmax, or nothing if there is nothing to do.
struct Shifted {
  Arg x, dims;
  DType result;
};
Shifted shifted(const Expansion& e) {
  const auto [x, t] = widened(e, e.arg(0), e.arg(2));
  const Arg dims = list_of({checked_dim(e, e.size(1), type_of(x).dim())});
  if (is_empty(x)) return {e.call(id::Clone, {x}), NoneArg{}, t};
  return {sub(e, x, e.call(id::AMax, {x, dims, true})), dims, t};
}

}  // namespace

Arg expand_rule(ops::Softmax, const Expansion& e) {
  const auto [x, dims, t] = shifted(e);
  if (dims.is_none()) return converted(e, x, t);
  const Arg power = e.call(id::Exp, {x});
  return converted(e, e.call(id::Div, {power, sum(e, power, dims, true)}), t);
}

Arg expand_rule(ops::SafeSoftmax, const Expansion& e) {
  const auto [x, t] = widened(e, e.arg(0), e.arg(2));
  const Arg dims = list_of({checked_dim(e, e.size(1), type_of(x).dim())});
  if (is_empty(x)) return converted(e, e.call(id::Clone, {x}), t);
  const Arg largest = e.call(id::AMax, {x, dims, true});
  const Arg nothing = e.call(id::Eq, {largest, -std::numeric_limits<double>::infinity()});
  const Arg power = e.call(id::Exp, {sub(e, x, e.call(id::Where, {nothing, 0.0, largest}))});
  const Arg total = e.call(id::Where, {nothing, 1.0, sum(e, power, dims, true)});
  return converted(e, e.call(id::Div, {power, total}), t);
}

Arg expand_rule(ops::LogSoftmax, const Expansion& e) {
  const auto [x, dims, t] = shifted(e);
  if (dims.is_none()) return converted(e, x, t);
  return converted(e, sub(e, x, e.call(id::Log, {sum(e, e.call(id::Exp, {x}), dims, true)})), t);
}

// --- Sums, counts, moments -------------------------------------------------------------------------------------------

Arg expand_rule(ops::CountNonzero, const Expansion& e) {
  return sum(e, converted(e, e.arg(0), DType::Bool), e.arg(1), false);
}

namespace {
Arg without_nan(const Expansion& e) {
  if (!is_floating(e.tensor(0).dtype)) return e.arg(0);
  return e.call(id::Where, {e.call(id::IsNan, {e.arg(0)}), 0.0, e.arg(0)});
}
}  // namespace

Arg expand_rule(ops::NanSum, const Expansion& e) {
  return e.call(id::Sum, {without_nan(e), e.arg(1), e.arg(2), e.arg(3)});
}

Arg expand_rule(ops::NanMean, const Expansion& e) {
  if (!is_floating(e.tensor(0).dtype)) {
    e.fail(ErrorKind::Runtime, "expected input to have floating point dtype but got {}", info(e.tensor(0).dtype).name);
  }
  const Arg numbers = e.call(id::LogicalNot, {e.call(id::IsNan, {e.arg(0)})});
  const Arg count = sum(e, numbers, e.arg(1), e.flag(2));
  return e.call(id::Div, {e.call(id::Sum, {without_nan(e), e.arg(1), e.arg(2), e.arg(3)}), count});
}

namespace {
Arg moments(const Expansion& e, OpId spread, const Arg& dim, const Arg& correction, bool keepdim) {
  const Arg first = e.call(spread, {e.arg(0), dim, correction, keepdim});
  return pair(first, e.call(id::Mean, {e.arg(0), dim, keepdim}));
}
Arg one_or_zero(const Expansion& e, int i) { return e.flag(i) ? 1 : 0; }
}  // namespace

Arg expand_rule(ops::VarMean, const Expansion& e) { return moments(e, id::Var, e.arg(1), e.arg(2), e.flag(3)); }
Arg expand_rule(ops::VarMeanUnbiased, const Expansion& e) {
  return moments(e, id::Var, NoneArg{}, one_or_zero(e, 1), false);
}
Arg expand_rule(ops::VarMeanUnbiasedDim, const Expansion& e) {
  return moments(e, id::Var, e.arg(1), one_or_zero(e, 2), e.flag(3));
}
Arg expand_rule(ops::StdMean, const Expansion& e) { return moments(e, id::Std, e.arg(1), e.arg(2), e.flag(3)); }
Arg expand_rule(ops::StdMeanUnbiased, const Expansion& e) {
  return moments(e, id::Std, NoneArg{}, one_or_zero(e, 1), false);
}
Arg expand_rule(ops::StdMeanUnbiasedDim, const Expansion& e) {
  return moments(e, id::Std, e.arg(1), one_or_zero(e, 2), e.flag(3));
}

Arg expand_rule(ops::AMinMax, const Expansion& e) {
  const Arg dims = e.arg(1).is_none() ? list_of({}) : list_of({e.arg(1)});
  return pair(e.call(id::AMin, {e.arg(0), dims, e.flag(2)}), e.call(id::AMax, {e.arg(0), dims, e.flag(2)}));
}

// --- Norms, distances ------------------------------------------------------------------------------------------------

namespace {

void need_inexact(const Expansion& e, const Arg& tensor) {
  if (const DType given = type_of(tensor).dtype; !is_differentiable(given)) {
    e.fail(ErrorKind::Runtime, "Expected a floating point tensor as input. Got {}", info(given).name);
  }
}

// A norm without identity: there must be elements in the given dimensions.
void check_folds_something(const Expansion& e, const TensorType& x, const Arg& dims, double order) {
  const Arg all = all_dims(e, dims, x.dim());
  for (const Arg& d : all.get<ListArg>().items) {
    const auto at = d.get<Size>().value();
    if (x.dim() > 0 && guard_eq(x.sizes[static_cast<std::size_t>(at)], 0)) {
      e.fail(ErrorKind::Runtime, "cannot compute the {} norm over dimension {}, which is empty", order, at);
    }
  }
}

Arg vector_norm(const Expansion& e, const Arg& tensor, double order, const Arg& dim, bool keepdim, const Arg& dtype) {
  need_inexact(e, tensor);
  return e.call(id::VectorNorm, {tensor, order, dim, keepdim, dtype});
}

Arg parts_of_vector_norm(const Expansion& e, const Arg& tensor, double order, const Arg& dim, bool keepdim,
                         const Arg& dtype) {
  need_inexact(e, tensor);
  const auto [x, t] = widened(e, tensor, dtype);
  const Arg dims = dim.is_none() ? list_of({}) : dim;
  if (order < 0 || std::isinf(order)) check_folds_something(e, type_of(x), dims, order);
  const auto size = [&] { return e.call(id::Abs, {x}); };
  Arg result;
  if (order == 2) {
    result = e.call(id::Sqrt, {sum(e, mul(e, x, x), dims, keepdim)});
  } else if (order == 1) {
    result = sum(e, size(), dims, keepdim);
  } else if (std::isinf(order)) {
    result = e.call(order > 0 ? id::AMax : id::AMin, {size(), dims, keepdim});
  } else if (order == 0) {
    result = sum(e, converted(e, e.call(id::Ne, {x, 0}), type_of(x).dtype), dims, keepdim);
  } else {
    const Arg powers = e.call(id::PowScalar, {size(), order});
    result = e.call(id::PowScalar, {sum(e, powers, dims, keepdim), 1 / order});
  }
  return converted(e, result, t);
}

// The largest (or smallest) sum of sizes along one dimension of a matrix.
Arg matrix_norm(const Expansion& e, double order, const Arg& dim, bool keepdim, const Arg& dtype) {
  need_inexact(e, e.arg(0));
  if (std::abs(order) != 1 && !std::isinf(order)) {
    e.fail(ErrorKind::Runtime, "Order {} not supported.", order);
  }
  const auto [x, t] = widened(e, e.arg(0), dtype);
  const int rank = type_of(x).dim();
  const auto at = [&](std::size_t i) { return Arg(checked_dim(e, dim.get<ListArg>().items[i].get<Size>(), rank)); };
  const bool down = std::abs(order) == 1;  // sums of columns
  const Arg sums = sum(e, e.call(id::Abs, {x}), list_of({at(down ? 0 : 1)}), true);
  const auto chosen = static_cast<std::size_t>(at(down ? 1 : 0).get<Size>().value());
  if (order > 0 && guard_eq(type_of(sums).sizes[chosen], 0)) {
    const Arg zero = sum(e, sums, list_of({at(0), at(1)}), keepdim);  // the largest of nothing is 0
    return converted(e, zero, t);
  }
  const Arg result = e.call(order > 0 ? id::AMax : id::AMin, {sums, list_of({at(down ? 1 : 0)}), true});
  return converted(e, keepdim ? result : e.call(id::SqueezeDim, {result, list_of({at(0), at(1)})}), t);
}

std::size_t listed(const Arg& dim) { return dim.is_none() ? 0 : dim.get<ListArg>().items.size(); }

}  // namespace

Arg expand_rule(ops::VectorNorm, const Expansion& e) {
  return parts_of_vector_norm(e, e.arg(0), number(e.arg(1)), e.arg(2), e.flag(3), e.arg(4));
}

Arg expand_rule(ops::Norm, const Expansion& e) {
  if (const auto* p = e.arg(1).get_if<std::string>(); p && *p != "fro") {
    e.fail(ErrorKind::NotImplemented, "p must be 'fro' or a number; '{}' is not there", *p);
  }
  return vector_norm(e, e.arg(0), 2, e.arg(2), e.flag(3), e.arg(4));
}

Arg expand_rule(ops::NormScalar, const Expansion& e) {
  return vector_norm(e, e.arg(0), number(e.arg(1)), e.arg(2), e.flag(3), e.arg(4));
}

Arg expand_rule(ops::LinalgNorm, const Expansion& e) {
  const int rank = e.rank(0);
  const Arg& dim = e.arg(2);
  if (e.arg(1).is_none()) return vector_norm(e, e.arg(0), 2, dim, e.flag(3), e.arg(4));
  const double order = number(e.arg(1));
  if (dim.is_none() && rank != 1 && rank != 2) {
    e.fail(ErrorKind::Runtime, "If dim is not specified but ord is, the input must be 1D or 2D. Got {}D.", rank);
  }
  const std::size_t dims = dim.is_none() ? static_cast<std::size_t>(rank) : listed(dim);
  if (dims == 1) return vector_norm(e, e.arg(0), order, dim, e.flag(3), e.arg(4));
  if (dims != 2)
    e.fail(ErrorKind::Runtime, "dim must be of length 1 or 2 when 'ord' is specified. Got length {}", dims);
  return matrix_norm(e, order, dim.is_none() ? list_of({0, 1}) : dim, e.flag(3), e.arg(4));
}

Arg expand_rule(ops::LinalgNormName, const Expansion& e) {
  const std::string& name = e.arg(1).get<std::string>();
  if (name != "fro") {
    const ErrorKind kind = name == "nuc" ? ErrorKind::NotImplemented : ErrorKind::Runtime;
    e.fail(kind, "Order {} not supported.", name);
  }
  const std::size_t dims = e.arg(2).is_none() ? static_cast<std::size_t>(e.rank(0)) : listed(e.arg(2));
  if (dims != 2) e.fail(ErrorKind::Runtime, "the order 'fro' is one of matrices: 2 dimensions, not {}", dims);
  return vector_norm(e, e.arg(0), 2, e.arg(2), e.flag(3), e.arg(4));
}

Arg expand_rule(ops::Dist, const Expansion& e) {
  return vector_norm(e, sub(e, e.arg(0), e.arg(1)), number(e.arg(2)), NoneArg{}, false, NoneArg{});
}

Arg expand_rule(ops::CDist, const Expansion& e) {
  const TensorType x = e.tensor(0), y = e.tensor(1);
  const double p = e.arg(2).get<double>();
  for (const DType t : {x.dtype, y.dtype}) {
    if (!is_floating(t)) e.fail(ErrorKind::Runtime, "cdist only supports floating-point dtypes, not {}", info(t).name);
    if (is_half(t)) e.fail(ErrorKind::NotImplemented, "not defined for {} tensors", info(t).name);
  }
  if (x.dim() < 2 || y.dim() < 2) e.fail(ErrorKind::Runtime, "both tensors need at least two dimensions");
  if (!guard_eq(x.sizes.back(), y.sizes.back())) {
    e.fail(ErrorKind::Runtime, "X1 and X2 must have the same number of columns. X1: {} X2: {}",
           to_string(x.sizes.back()), to_string(y.sizes.back()));
  }
  if (!(p >= 0)) e.fail(ErrorKind::Runtime, "cdist only supports non-negative p values");
  const Arg distance = sub(e, e.call(id::Unsqueeze, {e.arg(0), -2}), e.call(id::Unsqueeze, {e.arg(1), -3}));
  const Arg last = list_of({-1});
  if (guard_eq(x.sizes.back(), 0)) return sum(e, distance, last, false);
  return vector_norm(e, distance, p, last, false, NoneArg{});
}

namespace {

Arg cross(const Expansion& e, int dim, const SizeVec& sizes) {
  const auto part = [&](int arg, int i) {
    return e.call(id::Select, {e.call(id::Expand, {e.arg(arg), sizes_arg(sizes)}), dim, i});
  };
  ListArg parts;
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    parts.items.push_back(sub(e, mul(e, part(0, j), part(1, k)), mul(e, part(0, k), part(1, j))));
  }
  return e.call(id::Stack, {parts, dim});
}

Arg cross_along(const Expansion& e, Size dim) {
  const TensorType x = e.tensor(0), y = e.tensor(1);
  if (x.dim() != y.dim()) {
    e.fail(ErrorKind::Runtime, "inputs must have the same number of dimensions, got {} and {}", x.dim(), y.dim());
  }
  if (x.dtype == DType::Bool) {
    e.fail(ErrorKind::NotImplemented, "not defined for bool tensors");
  }
  const int d = checked_dim(e, dim, x.dim());
  if (x.dim() == 0 || !guard_eq(x.sizes[d], 3) || !guard_eq(y.sizes[d], 3)) {
    e.fail(ErrorKind::Runtime, "inputs dimension {} must have length 3", d);
  }
  return cross(e, d, broadcast(e, x.sizes, y.sizes));
}

}  // namespace

Arg expand_rule(ops::Cross, const Expansion& e) {
  if (!e.arg(2).is_none()) return cross_along(e, e.size(2));
  const TensorType x = e.tensor(0);
  for (int d = 0; d < x.dim(); ++d) {
    if (guard_eq(x.sizes[d], 3)) return cross_along(e, d);
  }
  e.fail(ErrorKind::Runtime, "no dimension of size 3 in input");
}

Arg expand_rule(ops::LinalgCross, const Expansion& e) { return cross_along(e, e.size(2)); }

// --- Differences, integrals ------------------------------------------------------------------------------------------

namespace {

// x without its last (or first) position along `d`.
Arg neighbours(const Expansion& e, const Arg& x, int d, int from) {
  const Size n = type_of(x).sizes[d];
  return e.call(id::Narrow, {x, d, from, n - 1});
}

Arg difference(const Expansion& e, const Arg& x, int d) {
  const bool logical = type_of(x).dtype == DType::Bool;
  return e.call(logical ? id::Ne : id::Sub, {neighbours(e, x, d, 1), neighbours(e, x, d, 0)});
}

}  // namespace

Arg expand_rule(ops::Diff, const Expansion& e) {
  const TensorType type = e.tensor(0);
  if (type.dim() == 0) e.fail(ErrorKind::Runtime, "diff expects input to be at least one-dimensional");
  const int d = checked_dim(e, e.size(2), type.dim());
  const std::int64_t n = fixed_size(e.size(1));
  if (n < 0) e.fail(ErrorKind::Runtime, "order must be non-negative but got {}", n);
  ListArg parts;
  for (const int i : {3, 0, 4}) {
    if (!e.arg(i).is_none()) parts.items.push_back(e.arg(i));
  }
  Arg x = parts.items.size() > 1 ? e.call(id::Cat, {parts, d}) : e.arg(0);
  if (n == 0) return e.call(id::Clone, {x});
  for (std::int64_t i = 0; i < n; ++i) {
    if (guard_eq(type_of(x).sizes[d], 0)) return x;
    x = difference(e, x, d);
  }
  return x;
}

Arg expand_rule(ops::Trapezoid, const Expansion& e) {
  const TensorType y = e.tensor(0);
  if (y.dtype == DType::Bool) e.fail(ErrorKind::Runtime, "received a bool input for `y`, but bool is not supported");
  if (y.dim() == 0) e.fail(ErrorKind::Index, "a tensor of at least one dimension is needed");
  const int d = checked_dim(e, e.size(2), y.dim());
  if (guard_eq(y.sizes[d], 0)) return sum(e, e.arg(0), list_of({d}), false);
  const Arg ends = add(e, e.call(id::Select, {e.arg(0), d, 0}), e.call(id::Select, {e.arg(0), d, -1}));
  const Arg inside = sub(e, sum(e, e.arg(0), list_of({d}), false), mul(e, ends, 0.5));
  return mul(e, inside, e.arg(1));
}

Arg expand_rule(ops::TrapezoidPoints, const Expansion& e) {
  const TensorType y = e.tensor(0), x = e.tensor(1);
  if (y.dtype == DType::Bool || x.dtype == DType::Bool) e.fail(ErrorKind::Runtime, "bool is not supported");
  if (y.dim() == 0 || x.dim() == 0) e.fail(ErrorKind::Index, "tensors of at least one dimension are needed");
  const int d = checked_dim(e, e.size(2), y.dim());
  Arg points = e.arg(1);
  if (x.dim() == 1) {
    if (!guard_eq(x.sizes[0], y.sizes[d])) {
      e.fail(ErrorKind::Runtime, "there must be one `x` value for each sample point");
    }
    SizeVec sizes(static_cast<std::size_t>(y.dim()), Size(1));
    sizes[d] = x.sizes[0];
    points = reshaped(e, points, sizes);
  }
  if (guard_eq(y.sizes[d], 0)) return sum(e, e.arg(0), list_of({d}), false);
  const int along = d - y.dim() + type_of(points).dim();
  if (along < 0) e.fail(ErrorKind::Runtime, "there must be one `x` value for each sample point");
  const Arg widths = sub(e, neighbours(e, points, along, 1), neighbours(e, points, along, 0));
  const Arg heights = add(e, neighbours(e, e.arg(0), d, 0), neighbours(e, e.arg(0), d, 1));
  return e.call(id::Div, {sum(e, mul(e, widths, heights), list_of({d}), false), 2.0});
}

}  // namespace md
