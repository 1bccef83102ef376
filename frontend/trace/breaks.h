// Raising the "no handler" codes with the reference's context strings.
#pragma once

#include <string>

#include "frontend/report/graph_break.h"
#include "frontend/trace/value.h"

namespace md {

// "[TensorVariable(), ConstantVariable(int: 1)]" and "{'dim': ConstantVariable(int: 0)}"
std::string print_list(const std::vector<ValueRef>& values);
std::string print_keywords(const CallArgs& args);

// A construct of `self` nothing models: GB0147, `what` names it.
[[noreturn]] void unmodelled(const std::string& self, const std::string& what);
// A method without a rule: GB0156.
[[noreturn]] void unmodelled_method(const Value& self, const std::string& name, const CallArgs& args = {});

}  // namespace md
