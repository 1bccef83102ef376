// Python's operators and functions of numbers where the plan computes one of the numbers.
#pragma once

#include <string>
#include <vector>

#include "frontend/values/number_value.h"

namespace md {

// function(args...) where a number of the plan is among the arguments: one more of them. Breaks the graph where drawn
// numbers do not go through such a function. Null: no such number, or nothing is known of the function.
ValueRef call_on_numbers(Tracer& t, PyObject* function, const CallArgs& args);
// The same for the operator `name` of module operator.
ValueRef number_operator(Tracer& t, const std::string& name, const std::vector<ValueRef>& operands);
// Breaks the graph where a drawn number is asked for by an operator of Python's.
void break_on_drawn(const std::string& name, const std::vector<ValueRef>& operands);
// The same for a comparison, also of sizes with floats.
ValueRef number_compare(Tracer& t, const ValueRef& a, const ValueRef& b, int op);
// The function of module operator.
PyRef operator_function(const std::string& name);
std::string name_of_function(PyObject* function);

}  // namespace md
