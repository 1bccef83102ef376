// Copies between memory that is laid out differently, where what lies together in both is short: a transposed batch of
// small windows.
#pragma once

#include "backend/blocks/iteration.h"

namespace md::blocks {

// Copies operand 1 of the axes, which are merged, to operand 0, and answers true; false, with nothing done, where other
// ways are as good: the innermost axis is not contiguous in both, or long, or no other axis is much closer in what is
// read than the next one of the result.
bool copy_runs(const Axes& axes, const char* from, char* to, std::int64_t item);

}  // namespace md::blocks
