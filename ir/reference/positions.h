// The machinery of kernels that read and write by position: which elements, and two tensors walked side by side.
#pragma once

#include <span>
#include <vector>

#include "ir/reference/reference.h"

namespace md {

// Two tensors of the same sizes, as strides. Dimensions that run on in both are merged.
struct SideBySide {
  DimVec sizes, a, b;

  void add(std::int64_t size, std::int64_t stride_a, std::int64_t stride_b) {
    if (size == 1) return;
    if (!sizes.empty() && a.back() == stride_a * size && b.back() == stride_b * size) {
      sizes.back() *= size, a.back() = stride_a, b.back() = stride_b;
      return;
    }
    sizes.push_back(size), a.push_back(stride_a), b.push_back(stride_b);
  }
};

// f(offset in a, offset in b) for the first `dims` dimensions in row-major order.
template <class F>
void walk(const SideBySide& s, std::size_t dims, F&& f) {
  DimVec at(dims);
  std::int64_t a = 0, b = 0;
  for (std::size_t i = 0; i < dims; ++i) {
    if (s.sizes[i] == 0) return;
  }
  for (;;) {
    f(a, b);
    std::size_t i = dims;
    for (; i > 0; --i) {
      a += s.a[i - 1], b += s.b[i - 1];
      if (++at[i - 1] < s.sizes[i - 1]) break;
      a -= s.a[i - 1] * s.sizes[i - 1], b -= s.b[i - 1] * s.sizes[i - 1];
      at[i - 1] = 0;
    }
    if (i == 0) return;
  }
}

// Slices of one tensor at positions, and of another one in their order: element (o, k, i) of the one lies at
// outer + here[k] + inner, of the other at outer + there[k] + inner.
struct SlicePairs {
  SideBySide outer, inner;
  std::vector<std::int64_t> here, there;
};

// f(offset here, offset there, step here, step there, length) for runs of elements, positions in order.
template <class F>
void for_each_run(const SlicePairs& p, F&& f) {
  const std::size_t last = p.inner.sizes.size();
  const std::int64_t length = last ? p.inner.sizes[last - 1] : 1;
  const std::int64_t step_a = last ? p.inner.a[last - 1] : 0, step_b = last ? p.inner.b[last - 1] : 0;
  walk(p.outer, p.outer.sizes.size(), [&](std::int64_t a, std::int64_t b) {
    for (std::size_t k = 0; k < p.here.size(); ++k) {
      const std::int64_t at = a + p.here[k], other = b + p.there[k];
      if (last < 2) {
        f(at, other, step_a, step_b, length);
      } else {
        walk(p.inner, last - 1, [&](std::int64_t c, std::int64_t d) { f(at + c, other + d, step_a, step_b, length); });
      }
    }
  });
}

// The elements x[indices] means: by position in the result, and where the kept dimensions of x go there.
struct IndexedElements {
  DimVec result;                      // sizes of x[indices]
  DimVec positions;                   // of these, the sizes of the positions ...
  int first = 0;                      // ... which stand here
  std::vector<std::int64_t> offsets;  // of each position, in row-major order: elements beyond the first of x
  std::vector<int> kept;              // dimensions of x that are kept
  std::vector<std::int64_t> counts;   // elements each mask selects
  int outer = 0;                      // of these, so many come before the last indexed one

  // With a tensor of the sizes `result` (or broadcast to them).
  SlicePairs pairs(const TensorImpl& x, const TensorImpl& other) const;
};
// Throws OpError(Index) for a position outside.
IndexedElements indexed_elements(const TensorImpl& x, const ListArg& indices);
// The values of an int64 or int32 tensor in row-major order.
std::vector<std::int64_t> vector_positions(const TensorImpl& index);

// `x` with its values copied into `out`, unless it is that very tensor already.
void copy_unless_same(const TensorImpl& x, const TensorImpl& out);
// f(U{}) for an unsigned type of the size of an element.
template <class F>
void visit_size(DType t, F&& f) {
  switch (item_size(t)) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    default:
      return f(std::uint64_t{});
  }
}

}  // namespace md
