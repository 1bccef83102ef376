// A compiled graph whose launches on a GPU are captured as a CUDA graph by the first run and replayed by the others.
#pragma once

#include <memory>
#include <string>

#include "ir/compile/backend.h"

namespace md {

// `name`: the graph's, for reports.
std::unique_ptr<Kernel> replayed_kernel(std::unique_ptr<Kernel> kernel, int device, std::string name);

}  // namespace md
