// Elements that a mask selects: counted by tiles, the counts added up, positions written by tiles. And what else goes
// by running sums of counts.
#include "backend/device_blocks/kernels/device.h"

namespace md::device_blocks {
namespace {

// The sum of `mine` over the threads before this one; `all` of them together.
[[gnu::always_inline]] inline Word sum_before(Word mine, MD_SHARED Word* sums, Word& all) {
  const auto thread = static_cast<int>(thread_in_block());
  sums[thread] = mine;
  wait_for_block();
  for (int step = 1; step < kFlagThreads; step *= 2) {
    const Word add = thread >= step ? sums[thread - step] : 0;
    wait_for_block();
    sums[thread] += add;
    wait_for_block();
  }
  all = sums[kFlagThreads - 1];
  const Word before = sums[thread] - mine;
  wait_for_block();
  return before;
}

// A thread's flags of a tile as the bytes of a word; those beyond the end are 0.
[[gnu::always_inline]] inline std::uint64_t flags_at(const FlagParams& p, Word first) {
  static_assert(kFlagsOfThread == 8);
  const auto* flags = at_address<const std::uint8_t>(p.flags);
  std::uint64_t word = 0;
  if (first + kFlagsOfThread <= p.total && p.flags % 8 == 0) {
    word = *at_address<const std::uint64_t>(p.flags + first);
  } else {
    for (int k = 0; k < kFlagsOfThread && first + k < p.total; ++k) word |= std::uint64_t{flags[first + k]} << (8 * k);
  }
  // Bytes that are seen as flags may be any.
  word |= word >> 4 & 0x0f0f0f0f0f0f0f0full;
  word |= word >> 2 & 0x3f3f3f3f3f3f3f3full;
  word |= word >> 1;
  return word & 0x0101010101010101ull;
}
inline Word first_of_thread(Word tile) { return tile * kFlagTile + thread_in_block() * kFlagsOfThread; }
inline Word tiles_of(Word total) { return (total + kFlagTile - 1) / kFlagTile; }

}  // namespace

MD_KERNEL void count_flags(FlagParams p) {
  MD_SHARED_ARRAY(Word, sums, kFlagThreads);
  for (Word tile = block_number(); tile < tiles_of(p.total); tile += blocks_of_grid()) {
    Word all = 0;
    sum_before(__builtin_popcountll(flags_at(p, first_of_thread(tile))), sums, all);
    if (thread_in_block() == 0) at_address<Word>(p.before)[tile] = all;
  }
}

MD_KERNEL void add_up(SumsParams p) {
  MD_SHARED_ARRAY(Word, sums, kFlagThreads);
  const auto* numbers = at_address<const Word>(p.numbers);
  auto* to = at_address<Word>(p.sums);
  Word before = 0;
  for (Word tile = 0; tile < tiles_of(p.total); ++tile) {
    const Word first = first_of_thread(tile);
    Word own = 0, all = 0, held[kFlagsOfThread];
#pragma clang loop unroll(full)
    for (int k = 0; k < kFlagsOfThread; ++k) {
      held[k] = first + k < p.total ? numbers[first + k] : 0;
      own += held[k];
    }
    Word sum = before + sum_before(own, sums, all);
#pragma clang loop unroll(full)
    for (int k = 0; k < kFlagsOfThread; ++k) {
      if (first + k < p.total) to[first + k] = sum;
      sum += held[k];
    }
    before += all;
  }
  if (thread_in_block() == 0) to[p.total] = before;
}

MD_KERNEL void place_flags(FlagParams p) {
  MD_SHARED_ARRAY(Word, sums, kFlagThreads);
  for (Word tile = block_number(); tile < tiles_of(p.total); tile += blocks_of_grid()) {
    const Word first = first_of_thread(tile);
    const std::uint64_t word = flags_at(p, first);
    Word all = 0;
    Word rank = at_address<const Word>(p.before)[tile] + sum_before(__builtin_popcountll(word), sums, all);
    for (int k = 0; k < kFlagsOfThread && first + k < p.total; ++k) {
      if (p.ranks) at_address<Word>(p.ranks)[first + k] = rank;
      if (!(word >> (8 * k) & 1)) continue;
      if (p.positions) at_address<Word>(p.positions)[rank] = first + k;
      ++rank;
    }
  }
}

MD_KERNEL void coordinates(CoordinatesParams p) {
  for_each_point(p.count, [&](Word i) {
    Word left = at_address<const Word>(p.numbers)[i];
    for (Word d = 0; d < p.space.rank; ++d) {
      at_address<Word>(p.to)[(p.space.rank - 1 - d) * p.count + i] = left % p.space.sizes[d];
      left /= p.space.sizes[d];
    }
  });
}

MD_KERNEL void owners(OwnersParams p) {
  for_each_point(p.total, [&](Word i) {
    const auto* sums = at_address<const Word>(p.sums);
    Word low = 0, high = p.count;  // the first whose sum is larger, of those behind number 0
    while (low < high) {
      const Word middle = low + (high - low) / 2;
      if (sums[middle + 1] > i) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    at_address<Word>(p.to)[i] = low;
  });
}

namespace {

template <class U>
[[gnu::always_inline]] inline void take_in_turn(const TakeInTurnParams& p) {
  const Word wanted = *at_address<const Word>(p.wanted);
  if (wanted > p.held) {
    if (block_number() != 0 || thread_in_block() != 0) return;
    auto* s = at_address<NotedStatus>(p.status);
    show_to_host();
    *static_cast<volatile std::int32_t*>(&s->code) = static_cast<std::int32_t>(Failure::Source);
    return;
  }
  for_each_point(p.space.total, [&](Word i) {
    if (!at_address<const std::uint8_t>(p.flags)[i]) return;
    Word to = 0;
    for_each_coordinate(p.space, i, [&](Word d, Word at) { to += at * p.to.strides.of[d]; });
    at_address<U>(p.to.data)[to] = at_address<const U>(p.source)[at_address<const Word>(p.ranks)[i]];
  });
}

}  // namespace

#define MD_TAKE_IN_TURN(N, U) \
  MD_KERNEL void take_in_turn_##N(TakeInTurnParams p) { take_in_turn<U>(p); }
MD_FOR_SIZES(MD_TAKE_IN_TURN)

}  // namespace md::device_blocks
