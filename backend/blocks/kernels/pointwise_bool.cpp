// Pointwise kernels on masks.
#include "backend/blocks/kernels/pointwise.h"

#define MD_TABLE_TYPE void
#define MD_OP(S) MD_POINTWISE_ENTRY(S)
namespace md::blocks::MD_LEVEL {
constexpr PointwiseKernel kPointwiseBool[] = {
#include "registry/bodies.inc"
};
}  // namespace md::blocks::MD_LEVEL
