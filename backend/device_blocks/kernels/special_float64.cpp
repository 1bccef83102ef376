// Special functions of float64.
#include "backend/device_blocks/kernels/special.h"

namespace md::device_blocks {
#define MD_OP(S) MD_SPECIAL_KERNELS(S, f64, double)
#include "registry/special_functions.inc"
MD_OP(ErfInv)
MD_OP(LGamma)
MD_OP(Digamma)
#undef MD_OP
}  // namespace md::device_blocks
