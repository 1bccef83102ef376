// Composites that rearrange: ranks, triangles, diagonals, order, repetition. Joining and splitting:
// composite_joining.cpp.
#include <algorithm>

#include "ir/infer/expansion.h"
#include "registry/ops/arrangement.h"

namespace md {

Arg in_rows(const Expansion& e, const Arg& x) {
  const TensorType t = type_of(x);
  return is_row_major(t.sizes, t.strides) ? x : e.call(id::Compact, {x});
}

// --- Ranks -----------------------------------------------------------------------------------------------------------

Arg expand_rule(ops::MoveDim, const Expansion& e) {
  const int rank = e.rank(0);
  const SizeVec from = e.sizes(1), to = e.sizes(2);
  if (from.size() != to.size()) {
    e.fail(ErrorKind::Runtime,
           "Invalid source or destination dims: source ({} dims) should contain the same number of "
           "dims as destination ({} dims)",
           from.size(), to.size());
  }
  std::vector<int> order(static_cast<std::size_t>(rank), -1);
  std::vector<bool> moved(static_cast<std::size_t>(rank));
  for (std::size_t i = 0; i < from.size(); ++i) {
    const int source = checked_dim(e, from[i], rank), place = checked_dim(e, to[i], rank);
    if (rank == 0) continue;
    if (moved[source]) e.fail(ErrorKind::Runtime, "repeated dim in `source` ({})", sizes_text(from));
    if (order[place] >= 0) e.fail(ErrorKind::Runtime, "repeated dim in `destination` ({})", sizes_text(to));
    moved[source] = true;
    order[place] = source;
  }
  ListArg dims;
  int next = 0;
  for (int& d : order) {
    if (d < 0) {
      while (moved[next]) ++next;
      d = next++;
    }
    dims.items.emplace_back(d);
  }
  return e.call(id::Permute, {e.arg(0), dims});
}

Arg expand_rule(ops::Unflatten, const Expansion& e) {
  const TensorType x = e.tensor(0);
  if (x.dim() == 0) e.fail(ErrorKind::Index, "a 0-d tensor has no dimension to unflatten");
  const int d = checked_dim(e, e.size(1), x.dim());
  const SizeVec parts = e.sizes(2);
  if (parts.empty()) e.fail(ErrorKind::Runtime, "sizes must be non-empty");
  SizeVec sizes(x.sizes.begin(), x.sizes.begin() + d);
  for (const Size s : completed_sizes(e, parts, SizeVec{x.sizes[d]})) sizes.push_back(s);
  for (int i = d + 1; i < x.dim(); ++i) sizes.push_back(x.sizes[i]);
  return e.call(id::View, {e.arg(0), sizes_arg(sizes)});
}

Arg expand_rule(ops::Ravel, const Expansion& e) {
  const TensorType x = e.tensor(0);
  if (!is_row_major(x.sizes, x.strides)) need_known_layout(x);
  const Arg source = in_rows(e, e.arg(0));
  return e.call(id::View, {source, sizes_arg(SizeVec{product(x.sizes)})});
}

Arg expand_rule(ops::BroadcastTo, const Expansion& e) { return e.call(id::Expand, {e.arg(0), e.arg(1)}); }

Arg expand_rule(ops::ReshapeAs, const Expansion& e) { return reshaped_for_program(e, e.tensor(1).sizes); }

Arg expand_rule(ops::BroadcastTensors, const Expansion& e) {
  SizeVec sizes;
  for (const Arg& x : e.arg(0).get<ListArg>().items) sizes = broadcast(e, sizes, type_of(x).sizes);
  ListArg out{{}, true};
  for (const Arg& x : e.arg(0).get<ListArg>().items) out.items.push_back(e.call(id::Expand, {x, sizes_arg(sizes)}));
  return out;
}

namespace {

using Raised = Arg (*)(const Expansion&, const Arg&);

Arg of_rank_1(const Expansion& e, const Arg& x) { return type_of(x).dim() == 0 ? reshaped(e, x, SizeVec{1}) : x; }
Arg of_rank_2(const Expansion& e, const Arg& x) {
  const int rank = type_of(x).dim();
  if (rank == 0) return reshaped(e, x, SizeVec{1, 1});
  return rank == 1 ? e.call(id::Unsqueeze, {x, 0}) : x;
}
Arg of_rank_3(const Expansion& e, const Arg& x) {
  const int rank = type_of(x).dim();
  return rank == 2 ? e.call(id::Unsqueeze, {x, -1}) : (rank < 2 ? e.call(id::Unsqueeze, {of_rank_2(e, x), -1}) : x);
}
Arg each(const Expansion& e, Raised raise) {
  ListArg out{{}, true};
  for (const Arg& x : e.arg(0).get<ListArg>().items) out.items.push_back(raise(e, x));
  return out;
}

}  // namespace

Arg expand_rule(ops::AtLeast1d, const Expansion& e) { return of_rank_1(e, e.arg(0)); }
Arg expand_rule(ops::AtLeast2d, const Expansion& e) { return of_rank_2(e, e.arg(0)); }
Arg expand_rule(ops::AtLeast3d, const Expansion& e) { return of_rank_3(e, e.arg(0)); }
Arg expand_rule(ops::AtLeast1dList, const Expansion& e) { return each(e, of_rank_1); }
Arg expand_rule(ops::AtLeast2dList, const Expansion& e) { return each(e, of_rank_2); }
Arg expand_rule(ops::AtLeast3dList, const Expansion& e) { return each(e, of_rank_3); }

// --- Triangles, diagonals --------------------------------------------------------------------------------------------

namespace {

// 0, 1, ... as a column or a row.
Arg counted(const Expansion& e, Size n, bool column) {
  const Arg count = e.call(id::Arange, {0, n, 1, DType::Int64});
  return column ? e.call(id::Unsqueeze, {count, 1}) : count;
}

// The elements where column - row compares so with the diagonal, 0 elsewhere.
Arg triangle(const Expansion& e, OpId comparison) {
  const TensorType x = e.tensor(0);
  if (x.dim() < 2) e.fail(ErrorKind::Runtime, "input tensor must have at least 2 dimensions");
  const Arg rows = counted(e, x.sizes[x.dim() - 2], true), columns = counted(e, x.sizes.back(), false);
  const Arg keep = e.call(comparison, {e.call(id::Sub, {columns, rows}), e.arg(1)});
  const Arg zero = is_floating(x.dtype) ? Arg(0.0) : x.dtype == DType::Bool ? Arg(false) : Arg(0);
  return in_rows(e, e.call(id::Where, {keep, e.arg(0), zero}));
}

Arg zeros(const Expansion& e, const SizeVec& sizes, DType t) { return e.call(id::Zeros, {sizes_arg(sizes), t}); }

// `x` with its last dimension on the diagonal of two new last ones.
Arg on_diagonal(const Expansion& e, const Arg& x, Size offset) {
  const TensorType t = type_of(x);
  const bool below = guard_lt(offset, 0);
  const Size away = below ? 0 - offset : offset, side = t.sizes.back() + away;
  SizeVec sizes(t.sizes.begin(), t.sizes.end() - 1);
  sizes.push_back(side);
  sizes.push_back(side);
  SizeVec strides = row_major_strides(sizes);
  strides.pop_back();
  strides.back() = side + 1;
  const Size start = below ? away * side : away;
  return e.call(id::WriteView, {zeros(e, sizes, t.dtype), x, sizes_arg(strides), start});
}

}  // namespace

Arg expand_rule(ops::Tril, const Expansion& e) { return triangle(e, id::Le); }
Arg expand_rule(ops::Triu, const Expansion& e) { return triangle(e, id::Ge); }

Arg expand_rule(ops::FillDiagonal, const Expansion& e) {
  const TensorType x = e.tensor(0);
  const int rank = x.dim();
  if (rank < 2) e.fail(ErrorKind::Runtime, "at least 2 dimensions are needed, not {}", rank);
  const auto along = [&](int d) {
    Arg count = e.call(id::Arange, {0, x.sizes[d], 1, DType::Int64});
    for (int later = d + 1; later < rank; ++later) count = e.call(id::Unsqueeze, {count, -1});
    return count;
  };
  Arg first = along(0), inside = true;
  if (rank == 2 && e.flag(2)) first = e.call(id::Remainder, {first, x.sizes[1] + 1});
  for (int d = 1; d < rank; ++d) {
    if (rank > 2 && !guard_eq(x.sizes[d], x.sizes[0])) {
      e.fail(ErrorKind::Runtime, "a tensor of more than 2 dimensions must have equal sizes, not {}",
             sizes_text(x.sizes));
    }
    const Arg equal = e.call(id::Eq, {first, along(d)});
    inside = d == 1 ? equal : e.call(id::LogicalAnd, {inside, equal});
  }
  return e.call(id::Where, {inside, e.call(id::Full, {ListArg{}, e.arg(1), x.dtype}), e.arg(0)});
}

Arg expand_rule(ops::Diag, const Expansion& e) {
  const int rank = e.rank(0);
  if (rank == 1) return on_diagonal(e, e.arg(0), e.size(1));
  if (rank != 2) e.fail(ErrorKind::Runtime, "Supports 1D or 2D tensors. Got {}D", rank);
  return e.call(id::Compact, {e.call(id::Diagonal, {e.arg(0), e.arg(1)})});
}

Arg expand_rule(ops::DiagEmbed, const Expansion& e) {
  const int rank = e.rank(0) + 1;
  if (rank == 1) e.fail(ErrorKind::Index, "a tensor of at least one dimension is needed");
  const int rows = checked_dim(e, e.size(2), rank), columns = checked_dim(e, e.size(3), rank);
  if (rows == columns) e.fail(ErrorKind::Runtime, "diagonal dimensions cannot be identical {}, {}", rows, columns);
  const Arg last = on_diagonal(e, e.arg(0), e.size(1));
  ListArg order;
  for (int d = 0, next = 0; d < rank; ++d) {
    order.items.emplace_back(d == rows ? rank - 2 : d == columns ? rank - 1 : next++);
  }
  return e.call(id::Permute, {last, order});
}

Arg expand_rule(ops::DiagFlat, const Expansion& e) {
  const Arg flat = reshaped(e, e.arg(0), SizeVec{product(e.tensor(0).sizes)});
  return on_diagonal(e, flat, e.size(1));
}

Arg expand_rule(ops::BlockDiag, const Expansion& e) {
  const auto& items = e.arg(0).get<ListArg>().items;
  DType t = items.empty() ? default_dtype() : type_of(items[0]).dtype;
  std::vector<Arg> blocks;
  SizeVec sizes{0, 0};
  for (const Arg& x : items) {
    if (type_of(x).dim() > 2) {
      e.fail(ErrorKind::Runtime, "Input tensors must have 2 or fewer dimensions. Input {} has {} dimensions",
             blocks.size(), type_of(x).dim());
    }
    t = promote(t, type_of(x).dtype);
    blocks.push_back(of_rank_2(e, x));
    const SizeVec block = type_of(blocks.back()).sizes;
    sizes[0] = sizes[0] + block[0];
    sizes[1] = sizes[1] + block[1];
  }
  if (items.empty()) sizes[0] = 1;
  Arg whole = zeros(e, sizes, t);
  const Arg strides = sizes_arg(SizeVec{sizes[1], 1});
  Size row = 0, column = 0;
  for (const Arg& block : blocks) {
    whole = e.call(id::WriteView, {whole, converted(e, block, t), strides, row * sizes[1] + column});
    row = row + type_of(block).sizes[0];
    column = column + type_of(block).sizes[1];
  }
  return whole;
}

Arg expand_rule(ops::Trace, const Expansion& e) {
  if (e.rank(0) != 2) e.fail(ErrorKind::Runtime, "expected a matrix");
  if (e.tensor(0).dtype == DType::Bool) e.fail(ErrorKind::NotImplemented, "not defined for bool tensors");
  return e.call(id::Sum, {e.call(id::Diagonal, {e.arg(0)})});
}

// --- Order of elements -----------------------------------------------------------------------------------------------

Arg expand_rule(ops::FlipLr, const Expansion& e) {
  if (e.rank(0) < 2) e.fail(ErrorKind::Runtime, "Input must be >= 2-d.");
  return e.call(id::Flip, {e.arg(0), ListArg{{Arg(1)}}});
}

Arg expand_rule(ops::FlipUd, const Expansion& e) {
  if (e.rank(0) < 1) e.fail(ErrorKind::Runtime, "Input must be >= 1-d.");
  return e.call(id::Flip, {e.arg(0), ListArg{{Arg(0)}}});
}

namespace {

Arg rolled(const Expansion& e, const Arg& x, int d, Size shift) {
  const Size n = type_of(x).sizes[d];
  if (guard_eq(n, 0)) return x;
  const Size start = mod(n - mod(shift, n), n);  // the position that comes first
  if (guard_eq(start, 0)) return x;
  ListArg parts;
  parts.items.push_back(e.call(id::Narrow, {x, d, start, n - start}));
  parts.items.push_back(e.call(id::Narrow, {x, d, 0, start}));
  return e.call(id::Cat, {parts, d});
}

}  // namespace

Arg expand_rule(ops::Roll, const Expansion& e) {
  const TensorType x = e.tensor(0);
  const SizeVec shifts = e.sizes(1), dims = e.sizes(2);
  if (shifts.empty()) e.fail(ErrorKind::Runtime, "`shifts` required");
  if (dims.empty() && shifts.size() == 1) {
    const Arg flat = reshaped(e, e.arg(0), SizeVec{product(x.sizes)});
    return e.call(id::Clone, {reshaped(e, rolled(e, flat, 0, shifts[0]), x.sizes)});
  }
  if (shifts.size() != dims.size()) {
    e.fail(ErrorKind::Runtime, "shifts and dimensions must align. shifts: {}, dims:{}", shifts.size(), dims.size());
  }
  Arg result = e.arg(0);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const int d = checked_dim(e, dims[i], x.dim());
    if (x.dim() > 0) result = rolled(e, result, d, shifts[i]);
  }
  return result == e.arg(0) ? e.call(id::Clone, {result}) : result;
}

Arg expand_rule(ops::Rot90, const Expansion& e) {
  const int rank = e.rank(0);
  const SizeVec dims = e.arg(2).is_none() ? SizeVec{0, 1} : e.sizes(2);
  if (dims.size() != 2) e.fail(ErrorKind::Runtime, "expected total rotation dims == 2, but got dims = {}", dims.size());
  if (rank < 2) e.fail(ErrorKind::Runtime, "expected total dims >= 2, but got total dims = {}", rank);
  const int a = checked_dim(e, dims[0], rank), b = checked_dim(e, dims[1], rank);
  if (a == b)
    e.fail(ErrorKind::Runtime, "expected rotation dims to be different, but got dim0 = {} and dim1 = {}", a, b);
  const auto flipped = [&](std::initializer_list<Arg> which) {
    return e.call(id::Flip, {e.arg(0), ListArg{std::vector<Arg>(which)}});
  };
  switch (((fixed_size(e.size(1)) % 4) + 4) % 4) {
    case 1:
      return e.call(id::Transpose, {flipped({b}), a, b});
    case 2:
      return flipped({a, b});
    case 3:
      return e.call(id::Transpose, {flipped({a}), a, b});
    default:
      return e.call(id::Clone, {e.arg(0)});
  }
}

// --- Repetition ------------------------------------------------------------------------------------------------------

namespace {

Arg repeated(const Expansion& e, const SizeVec& counts) {
  const TensorType x = e.tensor(0);
  for (const Size n : counts) {
    if (guard_lt(n, 0)) {
      e.fail(ErrorKind::Runtime, "Trying to create tensor with negative dimension {}: {}", to_string(n),
             sizes_text(counts));
    }
  }
  if (static_cast<int>(counts.size()) < x.dim()) {
    e.fail(ErrorKind::Runtime,
           "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  }
  // (count, size) for every dimension, then joined.
  const std::size_t added = counts.size() - x.sizes.size();
  SizeVec apart, wide, joined;
  for (std::size_t d = 0; d < counts.size(); ++d) {
    const Size n = d < added ? Size(1) : x.sizes[d - added];
    apart.push_back(1), apart.push_back(n);
    wide.push_back(counts[d]), wide.push_back(n);
    joined.push_back(counts[d] * n);
  }
  const Arg expanded = e.call(id::Expand, {reshaped(e, e.arg(0), apart), sizes_arg(wide)});
  return e.call(id::View, {e.call(id::Compact, {expanded}), sizes_arg(joined)});
}

}  // namespace

Arg expand_rule(ops::Repeat, const Expansion& e) { return repeated(e, e.sizes(1)); }

Arg expand_rule(ops::Tile, const Expansion& e) {
  SizeVec counts;
  const SizeVec given = e.sizes(1);
  for (int d = static_cast<int>(given.size()); d < e.rank(0); ++d) counts.push_back(1);
  for (const Size n : given) counts.push_back(n);
  return repeated(e, counts);
}

Arg expand_rule(ops::RepeatInterleave, const Expansion& e) {
  const Size n = e.size(1);
  if (guard_lt(n, 0)) e.fail(ErrorKind::Runtime, "repeats can not be negative");
  const bool all = e.arg(2).is_none() || e.rank(0) == 0;
  const Arg x = all ? reshaped(e, e.arg(0), SizeVec{product(e.tensor(0).sizes)}) : e.arg(0);
  const TensorType t = type_of(x);
  const int d = all ? 0 : checked_dim(e, e.size(2), t.dim());
  SizeVec wide = t.sizes, joined = t.sizes;
  wide.insert(wide.begin() + d + 1, n);
  joined[d] = joined[d] * n;
  const Arg expanded = e.call(id::Expand, {e.call(id::Unsqueeze, {x, d + 1}), sizes_arg(wide)});
  return e.call(id::View, {e.call(id::Compact, {expanded}), sizes_arg(joined)});
}

}  // namespace md
