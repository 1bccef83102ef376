// Matrix products. The order of operations is part of the definition (docs/numerics.md): every element is a chain of
// fused multiply-adds in ascending k, so eager and compiled code, all CPU levels and any number of threads give the
// same bits.
#pragma once

#include <cstdint>

#include "registry/dtype.h"

namespace md {

// A matrix in memory: element (i, j) at data[i * row + j * column] (strides in elements).
struct MatrixView {
  void* data;
  std::int64_t row, column;
};

// c (m x n) = a (m x k) times b (k x n), all of `dtype` (float32, float64, int32, int64). c overlaps neither.
void multiply_matrices(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k, const MatrixView& a,
                       const MatrixView& b, const MatrixView& c);

}  // namespace md
