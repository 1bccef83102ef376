// Loops over the bodies of the pointwise ops.
#pragma once

#include "backend/blocks/kernels/level.h"
#include "ir/graph/op_bodies.h"

namespace md::blocks {
namespace {

// A compute dtype: its builder, its elements in memory, and its category. T is void for bool.
template <class T>
struct Compute {
  using B = Simd<T>;
  using Element = T;
  static constexpr DTypeCategory kCategory = B::kInteger ? DTypeCategory::Integral : DTypeCategory::Floating;
};
template <>
struct Compute<void> {
  using B = BoolSimd;
  using Element = std::uint8_t;
  static constexpr DTypeCategory kCategory = DTypeCategory::Bool;
};

template <class O, class T>
struct PointwiseLoop {
  using B = typename Compute<T>::B;
  using Element = typename Compute<T>::Element;
  static constexpr bool kBool = std::is_void_v<T>;
  static constexpr int kArity = arity<O>;
  static constexpr int kLanes = B::kLanes;
  static constexpr bool kFails = B::kInteger && CanFail<O>;
  static constexpr Promote kPromote = O::decl.promote;
  static constexpr bool kMaskResult = kBool || kPromote == Promote::Compare || kPromote == Promote::Logical;
  using Result = std::conditional_t<kMaskResult, std::uint8_t, Element>;

  template <int k>
  static constexpr bool kMaskOperand = kBool || (kPromote == Promote::Select && k == 0);
  template <int k>
  using Operand = std::conditional_t<kMaskOperand<k>, std::uint8_t, Element>;

  template <int k>
  static auto load(const void* in, std::int64_t i) {
    const auto* p = static_cast<const Operand<k>*>(in) + i;
    if constexpr (kMaskOperand<k>) {
      return B::load_mask(p);
    } else {
      return B::load(p);
    }
  }

  // n is a multiple of kLanes. Out of line, so that the body is instantiated once for whole vectors and the rest.
  template <int... k>
  [[gnu::noinline]] static bool vectors(const void* const* in, void* out, std::int64_t n,
                                        std::integer_sequence<int, k...>) {
    B b;
    bool failed = false;
    auto* const to = static_cast<Result*>(out);
    for (std::int64_t i = 0; i < n; i += kLanes) {
      if constexpr (kFails) failed |= B::any(O::fails_int(b, load<k>(in[k], i)...));
      const auto r = apply_body<O, kBool>(b, load<k>(in[k], i)...);
      if constexpr (kMaskResult) {
        B::store_mask(to + i, r);
      } else {
        B::store(to + i, r);
      }
    }
    return failed;
  }

  // The last few elements, through padded copies; the padding repeats the last element so that it cannot fail alone.
  template <int k>
  static void copy_rest(const void* in, std::int64_t at, int count, void* padded) {
    const auto* from = static_cast<const Operand<k>*>(in) + at;
    auto* to = static_cast<Operand<k>*>(padded);
    for (int i = 0; i < kLanes; ++i) to[i] = from[i < count ? i : count - 1];
  }
  template <int... k>
  static bool rest(const void* const* in, void* out, std::int64_t at, int count, std::integer_sequence<int, k...> ks) {
    alignas(64) Element padded[kArity][kLanes];
    alignas(64) Result result[kLanes];
    (copy_rest<k>(in[k], at, count, padded[k]), ...);
    const void* const pointers[] = {padded[k]...};
    const bool failed = vectors(pointers, result, kLanes, ks);
    auto* const to = static_cast<Result*>(out) + at;
    for (int i = 0; i < count; ++i) to[i] = result[i];
    return failed;
  }

  static bool run(const void* const* in, void* out, std::int64_t n) {
    constexpr auto ks = std::make_integer_sequence<int, kArity>();
    const std::int64_t whole = n / kLanes * kLanes;
    bool failed = whole && vectors(in, out, whole, ks);
    if (whole < n) failed |= rest(in, out, whole, static_cast<int>(n - whole), ks);
    return failed;
  }
};

template <class O, class T>
constexpr PointwiseKernel pointwise_kernel() {
  if constexpr (O::decl.kind == OpKind::Pointwise) {
    if constexpr (computes_in<O>(Compute<T>::kCategory)) return &PointwiseLoop<O, T>::run;
  }
  return nullptr;
}

}  // namespace
}  // namespace md::blocks

// The table of one compute dtype, indexed by OpId.
#define MD_POINTWISE_ENTRY(S) pointwise_kernel<ops::S, MD_TABLE_TYPE>(),
