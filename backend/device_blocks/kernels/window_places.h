// Where the results of convolutions lie.
#pragma once

#include "backend/device_blocks/kernels/device.h"

namespace md::device_blocks {

// A place among the results of all images, and the steps to its neighbour.
struct WindowPlace {
  Word image, at[kWindowDims];

  [[gnu::always_inline]] static WindowPlace of(const ConvolutionParams& p, Word column) {
    const Word inner = p.axes[2].out, rows = p.axes[1].out * inner;
    const Word within = column % (p.axes[0].out * rows);
    return {column / (p.axes[0].out * rows), {within / rows, within / inner % p.axes[1].out, within % inner}};
  }
  [[gnu::always_inline]] void advance(const ConvolutionParams& p) {
    if (++at[2] < p.axes[2].out) return;
    at[2] = 0;
    if (++at[1] < p.axes[1].out) return;
    at[1] = 0;
    if (++at[0] < p.axes[0].out) return;
    at[0] = 0;
    ++image;
  }
  // From the first result on.
  [[gnu::always_inline]] Word offset(const ConvolutionParams& p) const {
    Word all = image * p.to_batch;
#pragma clang loop unroll(full)
    for (int k = 0; k < kWindowDims; ++k) all += at[k] * p.axes[k].out_step;
    return all;
  }
};

}  // namespace md::device_blocks
