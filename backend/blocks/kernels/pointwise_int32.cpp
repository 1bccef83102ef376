// Pointwise kernels on int32.
#include "backend/blocks/kernels/pointwise.h"

#define MD_TABLE_TYPE std::int32_t
#define MD_OP(S) MD_POINTWISE_ENTRY(S)
namespace md::blocks::MD_LEVEL {
constexpr PointwiseKernel kPointwiseInt32[] = {
#include "registry/bodies.inc"
};
}  // namespace md::blocks::MD_LEVEL
