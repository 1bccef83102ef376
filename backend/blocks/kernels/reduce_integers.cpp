// Reductions of integers and masks.
#include "backend/blocks/kernels/reduce.h"

namespace md::blocks::MD_LEVEL {

constexpr ReductionKernels kReduceInt32[] = {
#define MD_OP(S) reduction_kernels<ops::S, std::int32_t>(),
#include "registry/bodies.inc"
#undef MD_OP
};

constexpr ReductionKernels kReduceInt64[] = {
#define MD_OP(S) reduction_kernels<ops::S, std::int64_t>(),
#include "registry/bodies.inc"
#undef MD_OP
};

constexpr ReductionKernels kReduceBool[] = {
#define MD_OP(S) reduction_kernels<ops::S, void>(),
#include "registry/bodies.inc"
#undef MD_OP
};

}  // namespace md::blocks::MD_LEVEL
