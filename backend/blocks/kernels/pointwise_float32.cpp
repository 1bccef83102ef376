// Pointwise kernels on float32.
#include "backend/blocks/kernels/pointwise.h"

#define MD_TABLE_TYPE float
#define MD_OP(S) MD_POINTWISE_ENTRY(S)
namespace md::blocks::MD_LEVEL {
constexpr PointwiseKernel kPointwiseFloat32[] = {
#include "registry/bodies.inc"
};
}  // namespace md::blocks::MD_LEVEL
