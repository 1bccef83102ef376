// Lanes of vectors in another order, known when compiling.
#pragma once

#include <cstddef>
#include <utility>

namespace md::blocks {
namespace {

// Lane i of the result is lane order(i) of a, with b's lanes counted on from a's.
template <int kLanes, class V, class Order>
V permute(V a, V b, Order) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return __builtin_shufflevector(a, b, Order{}(static_cast<int>(I))...);
  }(std::make_index_sequence<kLanes>{});
}

// The combination of all lanes in the first: halves, then quarters, ...
template <class F, int kLanes>
typename F::Vector fold_lanes(typename F::Vector v) {
  if constexpr (kLanes > 1) {
    return fold_lanes<F, kLanes / 2>(F::combine(v, F::template rotate<kLanes / 2>(v)));
  } else {
    return v;
  }
}

}  // namespace
}  // namespace md::blocks
