// Convolutions on tensor cores: the filters of a group are the left matrix, the windows of all images the columns of
// the right one, which is read where it lies.
#pragma once

#include "backend/device_blocks/kernels/mma_tiles.h"
#include "backend/device_blocks/kernels/window_places.h"

namespace md::device_blocks {

// The columns of one thread, which are the same in all stages.
template <class Terms>
struct WindowOperand {
  using T = typename Terms::T;
  const ConvolutionParams& p;
  const T* x;
  WindowPlace first;
  Word left, depth;  // columns from the first on; elements of a window

  template <class Tile, int kThreads>
  [[gnu::always_inline]] void fill(SharedBytes* tile, Word, Word q) const {
    static_assert(kThreads % Tile::kAcross == 0);
#pragma clang loop unroll(disable)
    for (int c = static_cast<int>(thread_in_block()); c < Tile::kChunks; c += kThreads)
      fill_chunk(tile + Tile::offset(Tile::row_of(c), Tile::depth_of(c)), q + Tile::depth_of(c));
  }

 private:
  [[gnu::always_inline]] void fill_chunk(SharedBytes* to, Word q) const {
    const auto inner = static_cast<std::uint32_t>(p.axes[2].kernel),
               rows = static_cast<std::uint32_t>(p.axes[1].kernel);
    const auto number = static_cast<std::uint32_t>(q), row = number / inner, plane = row / rows;
    const auto channel = plane / static_cast<std::uint32_t>(p.axes[0].kernel);
    const Word in_window[kWindowDims] = {plane - channel * p.axes[0].kernel, row - plane * p.axes[1].kernel,
                                         number - row * p.axes[2].kernel};
    const T* from = x + channel * p.x_channel;
    Word shift[kWindowDims];
#pragma clang loop unroll(full)
    for (int k = 0; k < kWindowDims; ++k) shift[k] = in_window[k] * p.axes[k].dilation - p.axes[k].padding;
    WindowPlace place = first;
    store_chunk<T>(to, [&](int e) {
      bool inside = e < left && q < depth;
      Word offset = place.image * p.x_batch;
#pragma clang loop unroll(full)
      for (int k = 0; k < kWindowDims; ++k) {
        const Word y = place.at[k] * p.axes[k].stride + shift[k];
        inside = inside && y >= 0 && y < p.axes[k].in;
        offset += y * p.axes[k].step;
      }
      place.advance(p);
      return inside ? from[offset] : T{};
    });
  }
};

template <class Terms>
struct WindowResult {
  const ConvolutionParams& p;
  typename Terms::T* to;
  Word columns;

  [[gnu::always_inline]] void store(Word filter, Word column, const float (&sums)[4]) const {
    if (filter >= p.per_group || column >= columns) return;
    WindowPlace place = WindowPlace::of(p, column);
    typename Terms::T* row = to + filter * p.to_filter;
    // Neighbours in a row of results, nearly always.
    if (place.at[2] + 4 <= p.axes[2].out) return store_four<Terms>(row + place.offset(p), p.axes[2].out_step, 4, sums);
#pragma clang loop unroll(full)
    for (int e = 0; e < 4; ++e) {
      const float one[4] = {sums[e], 0, 0, 0};
      if (e < columns - column) store_four<Terms>(row + place.offset(p), 1, 1, one);
      place.advance(p);
    }
  }
};

// Weights lie one behind the other within a filter.
template <class Tile, class Terms>
[[gnu::always_inline]] inline void convolve_tiles(const ConvolutionParams& p, SharedBytes* shared) {
  using T = typename Terms::T;
  using LeftTile = OperandTile<T, kMmaSmallTile, false>;
  using RightTile = OperandTile<T, kMmaSmallTile, true>;
  const Word columns = p.batch * p.axes[0].out * p.axes[1].out * p.axes[2].out;
  const Word depth = p.channels * p.axes[0].kernel * p.axes[1].kernel * p.axes[2].kernel;
  const Word across = (columns + kMmaSmallTile - 1) / kMmaSmallTile,
             down = (p.per_group + kMmaSmallTile - 1) / kMmaSmallTile;
  const Word groups = p.filters / p.per_group;
  for (Word number = block_number(); number < across * down * groups; number += blocks_of_grid()) {
    const Word group = number / (across * down), within = number % (across * down);
    const Word row = within / across * kMmaSmallTile, column = within % across * kMmaSmallTile;
    const T* w = at_address<const T>(p.w) + group * p.per_group * p.w_filter;
    const MatrixOperand<Terms, false> left{
        w, p.per_group, depth, p.w_filter, 1, granule_of(reinterpret_cast<std::uint64_t>(w), 1, p.w_filter, sizeof(T))};
    const Word own = column + RightTile::row_of(static_cast<int>(thread_in_block()));
    const WindowOperand<Terms> right{p, at_address<const T>(p.x) + group * p.channels * p.x_channel,
                                     WindowPlace::of(p, own), columns - own, depth};
    Tile tile;
    tile.template add_all<LeftTile, RightTile>(shared, left, right, row, column, depth);
    T* to = at_address<T>(p.to) + group * p.per_group * p.to_filter;
    tile.store(shared, WindowResult<Terms>{p, to, columns}, row, column);
  }
}

}  // namespace md::device_blocks

#define MD_MMA_CONVOLUTION(N, Terms)                                      \
  MD_KERNEL void mma_convolution_64_##N(ConvolutionParams p) {            \
    using Tile = ResultTile<Terms, kMmaSmallTile, kMmaSmallTile, 32, 32>; \
    MD_SHARED_ARRAY(unsigned char, shared, kStages* Tile::kStageBytes);   \
    convolve_tiles<Tile, Terms>(p, shared);                               \
  }
