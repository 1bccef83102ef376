// Inference rules of views that set strides of their own: diagonals, windows, arbitrary strides.
#include <algorithm>

#include "ir/infer/infer.h"
#include "registry/ops/arrangement.h"

namespace md {

TensorType infer_rule(ops::Diagonal, const InferCall& c) {
  TensorType x = c.tensor(0);
  if (x.dim() < 2) c.fail(ErrorKind::Index, "at least 2 dimensions are needed, not {}", x.dim());
  const int rows = checked_dim(c, c.size(2), x.dim()), columns = checked_dim(c, c.size(3), x.dim());
  if (rows == columns) c.fail(ErrorKind::Runtime, "diagonal dimensions cannot be identical {}, {}", rows, columns);
  const Size offset = c.size(1);
  const bool below = guard_lt(offset, 0);
  const Size down = below ? 0 - offset : Size(0), right = below ? Size(0) : offset;
  const Size height = x.sizes[rows] - down, width = x.sizes[columns] - right;
  const Size shorter = guard_lt(height, width) ? height : width;
  const bool any = guard_lt(0, shorter);
  if (any) x.offset = x.offset + down * x.strides[rows] + right * x.strides[columns];
  const Size stride = x.strides[rows] + x.strides[columns];
  for (const int d : {std::max(rows, columns), std::min(rows, columns)}) {
    x.sizes.erase(x.sizes.begin() + d);
    x.strides.erase(x.strides.begin() + d);
  }
  x.sizes.push_back(any ? shorter : Size(0));
  x.strides.push_back(stride);
  return x;
}

namespace {

// Elements from the first to past the last, at strides that are not negative.
Size reach(const SizeVec& sizes, const SizeVec& strides) {
  Size n = 1;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (guard_eq(sizes[d], 0)) return 0;
    n = n + (sizes[d] - 1) * strides[d];
  }
  return n;
}

// The part of the storage that may be looked at. While tracing nothing is known of the storage but what the operand
// itself shows; beyond that the call is left to Python.
struct Extent {
  Size begin, end;
};
Extent known_extent(const Arg& a) {
  if (const auto* t = a.get_if<TensorRef>()) {
    return {0, static_cast<std::int64_t>((*t)->storage->bytes() / item_size((*t)->dtype))};
  }
  const TensorType x = type_of(a);
  return {x.offset, x.offset + reach(x.sizes, x.strides)};
}

}  // namespace

TensorType infer_rule(ops::AsStrided, const InferCall& c) {
  TensorType x = c.tensor(0);
  const Extent have = known_extent(c.arg(0));
  x.sizes = c.sizes(1);
  x.strides = c.sizes(2);
  x.wrapped_number = false;
  if (!c.arg(3).is_none()) x.offset = c.size(3);
  if (x.sizes.size() != x.strides.size()) c.fail(ErrorKind::Runtime, "mismatch in length of strides and shape");
  for (std::size_t d = 0; d < x.sizes.size(); ++d) {
    if (guard_lt(x.sizes[d], 0)) c.fail(ErrorKind::Runtime, "negative dimension in sizes {}", sizes_text(x.sizes));
    if (guard_lt(x.strides[d], 0)) {
      c.fail(ErrorKind::Runtime, "Negative strides are not supported at the moment, got strides: {}",
             sizes_text(x.strides));
    }
  }
  if (guard_lt(x.offset, 0)) c.fail(ErrorKind::Runtime, "invalid storage offset {}", to_string(x.offset));
  const Size n = reach(x.sizes, x.strides);
  static_cast<void>(product(x.sizes));  // more elements than an int64 counts are refused
  if (!guard_eq(n, 0) && (guard_lt(x.offset, have.begin) || guard_lt(have.end, x.offset + n))) {
    c.fail(ErrorKind::Runtime, "sizes {}, strides {} and storage offset {} are out of bounds for {} elements",
           sizes_text(x.sizes), sizes_text(x.strides), to_string(x.offset), to_string(have.end - have.begin));
  }
  return x;
}

TensorType infer_rule(ops::Unfold, const InferCall& c) {
  TensorType x = c.tensor(0);
  const int d = checked_dim(c, c.size(1), x.dim());
  const Size window = c.size(2), step = c.size(3), have = x.dim() == 0 ? Size(1) : x.sizes[d];
  if (guard_lt(window, 0)) c.fail(ErrorKind::Runtime, "size is {} but must be >= 0", to_string(window));
  if (guard_lt(have, window)) {
    c.fail(ErrorKind::Runtime, "maximum size for tensor at dimension {} is {} but size is {}", d, to_string(have),
           to_string(window));
  }
  if (!guard_lt(0, step)) c.fail(ErrorKind::Runtime, "step is {} but must be > 0", to_string(step));
  if (x.dim() == 0) {
    x.sizes.push_back(window);
    x.strides.push_back(1);
    return x;
  }
  const Size stride = x.strides[d];
  x.sizes[d] = floordiv(have - window, step) + 1;
  x.strides[d] = stride * step;
  x.sizes.push_back(window);
  x.strides.push_back(stride);
  return x;
}

}  // namespace md
