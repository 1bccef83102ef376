// Reductions of float32 and float64.
#include "backend/blocks/kernels/reduce.h"

namespace md::blocks::MD_LEVEL {

constexpr ReductionKernels kReduceFloat32[] = {
#define MD_OP(S) reduction_kernels<ops::S, float>(),
#include "registry/bodies.inc"
#undef MD_OP
};

constexpr ReductionKernels kReduceFloat64[] = {
#define MD_OP(S) reduction_kernels<ops::S, double>(),
#include "registry/bodies.inc"
#undef MD_OP
};

}  // namespace md::blocks::MD_LEVEL
