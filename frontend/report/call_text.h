// A tensor call as errors print it when its operands do not fit:
// "call_function <built-in function add>(*(FakeTensor(..., size=(3,)), FakeTensor(..., size=(4,))), **{})".
#pragma once

#include <string>

#include "ir/graph/graph.h"

namespace md {

std::string call_target(const Node& n);  // "<built-in function add>"; a method's is its name
std::string call_text(const Node& n);
std::string operand_text(Arg a);  // nodes as the tensors they stand for

}  // namespace md
