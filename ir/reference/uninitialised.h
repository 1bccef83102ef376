// Memory nobody has written yet: filled with values that stand out where a program asks for deterministic results.
#pragma once

#include <atomic>

#include "ir/tensor/tensor.h"

namespace md {

inline std::atomic<bool> fills_uninitialised = false;
// NaN, True, or the largest integer.
void fill_uninitialised(const TensorImpl& t);

}  // namespace md
