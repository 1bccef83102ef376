// Calls of a tensor's questions with arguments they do not take.
#pragma once

#include "frontend/trace/value.h"

namespace md {

// GB0112 with Python's words, where the method of a plain tensor refuses them.
void refuse_wrong_arguments(const std::string& method, const CallArgs& args);

}  // namespace md
