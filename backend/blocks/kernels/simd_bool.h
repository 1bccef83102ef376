// Builder for the compute dtype bool: every value is a mask, bytes 0 or 1.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backend/blocks/kernels/simd_permute.h"

namespace md::blocks {
namespace {

template <int kBytes>
struct ByteVector {
  typedef std::uint8_t Type __attribute__((vector_size(kBytes)));
  typedef std::uint8_t Unaligned __attribute__((vector_size(kBytes), aligned(1), may_alias));
};
template <>
struct ByteVector<1> {
  using Type = std::uint8_t;
  using Unaligned = std::uint8_t;
};

template <int kBytes>
struct BoolLanes {
  struct V {};  // no numbers here
  struct I {};
  using M = typename ByteVector<kBytes>::Type;
  static constexpr int kLanes = kBytes;
  static constexpr bool kInteger = false;
  static constexpr int width() { return 8; }

  static M load_mask(const std::uint8_t* p) {
    return *reinterpret_cast<const typename ByteVector<kBytes>::Unaligned*>(p);
  }
  static void store_mask(std::uint8_t* p, M m) { *reinterpret_cast<typename ByteVector<kBytes>::Unaligned*>(p) = m; }
  template <int n>
  static M rotate(M m) {
    return permute<kBytes>(m, m, [](int i) { return (i + n) % kBytes; });
  }
  static M mand(M a, M b) { return a & b; }
  static M mor(M a, M b) { return a | b; }
  static M mxor(M a, M b) { return a ^ b; }
  static M mnot(M a) { return a ^ mconst(true); }
  static M mconst(bool c) { return M{} + static_cast<std::uint8_t>(c); }
};

}  // namespace
}  // namespace md::blocks
