// Running sums, products and extremes: each thread goes through a line in order, as the definition does; elements of
// dense lines are brought to it by its block. Extremes of long lines are found by whole blocks.
#include <limits>

#include "backend/device_blocks/kernels/device.h"
#include "registry/ops/math.h"

namespace md::device_blocks {
namespace {

// f(offset of the line in `from`, in `to`, in `positions`)
template <class F>
[[gnu::always_inline]] inline void for_each_line(const LineParams& p, F&& f) {
  for_each_point(p.lines.total, [&](Word i) {
    Word from = 0, to = 0, positions = 0;
    for_each_coordinate(p.lines, i, [&](Word d, Word at) {
      from += at * p.from.strides.of[d];
      to += at * p.to.strides.of[d];
      positions += at * p.positions.strides.of[d];
    });
    f(from, to, positions);
  });
}

// Floats accumulate in float64 and are rounded for every element; integers wrap.
template <class T>
using Sum = std::conditional_t<std::is_floating_point_v<WorkingOf<T>>, double, std::int64_t>;

template <class T>
struct AddUp {
  static constexpr Sum<T> start() { return 0; }
  static Sum<T> step(Sum<T> sum, Sum<T> x) { return ScalarBuilder<Sum<T>>().add(sum, x); }
};
template <class T>
struct MultiplyUp {
  static constexpr Sum<T> start() { return 1; }
  static Sum<T> step(Sum<T> product, Sum<T> x) { return ScalarBuilder<Sum<T>>().mul(product, x); }
};
// log(exp(a) + exp(b))
template <class T>
struct AddExponentials {
  static constexpr double start() { return -std::numeric_limits<double>::infinity(); }
  static double step(double a, double b) {
    if (a != a || b != b) return a + b;
    const double larger = a < b ? b : a, smaller = b < a ? b : a;
    if (larger - larger != 0) return larger;  // infinite
    DeviceBuilder<double> builder;
    return larger + math::log1p(builder, math::exp(builder, smaller - larger));
  }
};

template <class T>
[[gnu::always_inline]] inline Sum<T> as_sum(T element) {
  return static_cast<Sum<T>>(widen(element));
}
template <class T>
[[gnu::always_inline]] inline T of_sum(Sum<T> sum) {
  return narrow<T>(static_cast<WorkingOf<T>>(sum));
}

template <class T, class O>
[[gnu::always_inline]] inline void accumulate(const LineParams& p) {
  for_each_line(p, [&](Word from, Word to, Word) {
    const T* in = at_address<const T>(p.from.data) + from;
    T* out = at_address<T>(p.to.data) + to;
    Sum<T> sum = O::start();
    for (Word i = 0; i < p.size; ++i) {
      sum = O::step(sum, as_sum<T>(in[i * p.from_step]));
      out[i * p.to_step] = of_sum<T>(sum);
    }
  });
}

// f(element of the tile, offsets in from and to) for the elements from `base` on of the lines from `first` on.
template <class F>
[[gnu::always_inline]] inline void for_each_in_tile(const LineParams& p, Word first, Word base, Word width, F&& f) {
  for (Word e = thread_in_block(); e < p.flag * width; e += kScanThreads) {
    const Word line = e / width, k = base + e % width;
    if (first + line >= p.lines.total || k >= p.size) continue;
    Word from = k, to = k;
    for_each_coordinate(p.lines, first + line, [&](Word d, Word at) {
      from += at * p.from.strides.of[d];
      to += at * p.to.strides.of[d];
    });
    f(line * (width + 1) + e % width, from, to);
  }
}

// Dense lines: all threads bring elements in and out, one for each line goes through them in order.
template <class T, class O>
[[gnu::always_inline]] inline void accumulate_tiles(const LineParams& p, MD_SHARED Sum<T>* tile) {
  const Word width = kScanRoom / p.flag;
  for (Word first = block_number() * p.flag; first < p.lines.total; first += blocks_of_grid() * p.flag) {
    const auto line = static_cast<Word>(thread_in_block());
    Sum<T> sum = O::start();
    for (Word base = 0; base < p.size; base += width) {
      const Word count = base + width < p.size ? width : p.size - base;
      for_each_in_tile(p, first, base, width,
                       [&](Word e, Word from, Word) { tile[e] = as_sum<T>(at_address<const T>(p.from.data)[from]); });
      wait_for_block();
      if (line < p.flag && first + line < p.lines.total) {
        for (Word e = line * (width + 1), end = e + count; e < end; ++e) tile[e] = sum = O::step(sum, tile[e]);
      }
      wait_for_block();
      for_each_in_tile(p, first, base, width,
                       [&](Word e, Word, Word to) { at_address<T>(p.to.data)[to] = of_sum<T>(tile[e]); });
      wait_for_block();
    }
  }
}

// `largest`, else the smallest value so far, and its last position.
template <class T>
[[gnu::always_inline]] inline void running_extreme(const LineParams& p) {
  const bool largest = p.flag;
  for_each_line(p, [&](Word from, Word to, Word place) {
    const T* in = at_address<const T>(p.from.data) + from;
    T* out = at_address<T>(p.to.data) + to;
    auto* positions = at_address<std::int64_t>(p.positions.data) + place;
    Word best = 0;
    T element = in[0];
    for (Word i = 0; i < p.size; ++i) {
      const auto next = widen(in[i * p.from_step]), so_far = widen(element);
      const bool keeps = largest ? next >= so_far : next <= so_far;
      if (next != next || (so_far == so_far && keeps)) best = i, element = in[i * p.from_step];
      out[i * p.to_step] = element;
      positions[i * p.positions_step] = best;
    }
  });
}

// Whether x at i is found rather than y at j: the larger (or smaller) one, a NaN before all, the first of equals.
template <class W>
[[gnu::always_inline]] inline bool is_found(bool largest, W x, Word i, W y, Word j) {
  if (x != x || y != y) return x != x && (y == y || i < j);
  return (largest ? x > y : x < y) || (x == y && i < j);
}

template <class T>
[[gnu::always_inline]] inline void store_found(const LineParams& p, Word to, Word place, T element, Word best) {
  if (p.to.data) at_address<T>(p.to.data)[to] = element;
  if (p.positions.data) at_address<std::int64_t>(p.positions.data)[place] = best;
}

template <class T>
[[gnu::always_inline]] inline void find_extreme(const LineParams& p) {
  for_each_line(p, [&](Word from, Word to, Word place) {
    const T* in = at_address<const T>(p.from.data) + from;
    Word best = 0;
    T element = in[0];
    for (Word i = 1; i < p.size; ++i) {
      const T next = in[i * p.from_step];
      if (is_found(p.flag, widen(next), i, widen(element), best)) best = i, element = next;
    }
    store_found(p, to, place, element, best);
  });
}

// A block finds it in a line; which thread looks at which element does not matter.
template <class T>
[[gnu::always_inline]] inline void find_extreme_together(const LineParams& p, MD_SHARED WorkingOf<T>* elements,
                                                         MD_SHARED Word* places) {
  const auto thread = static_cast<Word>(thread_in_block());
  for (Word line = block_number(); line < p.lines.total; line += blocks_of_grid()) {
    Word from = 0, to = 0, place = 0;
    for_each_coordinate(p.lines, line, [&](Word d, Word at) {
      from += at * p.from.strides.of[d];
      to += at * p.to.strides.of[d];
      place += at * p.positions.strides.of[d];
    });
    const T* in = at_address<const T>(p.from.data) + from;
    Word best = thread;  // a line has at least as many elements as a block threads
    auto element = widen(in[best * p.from_step]);
    for (Word i = thread + kLineThreads; i < p.size; i += kLineThreads) {
      const auto next = widen(in[i * p.from_step]);
      if (is_found(p.flag, next, i, element, best)) best = i, element = next;
    }
    elements[thread] = element, places[thread] = best;
    wait_for_block();
    for (Word half = kLineThreads / 2; half > 0; half /= 2) {
      if (thread < half) {
        const auto x = elements[thread + half], y = elements[thread];
        if (is_found(p.flag, x, places[thread + half], y, places[thread]))
          elements[thread] = x, places[thread] = places[thread + half];
      }
      wait_for_block();
    }
    if (thread == 0) store_found<T>(p, to, place, narrow<T>(elements[0]), places[0]);
    wait_for_block();
  }
}

}  // namespace

#define MD_ACCUMULATE(name, O, N, T)                                  \
  MD_KERNEL void name##_##N(LineParams p) { accumulate<T, O<T>>(p); } \
  MD_KERNEL void name##_tiles_##N(LineParams p) {                     \
    MD_SHARED_ARRAY(Sum<T>, tile, kScanRoom + kScanLines);            \
    accumulate_tiles<T, O<T>>(p, tile);                               \
  }
#define MD_SCAN(N, T)                \
  MD_ACCUMULATE(cumsum, AddUp, N, T) \
  MD_ACCUMULATE(cumprod, MultiplyUp, N, T)
MD_FOR_NUMBERS(MD_SCAN)
#define MD_SCAN_FLOATS(N, T) MD_ACCUMULATE(logcumsumexp, AddExponentials, N, T)
MD_FOR_FLOATS(MD_SCAN_FLOATS)
#define MD_EXTREME(N, T)                                                 \
  MD_KERNEL void cumextreme_##N(LineParams p) { running_extreme<T>(p); } \
  MD_KERNEL void extreme_##N(LineParams p) { find_extreme<T>(p); }       \
  MD_KERNEL void extreme_together_##N(LineParams p) {                    \
    MD_SHARED_ARRAY(WorkingOf<T>, elements, kLineThreads);               \
    MD_SHARED_ARRAY(Word, places, kLineThreads);                         \
    find_extreme_together<T>(p, elements, places);                       \
  }
MD_FOR_DTYPES(MD_EXTREME)

}  // namespace md::device_blocks
