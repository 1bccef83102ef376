// Which matrices of a batch a block multiplies.
#pragma once

#include "backend/device_blocks/kernels/device.h"

namespace md::device_blocks {

// Elements from the first of each operand and of the result.
struct MatrixOffsets {
  Word a = 0, b = 0, c = 0;
};

[[gnu::always_inline]] inline MatrixOffsets matrices_at(const ProductParams& p, Word number) {
  MatrixOffsets to;
  for_each_coordinate(p.batch, number, [&](Word d, Word at) {
    to.a += at * p.a.strides.of[d];
    to.b += at * p.b.strides.of[d];
    to.c += at * p.c.strides.of[d];
  });
  return to;
}

}  // namespace md::device_blocks
