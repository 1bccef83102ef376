// Pointwise kernels on int64.
#include "backend/blocks/kernels/pointwise.h"

#define MD_TABLE_TYPE std::int64_t
#define MD_OP(S) MD_POINTWISE_ENTRY(S)
namespace md::blocks::MD_LEVEL {
constexpr PointwiseKernel kPointwiseInt64[] = {
#include "registry/bodies.inc"
};
}  // namespace md::blocks::MD_LEVEL
