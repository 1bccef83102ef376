// What kernels print with vprintf.
#pragma once

#include <cstddef>

#include "warp.h"

namespace emulated {

// The places, in the local memory of each lane, of the addresses of the format and of its arguments.
void print_lanes(Warp& warp, std::size_t format_at, std::size_t arguments_at);

}  // namespace emulated
