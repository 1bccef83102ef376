// What a program allows products on GPUs beside the defined order of sums (docs/numerics.md): tensor cores add in an
// order of their own.
#pragma once

#include <atomic>

namespace md {

enum ProductFreedom : unsigned {
  kAnyFoldOrder = 1,      // products of float16 and bfloat16
  kTf32Products = 2,      // products of float32 may round their operands to tf32
  kTf32Convolutions = 4,  // convolutions too
};
// Of the process; read at each call, so that compiled graphs follow a change.
inline std::atomic<unsigned> product_freedom = 0;

inline void set_product_freedom(bool any_order, bool tf32, bool tf32_convolutions) {
  product_freedom =
      (any_order ? kAnyFoldOrder : 0u) | (tf32 ? kTf32Products : 0u) | (tf32_convolutions ? kTf32Convolutions : 0u);
}

inline constexpr const char* kSetProductFreedom = "_C._set_product_freedom";  // target of State nodes

inline bool is_allowed(ProductFreedom freedom) { return product_freedom.load(std::memory_order_relaxed) & freedom; }

}  // namespace md
