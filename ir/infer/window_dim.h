// One of the last dimensions of a tensor on its way through a kernel over windows.
#pragma once

#include <cstdint>

namespace md {

inline constexpr int kMostWindowDims = 3;

struct WindowDim {
  std::int64_t in = 1, out = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;
  std::int64_t step = 0, out_step = 0;  // strides of operand and result
};

}  // namespace md
