// Copies between tensors in memory, and elements read and written by position.
#include "backend/device_blocks/kernels/device.h"

namespace md::device_blocks {
namespace {

template <class U>
[[gnu::always_inline]] inline void copy_elements(const CopyParams& p) {
  for_each_point(p.space.total, [&](Word i) {
    Word to = 0, from = 0;
    for_each_coordinate(p.space, i, [&](Word d, Word at) {
      to += at * p.to.strides.of[d];
      from += at * p.from.strides.of[d];
    });
    at_address<U>(p.to.data)[to] = at_address<const U>(p.from.data)[from];
  });
}

// Through tiles in shared memory: read along one dimension, written along the other.
template <class U>
[[gnu::always_inline]] inline void copy_tiles(const CopyParams& p, MD_SHARED U* tile) {
  constexpr int kPitch = kCopyTile + 1;
  const auto thread = static_cast<int>(thread_in_block());
  const int inner = thread % kCopyTile, outer = thread / kCopyTile;
  const Word across = (p.space.sizes[0] + kCopyTile - 1) / kCopyTile,
             down = (p.space.sizes[1] + kCopyTile - 1) / kCopyTile;
  const Word planes = p.space.total / (p.space.sizes[0] * p.space.sizes[1]);
  for (Word n = block_number(); n < across * down * planes; n += blocks_of_grid()) {
    const Word a0 = n % across * kCopyTile, b0 = n / across % down * kCopyTile;
    Word to = 0, from = 0;
    for_each_coordinate(p.space, n / across / down * p.space.sizes[0] * p.space.sizes[1], [&](Word d, Word at) {
      to += at * p.to.strides.of[d];
      from += at * p.from.strides.of[d];
    });
    for (int k = outer; k < kCopyTile; k += kCopyThreads / kCopyTile) {
      const Word a = a0 + k, b = b0 + inner;
      if (a < p.space.sizes[0] && b < p.space.sizes[1])
        tile[k * kPitch + inner] = at_address<const U>(p.from.data)[from + a * p.from.strides.of[0] + b];
    }
    wait_for_block();
    for (int k = outer; k < kCopyTile; k += kCopyThreads / kCopyTile) {
      const Word a = a0 + inner, b = b0 + k;
      if (a < p.space.sizes[0] && b < p.space.sizes[1])
        at_address<U>(p.to.data)[to + a + b * p.to.strides.of[1]] = tile[inner * kPitch + k];
    }
    wait_for_block();
  }
}

// How far an index moves; negative where its position is outside.
[[gnu::always_inline]] inline Word distance(const IndexTensor& index, Word offset, Word from_end,
                                            std::uint64_t status) {
  const Word given = index.wide ? at_address<const std::int64_t>(index.data)[offset]
                                : static_cast<Word>(at_address<const std::int32_t>(index.data)[offset]);
  const Word at = from_end && given < 0 ? given + index.size : given;
  if (at < 0 || at >= index.size) {
    note_outside(status, index, given);
    return -1;
  }
  return at * index.stride;
}

template <class U>
[[gnu::always_inline]] inline void read_elements(const ReadAtParams& p) {
  for_each_point(p.space.total, [&](Word i) {
    Word to = 0, from = 0;
    for_each_coordinate(p.space, i, [&](Word d, Word at) {
      to += at * p.to.strides.of[d];
      from += at * p.from.strides.of[d];
    });
#pragma clang loop unroll(disable)
    for (Word k = 0; k < p.indexes; ++k) {
      Word offset = 0;
      for_each_coordinate(p.space, i, [&](Word d, Word at) { offset += at * p.index[k].strides.of[d]; });
      const Word moved = distance(p.index[k], offset, p.from_end, p.status);
      if (moved < 0) return;
      from += moved;
    }
    at_address<U>(p.to.data)[to] = at_address<const U>(p.from.data)[from];
  });
}

template <class T>
[[gnu::always_inline]] inline T combined(const WriteAtParams& p, T old, T given) {
  using W = WorkingOf<T>;
  const auto mode = static_cast<Combine>(p.combine);
  W value = widen(given);
  if (p.numbered) {
    if constexpr (std::is_floating_point_v<W>) {
      value = static_cast<W>(p.real);
    } else {
      value = static_cast<W>(p.whole);
    }
  }
  if (mode == Combine::Keep) return narrow<T>(value);
  const W before = widen(old);
  if constexpr (std::is_same_v<T, bool>) {
    if (mode == Combine::Add) return before || (value && p.whole_scale);
    if (mode == Combine::Multiply) return before && value;
    if (mode == Combine::Larger) return before > value ? before : value;
    return before < value ? before : value;
  } else {
    ScalarBuilder<W> b;
    if (mode == Combine::Add) {
      if (p.scaled) {
        if constexpr (std::is_floating_point_v<W>) {
          value = b.mul(static_cast<W>(p.scale), value);
        } else {
          value = b.mul(static_cast<W>(p.whole_scale), value);
        }
      }
      return narrow<T>(b.add(before, value));
    }
    if (mode == Combine::Multiply) return narrow<T>(b.mul(before, value));
    if (mode == Combine::Larger) return narrow<T>(before != before || before > value ? before : value);
    return narrow<T>(before != before || before < value ? before : value);
  }
}

template <class T>
[[gnu::always_inline]] inline void write_elements(const WriteAtParams& p) {
  for_each_point(p.columns.total, [&](Word column) {
    Word to = 0, from = 0;
    for_each_coordinate(p.columns, column, [&](Word d, Word at) {
      to += at * p.to.strides.of[d];
      from += at * p.from.strides.of[d];
    });
    for (Word step = 0; step < p.steps.total; ++step) {
      Word put = to, take = from;
      for_each_coordinate(p.steps, step, [&](Word d, Word at) {
        put += at * p.to_steps.of[d];
        take += at * p.from_steps.of[d];
      });
      bool inside = true;
#pragma clang loop unroll(disable)
      for (Word k = 0; k < p.indexes; ++k) {
        Word offset = 0;
        for_each_coordinate(p.columns, column, [&](Word d, Word at) { offset += at * p.index[k].strides.of[d]; });
        for_each_coordinate(p.steps, step, [&](Word d, Word at) { offset += at * p.index_steps[k].of[d]; });
        const Word moved = distance(p.index[k], offset, p.from_end, p.status);
        inside = inside && moved >= 0;
        put += moved;
      }
      if (!inside) continue;
      T& element = at_address<T>(p.to.data)[put];
      const T given = p.numbered ? T{} : at_address<const T>(p.from.data)[take];
      element = combined<T>(p, element, given);
    }
  });
}

// Of a pair of a column and a step: where it writes and reads.
struct PairPlace {
  Word put, take;
};
[[gnu::always_inline]] inline PairPlace place_of(const WriteAtParams& p, Word column, Word step) {
  PairPlace place{0, 0};
  for_each_coordinate(p.columns, column, [&](Word d, Word at) {
    place.put += at * p.to.strides.of[d];
    place.take += at * p.from.strides.of[d];
  });
  for_each_coordinate(p.steps, step, [&](Word d, Word at) {
    place.put += at * p.to_steps.of[d];
    place.take += at * p.from_steps.of[d];
  });
  return place;
}

template <class T>
[[gnu::always_inline]] inline void write_sorted(const SortedWriteParams& s) {
  const WriteAtParams& p = s.write;
  const Word total = p.columns.total * p.steps.total;
  const auto* keys = at_address<const std::int64_t>(s.keys);
  const auto* order = at_address<const std::int64_t>(s.order);
  // The first pair that names an element does them all, in the order of steps.
  for_each_point(total, [&](Word i) {
    const Word key = keys[i];
    if (key < 0 || (i > 0 && keys[i - 1] == key)) return;
    T element = at_address<const T>(p.to.data)[key];
    for (Word j = i; j < total && keys[j] == key; ++j) {
      const Word pair = order[j];
      const Word take = place_of(p, pair / p.steps.total, pair % p.steps.total).take;
      element = combined<T>(p, element, p.numbered ? T{} : at_address<const T>(p.from.data)[take]);
    }
    at_address<T>(p.to.data)[key] = element;
  });
}

}  // namespace

MD_KERNEL void write_keys(SortedWriteParams s) {
  const WriteAtParams& p = s.write;
  for_each_point(p.columns.total * p.steps.total, [&](Word pair) {
    const Word column = pair / p.steps.total, step = pair % p.steps.total;
    Word key = place_of(p, column, step).put;
#pragma clang loop unroll(disable)
    for (Word k = 0; k < p.indexes; ++k) {
      Word offset = 0;
      for_each_coordinate(p.columns, column, [&](Word d, Word at) { offset += at * p.index[k].strides.of[d]; });
      for_each_coordinate(p.steps, step, [&](Word d, Word at) { offset += at * p.index_steps[k].of[d]; });
      const Word moved = distance(p.index[k], offset, p.from_end, s.status);
      key = key < 0 || moved < 0 ? -1 : key + moved;
    }
    at_address<std::int64_t>(s.keys)[pair] = key;
    at_address<std::int64_t>(s.order)[pair] = pair;
  });
}
#define MD_WRITE_SORTED(N, T) \
  MD_KERNEL void write_sorted_##N(SortedWriteParams s) { write_sorted<T>(s); }
MD_FOR_DTYPES(MD_WRITE_SORTED)

#define MD_COPY(N, U)                                            \
  MD_KERNEL void copy_##N(CopyParams p) { copy_elements<U>(p); } \
  MD_KERNEL void copy_tiles_##N(CopyParams p) {                  \
    MD_SHARED_ARRAY(U, tile, (kCopyTile + 1) * kCopyTile);       \
    copy_tiles<U>(p, tile);                                      \
  }
MD_FOR_SIZES(MD_COPY)
#define MD_READ(N, U) \
  MD_KERNEL void read_at_##N(ReadAtParams p) { read_elements<U>(p); }
MD_FOR_SIZES(MD_READ)
#define MD_WRITE(N, T) \
  MD_KERNEL void write_at_##N(WriteAtParams p) { write_elements<T>(p); }
MD_FOR_DTYPES(MD_WRITE)

}  // namespace md::device_blocks
