// Products on tensor cores: tiles of both operands go through stages of shared memory, each warp has a part of the
// tile's results in its registers. In which order a result's products are added is the hardware's choice.
#pragma once

#include "backend/device_blocks/kernels/tensor_cores.h"

namespace md::device_blocks {

inline constexpr int kDepthBytes = 64;  // of both operands in a stage
inline constexpr int kStages = 3;
inline constexpr int kFragmentRows = 16, kFragmentColumns = 8;

template <class T>
inline constexpr int kChunk = 16 / static_cast<int>(sizeof(T));  // elements that are copied together

// A tile of an operand in shared memory, in chunks of 16 bytes along the depth or along the rows (of the right operand:
// columns), as the operand lies in global memory. Chunks are exchanged within groups of eight, so that neither a row of
// chunks that is written nor the chunks of a fragment that are read meet in a bank.
template <class T, int kRows, bool along_rows>
struct OperandTile {
  static constexpr int kBytes = kRows * kDepthBytes, kChunks = kBytes / 16;
  static constexpr int kAcross = along_rows ? kRows / kChunk<T> : kDepthBytes / 16;  // chunks of a line
  static constexpr bool kTurned = along_rows && sizeof(T) == 2;

  // Where chunk number c begins.
  static int row_of(int c) { return along_rows ? c % kAcross * kChunk<T> : c / kAcross; }
  static int depth_of(int c) { return along_rows ? c / kAcross : c % kAcross * kChunk<T>; }

  static int offset(int row, int depth) {
    const int line = along_rows ? depth : row, chunk = (along_rows ? row : depth) / kChunk<T>;
    const int moved = !along_rows ? line / 2 % 4 : sizeof(T) == 2 ? line % 8 : line % 4 * 2;
    return (line * kAcross + (chunk ^ moved)) * 16;
  }

  // The registers of 16 rows for a step of the depth. Left operands change the row from one register to the next,
  // right operands the depth: their 16 columns are two fragments.
  template <class Terms, bool right>
  [[gnu::always_inline]] static void load_fragment(std::uint32_t (&to)[4], const SharedBytes* tile, int row, int step) {
    const int lane = lane_in_warp(), matrix = lane / 8;
    const int row_half = right ? matrix / 2 : matrix % 2, depth_half = right ? matrix % 2 : matrix / 2;
    if constexpr (kTurned) {
      load_matrices<true>(to, tile + offset(row + 8 * row_half, 16 * step + 8 * depth_half + lane % 8));
    } else if constexpr (!along_rows) {
      load_matrices<false>(to, tile + offset(row + 8 * row_half + lane % 8, (2 * step + depth_half) * kChunk<T>));
    } else {
#pragma clang loop unroll(full)
      for (int r = 0; r < 4; ++r) {
        const int i = row + lane / 4 + 8 * (right ? r / 2 : r % 2),
                  q = 8 * step + lane % 4 + 4 * (right ? r % 2 : r / 2);
        to[r] = *reinterpret_cast<const MD_SHARED std::uint32_t*>(tile + offset(i, q) + i % kChunk<T> * 4);
      }
    }
#pragma clang loop unroll(full)
    for (int r = 0; r < 4; ++r) Terms::prepare(to[r]);
  }
};

// Elements one by one, where no copy takes them together; those outside are 0.
template <class T, class Element>
[[gnu::always_inline]] inline void store_chunk(SharedBytes* to, Element&& element) {
  using Bits = std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint32_t>;
  using Chunk = Bits __attribute__((ext_vector_type(kChunk<T>)));
  Chunk chunk;
#pragma clang loop unroll(full)
  for (int e = 0; e < kChunk<T>; ++e) chunk[e] = std::bit_cast<Bits>(static_cast<T>(element(e)));
  *reinterpret_cast<MD_SHARED FourWords*>(to) = std::bit_cast<FourWords>(chunk);
}

// The most bytes, up to 16, that may be copied at once from any chunk of a matrix at `data`.
inline Word granule_of(std::uint64_t data, Word step_along, Word step_across, Word size) {
  if (step_along != 1) return size;
  const std::uint64_t all = data | static_cast<std::uint64_t>(step_across * size) | 16;
  return static_cast<Word>(all & -all);
}

// A matrix by its strides, and its granule.
template <class Terms, bool along_rows>
struct MatrixOperand {
  using T = typename Terms::T;
  static constexpr int kSize = static_cast<int>(sizeof(T));
  const T* data;
  Word rows, depth, row_step, depth_step, granule;

  // Chunk by chunk, where all begin at multiples of their size.
  template <class Tile, int kThreads>
  [[gnu::always_inline]] void fill(SharedBytes* tile, Word row, Word q) const {
    if (granule != 16) return fill_by_pieces<Tile, kThreads>(tile, row, q);
    const int thread = static_cast<int>(thread_in_block());
#pragma clang loop unroll(full)
    for (int n = 0; n < Tile::kChunks / kThreads; ++n) {
      const int c = n * kThreads + thread, i = Tile::row_of(c), d = Tile::depth_of(c);
      const int inside = count_inside(row + i, q + d, kChunk<T>);
      SharedBytes* to = tile + Tile::offset(i, d);
      const T* from = inside ? element(row + i, q + d) : data;
      if constexpr (Terms::kCopiesAhead) {
        copy_ahead<16>(to, from, inside * kSize);
      } else if (inside == kChunk<T>) {
        *reinterpret_cast<MD_SHARED FourWords*>(to) = *reinterpret_cast<const FourWords*>(from);
      } else {
        store_chunk<T>(to, [&](int e) { return e < inside ? from[e] : T{}; });
      }
    }
  }

 private:
  [[gnu::always_inline]] const T* element(Word i, Word q) const { return data + i * row_step + q * depth_step; }
  [[gnu::always_inline]] int count_inside(Word i, Word q, int most) const {
    const Word left = along_rows ? rows - i : depth - q;
    const bool within = along_rows ? q < depth : i < rows;
    return !within || left <= 0 ? 0 : left < most ? static_cast<int>(left) : most;
  }

  template <class Tile, int kThreads>
  [[gnu::always_inline]] void fill_by_pieces(SharedBytes* tile, Word row, Word q) const {
    if constexpr (Terms::kCopiesAhead) {
      if (granule >= 4) return fill_by<4, Tile, kThreads>(tile, row, q);
    }
    fill_by<kSize, Tile, kThreads>(tile, row, q);
  }
  // Neighbouring lanes read neighbours: whole sectors, and all banks.
  template <int kBytes, class Tile, int kThreads>
  [[gnu::always_inline]] void fill_by(SharedBytes* tile, Word row, Word q) const {
    constexpr int kEach = kBytes / kSize, kParts = 16 / kBytes;
#pragma clang loop unroll(disable)
    for (int n = 0; n < Tile::kChunks * kParts / kThreads; ++n) {
      const int at = n * kThreads + static_cast<int>(thread_in_block()), c = at / kParts, part = at % kParts;
      const Word i = row + Tile::row_of(c) + (along_rows ? part * kEach : 0);
      const Word d = q + Tile::depth_of(c) + (along_rows ? 0 : part * kEach);
      const int inside = count_inside(i, d, kEach);
      SharedBytes* to = tile + Tile::offset(Tile::row_of(c), Tile::depth_of(c)) + part * kBytes;
      const T* from = inside ? element(i, d) : data;
      if constexpr (Terms::kCopiesAhead && kBytes == 4) {
        copy_ahead<4>(to, from, inside * kSize);
      } else {
        using Bits = decltype(Terms::rounded(0));
        *reinterpret_cast<MD_SHARED Bits*>(to) = inside ? std::bit_cast<Bits>(*from) : Bits(0);
      }
    }
  }
};

// Four neighbouring results, at once where they lie in one piece.
template <class Terms>
[[gnu::always_inline]] inline void store_four(typename Terms::T* to, Word step, Word inside, const float (&sums)[4]) {
  using Bits = decltype(Terms::rounded(0));
  using Four = Bits __attribute__((ext_vector_type(4)));
  Four row;
#pragma clang loop unroll(full)
  for (int e = 0; e < 4; ++e) row[e] = Terms::rounded(sums[e]);
  if (step == 1 && inside >= 4 && reinterpret_cast<std::uint64_t>(to) % sizeof(Four) == 0) {
    *reinterpret_cast<Four*>(to) = row;
    return;
  }
#pragma clang loop unroll(full)
  for (int e = 0; e < 4; ++e)
    if (e < inside) reinterpret_cast<Bits*>(to)[e * step] = row[e];
}

// A block's tile of results and the warps' parts of it.
template <class Terms, int kRows, int kColumns, int kWarpRows, int kWarpColumns>
struct ResultTile {
  using T = typename Terms::T;
  static constexpr int kThreads = kRows / kWarpRows * (kColumns / kWarpColumns) * 32;
  static constexpr int kDown = kWarpRows / kFragmentRows, kRight = kWarpColumns / kFragmentColumns;
  static constexpr int kStageBytes = (kRows + kColumns) * kDepthBytes;
  static constexpr int kDepth = kDepthBytes / static_cast<int>(sizeof(T)), kSteps = 2;

  SumFragment sums[kDown][kRight] = {};

  static int warp_row() { return static_cast<int>(thread_in_block()) / 32 / (kColumns / kWarpColumns) * kWarpRows; }
  static int warp_column() {
    return static_cast<int>(thread_in_block()) / 32 % (kColumns / kWarpColumns) * kWarpColumns;
  }

  template <class LeftTile, class RightTile>
  [[gnu::always_inline]] void add_stage(const SharedBytes* left, const SharedBytes* right) {
#pragma clang loop unroll(full)
    for (int step = 0; step < kSteps; ++step) {
      LeftFragment a[kDown];
      std::uint32_t b[kRight / 2][4];
#pragma clang loop unroll(full)
      for (int d = 0; d < kDown; ++d)
        LeftTile::template load_fragment<Terms, false>(a[d], left, warp_row() + d * kFragmentRows, step);
#pragma clang loop unroll(full)
      for (int r = 0; r < kRight / 2; ++r)
        RightTile::template load_fragment<Terms, true>(b[r], right, warp_column() + 2 * r * kFragmentColumns, step);
#pragma clang loop unroll(full)
      for (int d = 0; d < kDown; ++d) {
#pragma clang loop unroll(full)
        for (int r = 0; r < kRight; ++r) Terms::multiply_add(sums[d][r], a[d], &b[r / 2][r % 2 * 2]);
      }
    }
  }

  // The sums over the whole depth, of rows from `row` and columns from `column` on.
  template <class LeftTile, class RightTile, class Left, class Right>
  [[gnu::always_inline]] void add_all(SharedBytes* shared, const Left& a, const Right& b, Word row, Word column,
                                      Word depth) {
    constexpr bool kAhead = Terms::kCopiesAhead;
    int filled = 0, used = 0;
#pragma clang loop unroll(disable)
    for (Word q = 0; q < depth + (kStages - 1) * kDepth; q += kDepth) {
      const bool any_filled = q >= (kStages - 1) * kDepth;
      if (any_filled) {
        wait_for_copies<kAhead, kStages - 2>();
        wait_for_block();  // the stage is there for all warps, and none reads the one before any more
      }
      if (q < depth) {
        SharedBytes* to = shared + filled * kStageBytes;
        a.template fill<LeftTile, kThreads>(to, row, q);
        b.template fill<RightTile, kThreads>(to + LeftTile::kBytes, column, q);
      }
      end_copies_of_stage<kAhead>();
      filled = filled + 1 == kStages ? 0 : filled + 1;
      if (!any_filled) continue;
      const SharedBytes* from = shared + used * kStageBytes;
      add_stage<LeftTile, RightTile>(from, from + LeftTile::kBytes);
      used = used + 1 == kStages ? 0 : used + 1;
    }
    wait_for_block();
  }

  // Sums go through the warp's part of shared memory, where nobody needs the stages any more: a lane then has four
  // neighbours, eight lanes a row.
  template <class Result>
  [[gnu::always_inline]] void store(SharedBytes* shared, const Result& to, Word row, Word column) const {
    using Two = float __attribute__((ext_vector_type(2)));
    using Four = float __attribute__((ext_vector_type(4)));
    constexpr int kPartRows = 32, kPitch = kWarpColumns + 8, kPart = kPartRows * kPitch, kAtOnce = 128 / kWarpColumns;
    static_assert(kThreads / 32 * kPart * 4 <= kStages * kStageBytes);
    const int lane = lane_in_warp();
    auto* part = reinterpret_cast<MD_SHARED float*>(shared) + static_cast<int>(thread_in_block()) / 32 * kPart;
#pragma clang loop unroll(full)
    for (int d = 0; d < kDown; ++d) {
      const int inside = d * kFragmentRows % kPartRows;
#pragma clang loop unroll(full)
      for (int r = 0; r < kRight; ++r) {
        MD_SHARED float* at = part + (inside + lane / 4) * kPitch + r * kFragmentColumns + lane % 4 * 2;
        *reinterpret_cast<MD_SHARED Two*>(at) = Two{sums[d][r][0], sums[d][r][1]};
        *reinterpret_cast<MD_SHARED Two*>(at + 8 * kPitch) = Two{sums[d][r][2], sums[d][r][3]};
      }
      if (inside + kFragmentRows < kPartRows) continue;
      wait_for_warp();
      const Word first = row + warp_row() + d * kFragmentRows - inside;
#pragma clang loop unroll(disable)
      for (int i = lane * 4 / kWarpColumns; i < kPartRows; i += kAtOnce) {
        const int j = lane * 4 % kWarpColumns;
        const Four four = *reinterpret_cast<const MD_SHARED Four*>(part + i * kPitch + j);
        const float each[4] = {four[0], four[1], four[2], four[3]};
        to.store(first + i, column + warp_column() + j, each);
      }
      wait_for_warp();
    }
    wait_for_block();
  }
};

}  // namespace md::device_blocks
