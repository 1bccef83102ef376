// Max pooling: vectors hold results side by side, of one row and the next ones as well.
#include <algorithm>

#include "backend/blocks/kernels/tile.h"

namespace md::blocks {
namespace {

// to[i] = from[i * step]
template <class T>
void copy_strided(const T* from, std::int64_t step, std::int64_t n, T* to) {
  using S = Simd<T>;
  constexpr int kLanes = S::kLanes;
  if constexpr (kLanes > 1) {
    const auto by_vectors = [&](auto&& vector) {
      for (std::int64_t i = 0; i < n; i += kLanes) {
        const std::int64_t at = std::min(i, n - kLanes);
        S::store(to + at, vector(at));
      }
    };
    if (n >= kLanes && step == 1) return by_vectors([&](std::int64_t at) { return S::load(from + at); });
    if (n >= kLanes && step == 2) {
      // of two vectors, the second of which begins one element early, so as to end in the row
      constexpr auto evens = [](int i) { return 2 * i < kLanes ? 2 * i : 2 * i + 1; };
      return by_vectors([&](std::int64_t at) {
        return permute<kLanes>(S::load(from + 2 * at), S::load(from + 2 * at + kLanes - 1), evens);
      });
    }
  }
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[i * step];
}

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

template <class T>
class Patch {
  using S = Simd<T>;
  using V = typename S::V;
  using At = typename ScalarLane<T>::I;  // positions, as wide as values
  using A = Simd<At>;
  static constexpr int kLanes = S::kLanes;
  // Less than any position from the window's first element on, in planes of less than -kNone elements.
  static constexpr At kNone = -(At(1) << (sizeof(At) * 8 - 3));

 public:
  Patch(const MaxPool& p, const MaxPoolPatch& patch, void* workspace)
      : p_(p),
        patch_(patch),
        laid_out_(static_cast<T*>(workspace)),
        best_(laid_out_ + p.laid_out),
        winners_(reinterpret_cast<At*>(best_ + p.rows * p.pitch + kMaxPoolSlack)) {}

  void run() {
    lay_out();
    if (patch_.positions) {
      const bool none = fold_all<true>();
      for (std::int64_t b = 0; b < patch_.rows; ++b) put_positions(b, none);
    } else {
      fold_all<false>();
    }
    put_values();
  }

 private:
  void lay_out() {
    const auto& [d0, d1, d2] = p_.dims;
    T* to = laid_out_;
    for (std::int64_t k = 0; k < d0.kernel; ++k) {
      const std::int64_t frame = patch_.frame * d0.stride - d0.padding + k * d0.dilation;
      const bool inside = frame >= 0 && frame < d0.in;
      for (std::int64_t rr = 0; rr < p_.row_remainders; ++rr) {
        if constexpr (kLanes > 1) {
          if (d2.stride == 2 && p_.column_remainders == 2 && p_.pitch <= kMostVectors * kLanes) {
            lay_out_pairs(inside ? frame : -1, rr, to);
            to += 2 * p_.rows * p_.pitch;
            continue;
          }
        }
        for (std::int64_t rc = 0; rc < p_.column_remainders; ++rc, to += p_.rows * p_.pitch)
          lay_out_rows(inside ? frame : -1, rr, rc, to);
      }
    }
  }
  void lay_out_rows(std::int64_t frame, std::int64_t rr, std::int64_t rc, T* to) const {
    const auto& [d0, d1, d2] = p_.dims;
    const std::int64_t begin = std::min(p_.pitch, d2.padding > rc ? divide_up(d2.padding - rc, d2.stride) : 0);
    const std::int64_t end =
        std::clamp(divide_up(std::max<std::int64_t>(d2.in + d2.padding - rc, 0), d2.stride), begin, p_.pitch);
    const std::int64_t rows = patch_.rows + (d1.kernel - 1) * d1.dilation / d1.stride;
    for (std::int64_t y = 0; y < rows; ++y, to += p_.pitch) {
      const std::int64_t row = (patch_.row + y) * d1.stride + rr - d1.padding;
      if (frame < 0 || row < 0 || row >= d1.in) {
        std::fill_n(to, p_.pitch, ScalarLane<T>::lowest());
        continue;
      }
      const T* const from = static_cast<const T*>(patch_.x) + (frame * d1.in + row) * d2.in;
      std::fill_n(to, begin, ScalarLane<T>::lowest());
      copy_strided(from + begin * d2.stride + rc - d2.padding, d2.stride, end - begin, to + begin);
      std::fill_n(to + end, p_.pitch - end, ScalarLane<T>::lowest());
    }
  }

  // Both remainders by a stride of 2, which are the elements of two neighbouring vectors by turns. What is written
  // behind a row's end falls on what is laid out later.
  static constexpr int kMostVectors = 4;
  void lay_out_pairs(std::int64_t frame, std::int64_t rr, T* to) const {
    const auto& [d0, d1, d2] = p_.dims;
    typename Tile<T>::Mask inside[2 * kMostVectors];
    const int vectors = static_cast<int>(divide_up(p_.pitch, kLanes));
    for (int v = 0; v < 2 * vectors; ++v) {
      inside[v] = Tile<T>::between(d2.padding - v * kLanes, d2.padding + d2.in - v * kLanes);
    }
    const V lowest = S::lowest();
    const std::int64_t part = p_.rows * p_.pitch;               // of one remainder
    const std::int64_t next = patch_.rows * d1.stride * d2.in;  // to the next patch, which is fetched meanwhile
    const std::int64_t rows = patch_.rows + (d1.kernel - 1) * d1.dilation / d1.stride;
    for (std::int64_t y = 0, at = 0; y < rows; ++y, at += p_.pitch) {
      const std::int64_t row = (patch_.row + y) * d1.stride + rr - d1.padding;
      const bool exists = frame >= 0 && row >= 0 && row < d1.in;
      const T* from = static_cast<const T*>(patch_.x) + (frame * d1.in + row) * d2.in - d2.padding;
      for (int v = 0; v < vectors; ++v, from += 2 * kLanes) {
        __builtin_prefetch(from + next);
        V x = lowest, z = lowest;
        if (exists) {
          x = S::select(inside[2 * v], Tile<T>::load(from, inside[2 * v]), lowest);
          z = S::select(inside[2 * v + 1], Tile<T>::load(from + kLanes, inside[2 * v + 1]), lowest);
        }
        const std::int64_t i = at + v * kLanes;
        Tile<T>::store_first(to + i, Tile<T>::template every_second<0>(x, z), part - i);
        S::store(to + part + i, Tile<T>::template every_second<1>(x, z));
      }
    }
  }

  // Whether a window may have no winner.
  template <bool kPositions>
  bool fold_all() {
    const std::int64_t n = (patch_.rows - 1) * p_.pitch + p_.dims[2].out;
    std::int64_t i = 0;
    typename S::I signs = S::iconst(0);
    for (; i + 4 * kLanes <= n; i += 4 * kLanes) fold<kPositions, 4>(i, signs);
    for (; i < n; i += kLanes) fold<kPositions, 1>(i, signs);
    At all[kLanes];
    A::store(all, signs);
    return *std::min_element(all, all + kLanes) < 0;
  }
  // Results from the i-th on. Only what is larger than the smallest value wins, or is NaN. `signs`: of all winners.
  template <bool kPositions, int kVectors>
  void fold(std::int64_t i, typename S::I& signs) {
    typename S::V best[kVectors];
    typename S::I winner[kVectors];
    for (int u = 0; u < kVectors; ++u) best[u] = S::lowest(), winner[u] = S::iconst(kNone);
    for (std::int64_t e = 0; e < p_.elements.count; ++e) {
      const T* const from = laid_out_ + p_.elements.offsets[e] + i;
      const typename S::I place = S::iconst(p_.elements.places[e]);
      for (int u = 0; u < kVectors; ++u) {
        const typename S::V v = S::load(from + u * S::kLanes);
        typename S::M wins = S::gt(v, best[u]);
        if constexpr (!S::kInteger) wins = S::mor(wins, S::ne(v, v));
        best[u] = S::select(wins, v, best[u]);
        if constexpr (kPositions) winner[u] = S::iselect(wins, place, winner[u]);
      }
    }
    for (int u = 0; u < kVectors; ++u) {
      S::store(best_ + i + u * S::kLanes, best[u]);
      if constexpr (kPositions) {
        A::store(winners_ + i + u * S::kLanes, winner[u]);
        signs = S::ior(signs, winner[u]);
      }
    }
  }

  void put_values() const {
    const std::int64_t columns = p_.dims[2].out;
    T* const to = static_cast<T*>(patch_.values);
    if (columns == p_.pitch) {
      std::copy_n(best_, patch_.rows * columns, to);
      return;
    }
    for (std::int64_t b = 0; b < patch_.rows; ++b) copy_strided(best_ + b * p_.pitch, 1, columns, to + b * columns);
  }

  // first[i] = start + i * step + winners[i]
  static void widen(const At* winners, std::int64_t n, std::int64_t start, std::int64_t step, std::int64_t* first) {
    using Positions [[gnu::vector_size(32)]] = std::int64_t;
    using Winners [[gnu::vector_size(4 * sizeof(At))]] = At;
    if (kLanes == 1 || n < 4) {
      for (std::int64_t i = 0; i < n; ++i) first[i] = start + i * step + winners[i];
      return;
    }
    const Positions steps = {start, start + step, start + 2 * step, start + 3 * step};
    for (std::int64_t i = 0; i < n; i += 4) {
      const std::int64_t at = std::min(i, n - 4);
      Winners w;
      __builtin_memcpy(&w, winners + at, sizeof w);
      const Positions found = __builtin_convertvector(w, Positions) + (steps + at * step);
      __builtin_memcpy(first + at, &found, sizeof found);
    }
  }
  void put_positions(std::int64_t b, bool none) const {
    const auto& [d0, d1, d2] = p_.dims;
    const std::int64_t start =
        ((patch_.frame * d0.stride - d0.padding) * d1.in + (patch_.row + b) * d1.stride - d1.padding) * d2.in -
        d2.padding;
    std::int64_t* const to = patch_.positions + b * d2.out;
    widen(winners_ + b * p_.pitch, d2.out, start, d2.stride, to);
    for (std::int64_t i = 0; none && i < d2.out; ++i) {
      if (to[i] < 0) to[i] = first_position(b, i);
    }
  }
  // Of the window's first element that is not in the padding; -1 where there is none.
  std::int64_t first_position(std::int64_t b, std::int64_t column) const {
    const std::int64_t at[] = {patch_.frame, patch_.row + b, column};
    std::int64_t position = 0;
    for (int k = 0; k < kMostWindowDims; ++k) {
      const WindowDim& d = p_.dims[k];
      const std::int64_t start = at[k] * d.stride - d.padding;
      const std::int64_t skipped = start < 0 ? divide_up(-start, d.dilation) : 0, first = start + skipped * d.dilation;
      if (skipped >= d.kernel || first >= d.in) return -1;
      position = position * d.in + first;
    }
    return position;
  }

  const MaxPool& p_;
  const MaxPoolPatch& patch_;
  T *laid_out_, *best_;
  At* winners_;
};

template <class T>
void run(const MaxPool& p, const MaxPoolPatch& patch, void* workspace) {
  Patch<T>(p, patch, workspace).run();
}

}  // namespace

namespace MD_LEVEL {

constexpr MaxPoolKernel kMaxPools[kComputeTypes] = {&run<float>, &run<double>, &run<std::int32_t>, &run<std::int64_t>};

}  // namespace MD_LEVEL
}  // namespace md::blocks
