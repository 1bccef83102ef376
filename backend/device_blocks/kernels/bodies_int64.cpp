// Pointwise ops and reductions that compute in int64.
#include "backend/device_blocks/kernels/bodies.h"

namespace md::device_blocks {
#define MD_OP(S) MD_BODY_KERNELS(S, i64, std::int64_t)
#include "registry/bodies.inc"
#undef MD_OP
}  // namespace md::device_blocks
