// The kernel table of the CPU level this file is compiled for.
#include "backend/blocks/kernels/level.h"

namespace md::blocks::MD_LEVEL {

constexpr KernelTable kTable = {
    .level = kLevelName,
    .pointwise = {kPointwiseFloat32, kPointwiseFloat64, kPointwiseInt32, kPointwiseInt64, kPointwiseBool},
    .reductions = {kReduceFloat32, kReduceFloat64, kReduceInt32, kReduceInt64, kReduceBool},
    .product = kProducts,
    .convolution = kConvolutions,
    .max_pool = kMaxPools,
    .random = &kRandom,
    .convert = kConvert,
    .widen = kWiden,
    .narrow = kNarrow,
};

}  // namespace md::blocks::MD_LEVEL
