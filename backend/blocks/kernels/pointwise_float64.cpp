// Pointwise kernels on float64.
#include "backend/blocks/kernels/pointwise.h"

#define MD_TABLE_TYPE double
#define MD_OP(S) MD_POINTWISE_ENTRY(S)
namespace md::blocks::MD_LEVEL {
constexpr PointwiseKernel kPointwiseFloat64[] = {
#include "registry/bodies.inc"
};
}  // namespace md::blocks::MD_LEVEL
