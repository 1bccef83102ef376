// How a tensor's dimensions lie in memory, as `functionalize` asks.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "ir/graph/op_table.h"
#include "ir/infer/unbacked.h"

namespace md {

inline SizeVec contiguous(const SizeVec& sizes) {
  SizeVec strides(sizes.size());
  Size step = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step = step * max(sizes[i], 1);
  }
  return strides;
}

inline Arg int_list(const SizeVec& v) {
  ListArg l;
  for (const Size& s : v) l.items.push_back(s);
  return l;
}

inline Size element_count(const SizeVec& sizes) {
  Size n = 1;
  for (const Size& s : sizes) n = n * s;
  return n;
}

// Dimensions of `t` from the slowest to the fastest in memory; ties keep their order.
inline std::vector<int> memory_order(const TensorType& t) {
  std::vector<int> order(t.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int a, int b) {
    return hint_or_guess(t.strides[static_cast<std::size_t>(a)]) >
           hint_or_guess(t.strides[static_cast<std::size_t>(b)]);
  });
  return order;
}

inline bool same_layout(const TensorType& a, const TensorType& b) {
  for (std::size_t d = 0; d < a.sizes.size(); ++d) {
    if (a.sizes[d].is_const(0)) return true;
    if (!a.sizes[d].is_const(1) && !(a.strides[d] == b.strides[d])) return false;
  }
  return true;
}

// Dense: a permutation of a contiguous tensor.
inline bool is_dense(const TensorType& t) {
  Size expected = 1;
  const std::vector<int> order = memory_order(t);
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const auto d = static_cast<std::size_t>(*it);
    if (t.sizes[d].is_const(1)) continue;
    if (!(t.strides[d] == expected)) return false;
    expected = expected * t.sizes[d];
  }
  return true;
}

}  // namespace md
