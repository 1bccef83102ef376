// Loops over the combiners of the reductions, in the order docs/numerics.md defines.
#pragma once

#include <algorithm>

#include "backend/blocks/kernels/pointwise.h"
#include "registry/reduction_order.h"

namespace md::blocks {
namespace {

// One shape for numbers and bools: vectors of S with the op's combiner.
template <class O, class S, class T>
struct Fold {
  using Element = T;
  using Vector = typename S::V;
  static constexpr int kLanes = S::kLanes;
  static Vector load(const Element* p) { return S::load(p); }
  static void store(Element* p, Vector v) { S::store(p, v); }
  static Vector identity() {
    S b;
    return O::identity(b);
  }
  static Vector combine(Vector x, Vector y) {
    S b;
    return O::combine(b, x, y);
  }
  static Vector rotate(Vector v, int n) { return S::rotate(v, n); }
  static bool wins(Element x, Element y) {
    ScalarLane<T> b;
    return O::wins(b, x, y);
  }
};
template <class O, class S>
struct Fold<O, S, void> {
  using Element = std::uint8_t;
  using Vector = typename S::M;
  static constexpr int kLanes = S::kLanes;
  static Vector load(const Element* p) { return S::load_mask(p); }
  static void store(Element* p, Vector v) { S::store_mask(p, v); }
  static Vector identity() {
    S b;
    return O::identity_bool(b);
  }
  static Vector combine(Vector x, Vector y) {
    S b;
    return O::combine_bool(b, x, y);
  }
  static Vector rotate(Vector v, int n) { return S::rotate(v, n); }
  static bool wins(Element x, Element y) {
    BoolLanes<1> b;
    return O::wins_bool(b, x, y) != 0;
  }
};

template <class O, class T>
struct FoldLoops {
  using F = Fold<O, typename Compute<T>::B, T>;
  using OneLane =
      Fold<O, std::conditional_t<std::is_void_v<T>, BoolLanes<1>, ScalarLane<typename Compute<T>::Element>>, T>;
  using Element = typename F::Element;
  using Vector = typename F::Vector;
  static constexpr int kLanes = F::kLanes;

  static void inner(const void* in, std::int64_t n, void* out) {
    constexpr int kVectors = kInnerLanes / kLanes;
    const auto* p = static_cast<const Element*>(in);
    Vector lanes[kVectors];
    for (Vector& v : lanes) v = F::identity();
    std::int64_t k = 0;
    for (; k + kInnerLanes <= n; k += kInnerLanes) {
#pragma GCC unroll 64
      for (int j = 0; j < kVectors; ++j) lanes[j] = F::combine(lanes[j], F::load(p + k + j * kLanes));
    }
    if (k < n) {  // folding an identity into a lane changes nothing
      alignas(64) Element rest[kInnerLanes];
      for (int j = 0; j < kVectors; ++j) F::store(rest + j * kLanes, F::identity());
      for (std::int64_t i = k; i < n; ++i) rest[i - k] = p[i];
      for (int j = 0; j < kVectors; ++j) lanes[j] = F::combine(lanes[j], F::load(rest + j * kLanes));
    }
#pragma GCC unroll 8
    for (int h = kVectors / 2; h; h /= 2) {
#pragma GCC unroll 64
      for (int j = 0; j < h; ++j) lanes[j] = F::combine(lanes[j], lanes[j + h]);
    }
    Vector v = lanes[0];
#pragma GCC unroll 8
    for (int h = kLanes / 2; h; h /= 2) v = F::combine(v, F::rotate(v, h));
    alignas(64) Element first[kLanes];
    F::store(first, v);
    *static_cast<Element*>(out) = first[0];
  }

  // kVectors vectors of neighbouring columns, four lanes each.
  template <class G, int kVectors>
  static void strip(const Element* p, const std::int64_t* offsets, std::int64_t rows, Element* out) {
    static_assert(kOuterLanes == 4);
    typename G::Vector lanes[kOuterLanes][kVectors];
    for (auto& lane : lanes) {
      for (auto& v : lane) v = G::identity();
    }
    const auto fold_row = [&](int lane, std::int64_t row) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        lanes[lane][v] = G::combine(lanes[lane][v], G::load(p + offsets[row] + v * G::kLanes));
      }
    };
    std::int64_t k = 0;
    for (; k + 4 <= rows; k += 4) {
      fold_row(0, k), fold_row(1, k + 1), fold_row(2, k + 2), fold_row(3, k + 3);
    }
    if (k < rows) fold_row(0, k);
    if (k + 1 < rows) fold_row(1, k + 1);
    if (k + 2 < rows) fold_row(2, k + 2);
    for (int v = 0; v < kVectors; ++v) {
      const auto a = G::combine(lanes[0][v], lanes[2][v]), b = G::combine(lanes[1][v], lanes[3][v]);
      G::store(out + v * G::kLanes, G::combine(a, b));
    }
  }

  static void outer(const void* in, const std::int64_t* offsets, std::int64_t rows, std::int64_t columns, void* out) {
    const auto* p = static_cast<const Element*>(in);
    auto* to = static_cast<Element*>(out);
    std::int64_t c = 0;
    for (; c + 4 * kLanes <= columns; c += 4 * kLanes) strip<F, 4>(p + c, offsets, rows, to + c);
    for (; c + kLanes <= columns; c += kLanes) strip<F, 1>(p + c, offsets, rows, to + c);
    for (; c < columns; ++c) strip<OneLane, 1>(p + c, offsets, rows, to + c);
  }

  static void combine(void* into, const void* from, std::int64_t n) {
    auto* to = static_cast<Element*>(into);
    const auto* p = static_cast<const Element*>(from);
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) F::store(to + i, F::combine(F::load(to + i), F::load(p + i)));
    for (; i < n; ++i) OneLane::store(to + i, OneLane::combine(OneLane::load(to + i), OneLane::load(p + i)));
  }
};

template <class O, class T>
struct FindLoops {
  using F = Fold<O, typename Compute<T>::B, T>;
  using Element = typename F::Element;

  static std::int64_t find(const void* in, std::int64_t n) {
    const auto* p = static_cast<const Element*>(in);
    std::int64_t best = 0, k = 1;
    if constexpr (!std::is_void_v<T>) {
      if (n >= 2 * F::kLanes) best = find_in_vectors(p, n, k);
    }
    for (; k < n; ++k) {
      if (F::wins(p[k], p[best])) best = k;
    }
    return best;
  }

  // Looks at whole vectors, lane by lane; sets `next` to the first element not looked at.
  static std::int64_t find_in_vectors(const Element* p, std::int64_t n, std::int64_t& next) {
    using B = typename Compute<T>::B;
    using Index = typename ScalarLane<T>::I;
    B b;
    Index positions[B::kLanes];
    for (int i = 0; i < B::kLanes; ++i) positions[i] = i;
    typename B::I at;
    __builtin_memcpy(&at, positions, sizeof at);
    auto best = B::load(p);
    auto best_at = at;
    for (next = B::kLanes; next + B::kLanes <= n; next += B::kLanes) {
      at = B::iadd(at, B::iconst(B::kLanes));
      const auto candidate = B::load(p + next);
      const auto wins = O::wins(b, candidate, best);
      best = B::select(wins, candidate, best);
      best_at = B::iselect(wins, at, best_at);
    }
    __builtin_memcpy(positions, &best_at, sizeof at);
    std::int64_t winner = positions[0];
    for (int i = 1; i < B::kLanes; ++i) {
      const std::int64_t k = positions[i];
      if (F::wins(p[k], p[winner]) || (k < winner && !F::wins(p[winner], p[k]))) winner = k;
    }
    return winner;
  }

  static void challenge(const void* candidate, std::int64_t index, std::int64_t n, void* best,
                        std::int64_t* best_index) {
    const auto* p = static_cast<const Element*>(candidate);
    auto* b = static_cast<Element*>(best);
    for (std::int64_t i = 0; i < n; ++i) {
      const bool wins = F::wins(p[i], b[i]);
      b[i] = wins ? p[i] : b[i];
      best_index[i] = wins ? index : best_index[i];
    }
  }
};

template <class O, class T>
constexpr ReductionKernels reduction_kernels() {
  ReductionKernels k;
  if constexpr (O::decl.kind == OpKind::Reduction) {
    constexpr bool kBool = std::is_void_v<T>;
    if constexpr (kBool ? probe::CombinesBool<O> : probe::Combines<O>) {
      k.fold_inner = &FoldLoops<O, T>::inner;
      k.fold_outer = &FoldLoops<O, T>::outer;
      k.combine = &FoldLoops<O, T>::combine;
    }
    if constexpr (kBool ? probe::WinsBool<O> : probe::Wins<O>) {
      k.find = &FindLoops<O, T>::find;
      k.challenge = &FindLoops<O, T>::challenge;
    }
  }
  return k;
}

}  // namespace
}  // namespace md::blocks
