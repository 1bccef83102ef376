// Pointwise ops and reductions that compute in int32.
#include "backend/device_blocks/kernels/bodies.h"

namespace md::device_blocks {
#define MD_OP(S) MD_BODY_KERNELS(S, i32, std::int32_t)
#include "registry/bodies.inc"
#undef MD_OP
}  // namespace md::device_blocks
