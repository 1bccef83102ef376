// Stable sorting of lines by merging: every element finds its place in the merged run by a search in the other run.
// Short lines are sorted in shared memory, several by one block; of longer ones each pass goes through memory.
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

// Where element `at` of a line goes when runs of `width` become runs of twice as many. value(i): of the line.
template <class F>
[[gnu::always_inline]] inline Word merged_place(Word at, Word size, Word width, bool descending, F&& value) {
  const Word pair = at / (2 * width) * (2 * width);
  const bool second = at - pair >= width;
  const Word middle = pair + width < size ? pair + width : size;
  const Word end = pair + 2 * width < size ? pair + 2 * width : size;
  const auto x = value(at);
  // Of the other run: those that come before x; of equals the first run's.
  Word low = second ? pair : middle, high = second ? middle : end;
  const Word begin = low;
  while (low < high) {
    const Word probe = low + (high - low) / 2;
    const auto y = value(probe);
    const bool before = second ? !(descending ? comes_before(y, x) : comes_before(x, y))
                               : (descending ? comes_before(x, y) : comes_before(y, x));
    if (before) {
      low = probe + 1;
    } else {
      high = probe;
    }
  }
  return pair + (low - begin) + (second ? at - middle : at - pair);
}

template <class T>
[[gnu::always_inline]] inline void merge_runs(const MergeParams& p) {
  for_each_point(p.total, [&](Word i) {
    const Word line = i / p.size * p.size, at = i - line;
    const T* values = at_address<const T>(p.values) + line;
    const Word place = line + merged_place(at, p.size, p.width, p.descending, [&](Word k) { return widen(values[k]); });
    at_address<T>(p.to_values)[place] = values[at];
    at_address<std::int64_t>(p.to_positions)[place] = at_address<const std::int64_t>(p.positions)[i];
  });
}

// f(element of the block's, offset of its line in from, to, positions; its place in the line)
template <class F>
[[gnu::always_inline]] inline void for_each_sorted(const LineParams& p, Word first, Word count, F&& f) {
  for (Word e = thread_in_block(); e < count; e += kSortThreads) {
    Word from = 0, to = 0, positions = 0;
    for_each_coordinate(p.lines, first + e / p.size, [&](Word d, Word at) {
      from += at * p.from.strides.of[d];
      to += at * p.to.strides.of[d];
      positions += at * p.positions.strides.of[d];
    });
    f(e, from, to, positions, e % p.size);
  }
}

// Two halves of the room take turns. All lines of a block are read before one is written: they may be the same.
template <class T>
[[gnu::always_inline]] inline void sort_in_block(const LineParams& p, MD_SHARED WorkingOf<T>* values,
                                                 MD_SHARED std::uint16_t* places) {
  const Word together = kSortMost / p.size;
  for (Word first = block_number() * together; first < p.lines.total; first += blocks_of_grid() * together) {
    const Word lines = first + together < p.lines.total ? together : p.lines.total - first, count = lines * p.size;
    for_each_sorted(p, first, count, [&](Word e, Word from, Word, Word, Word at) {
      values[e] = widen(at_address<const T>(p.from.data)[from + at * p.from_step]);
      places[e] = static_cast<std::uint16_t>(at);
    });
    wait_for_block();
    Word here = 0;
    for (Word width = 1; width < p.size; width *= 2, here = kSortMost - here) {
      for (Word e = thread_in_block(); e < count; e += kSortThreads) {
        const Word line = here + e / p.size * p.size;
        const Word place = merged_place(e % p.size, p.size, width, p.flag, [&](Word k) { return values[line + k]; });
        const Word to = kSortMost - here + (line - here) + place;
        values[to] = values[here + e];
        places[to] = places[here + e];
      }
      wait_for_block();
    }
    for_each_sorted(p, first, count, [&](Word e, Word, Word to, Word positions, Word at) {
      at_address<T>(p.to.data)[to + at * p.to_step] = narrow<T>(values[here + e]);
      at_address<std::int64_t>(p.positions.data)[positions + at * p.positions_step] = places[here + e];
    });
    wait_for_block();
  }
}

}  // namespace

#define MD_SORT(N, T)                                                   \
  MD_KERNEL void gather_lines_##N(LineParams p) { gather_lines<T>(p); } \
  MD_KERNEL void merge_runs_##N(MergeParams p) { merge_runs<T>(p); }    \
  MD_KERNEL void sort_in_block_##N(LineParams p) {                      \
    MD_SHARED_ARRAY(WorkingOf<T>, values, 2 * kSortMost);               \
    MD_SHARED_ARRAY(std::uint16_t, places, 2 * kSortMost);              \
    sort_in_block<T>(p, values, places);                                \
  }
MD_FOR_DTYPES(MD_SORT)

}  // namespace md::device_blocks
