// Products on the tensor cores of capability 7.5, which multiply float16 alone.
#include "backend/device_blocks/kernels/mma_products.h"

namespace md::device_blocks {

MD_MMA_PRODUCTS(f16_sm_75, EarlyHalfTerms)

}  // namespace md::device_blocks
