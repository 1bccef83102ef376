// The block engine's way to run the parts of a composite call together (ir/run/sweep.h).
#pragma once

#include "backend/blocks/engine.h"
#include "ir/run/sweep.h"

namespace md::blocks {

bool run_sweep(std::span<const std::unique_ptr<Node>> parts, TensorImpl& out);

}  // namespace md::blocks
