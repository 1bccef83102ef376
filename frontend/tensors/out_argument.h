// `out=` of op functions: the result is computed as without it and written into the given tensors.
#pragma once

#include "frontend/tensors/op_function.h"

namespace md {

// Whether the functions of these overloads take `out`: those that compute. Views, and ops with such a parameter of
// their own, do not.
bool takes_out(std::span<const OpId> overloads);
// Whether promotion lets results of this dtype be stored in `out`.
bool fits_out(DType result, DType out);

// The call of a function one of whose keywords is `out`.
PyRef call_into(const OpFunctionObject& f, const PassedArgs& call);

}  // namespace md
