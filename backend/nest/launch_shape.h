// How many blocks of how many threads run a kernel of a GPU.
#pragma once

#include <cstddef>

namespace md {

struct LaunchShape {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  std::size_t shared_bytes = 0;  // beside what the kernel declares
};

}  // namespace md
