// Composite order statistics, made of sort and gather.
#include <algorithm>
#include <limits>

#include "ir/composites/arithmetic.h"
#include "ir/infer/expansion.h"
#include "ir/infer/indexing.h"
#include "registry/ops/folds.h"

namespace md {
namespace {

struct Sorted {
  Arg values, indices;
};
Sorted sorted(const Expansion& e, const Arg& x, const Arg& dim, bool descending) {
  const Arg both = e.call(id::Sort, {x, dim, descending});
  return {both.get<ListArg>().items[0], both.get<ListArg>().items[1]};
}

// A 0-d tensor is its own only value.
Arg only_value(const Expansion& e) {
  return pair(e.call(id::Clone, {e.arg(0)}), e.call(id::FullLike, {e.arg(0), 0, DType::Int64}));
}

Arg at_position(const Expansion& e, const Arg& x, int d, Size i, bool keepdim) {
  const Arg part = e.call(id::Select, {x, d, i});
  return keepdim ? e.call(id::Unsqueeze, {part, d}) : part;
}

Arg flat(const Expansion& e, const Arg& x) { return reshaped(e, x, SizeVec{product(type_of(x).sizes)}); }

}  // namespace

Arg expand_rule(ops::SortStable, const Expansion& e) { return e.call(id::Sort, {e.arg(0), e.arg(2), e.arg(3)}); }
Arg expand_rule(ops::ArgSort, const Expansion& e) { return sorted(e, e.arg(0), e.arg(1), e.flag(2)).indices; }
Arg expand_rule(ops::ArgSortStable, const Expansion& e) { return sorted(e, e.arg(0), e.arg(2), e.flag(3)).indices; }
Arg expand_rule(ops::MSort, const Expansion& e) { return sorted(e, e.arg(0), 0, false).values; }

Arg expand_rule(ops::TopK, const Expansion& e) {
  const TensorType x = e.tensor(0);
  const int d = checked_dim(e, e.size(2), x.dim());
  const Size n = x.dim() == 0 ? Size(1) : x.sizes[d], k = e.size(1);
  if (x.dtype == DType::Bool) e.fail(ErrorKind::Runtime, "topk does not support bool dtypes on CPU");
  if (guard_lt(k, 0) || guard_lt(n, k)) e.fail(ErrorKind::Runtime, "selected index k out of range");
  if (x.dim() == 0) return only_value(e);
  const Sorted s = sorted(e, e.arg(0), d, e.flag(3));
  const auto first = [&](const Arg& all) {
    const Arg part = e.call(id::Narrow, {all, d, 0, k});
    const TensorType t = type_of(part);
    return is_row_major(t.sizes, t.strides) ? part : e.call(id::Compact, {part});
  };
  return pair(first(s.values), first(s.indices));
}

Arg expand_rule(ops::KthValue, const Expansion& e) {
  const TensorType x = e.tensor(0);
  const int d = checked_dim(e, e.size(2), x.dim());
  const Size n = x.dim() == 0 ? Size(1) : x.sizes[d];
  const Size k = e.size(1);
  if (x.dtype == DType::Bool) e.fail(ErrorKind::NotImplemented, "not defined for bool tensors");
  if (guard_lt(k, 1) || guard_lt(n, k))
    e.fail(ErrorKind::Runtime, "selected number k out of range for dimension {}", d);
  if (x.dim() == 0) return only_value(e);
  const Sorted s = sorted(e, e.arg(0), d, false);
  return pair(e.call(id::Clone, {at_position(e, s.values, d, k - 1, e.flag(3))}),
              e.call(id::Clone, {at_position(e, s.indices, d, k - 1, e.flag(3))}));
}

// --- Medians ---------------------------------------------------------------------------------------------------------

namespace {

// Where NaN sorts last, the last value says whether there is one.
Arg median_along(const Expansion& e, const Arg& x, int d, bool keepdim) {
  if (type_of(x).dtype == DType::Bool) e.fail(ErrorKind::NotImplemented, "not defined for bool tensors");
  const std::int64_t n = fixed_size(type_of(x).sizes[d]);
  if (n == 0) e.fail(ErrorKind::Index, "Expected reduction dim {} to have non-zero size.", d);
  const Sorted s = sorted(e, x, d, false);
  const auto at = [&](const Arg& all, std::int64_t i) { return at_position(e, all, d, i, keepdim); };
  const std::int64_t middle = (n - 1) / 2;
  if (!is_floating(type_of(x).dtype)) {
    return pair(e.call(id::Clone, {at(s.values, middle)}), e.call(id::Clone, {at(s.indices, middle)}));
  }
  const Arg last = at(s.values, n - 1), nan = e.call(id::IsNan, {last});
  return pair(e.call(id::Where, {nan, last, at(s.values, middle)}),
              e.call(id::Where, {nan, at(s.indices, n - 1), at(s.indices, middle)}));
}

Arg nanmedian_along(const Expansion& e, const Arg& x, int d, bool keepdim) {
  if (!is_floating(type_of(x).dtype)) return median_along(e, x, d, keepdim);
  if (guard_eq(type_of(x).sizes[d], 0)) e.fail(ErrorKind::Index, "Expected reduction dim {} to have non-zero size.", d);
  const Sorted s = sorted(e, x, d, false);
  const Arg numbers = e.call(id::LogicalNot, {e.call(id::IsNan, {x})});
  const Arg count = e.call(id::Sum, {numbers, ListArg{{Arg(d)}}, true, NoneArg{}});
  const Arg last = e.call(id::ClampMin, {e.call(id::Sub, {count, 1}), 0});
  const Arg middle = e.call(id::FloorDivide, {last, 2});
  const auto at = [&](const Arg& all) {
    const Arg part = e.call(id::Gather, {all, d, middle});
    return keepdim ? part : e.call(id::SqueezeDim, {part, ListArg{{Arg(d)}}});
  };
  return pair(at(s.values), at(s.indices));
}

using Along = Arg (*)(const Expansion&, const Arg&, int, bool);

Arg of_all(const Expansion& e, Along median) {
  const TensorType x = e.tensor(0);
  if (guard_eq(product(x.sizes), 0)) {
    const Arg nan = e.call(id::Full, {ListArg{}, std::numeric_limits<double>::quiet_NaN(), DType::Float64});
    return converted(e, nan, x.dtype);
  }
  return median(e, flat(e, e.arg(0)), 0, false).get<ListArg>().items[0];
}

Arg along_dim(const Expansion& e, Along median) {
  const int rank = e.rank(0), d = checked_dim(e, e.size(1), rank);
  return rank == 0 ? only_value(e) : median(e, e.arg(0), d, e.flag(2));
}

}  // namespace

Arg expand_rule(ops::Median, const Expansion& e) { return of_all(e, median_along); }
Arg expand_rule(ops::MedianDim, const Expansion& e) { return along_dim(e, median_along); }
Arg expand_rule(ops::NanMedian, const Expansion& e) { return of_all(e, nanmedian_along); }
Arg expand_rule(ops::NanMedianDim, const Expansion& e) { return along_dim(e, nanmedian_along); }

// --- Quantiles -------------------------------------------------------------------------------------------------------

namespace {

void check_mode(const Expansion& e, const std::string& mode) {
  for (const char* known : {"linear", "lower", "higher", "midpoint", "nearest"}) {
    if (mode == known) return;
  }
  e.fail(ErrorKind::Runtime, "interpolation must be one of linear, lower, higher, midpoint or nearest, but got {}",
         mode);
}

// Rows of sorted values (.., n) at fractional positions (.., q).
Arg at_ranks(const Expansion& e, const Arg& values, const Arg& ranks, const std::string& mode) {
  const auto look_up = [&](const Arg& positions) {
    return e.call(id::Gather, {values, -1, converted(e, positions, DType::Int64)});
  };
  if (mode == "lower") return look_up(e.call(id::Floor, {ranks}));
  if (mode == "higher") return look_up(e.call(id::Ceil, {ranks}));
  if (mode == "nearest") return look_up(e.call(id::Round, {ranks}));
  const Arg below = e.call(id::Floor, {ranks});
  const Arg start = look_up(below), end = look_up(e.call(id::Ceil, {ranks}));
  if (mode == "midpoint") return e.call(id::LerpScalar, {start, end, 0.5});
  return e.call(id::Lerp, {start, end, e.call(id::Sub, {ranks, below})});
}

// Sorted along `dim`, which becomes the last; flattened without one.
Arg rows_of(const Expansion& e, const Arg& dim) {
  const Arg& x = e.arg(0);
  if (dim.is_none() || e.rank(0) == 0) return sorted(e, flat(e, x), -1, false).values;
  return sorted(e, e.call(id::Transpose, {x, dim, -1}), -1, false).values;
}

// Sizes (.., q) and the dimension's place become the sizes torch gives: q first if it is a dimension at all.
Arg arranged(const Expansion& e, Arg result, const Arg& dim, bool many, bool keepdim) {
  const int rank = e.rank(0);
  if (dim.is_none() || rank == 0) {
    SizeVec sizes;
    if (many) sizes.push_back(type_of(result).sizes.back());
    if (keepdim) sizes.resize(sizes.size() + static_cast<std::size_t>(rank), Size(1));
    return reshaped(e, result, sizes);
  }
  const int d = checked_dim(e, dim.get<Size>(), rank);
  // (.., q) -> (q, .., 1), the 1 back where the dimension was.
  ListArg order;
  order.items.emplace_back(rank - 1);
  for (int i = 0; i + 1 < rank; ++i) order.items.emplace_back(i);
  result = e.call(id::Unsqueeze, {e.call(id::Permute, {result, order}), -1});
  result = e.call(id::Transpose, {result, d + 1, rank});
  if (!keepdim) result = e.call(id::SqueezeDim, {result, ListArg{{Arg(d + 1)}}});
  if (!many) result = e.call(id::Select, {result, 0, 0});
  const TensorType t = type_of(result);
  return is_row_major(t.sizes, t.strides) ? result : e.call(id::Compact, {result});
}

Arg quantile(const Expansion& e, Arg shares, bool skip_nan) {
  const TensorType x = e.tensor(0), q = type_of(shares);
  const std::string& mode = e.arg(4).get<std::string>();
  check_mode(e, mode);
  if (guard_eq(product(x.sizes), 0)) e.fail(ErrorKind::Runtime, "input tensor must be non-empty");
  if (q.dim() > 1) e.fail(ErrorKind::Runtime, "q must be a scalar or 1D tensor");
  if (!is_floating(x.dtype) || is_half(x.dtype)) {
    e.fail(ErrorKind::Runtime, "input tensor must be either float or double dtype");
  }
  if (x.dtype != q.dtype) e.fail(ErrorKind::Runtime, "q tensor must be same dtype as the input tensor");
  const Arg values = rows_of(e, e.arg(2));
  const SizeVec rows = type_of(values).sizes;
  const Arg wide = q.dim() == 0 ? e.call(id::Unsqueeze, {shares, 0}) : shares;
  const Size n = rows.back(), count = type_of(wide).sizes[0];
  Arg ranks;
  if (skip_nan) {
    const Arg numbers = e.call(id::LogicalNot, {e.call(id::IsNan, {values})});
    const Arg present = e.call(id::Sum, {numbers, ListArg{{Arg(-1)}}, true, NoneArg{}});
    ranks = e.call(id::Mul, {wide, e.call(id::ClampMin, {e.call(id::Sub, {present, 1}), 0})});
  } else {
    // The last position is NaN's, if there is one.
    const Arg last = e.call(id::Narrow, {values, -1, n - 1, 1});
    ranks = e.call(id::Mul, {wide, n - 1});
    ranks = e.call(id::Where,
                   {e.call(id::IsNan, {last}), converted(e, e.call(id::FullLike, {last, n - 1}), x.dtype), ranks});
  }
  SizeVec sizes = rows;
  sizes.back() = count;
  ranks = e.call(id::Expand, {ranks, sizes_arg(sizes)});
  return arranged(e, at_ranks(e, values, ranks, mode), e.arg(2), q.dim() == 1, e.flag(3));
}

Arg share(const Expansion& e) {
  const double q = e.arg(1).get<double>();
  if (!(q >= 0 && q <= 1)) e.fail(ErrorKind::Runtime, "q must be in the range [0, 1] but got {}", q);
  return e.call(id::Full, {ListArg{}, q, e.tensor(0).dtype});
}

}  // namespace

Arg expand_rule(ops::Quantile, const Expansion& e) { return quantile(e, e.arg(1), false); }
Arg expand_rule(ops::QuantileScalar, const Expansion& e) { return quantile(e, share(e), false); }
Arg expand_rule(ops::NanQuantile, const Expansion& e) { return quantile(e, e.arg(1), true); }
Arg expand_rule(ops::NanQuantileScalar, const Expansion& e) { return quantile(e, share(e), true); }

Arg expand_rule(ops::TakeAlongDim, const Expansion& e) {
  if (const DType index_type = e.tensor(1).dtype; index_type != DType::Int64) {
    e.fail(ErrorKind::Runtime, "dtype of indices should be Long but got {}", info(index_type).guard_name);
  }
  if (e.arg(2).is_none()) return e.call(id::Gather, {flat(e, e.arg(0)), 0, flat(e, e.arg(1))});
  const TensorType x = e.tensor(0), index = e.tensor(1);
  if (x.dim() == 0) no_dimensions(e.size(2));
  if (x.dim() != index.dim()) {
    e.fail(ErrorKind::Runtime, "input and indices should have the same number of dimensions, but got {} and {}",
           x.dim(), index.dim());
  }
  const int d = checked_dim(e, e.size(2), x.dim());
  SizeVec from = x.sizes, at = index.sizes;
  if (x.dim() > 0) from[d] = at[d] = 1;
  SizeVec both = broadcast(e, from, at);
  from = both, at = both;
  if (x.dim() > 0) from[d] = x.sizes[d], at[d] = index.sizes[d];
  return e.call(id::Gather,
                {e.call(id::Expand, {e.arg(0), sizes_arg(from)}), d, e.call(id::Expand, {e.arg(1), sizes_arg(at)})});
}

}  // namespace md
