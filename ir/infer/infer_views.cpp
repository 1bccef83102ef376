// Inference rules of views: sizes, strides and offset over the operand's storage.
#include "ir/infer/infer.h"
#include "ir/infer/unbacked.h"
#include "registry/ops/views.h"

namespace md {

SizeVec completed_sizes(const InferCall& c, SizeVec wanted, const SizeVec& have) {
  const Size numel = product(have);
  Size known = 1;
  int open = -1;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].is_const(-1)) {
      if (open >= 0) c.fail(ErrorKind::Runtime, "only one dimension can be inferred");
      open = static_cast<int>(i);
    } else if (wanted[i].is_const() && wanted[i].value() < 0) {
      c.fail(ErrorKind::Runtime, "invalid shape dimension {}", wanted[i].value());
    } else {
      known = known * wanted[i];
    }
  }
  const auto refuse = [&] {
    c.fail(ErrorKind::Runtime, "shape '{}' is invalid for input of size {}", sizes_text(wanted), to_string(numel));
  };
  if (open < 0) {
    if (!guard_eq(known, numel)) refuse();
    return wanted;
  }
  if (guard_eq(known, 0)) {
    if (!guard_eq(numel, 0)) refuse();
    c.fail(ErrorKind::Runtime, "-1 in shape {} could be any size, because the tensor has no elements",
           sizes_text(wanted));
  }
  if (!guard_eq(mod(numel, known), 0)) refuse();
  wanted[open] = floordiv(numel, known);
  return wanted;
}

std::optional<SizeVec> view_strides(const TensorType& x, const SizeVec& wanted) {
  if (x.sizes == wanted) return x.strides;
  if (x.dim() == 0 || layout_eq(product(x.sizes), 0)) return row_major_strides(wanted);
  // There are as many elements, which completed_sizes() has looked at.
  if (std::ranges::any_of(wanted, is_unbacked) && is_row_major(x.sizes, x.strides)) return row_major_strides(wanted);
  SizeVec strides(wanted.size());
  int next = static_cast<int>(wanted.size()) - 1;  // wanted dimension to place, innermost first
  Size run = 1;                                    // elements in the current run of mergeable dimensions
  for (int d = x.dim() - 1, inner = d; d >= 0; --d) {
    run = run * x.sizes[d];
    const bool merges = d > 0 && (x.sizes[d - 1].is_const(1) || layout_eq(x.strides[d - 1], run * x.strides[inner]));
    if (merges) continue;
    Size placed = 1;
    while (next >= 0 && (layout_lt(placed, run) || layout_eq(wanted[next], 1))) {
      strides[next] = placed * x.strides[inner];
      placed = placed * wanted[next--];
    }
    if (!layout_eq(placed, run)) return {};
    inner = d - 1, run = 1;
  }
  if (next >= 0) return {};
  return strides;
}

TensorType infer_rule(ops::View, const InferCall& c) {
  TensorType x = c.tensor(0);
  SizeVec sizes = completed_sizes(c, c.sizes(1), x.sizes);
  const auto strides = view_strides(x, sizes);
  if (!strides) {
    c.fail(ErrorKind::Runtime, "sizes {} with strides {} cannot be viewed as {} without a copy; use reshape()",
           sizes_text(x.sizes), sizes_text(x.strides), sizes_text(sizes));
  }
  x.sizes = std::move(sizes);
  x.strides = *strides;
  x.wrapped_number = false;
  return x;
}

namespace {
void swap_dims(TensorType& x, int a, int b) {
  if (x.dim() == 0) return;
  std::swap(x.sizes[a], x.sizes[b]);
  std::swap(x.strides[a], x.strides[b]);
}
}  // namespace

TensorType infer_rule(ops::Permute, const InferCall& c) {
  TensorType x = c.tensor(0);
  const SizeVec dims = c.sizes(1);
  if (static_cast<int>(dims.size()) != x.dim()) {
    c.fail(ErrorKind::Runtime, "{} dims are given for a tensor of {} dimensions", dims.size(), x.dim());
  }
  TensorType out = x;
  std::vector<bool> seen(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const int d = checked_dim(c, dims[i], x.dim());
    if (seen[d]) c.fail(ErrorKind::Runtime, "dimension {} is given twice", d);
    seen[d] = true;
    out.sizes[i] = x.sizes[d];
    out.strides[i] = x.strides[d];
  }
  return out;
}

TensorType infer_rule(ops::Transpose, const InferCall& c) {
  TensorType x = c.tensor(0);
  const int a = checked_dim(c, c.size(1), x.dim()), b = checked_dim(c, c.size(2), x.dim());
  swap_dims(x, a, b);
  return x;
}

TensorType infer_rule(ops::MatrixT, const InferCall& c) {
  TensorType x = c.tensor(0);
  if (x.dim() > 2) c.fail(ErrorKind::Runtime, "a tensor of at most 2 dimensions is needed, not {}", x.dim());
  if (x.dim() == 2) swap_dims(x, 0, 1);
  return x;
}

TensorType infer_rule(ops::ReversedT, const InferCall& c) {
  TensorType x = c.tensor(0);
  for (int i = 0, j = x.dim() - 1; i < j; ++i, --j) swap_dims(x, i, j);
  return x;
}

TensorType infer_rule(ops::LastTwoT, const InferCall& c) {
  TensorType x = c.tensor(0);
  if (x.dim() == 0) return x;
  if (x.dim() < 2) c.fail(ErrorKind::Runtime, "at least 2 dimensions are needed, not {}", x.dim());
  swap_dims(x, x.dim() - 2, x.dim() - 1);
  return x;
}

namespace {
TensorType without_dims(const TensorType& x, const std::vector<bool>& drop) {
  TensorType out = x;
  out.sizes.clear();
  out.strides.clear();
  for (int i = 0; i < x.dim(); ++i) {
    if (drop[i]) continue;
    out.sizes.push_back(x.sizes[i]);
    out.strides.push_back(x.strides[i]);
  }
  return out;
}
}  // namespace

TensorType infer_rule(ops::Squeeze, const InferCall& c) {
  const TensorType x = c.tensor(0);
  std::vector<bool> drop(x.dim());
  for (int i = 0; i < x.dim(); ++i) drop[i] = guard_eq(x.sizes[i], 1);
  return without_dims(x, drop);
}

TensorType infer_rule(ops::SqueezeDim, const InferCall& c) {
  const TensorType x = c.tensor(0);
  std::vector<bool> drop(x.dim()), seen(std::max(x.dim(), 1));
  for (const Size d : c.sizes(1)) {
    const int at = checked_dim(c, d, x.dim());
    if (seen[at]) c.fail(ErrorKind::Runtime, "dim {} appears multiple times in the list of dims", at);
    seen[at] = true;
    if (x.dim() > 0) drop[at] = guard_eq(x.sizes[at], 1);
  }
  return without_dims(x, drop);
}

TensorType infer_rule(ops::Unsqueeze, const InferCall& c) {
  TensorType x = c.tensor(0);
  const int d = checked_dim(c, c.size(1), x.dim() + 1);
  const Size stride = d == x.dim() ? Size(1) : x.sizes[d] * x.strides[d];
  x.sizes.insert(x.sizes.begin() + d, Size(1));
  x.strides.insert(x.strides.begin() + d, stride);
  return x;
}

TensorType infer_rule(ops::Expand, const InferCall& c) {
  const TensorType x = c.tensor(0);
  TensorType out = x;
  out.wrapped_number = false;
  out.sizes = c.sizes(1);
  const int rank = out.dim(), added = rank - x.dim();
  if (added < 0) {
    c.fail(ErrorKind::Runtime, "{} sizes are given for a tensor of {} dimensions", rank, x.dim());
  }
  out.strides = SizeVec(static_cast<std::size_t>(rank));
  for (int i = 0; i < rank; ++i) {
    Size& wanted = out.sizes[i];
    if (i < added) {
      if (wanted.is_const() && wanted.value() < 0)
        c.fail(ErrorKind::Runtime, "a new dimension cannot have size {}", wanted.value());
      continue;
    }
    const Size have = x.sizes[i - added];
    if (wanted.is_const(-1) || have == wanted || (!have.is_const(1) && guard_eq(have, wanted))) {
      wanted = have;
      out.strides[i] = x.strides[i - added];
    } else if (!guard_eq(have, 1)) {
      c.fail(ErrorKind::Runtime, "sizes {} do not expand to {}: {} is not 1 at dimension {}", sizes_text(x.sizes),
             sizes_text(c.sizes(1)), to_string(have), i);
    } else if (wanted.is_const() && wanted.value() < 0) {
      c.fail(ErrorKind::Runtime, "invalid size {}", wanted.value());
    }
  }
  static_cast<void>(product(out.sizes));  // more elements than an int64 counts are refused
  return out;
}

TensorType infer_rule(ops::Select, const InferCall& c) {
  TensorType x = c.tensor(0);
  if (x.dim() == 0) c.fail(ErrorKind::Index, "a 0-d tensor has no dimension to select from");
  const int d = checked_dim(c, c.size(1), x.dim());
  Size index = c.size(2);
  const Size size = x.sizes[d];
  if (guard_lt(index, 0 - size) || !guard_lt(index, size)) {
    throw OpError(ErrorKind::Index, fmt::format("index {} is out of bounds for dimension {} with size {}",
                                                to_string(index), d, to_string(size)));
  }
  if (guard_lt(index, 0)) index = index + size;
  x.offset = x.offset + index * x.strides[d];
  x.sizes.erase(x.sizes.begin() + d);
  x.strides.erase(x.strides.begin() + d);
  return x;
}

TensorType infer_rule(ops::Narrow, const InferCall& c) {
  TensorType x = c.tensor(0);
  if (x.dim() == 0) c.fail(ErrorKind::Runtime, "a 0-d tensor cannot be narrowed");
  const int d = checked_dim(c, c.size(1), x.dim());
  Size start = c.size(2);
  const Size length = c.size(3), size = x.sizes[d];
  if (guard_lt(length, 0)) c.fail(ErrorKind::Runtime, "length {} is negative", to_string(length));
  if (guard_lt(start, 0 - size) || guard_lt(size, start)) {
    c.fail(ErrorKind::Index, "start {} is out of range for dimension {} of size {}", to_string(start), d,
           to_string(size));
  }
  if (guard_lt(start, 0)) start = start + size;
  if (guard_lt(size, start + length)) {
    c.fail(ErrorKind::Runtime, "start {} + length {} exceeds size {} of dimension {}", to_string(start),
           to_string(length), to_string(size), d);
  }
  x.offset = x.offset + start * x.strides[d];
  x.sizes[d] = length;
  return x;
}

namespace {
// A bound of a Python slice brought into 0..size. Of what is known only at run time it is one expression, since nothing
// can be decided: min(max(bound, -1), 0) is -1 for bounds that count from the end, else 0.
Size clamped_bound(const Arg& bound, Size size, Size otherwise) {
  if (bound.is_none()) return otherwise;
  Size b = bound.get<Size>();
  if (is_unbacked(b) || is_unbacked(size)) return min(max(b - size * min(max(b, -1), 0), 0), size);
  if (guard_lt(b, 0)) b = b + size;
  if (guard_lt(b, 0)) return 0;
  return guard_lt(size, b) ? size : b;
}

Size slice_length(Size start, Size stop, Size step) {
  const Size length = floordiv(stop - start + step - 1, step);
  if (is_unbacked(start) || is_unbacked(stop)) return max(length, 0);
  return guard_lt(start, stop) ? length : Size(0);
}
}  // namespace

TensorType infer_rule(ops::Slice, const InferCall& c) {
  TensorType x = c.tensor(0);
  const int d = checked_dim(c, c.size(1), x.dim());
  const Size step = c.size(4);
  if (!guard_lt(0, step)) throw OpError(ErrorKind::Value, "step must be greater than zero");
  const Size size = x.sizes[d];
  const Size start = clamped_bound(c.arg(2), size, 0), stop = clamped_bound(c.arg(3), size, size);
  x.offset = x.offset + start * x.strides[d];
  x.sizes[d] = slice_length(start, stop, step);
  x.strides[d] = x.strides[d] * step;
  return x;
}

TensorType infer_rule(ops::Detach, const InferCall& c) {
  TensorType x = c.tensor(0);
  x.requires_grad = false;
  return x;
}

}  // namespace md
