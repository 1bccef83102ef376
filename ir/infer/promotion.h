// Promotion of dtypes, and what is refused of those which are only stored.
#pragma once

#include "ir/graph/op_table.h"
#include "registry/dtype.h"

namespace md {

// As promote() in registry/dtype.h. Throws OpError(Runtime) for an 8-bit float beside any other dtype, and for a wide
// unsigned integer beside one that is no floating dtype.
DType promoted(DType a, DType b);

// Throws OpError(NotImplemented) for elements of a dtype that is only stored: kernels move those, none computes with
// them.
void check_moves(const Op& op, const Arg& a);

}  // namespace md
