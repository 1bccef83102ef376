// Floats that are read from tensors while a graph runs (x.item()): the graph computes with them as Python would, in
// float64. Where Python would raise, or answer with another type, the graph fails and the frame runs as plain Python.
#pragma once

#include <string>
#include <vector>

#include "frontend/values/number_value.h"

namespace md {

// `v`, looked at or not, is such a number.
bool is_item_number(const ValueRef& v);
// What the operator `name` of module operator, or a function of math or builtins, makes of operands among which there
// is such a number. Null: nothing is known of it.
ValueRef item_operator(Tracer& t, const std::string& name, const std::vector<ValueRef>& operands);
ValueRef item_function(Tracer& t, const std::string& name, const std::vector<ValueRef>& operands);

}  // namespace md
