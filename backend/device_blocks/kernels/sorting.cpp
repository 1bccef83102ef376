// Stable sorting of lines by merging: every element finds its place in the merged run by a search in the other run.
#include "backend/device_blocks/kernels/device.h"

namespace md::device_blocks {
namespace {

// NaN counts as larger than everything.
template <class W>
[[gnu::always_inline]] inline bool comes_before(W a, W b) {
  return a < b || (b != b && a == a);
}

// Lines into rows, with their positions.
template <class T>
[[gnu::always_inline]] inline void gather_lines(const LineParams& p) {
  for_each_point(p.lines.total * p.size, [&](Word i) {
    const Word line = i / p.size, at = i % p.size;
    Word from = 0;
    for_each_coordinate(p.lines, line, [&](Word d, Word c) { from += c * p.from.strides.of[d]; });
    at_address<T>(p.to.data)[i] = at_address<const T>(p.from.data)[from + at * p.from_step];
    at_address<std::int64_t>(p.positions.data)[i] = at;
  });
}

template <class T>
[[gnu::always_inline]] inline void merge_runs(const MergeParams& p) {
  for_each_point(p.total, [&](Word i) {
    const Word line = i / p.size * p.size, at = i - line;
    const Word pair = at / (2 * p.width) * (2 * p.width);
    const bool second = at - pair >= p.width;
    const Word middle = pair + p.width < p.size ? pair + p.width : p.size;
    const Word end = pair + 2 * p.width < p.size ? pair + 2 * p.width : p.size;
    const T* values = at_address<const T>(p.values) + line;
    const T element = values[at];
    const auto x = widen(element);
    // Of the other run: those that come before x; of equals the first run's.
    Word low = second ? pair : middle, high = second ? middle : end;
    const Word begin = low;
    while (low < high) {
      const Word probe = low + (high - low) / 2;
      const auto y = widen(values[probe]);
      const bool before = second ? !(p.descending ? comes_before(y, x) : comes_before(x, y))
                                 : (p.descending ? comes_before(x, y) : comes_before(y, x));
      if (before) {
        low = probe + 1;
      } else {
        high = probe;
      }
    }
    const Word place = line + pair + (low - begin) + (second ? at - middle : at - pair);
    at_address<T>(p.to_values)[place] = element;
    at_address<std::int64_t>(p.to_positions)[place] = at_address<const std::int64_t>(p.positions)[line + at];
  });
}

}  // namespace

#define MD_SORT(N, T)                                                   \
  MD_KERNEL void gather_lines_##N(LineParams p) { gather_lines<T>(p); } \
  MD_KERNEL void merge_runs_##N(MergeParams p) { merge_runs<T>(p); }
MD_FOR_DTYPES(MD_SORT)

}  // namespace md::device_blocks
