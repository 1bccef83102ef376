// A compiled graph whose launches on a GPU are put together as CUDA graphs, which later runs launch again with their
// own addresses.
#pragma once

#include <memory>
#include <string>

#include "ir/compile/backend.h"

namespace md {

// `name`: the graph's, for reports. `draws`: it takes random numbers.
std::unique_ptr<Kernel> replayed_kernel(std::unique_ptr<Kernel> kernel, int device, std::string name, bool draws);

}  // namespace md
