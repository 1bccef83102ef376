// One row of a layer or RMS norm.
#include "backend/blocks/normalize.h"

#include "backend/blocks/kernels/reduce.h"

namespace md::blocks {
namespace {

template <class T>
class NormalizeLoop {
  using B = typename Compute<T>::B;
  using F = Fold<ops::Sum, B, T>;
  using OneLane = Fold<ops::Sum, ScalarLane<T>, T>;
  static constexpr int kLanes = B::kLanes, kVectors = kInnerLanes / kLanes;

  template <class L>
  static typename L::V every(T x) {
    if constexpr (std::is_same_v<typename L::V, T>) {
      return x;
    } else {
      return L::every(x);
    }
  }

  // What is added up: elements, or squares of them less `mean`.
  struct Itself {
    template <class L>
    static auto of(typename L::V x, T) {
      return x;
    }
  };
  struct Square {
    template <class L>
    static auto of(typename L::V x, T) {
      return L::mul(x, x);
    }
  };
  struct CentredSquare {
    template <class L>
    static auto of(typename L::V x, T mean) {
      const auto c = L::sub(x, every<L>(mean));
      return L::mul(c, c);
    }
  };

  // FoldLoops::inner of mapped elements.
  template <class Map>
  static T chunk(const T* p, std::int64_t n, T mean) {
    typename F::Vector lanes[kVectors];
    for (auto& v : lanes) v = F::identity();
    std::int64_t k = 0;
    for (; k + kInnerLanes <= n; k += kInnerLanes) {
#pragma GCC unroll 64
      for (int j = 0; j < kVectors; ++j) {
        lanes[j] = F::combine(lanes[j], Map::template of<B>(B::load(p + k + j * kLanes), mean));
      }
    }
    if (k < n) {
      alignas(64) T rest[kInnerLanes];
      for (int j = 0; j < kVectors; ++j) F::store(rest + j * kLanes, F::identity());
      for (std::int64_t i = k; i < n; ++i) rest[i - k] = Map::template of<ScalarLane<T>>(p[i], mean);
      for (int j = 0; j < kVectors; ++j) lanes[j] = F::combine(lanes[j], F::load(rest + j * kLanes));
    }
#pragma GCC unroll 8
    for (int h = kVectors / 2; h; h /= 2) {
#pragma GCC unroll 64
      for (int j = 0; j < h; ++j) lanes[j] = F::combine(lanes[j], lanes[j + h]);
    }
    const typename F::Vector v = fold_lanes<F, kLanes>(lanes[0]);
    alignas(64) T first[kLanes];
    F::store(first, v);
    return first[0];
  }

  template <class Map>
  static T sum(const T* p, std::int64_t n, T mean) {
    T chunks[kLongestNormalized / kReductionChunk];
    const std::int64_t count = (n + kReductionChunk - 1) / kReductionChunk;
    for (std::int64_t c = 0; c < count; ++c) {
      chunks[c] = chunk<Map>(p + c * kReductionChunk, std::min(kReductionChunk, n - c * kReductionChunk), mean);
    }
    for (std::int64_t apart = 1; apart < count; apart *= 2) {
      for (std::int64_t i = 0; i + apart < count; i += 2 * apart)
        chunks[i] = OneLane::combine(chunks[i], chunks[i + apart]);
    }
    return chunks[0];
  }

  template <class L, bool kCentred, bool kWeight, bool kBias>
  static void write(const NormalizedRow& r, std::int64_t k, T mean, T scale) {
    typename L::V v = L::load(static_cast<const T*>(r.x) + k);
    if constexpr (kCentred) v = L::sub(v, every<L>(mean));
    v = L::mul(v, every<L>(scale));
    if constexpr (kWeight) v = L::mul(v, L::load(static_cast<const T*>(r.weight) + k));
    if constexpr (kBias) v = L::add(v, L::load(static_cast<const T*>(r.bias) + k));
    L::store(static_cast<T*>(r.out) + k, v);
  }
  template <bool kCentred, bool kWeight, bool kBias>
  static void write_all(const NormalizedRow& r, T mean, T scale) {
    std::int64_t k = 0;
    for (; k + kLanes <= r.length; k += kLanes) write<B, kCentred, kWeight, kBias>(r, k, mean, scale);
    for (; k < r.length; ++k) write<ScalarLane<T>, kCentred, kWeight, kBias>(r, k, mean, scale);
  }
  template <bool kCentred>
  static void write_row(const NormalizedRow& r, T mean, T scale) {
    if (r.weight)
      return r.bias ? write_all<kCentred, true, true>(r, mean, scale)
                    : write_all<kCentred, true, false>(r, mean, scale);
    return r.bias ? write_all<kCentred, false, true>(r, mean, scale)
                  : write_all<kCentred, false, false>(r, mean, scale);
  }

 public:
  static void run(const NormalizedRow& r) {
    using L = ScalarLane<T>;
    const T count = static_cast<T>(r.length), eps = static_cast<T>(r.eps);
    const auto* p = static_cast<const T*>(r.x);
    const T mean = r.centred ? L::div(sum<Itself>(p, r.length, 0), count) : T(0);
    const T squares = r.centred ? sum<CentredSquare>(p, r.length, mean) : sum<Square>(p, r.length, 0);
    L b;
    const T scale = ops::Rsqrt::body(b, L::add(L::div(squares, count), eps));
    return r.centred ? write_row<true>(r, mean, scale) : write_row<false>(r, mean, scale);
  }
};

}  // namespace

namespace MD_LEVEL {

extern const NormalizeKernel kNormalize[2];
constexpr NormalizeKernel kNormalize[2] = {&NormalizeLoop<float>::run, &NormalizeLoop<double>::run};

}  // namespace MD_LEVEL
}  // namespace md::blocks
