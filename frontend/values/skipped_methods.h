// Functions of modules that are not entered, reached as methods.
#pragma once

#include "frontend/values/functions.h"

namespace md {

// Breaks where a class has a function that is not entered as a method, its own or borrowed. Not for method objects that
// the program has (random.choice): they are called like functions.
void break_on_skipped_method(Tracer& t, const FunctionValue& f);
// A call of a function of a skipped module: of a method or class, or of a function by itself.
[[noreturn]] void break_on_skipped(Tracer& t, const FunctionValue& f, const CallArgs& args);

}  // namespace md
