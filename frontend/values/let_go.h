// References the program gives up while it is traced.
#pragma once

#include "frontend/value.h"

namespace md {

// A variable, entry or attribute no longer refers to `old`. Its __del__ may run then, and would see and change what the
// trace goes on with: such a frame is left to plain Python.
void let_go(const ValueRef& old);

}  // namespace md
