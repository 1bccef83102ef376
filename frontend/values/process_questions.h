// Functions of the library that answer out of the process, not out of tensors.
#pragma once

#include "frontend/values/functions.h"

namespace md {

// GB0208 where the reference would put such a call into its graph and gets back what no graph can hold.
void break_on_process_question(Tracer& t, const FunctionValue& f);

}  // namespace md
