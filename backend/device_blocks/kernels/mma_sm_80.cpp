// Products and convolutions on tensor cores for devices of capability 8.0 and later.
#include "backend/device_blocks/kernels/mma_convolutions.h"
#include "backend/device_blocks/kernels/mma_products.h"

namespace md::device_blocks {

MD_MMA_PRODUCTS(f16_sm_80, HalfTerms)
MD_MMA_PRODUCTS(bf16_sm_80, BrainTerms)
MD_MMA_PRODUCTS(f32_sm_80, Tf32Terms)
MD_MMA_CONVOLUTION(f32_sm_80, Tf32Terms)

}  // namespace md::device_blocks
