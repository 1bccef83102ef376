// Windows over the last dimensions of a tensor: what the rules of convolution, pooling and resampling share.
#pragma once

#include <cstdint>

#include "ir/infer/expansion.h"
#include "ir/infer/window_dim.h"
#include "registry/ops/convolution.h"

namespace md {

// Positions of a window along one dimension: (size + 2 padding - dilation (kernel - 1) - 1) / stride + 1, rounded up
// with `ceil_mode`, but so that no window starts beyond the padding. Fails if there is none.
Size window_count(const InferCall& c, Size size, Size kernel, Size stride, Size padding, Size dilation, bool ceil_mode);

// x with `before` and `behind` positions of `value` around its last dimensions; x itself if there are none.
Arg padded(const Expansion& e, const Arg& x, const SizeVec& before, const SizeVec& behind, const Arg& value);

}  // namespace md
