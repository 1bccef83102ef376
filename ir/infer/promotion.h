// Promotion of dtypes that refuses those which are only stored.
#pragma once

#include "registry/dtype.h"

namespace md {

// As promote() in registry/dtype.h. Throws OpError(Runtime) for an 8-bit float beside any other dtype, and for a wide
// unsigned integer beside one that is no floating dtype.
DType promoted(DType a, DType b);

}  // namespace md
