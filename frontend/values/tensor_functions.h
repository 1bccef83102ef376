// The library's functions for tensors that are written in Python, and the methods of tensors whose arguments the
// reference checks itself.
#pragma once

#include "frontend/values/functions.h"

namespace md {

// The frame that is traced runs code of the library: what the registry lists is about calls of the program's.
bool is_in_library(Tracer& t);
// Methods that look at the tensor as an object: what they answer is no tensor, and nothing a graph has.
void break_on_other_answer(const std::string& method);
// apply_ and its kin: a function of the program that is called for each element is no argument of a node.
bool calls_for_each_element(const std::string& method);
// False: the reference has a function of its own for this method of tensors, and it does not take these arguments.
bool handles_arguments(const std::string& method, const CallArgs& args);
// A function of minidynamo.nn.functional and its kin or a method of tensors, which the reference puts into its graph as
// one call. No frame of the library is calling.
bool is_tensor_function(Tracer& t, const FunctionValue& f);
// Such a call. Arguments that do not fit break the graph.
ValueRef run_tensor_function(Tracer& t, FunctionValue& f, CallArgs args);
// Breaks on a question about a tensor whose answer is known to be no tensor, before it is asked.
void check_tensor_question(const FunctionValue& f);
// Breaks on an answer about a tensor that is no tensor.
void check_tensor_answer(const FunctionValue& f, bool asks_tensor, const ValueRef& answer);

}  // namespace md
