// Calls of what is written in C and has no rule.
#pragma once

#include "frontend/trace/value.h"

namespace md {

class Tracer;

// Breaks with the code of the kind of thing `function` is: a method, a function of math given a tensor, a question the
// library answers with a Python value, or else one that is skipped.
[[noreturn]] void break_on_c_function(Tracer& t, PyObject* function, const CallArgs& args);

}  // namespace md
