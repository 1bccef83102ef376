// Calls of a tensor's questions with arguments they do not take.
#pragma once

#include "frontend/trace/value.h"

namespace md {

class Tracer;

// GB0112 with Python's words, where the method of a plain tensor refuses them.
void refuse_wrong_arguments(const std::string& method, const CallArgs& args);
// The same of a function of the package's namespace.
void refuse_wrong_call(Tracer& t, const std::string& function, CallArgs args);

}  // namespace md
