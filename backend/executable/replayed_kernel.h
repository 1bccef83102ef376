// A compiled graph whose launches on a GPU are put together as CUDA graphs, which later runs launch again with their
// own addresses.
#pragma once

#include <memory>
#include <string>

#include "ir/compile/backend.h"

namespace md {

// What a run does beside its results.
struct ReplayEffects {
  bool draws = false;   // takes random numbers
  bool writes = false;  // writes its inputs
};

// `name`: the graph's, for reports.
std::unique_ptr<Kernel> replayed_kernel(std::unique_ptr<Kernel> kernel, int device, std::string name,
                                        ReplayEffects effects);

}  // namespace md
