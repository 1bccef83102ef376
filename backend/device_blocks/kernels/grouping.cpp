// Equal elements brought together and counted.
#include "backend/device_blocks/kernels/device.h"

namespace md::device_blocks {
namespace {

// NaN counts as larger than everything, and equals nothing.
template <class T>
[[gnu::always_inline]] inline bool row_before(const T* a, const T* b, Word length) {
  for (Word k = 0; k < length; ++k) {
    const auto x = widen(a[k]), y = widen(b[k]);
    if (x < y || (y != y && x == x)) return true;
    if (y < x || (x != x && y == y)) return false;
  }
  return false;
}
template <class T>
[[gnu::always_inline]] inline bool rows_equal(const T* a, const T* b, Word length) {
  for (Word k = 0; k < length; ++k)
    if (!(widen(a[k]) == widen(b[k]))) return false;
  return true;
}

[[gnu::always_inline]] inline Word row_at(const RunParams& p, Word i) {
  return p.order ? at_address<const Word>(p.order)[i] : i;
}

template <class T>
[[gnu::always_inline]] inline void mark_starts(const RunParams& p) {
  for_each_point(p.count, [&](Word i) {
    const T* values = at_address<const T>(p.values);
    at_address<std::uint8_t>(p.flags)[i] =
        i == 0 || !rows_equal(values + row_at(p, i - 1) * p.length, values + row_at(p, i) * p.length, p.length);
  });
}

// Numbers of rows, each put to its place in the merged run by a search in the other run.
template <class T>
[[gnu::always_inline]] inline void merge_rows(const MergeRowsParams& p) {
  for_each_point(p.count, [&](Word i) {
    const auto* order = at_address<const Word>(p.order);
    const T* values = at_address<const T>(p.values);
    const Word pair = i / (2 * p.width) * (2 * p.width);
    const bool second = i - pair >= p.width;
    const Word middle = pair + p.width < p.count ? pair + p.width : p.count;
    const Word end = pair + 2 * p.width < p.count ? pair + 2 * p.width : p.count;
    const T* row = values + order[i] * p.length;
    Word low = second ? pair : middle, high = second ? middle : end;
    const Word begin = low;
    while (low < high) {
      const Word probe = low + (high - low) / 2;
      const T* other = values + order[probe] * p.length;
      if (second ? !row_before(row, other, p.length) : row_before(other, row, p.length)) {
        low = probe + 1;
      } else {
        high = probe;
      }
    }
    at_address<Word>(p.to_order)[pair + (low - begin) + (second ? i - middle : i - pair)] = order[i];
  });
}

// Of sorted lines the value with the longest run, and the last position that has it.
template <class T>
[[gnu::always_inline]] inline void find_modes(const ModeParams& m) {
  const LineParams& p = m.lines;
  for_each_point(p.lines.total, [&](Word line) {
    Word to = 0, place = 0;
    for_each_coordinate(p.lines, line, [&](Word d, Word at) {
      to += at * p.to.strides.of[d];
      place += at * p.positions.strides.of[d];
    });
    const T* values = at_address<const T>(p.from.data) + line * p.size;
    Word most = 0, winner = 0, run = 0;
    for (Word i = 0; i < p.size; ++i) {
      run = i > 0 && widen(values[i]) == widen(values[i - 1]) ? run + 1 : 1;
      if (run > most) most = run, winner = i;
    }
    at_address<T>(p.to.data)[to] = values[winner];
    at_address<Word>(p.positions.data)[place] = at_address<const Word>(m.places)[line * p.size + winner];
  });
}

template <class T>
[[gnu::always_inline]] inline void count_into_bins(const CountParams& p) {
  using W = WorkingOf<T>;
  for_each_point(p.space.total, [&](Word i) {
    Word from = 0;
    for_each_coordinate(p.space, i, [&](Word d, Word at) { from += at * p.from.strides.of[d]; });
    const W value = widen(at_address<const T>(p.from.data)[from]);
    const W low = static_cast<W>(p.low), high = static_cast<W>(p.high);
    if (!(value >= low && value <= high)) return;
    const auto bin = static_cast<Word>((value - low) * static_cast<W>(p.bins) / (high - low));
    __atomic_fetch_add(&at_address<Word>(p.counts)[bin < p.bins ? bin : p.bins - 1], Word{1}, __ATOMIC_RELAXED);
  });
}

// to = to / count, where something has been added: integers round down.
template <class T>
[[gnu::always_inline]] inline void divide_by_counts(const MeanParams& p) {
  for_each_point(p.space.total, [&](Word i) {
    const Word count = at_address<const Word>(p.counts)[i];
    if (count < 2) return;
    Word at = 0;
    for_each_coordinate(p.space, i, [&](Word d, Word c) { at += c * p.to.strides.of[d]; });
    T& element = at_address<T>(p.to.data)[at];
    using W = WorkingOf<T>;
    if constexpr (std::is_floating_point_v<W>) {
      element = narrow<T>(widen(element) / static_cast<W>(count));
    } else {
      const auto sum = static_cast<std::int64_t>(widen(element));
      element = narrow<T>(static_cast<W>(sum / count - (sum % count < 0)));
    }
  });
}

}  // namespace

#define MD_GROUPS(N, T)                                                  \
  MD_KERNEL void mark_starts_##N(RunParams p) { mark_starts<T>(p); }     \
  MD_KERNEL void merge_rows_##N(MergeRowsParams p) { merge_rows<T>(p); } \
  MD_KERNEL void find_modes_##N(ModeParams p) { find_modes<T>(p); }
MD_FOR_DTYPES(MD_GROUPS)
#define MD_MEANS(N, T) \
  MD_KERNEL void divide_by_counts_##N(MeanParams p) { divide_by_counts<T>(p); }
MD_FOR_NUMBERS(MD_MEANS)
#define MD_BINS(N, T) \
  MD_KERNEL void count_into_bins_##N(CountParams p) { count_into_bins<T>(p); }
MD_FOR_FLOATS(MD_BINS)

MD_KERNEL void count_numbers(CountParams p) {
  for_each_point(p.space.total, [&](Word i) {
    Word from = 0;
    for_each_coordinate(p.space, i, [&](Word d, Word at) { from += at * p.from.strides.of[d]; });
    __atomic_fetch_add(&at_address<Word>(p.counts)[at_address<const Word>(p.from.data)[from]], Word{1},
                       __ATOMIC_RELAXED);
  });
}

// Each row's group, written where the row lies.
MD_KERNEL void group_numbers(RunParams p) {
  for_each_point(p.count, [&](Word i) {
    at_address<Word>(p.to)[row_at(p, i)] =
        at_address<const Word>(p.ranks)[i] + at_address<const std::uint8_t>(p.flags)[i] - 1;
  });
}

MD_KERNEL void run_lengths(RunLengthParams p) {
  for_each_point(p.count, [&](Word i) {
    const auto* starts = at_address<const Word>(p.starts);
    at_address<Word>(p.to)[i] = (i + 1 < p.count ? starts[i + 1] : p.total) - starts[i];
  });
}

}  // namespace md::device_blocks
