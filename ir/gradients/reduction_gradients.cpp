// Derivatives of reductions.
#include "ir/gradients/folded.h"
#include "registry/ops/reductions.h"

namespace md {

std::vector<int> folded_dims(const Derivation& d, const Arg& dim) {
  const int rank = d.rank(0);
  std::vector<int> dims;
  if (const auto* one = dim.get_if<Size>()) {
    if (rank > 0) dims.push_back(checked_dim(d, *one, rank));
  } else if (const auto* list = dim.get_if<ListArg>(); list && !list->items.empty()) {
    for (const Arg& a : list->items)
      if (rank > 0) dims.push_back(checked_dim(d, a.get<Size>(), rank));
  } else {
    for (int i = 0; i < rank; ++i) dims.push_back(i);
  }
  return dims;
}

Arg unfolded(const Derivation& d, const Arg& result, const std::vector<int>& dims) {
  SizeVec sizes = d.sizes_of(0);
  for (const int i : dims) sizes[i] = 1;
  return reshaped(d, result, sizes);
}

Arg dims_arg(const std::vector<int>& dims) {
  ListArg list;
  for (const int i : dims) list.items.emplace_back(Size(i));
  return list;
}

namespace {

Arg stretched(const Derivation& d, const Arg& x) { return d.call(id::Expand, {x, sizes_arg(d.sizes_of(0))}); }

// Products of the elements before each along `dim` (1 for the first), or of those after it.
Arg product_of_others(const Derivation& d, const Arg& x, std::int64_t dim, bool after) {
  const auto turned = [&](const Arg& a) { return after ? d.call(id::Flip, {a, ListArg{{Arg(Size(dim))}}}) : a; };
  const TensorType t = type_of(x);
  SizeVec one = t.sizes;
  one[static_cast<std::size_t>(dim)] = 1;
  const Arg ones = d.call(id::Full, {sizes_arg(one), 1.0, t.dtype});
  const Arg rest = d.call(id::Narrow, {turned(x), dim, 0, t.sizes[static_cast<std::size_t>(dim)] - Size(1)});
  return turned(d.call(id::CumProd, {d.call(id::Cat, {ListArg{{ones, rest}}, dim}), dim}));
}

// Equal extremes share the gradient.
Gradients of_extreme(const Derivation& d) {
  const std::vector<int> dims = folded_dims(d, d.arg(1));
  const Arg is_extreme = d.call(id::Eq, {d.arg(0), unfolded(d, d.y(), dims)});
  const Arg mask = converted(d, is_extreme, type_of(d.g()).dtype);
  const Arg count = dims.empty() ? mask : d.call(id::Sum, {mask, dims_arg(dims), true});
  return d.all({d.mul(d.div(unfolded(d, d.g(), dims), count), mask)});
}

// The element at the position found gets the gradient.
Gradients of_position(const Derivation& d) {
  const Arg zeros = d.call(id::Zeros, {sizes_arg(d.sizes_of(0)), type_of(d.g()).dtype});
  if (d.rank(0) == 0) return d.all({d.g()});
  const std::vector<int> dims = folded_dims(d, d.arg(1));
  return d.all({d.call(id::Scatter, {zeros, dims[0], unfolded(d, d.results[1], dims), unfolded(d, d.g(), dims)})});
}

}  // namespace

Gradients vjp_rule(ops::Sum, const Derivation& d) {
  return d.all({stretched(d, unfolded(d, d.g(), folded_dims(d, d.arg(1))))});
}

// Exact where elements are 0: what the others give is multiplied, not divided out.
Gradients vjp_rule(ops::Prod, const Derivation& d) {
  const DType t = type_of(d.g()).dtype;
  const Arg x = converted(d, d.arg(0), t);
  if (d.rank(0) == 0) return d.all({d.g()});
  const bool whole = d.arg(1).is_none();
  const std::int64_t dim = whole ? 0 : checked_dim(d, d.size(1), d.rank(0));
  const Arg line = whole ? reshaped(d, x, SizeVec{product(d.sizes_of(0))}) : x;
  const SizeVec have = type_of(line).sizes;
  if (guard_eq(have[static_cast<std::size_t>(dim)], 0)) return d.all({d.zeros_like(x)});
  const Arg others = d.mul(product_of_others(d, line, dim, false), product_of_others(d, line, dim, true));
  SizeVec kept = have;
  kept[static_cast<std::size_t>(dim)] = 1;
  return d.all({reshaped(d, d.mul(reshaped(d, d.g(), kept), others), d.sizes_of(0))});
}

// Bools and positions.
Gradients vjp_rule(ops::Any, const Derivation& d) { return d.all({}); }
Gradients vjp_rule(ops::All, const Derivation& d) { return d.all({}); }
Gradients vjp_rule(ops::ArgMax, const Derivation& d) { return d.all({}); }
Gradients vjp_rule(ops::ArgMin, const Derivation& d) { return d.all({}); }

Gradients vjp_rule(ops::AMax, const Derivation& d) { return of_extreme(d); }
Gradients vjp_rule(ops::AMin, const Derivation& d) { return of_extreme(d); }
Gradients vjp_rule(ops::MaxDim, const Derivation& d) { return of_position(d); }
Gradients vjp_rule(ops::MinDim, const Derivation& d) { return of_position(d); }

}  // namespace md
