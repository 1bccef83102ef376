// Composites that join and split by rank, grids, strided creation.
#include <algorithm>

#include "ir/infer/expansion.h"
#include "registry/ops/arrangement.h"

namespace md {
namespace {

const std::vector<Arg>& tensors_of(const Expansion& e) {
  const auto& items = e.arg(0).get<ListArg>().items;
  if (items.empty()) e.fail(ErrorKind::Runtime, "expects a non-empty TensorList");
  return items;
}

// Every tensor brought to a rank by `raise`, then joined.
Arg joined(const Expansion& e, OpId raise, int dim) {
  ListArg parts;
  for (const Arg& x : tensors_of(e)) parts.items.push_back(e.call(raise, {x}));
  return e.call(id::Cat, {parts, dim});
}

}  // namespace

Arg expand_rule(ops::HStack, const Expansion& e) {
  const bool vectors = type_of(tensors_of(e)[0]).dim() <= 1;
  return joined(e, id::AtLeast1d, vectors ? 0 : 1);
}
Arg expand_rule(ops::VStack, const Expansion& e) { return joined(e, id::AtLeast2d, 0); }
Arg expand_rule(ops::DStack, const Expansion& e) { return joined(e, id::AtLeast3d, 2); }

Arg expand_rule(ops::ColumnStack, const Expansion& e) {
  ListArg parts;
  for (const Arg& x : tensors_of(e)) {
    const TensorType t = type_of(x);
    parts.items.push_back(t.dim() <= 1 ? reshaped(e, x, SizeVec{product(t.sizes), 1}) : x);
  }
  return e.call(id::Cat, {parts, 1});
}

// --- Splitting -------------------------------------------------------------------------------------------------------

namespace {

Arg split_into(const Expansion& e, int d, Size pieces) {
  const std::int64_t count = fixed_size(pieces);
  if (count <= 0) e.fail(ErrorKind::Runtime, "number of sections must be larger than 0, got {}", count);
  const std::int64_t n = fixed_size(e.tensor(0).sizes[d]);
  ListArg parts{{}, true};
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t length = n / count + (i < n % count);
    parts.items.push_back(e.call(id::Narrow, {e.arg(0), d, at, length}));
    at += length;
  }
  return parts;
}

Arg split_at(const Expansion& e, int d, const SizeVec& positions) {
  ListArg parts{{}, true};
  Arg start = 0;
  for (const Size p : positions) {
    parts.items.push_back(e.call(id::Slice, {e.arg(0), d, start, p, 1}));
    start = p;
  }
  parts.items.push_back(e.call(id::Slice, {e.arg(0), d, start, NoneArg{}, 1}));
  return parts;
}

int split_dim(const Expansion& e, Size dim) {
  if (e.rank(0) == 0) {
    e.fail(ErrorKind::Runtime, "expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
  }
  return checked_dim(e, dim, e.rank(0));
}

// The dimension of hsplit, vsplit and dsplit: `dim`, or 0 for the vectors that hsplit takes.
int split_rank(const Expansion& e, int least, int dim) {
  const int rank = e.rank(0);
  if (rank < least) {
    e.fail(ErrorKind::Runtime, "requires a tensor with at least {} dimension, but got a tensor with {} dimensions!",
           least, rank);
  }
  return rank == 1 ? 0 : dim;
}

Arg split_equally(const Expansion& e, int d) {
  const std::int64_t n = fixed_size(e.tensor(0).sizes[d]), count = fixed_size(e.size(1));
  if (count <= 0 || n % count != 0) {
    e.fail(ErrorKind::Runtime,
           "attempted to split along dimension {}, but the size of the dimension {} is not "
           "divisible by the split_size {}!",
           d, n, count);
  }
  return split_into(e, d, count);
}

}  // namespace

Arg expand_rule(ops::TensorSplit, const Expansion& e) { return split_into(e, split_dim(e, e.size(2)), e.size(1)); }
Arg expand_rule(ops::TensorSplitAt, const Expansion& e) { return split_at(e, split_dim(e, e.size(2)), e.sizes(1)); }
Arg expand_rule(ops::HSplit, const Expansion& e) { return split_equally(e, split_rank(e, 1, 1)); }
Arg expand_rule(ops::HSplitAt, const Expansion& e) { return split_at(e, split_rank(e, 1, 1), e.sizes(1)); }
Arg expand_rule(ops::VSplit, const Expansion& e) { return split_equally(e, split_rank(e, 2, 0)); }
Arg expand_rule(ops::VSplitAt, const Expansion& e) { return split_at(e, split_rank(e, 2, 0), e.sizes(1)); }
Arg expand_rule(ops::DSplit, const Expansion& e) { return split_equally(e, split_rank(e, 3, 2)); }
Arg expand_rule(ops::DSplitAt, const Expansion& e) { return split_at(e, split_rank(e, 3, 2), e.sizes(1)); }

// --- Grids -----------------------------------------------------------------------------------------------------------

namespace {

std::vector<Arg> grid(const Expansion& e, const std::vector<Arg>& vectors) {
  SizeVec sizes;
  for (const Arg& v : vectors) {
    const TensorType t = type_of(v);
    if (t.dim() > 1) {
      e.fail(ErrorKind::Runtime, "Expected 0D or 1D tensor in the tensor list but got a tensor of {} dimensions",
             t.dim());
    }
    if (t.dtype != type_of(vectors[0]).dtype) {
      e.fail(ErrorKind::Runtime, "expects all tensors to have the same dtype");
    }
    sizes.push_back(product(t.sizes));
  }
  std::vector<Arg> out;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    SizeVec own(vectors.size(), Size(1));
    own[i] = sizes[i];
    out.push_back(e.call(id::Expand, {reshaped(e, vectors[i], own), sizes_arg(sizes)}));
  }
  return out;
}

}  // namespace

Arg expand_rule(ops::MeshGrid, const Expansion& e) {
  std::vector<Arg> vectors = tensors_of(e);
  const std::string indexing = e.arg(1).is_none() ? "ij" : e.arg(1).get<std::string>();
  if (indexing != "ij" && indexing != "xy") {
    e.fail(ErrorKind::Runtime, "indexing must be one of \"xy\" or \"ij\", but received: {}", indexing);
  }
  const bool swap = indexing == "xy" && vectors.size() > 1;
  if (swap) std::swap(vectors[0], vectors[1]);
  std::vector<Arg> out = grid(e, vectors);
  if (swap) std::swap(out[0], out[1]);
  return ListArg{std::move(out), true};
}

Arg expand_rule(ops::CartesianProd, const Expansion& e) {
  const std::vector<Arg>& vectors = tensors_of(e);
  for (const Arg& v : vectors) {
    if (type_of(v).dim() != 1)
      e.fail(ErrorKind::Runtime, "Expect a 1D vector, but got shape {}", sizes_text(type_of(v).sizes));
  }
  if (vectors.size() == 1) return vectors[0];
  ListArg columns;
  for (const Arg& x : grid(e, vectors)) columns.items.push_back(reshaped(e, x, SizeVec{product(type_of(x).sizes)}));
  return e.call(id::Stack, {columns, 1});
}

// --- Creation --------------------------------------------------------------------------------------------------------

Arg expand_rule(ops::LogSpace, const Expansion& e) {
  const DType t = chosen_dtype(e, default_dtype());
  if (t == DType::Bool) e.fail(ErrorKind::NotImplemented, "not defined for bool");
  const Arg powers = e.call(id::Linspace, {e.arg(0), e.arg(1), e.arg(2), DType::Float64});
  const Arg result = e.call(id::Pow, {e.arg(3), powers});
  return converted(e, result, t);
}

Arg expand_rule(ops::EmptyStrided, const Expansion& e) {
  const SizeVec sizes = e.sizes(0), strides = e.sizes(1);
  Size n = 1;
  for (std::size_t d = 0; d < std::min(sizes.size(), strides.size()); ++d) {
    if (guard_lt(sizes[d], 0) || guard_lt(strides[d], 0)) {
      e.fail(ErrorKind::Runtime, "sizes {} and strides {} must not be negative", sizes_text(sizes),
             sizes_text(strides));
    }
    n = guard_eq(sizes[d], 0) ? Size(0) : n + (sizes[d] - 1) * strides[d];
    if (guard_eq(n, 0)) break;
  }
  const Arg storage = e.call(id::Empty, {sizes_arg(SizeVec{n}), e.arg(2), e.arg(3), e.arg(4)});
  return e.call(id::AsStrided, {storage, sizes_arg(sizes), sizes_arg(strides)});
}

}  // namespace md
