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
  template <int n>
  static Vector rotate(Vector v) {
    return S::template rotate<n>(v);
  }
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
  template <int n>
  static Vector rotate(Vector v) {
    return S::template rotate<n>(v);
  }
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
    const Vector v = fold_lanes<F, kLanes>(lanes[0]);
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

  // Wide rows: lanes wait in memory while sixteen rows at a time stream through, each read from end to end.
  static constexpr std::int64_t kWide = 1024;
  static void wide(const Element* p, const std::int64_t* offsets, std::int64_t rows, std::int64_t columns,
                   Element* out) {
    constexpr int kRows = 16;
    alignas(64) Element lanes[kOuterLanes][kWide];
    for (auto& lane : lanes) {
      for (std::int64_t c = 0; c < columns; c += kLanes) F::store(lane + c, F::identity());
    }
    std::int64_t k = 0;
    for (; k + kRows <= rows; k += kRows) {
      for (std::int64_t c = 0; c < columns; c += kLanes) {
#pragma GCC unroll 4
        for (int lane = 0; lane < kOuterLanes; ++lane) {
          Vector v = F::load(lanes[lane] + c);
#pragma GCC unroll 4
          for (int r = lane; r < kRows; r += kOuterLanes) v = F::combine(v, F::load(p + offsets[k + r] + c));
          F::store(lanes[lane] + c, v);
        }
      }
    }
    for (; k < rows; ++k) {
      Element* const lane = lanes[k % kOuterLanes];
      for (std::int64_t c = 0; c < columns; c += kLanes) {
        F::store(lane + c, F::combine(F::load(lane + c), F::load(p + offsets[k] + c)));
      }
    }
    for (std::int64_t c = 0; c < columns; c += kLanes) {
      const Vector a = F::combine(F::load(lanes[0] + c), F::load(lanes[2] + c));
      const Vector b = F::combine(F::load(lanes[1] + c), F::load(lanes[3] + c));
      F::store(out + c, F::combine(a, b));
    }
  }

  static void outer(const void* in, const std::int64_t* offsets, std::int64_t rows, std::int64_t columns, void* out) {
    const auto* p = static_cast<const Element*>(in);
    auto* to = static_cast<Element*>(out);
    std::int64_t c = 0;
    for (; columns - c >= kWide / 4 && rows >= 32;) {
      const std::int64_t n = std::min(kWide, (columns - c) / kLanes * kLanes);
      wide(p + c, offsets, rows, n, to + c);
      c += n;
    }
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
      if (n >= 2 * kChains * F::kLanes) best = find_in_vectors(p, n, k);
    }
    for (; k < n; ++k) {
      if (F::wins(p[k], p[best])) best = k;
    }
    return best;
  }

  using Index = typename ScalarLane<std::conditional_t<std::is_void_v<T>, std::int32_t, T>>::I;
  static constexpr int kChains = 4;  // independent candidates, to hide the latency of compare and select

  // Looks at whole groups of vectors, lane by lane; sets `next` to the first element not looked at.
  static std::int64_t find_in_vectors(const Element* p, std::int64_t n, std::int64_t& next) {
    using B = typename Compute<T>::B;
    B b;
    Index positions[kChains][B::kLanes];
    typename B::I at[kChains], best_at[kChains];
    typename B::V best[kChains];
    for (int c = 0; c < kChains; ++c) {
      for (int i = 0; i < B::kLanes; ++i) positions[c][i] = static_cast<Index>(c * B::kLanes + i);
      __builtin_memcpy(&at[c], positions[c], sizeof at[c]);
      best_at[c] = at[c];
      best[c] = B::load(p + c * B::kLanes);
    }
    constexpr int kGroup = kChains * B::kLanes;
    for (next = kGroup; next + kGroup <= n; next += kGroup) {
#pragma GCC unroll 4
      for (int c = 0; c < kChains; ++c) {
        at[c] = B::iadd(at[c], B::iconst(kGroup));
        const auto candidate = B::load(p + next + c * B::kLanes);
        const auto wins = O::wins(b, candidate, best[c]);
        best[c] = B::select(wins, candidate, best[c]);
        best_at[c] = B::iselect(wins, at[c], best_at[c]);
      }
    }
    for (int c = 1; c < kChains; ++c) {  // of equals the lower position
      const auto tie = B::mand(B::mnot(O::wins(b, best[0], best[c])), B::ilt(best_at[c], best_at[0]));
      const auto wins = B::mor(O::wins(b, best[c], best[0]), tie);
      best[0] = B::select(wins, best[c], best[0]);
      best_at[0] = B::iselect(wins, best_at[c], best_at[0]);
    }
    return best_lane(p, best_at[0]);
  }

  // The winner among the elements at the positions a vector holds.
  template <class I>
  static std::int64_t best_lane(const Element* p, const I& best_at) {
    constexpr int kLanes = sizeof(I) / sizeof(Index);
    Index positions[kLanes];
    __builtin_memcpy(positions, &best_at, sizeof best_at);
    std::int64_t winner = positions[0];
    for (int i = 1; i < kLanes; ++i) {
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
