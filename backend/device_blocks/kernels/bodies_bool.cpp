// Pointwise ops and reductions that compute in bool.
#include "backend/device_blocks/kernels/bodies.h"

namespace md::device_blocks {
#define MD_OP(S) MD_BODY_KERNELS(S, b8, bool)
#include "registry/bodies.inc"
#undef MD_OP
}  // namespace md::device_blocks
