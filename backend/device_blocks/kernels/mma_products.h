// Matrix products on tensor cores, of one pair of matrices or of many.
#pragma once

#include "backend/device_blocks/kernels/matrices.h"
#include "backend/device_blocks/kernels/mma_tiles.h"

namespace md::device_blocks {

template <class Terms>
struct MatrixResult {
  typename Terms::T* data;
  Word rows, columns, row_step, column_step;
  [[gnu::always_inline]] void store(Word i, Word j, const float (&sums)[4]) const {
    if (i < rows && j < columns)
      store_four<Terms>(data + i * row_step + j * column_step, column_step, columns - j, sums);
  }
};

template <class Tile, class Terms, bool left_along_rows, bool right_along_columns, int kRows, int kColumns>
[[gnu::always_inline]] inline void multiply_matrices(const ProductParams& p, SharedBytes* shared) {
  using T = typename Terms::T;
  using LeftTile = OperandTile<T, kRows, left_along_rows>;
  using RightTile = OperandTile<T, kColumns, right_along_columns>;
  const Word across = (p.n + kColumns - 1) / kColumns, down = (p.m + kRows - 1) / kRows;
  for (Word number = block_number(); number < across * down * p.batches; number += blocks_of_grid()) {
    const Word matrix = number / (across * down), within = number % (across * down);
    const Word row = within / across * kRows, column = within % across * kColumns;
    const MatrixOffsets offset = matrices_at(p, matrix);
    const T* a = at_address<const T>(p.a.data) + offset.a;
    const T* b = at_address<const T>(p.b.data) + offset.b;
    const auto granule = [](const T* data, bool along_rows, Word row_step, Word depth_step) {
      return granule_of(reinterpret_cast<std::uint64_t>(data), along_rows ? row_step : depth_step,
                        along_rows ? depth_step : row_step, sizeof(T));
    };
    const MatrixOperand<Terms, left_along_rows> left{
        a, p.m, p.k, p.a_row, p.a_column, granule(a, left_along_rows, p.a_row, p.a_column)};
    const MatrixOperand<Terms, right_along_columns> right{
        b, p.n, p.k, p.b_column, p.b_row, granule(b, right_along_columns, p.b_column, p.b_row)};
    Tile tile;
    tile.template add_all<LeftTile, RightTile>(shared, left, right, row, column, p.k);
    tile.store(shared, MatrixResult<Terms>{at_address<T>(p.c.data) + offset.c, p.m, p.n, p.c_row, p.c_column}, row,
               column);
  }
}

}  // namespace md::device_blocks

// Of each of the ways in which operands may lie, with large and with small tiles (kernel_params.h).
#define MD_MMA_PRODUCT(name, Terms, left_along_rows, right_along_columns, tile, part_rows, part_columns) \
  MD_KERNEL void name(ProductParams p) {                                                                 \
    using Tile = ResultTile<Terms, tile, tile, part_rows, part_columns>;                                 \
    static_assert(Tile::kThreads == (tile == kMmaLargeTile ? kMmaLargeThreads : kMmaSmallThreads));      \
    MD_SHARED_ARRAY(unsigned char, shared, kStages* Tile::kStageBytes);                                  \
    multiply_matrices<Tile, Terms, left_along_rows, right_along_columns, tile, tile>(p, shared);         \
  }
#define MD_MMA_LAYOUTS(N, Terms, tile, part_rows, part_columns)                                   \
  MD_MMA_PRODUCT(mma_product_##tile##_dd_##N, Terms, false, false, tile, part_rows, part_columns) \
  MD_MMA_PRODUCT(mma_product_##tile##_dc_##N, Terms, false, true, tile, part_rows, part_columns)  \
  MD_MMA_PRODUCT(mma_product_##tile##_rc_##N, Terms, true, true, tile, part_rows, part_columns)
#define MD_MMA_PRODUCTS(N, Terms)       \
  MD_MMA_LAYOUTS(N, Terms, 128, 64, 32) \
  MD_MMA_LAYOUTS(N, Terms, 64, 32, 32)
