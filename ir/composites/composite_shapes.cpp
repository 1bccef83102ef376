// Composite ops on shapes, indexing and matrix products.
#include <algorithm>

#include "ir/infer/expansion.h"
#include "ir/infer/memory_formats.h"
#include "ir/infer/unbacked.h"
#include "ir/sizes/assumptions.h"
#include "registry/ops/composites.h"

namespace md {

Arg reshaped(const Expansion& e, const Arg& x, const SizeVec& sizes) {
  const TensorType t = type_of(x);
  const SizeVec wanted = completed_sizes(e, sizes, t.sizes);
  const Arg source = view_strides(t, wanted) ? x : e.call(id::Compact, {x});
  return e.call(id::View, {source, sizes_arg(wanted)});
}

void need_known_layout(const TensorType& x) {
  const auto unknown = [](const SizeVec& v) { return std::ranges::any_of(v, is_unbacked); };
  if (!unknown(x.sizes) && !unknown(x.strides)) return;
  if (!SizeAssumptions::current()) {
    throw DataDependent(DataDependent::What::Size, "whether a copy is made depends on a size known only at run time");
  }
  // Of two elements at least the layout is what the strides say.
  for (const Size size : x.sizes)
    if (is_unbacked(size)) size.expr()->env->decide(SizeRelation::Ge, size, 2);
}

Arg reshaped_for_program(const Expansion& e, const SizeVec& sizes) {
  const TensorType x = e.tensor(0);
  if (!view_strides(x, completed_sizes(e, sizes, x.sizes))) need_known_layout(x);
  return reshaped(e, e.arg(0), sizes);
}

Arg expand_rule(ops::Reshape, const Expansion& e) { return reshaped_for_program(e, e.sizes(1)); }

Arg expand_rule(ops::ViewAs, const Expansion& e) { return e.call(id::View, {e.arg(0), sizes_arg(e.tensor(1).sizes)}); }

Arg expand_rule(ops::ExpandAs, const Expansion& e) {
  return e.call(id::Expand, {e.arg(0), sizes_arg(e.tensor(1).sizes)});
}

Arg expand_rule(ops::Flatten, const Expansion& e) {
  const TensorType x = e.tensor(0);
  const int start = checked_dim(e, e.size(1), x.dim()), end = checked_dim(e, e.size(2), x.dim());
  if (x.dim() == 0) return reshaped_for_program(e, SizeVec{1});
  if (start > end) e.fail(ErrorKind::Runtime, "start_dim {} comes after end_dim {}", start, end);
  if (start == end) return e.arg(0);
  SizeVec sizes(x.sizes.begin(), x.sizes.begin() + start);
  Size joined = 1;
  for (int i = start; i <= end; ++i) joined = joined * x.sizes[i];
  sizes.push_back(joined);
  for (int i = end + 1; i < x.dim(); ++i) sizes.push_back(x.sizes[i]);
  return reshaped_for_program(e, sizes);
}

// --- Splitting, joining
// ------------------------------------------------------------------------------------------------

namespace {

// Along which dimension, and how long it is.
struct Cut {
  int dim;
  Size size;
};
Cut cut_of(const Expansion& e, Size dim) {
  const TensorType x = e.tensor(0);
  if (x.dim() == 0) e.fail(ErrorKind::Runtime, "a 0-d tensor cannot be split");
  const int d = checked_dim(e, dim, x.dim());
  return {d, x.sizes[d]};
}

// Only how many pieces there are is fixed.
Arg split_evenly(const Expansion& e, Cut cut, Size piece, std::int64_t least_pieces) {
  ListArg parts;
  parts.tuple = true;
  const Size whole = guard_eq(piece, 0) ? Size(0) : floordiv(cut.size + piece - 1, piece);
  const std::int64_t count = std::max(fixed_size(whole), least_pieces);
  Size at = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    const Size length = k + 1 < count ? piece : cut.size - at;
    parts.items.push_back(e.call(id::Narrow, {e.arg(0), cut.dim, at, length}));
    at = at + length;
  }
  return parts;
}

}  // namespace

Arg expand_rule(ops::Split, const Expansion& e) {
  const Cut cut = cut_of(e, e.size(2));
  const std::int64_t piece = fixed_size(e.size(1));
  if (piece < 0) e.fail(ErrorKind::Runtime, "split_size must not be negative, but is {}", piece);
  if (piece == 0 && !guard_eq(cut.size, 0))
    e.fail(ErrorKind::Runtime, "split_size 0 fits only a size of 0, not {}", to_string(cut.size));
  return split_evenly(e, cut, piece, 1);
}

Arg expand_rule(ops::SplitSizes, const Expansion& e) {
  const Cut cut = cut_of(e, e.size(2));
  const SizeVec lengths = e.sizes(1);
  Size total = 0;
  for (const Size s : lengths) total = total + s;
  if (!guard_eq(total, cut.size)) {
    e.fail(ErrorKind::Runtime, "split sizes {} do not add up to {}, the size of dimension {}", sizes_text(lengths),
           to_string(cut.size), cut.dim);
  }
  ListArg parts;
  parts.tuple = true;
  Size at = 0;
  for (const Size s : lengths) {
    parts.items.push_back(e.call(id::Narrow, {e.arg(0), cut.dim, at, s}));
    at = at + s;
  }
  return parts;
}

Arg expand_rule(ops::Chunk, const Expansion& e) {
  const Cut cut = cut_of(e, e.size(2));
  const std::int64_t chunks = fixed_size(e.size(1));
  if (chunks <= 0) e.fail(ErrorKind::Runtime, "chunks must be greater than 0, but is {}", chunks);
  const Size piece = floordiv(cut.size + (chunks - 1), Size(chunks));
  return split_evenly(e, cut, piece, guard_eq(piece, 0) ? chunks : 1);
}

Arg expand_rule(ops::Unbind, const Expansion& e) {
  if (e.tensor(0).dim() == 0) e.fail(ErrorKind::Index, "a 0-d tensor has no dimension to unbind");
  const Cut cut = cut_of(e, e.size(1));
  ListArg parts;
  parts.tuple = true;
  const std::int64_t count = fixed_size(cut.size);
  for (std::int64_t i = 0; i < count; ++i) parts.items.push_back(e.call(id::Select, {e.arg(0), cut.dim, i}));
  return parts;
}

Arg expand_rule(ops::Stack, const Expansion& e) {
  const auto& items = e.arg(0).get<ListArg>().items;
  if (items.empty()) e.fail(ErrorKind::Runtime, "a non-empty list of tensors is needed");
  const TensorType first = type_of(items[0]);
  const int d = checked_dim(e, e.size(1), first.dim() + 1);
  ListArg raised;
  for (const Arg& a : items) {
    const TensorType t = type_of(a);
    bool equal = t.dim() == first.dim();
    for (int i = 0; equal && i < t.dim(); ++i) equal = guard_eq(t.sizes[i], first.sizes[i]);
    if (!equal) {
      e.fail(ErrorKind::Runtime, "all tensors must have the same sizes, but there are {} and {}",
             sizes_text(first.sizes), sizes_text(t.sizes));
    }
    raised.items.push_back(a);
  }
  // Joined along the dimension that is cut afterwards, so that they keep their memory format.
  if (d < first.dim() && first.dim() >= 4 && suggested_format(first) != MemoryFormat::Contiguous) {
    const Arg joined = e.call(id::Cat, {raised, d});
    SizeVec sizes = first.sizes;
    sizes.insert(sizes.begin() + d, Size(static_cast<std::int64_t>(items.size())));
    return e.call(id::View, {joined, sizes_arg(sizes)});
  }
  for (Arg& a : raised.items) a = e.call(id::Unsqueeze, {a, d});
  return e.call(id::Cat, {raised, d});
}

// --- Products
// ----------------------------------------------------------------------------------------------------------

namespace {

SizeVec without_last(const SizeVec& sizes, int n) { return SizeVec(sizes.begin(), sizes.end() - n); }

// (.., n, k) @ (k, m): the batch joins the rows.
Arg product_with_matrix(const Expansion& e, const Arg& a, const Arg& b) {
  const TensorType x = type_of(a), y = type_of(b);
  SizeVec rows{1, x.sizes.back()};
  rows[0] = product(without_last(x.sizes, 1));
  SizeVec out = without_last(x.sizes, 1);
  out.push_back(y.sizes.back());
  return reshaped(e, e.call(id::Mm, {reshaped(e, a, rows), b}), out);
}

Arg with_batch(const Expansion& e, const Arg& x, const SizeVec& batch) {
  const TensorType t = type_of(x);
  SizeVec sizes = batch;
  for (int i = 2; i > 0; --i) sizes.push_back(t.sizes[t.dim() - i]);
  return e.call(id::Expand, {x, sizes_arg(sizes)});
}

SizeVec joined_batch(const TensorType& t) {
  return {product(without_last(t.sizes, 2)), t.sizes[t.dim() - 2], t.sizes.back()};
}

Arg product_of_batches(const Expansion& e, const Arg& a, const Arg& b) {
  const TensorType x = type_of(a), y = type_of(b);
  const SizeVec batch = broadcast(e, without_last(x.sizes, 2), without_last(y.sizes, 2));
  const Arg left = with_batch(e, a, batch), right = with_batch(e, b, batch);
  const TensorType l = type_of(left), r = type_of(right);
  const bool defined = l.dtype == r.dtype && l.dtype != DType::Bool;  // bmm says what is wrong
  if (defined && !(view_strides(l, joined_batch(l)) && view_strides(r, joined_batch(r))))
    return e.call(id::BatchedMm, {left, right});
  const Arg out = e.call(id::Bmm, {reshaped(e, left, joined_batch(l)), reshaped(e, right, joined_batch(r))});
  SizeVec sizes = batch;
  sizes.push_back(x.sizes[x.dim() - 2]);
  sizes.push_back(y.sizes.back());
  return reshaped(e, out, sizes);
}

Arg matrices_product(const Expansion& e, const Arg& a, const Arg& b) {
  const int x = type_of(a).dim(), y = type_of(b).dim();
  if (x == 2 && y == 2) return e.call(id::Mm, {a, b});
  return y == 2 ? product_with_matrix(e, a, b) : product_of_batches(e, a, b);
}

void need_rank(const Expansion& e, int arg, int rank, const char* what) {
  const TensorType t = e.tensor(arg);
  if (t.dim() != rank) e.fail(ErrorKind::Runtime, "a {} is needed, not sizes {}", what, sizes_text(t.sizes));
}

void check_inner(const Expansion& e, Size a, Size b) {
  if (!guard_eq(a, b)) {
    e.fail(ErrorKind::Runtime, "sizes {} and {} cannot be multiplied", sizes_text(e.tensor(0).sizes),
           sizes_text(e.tensor(1).sizes));
  }
}

// Vectors gain a dimension for the product, and the result loses it again.
Arg product_of(const Expansion& e) {
  const TensorType x = e.tensor(0), y = e.tensor(1);
  check_inner(e, x.sizes.back(), y.dim() == 1 ? y.sizes[0] : y.sizes[y.dim() - 2]);
  const Arg a = x.dim() == 1 ? e.call(id::Unsqueeze, {e.arg(0), 0}) : e.arg(0);
  const Arg b = y.dim() == 1 ? e.call(id::Unsqueeze, {e.arg(1), 1}) : e.arg(1);
  Arg out = matrices_product(e, a, b);
  if (y.dim() == 1) out = e.call(id::Select, {out, -1, 0});
  if (x.dim() == 1) out = e.call(id::Select, {out, y.dim() == 1 ? -1 : -2, 0});
  return out;
}

}  // namespace

Arg expand_rule(ops::Matmul, const Expansion& e) {
  const int x = e.tensor(0).dim(), y = e.tensor(1).dim();
  if (x == 0 || y == 0) {
    e.fail(ErrorKind::Runtime, "both arguments need at least 1 dimension, but have {} and {}", x, y);
  }
  return product_of(e);
}

Arg expand_rule(ops::Mv, const Expansion& e) {
  need_rank(e, 0, 2, "matrix");
  need_rank(e, 1, 1, "vector");
  return product_of(e);
}

Arg expand_rule(ops::Dot, const Expansion& e) {
  need_rank(e, 0, 1, "vector");
  need_rank(e, 1, 1, "vector");
  return product_of(e);
}

}  // namespace md
