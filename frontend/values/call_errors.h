// Why calls are refused before they are made: what `*` and `**` cannot unpack, and how CPython names the callee.
#pragma once

#include <string>

#include "frontend/trace/value.h"

namespace md {

// "module.qualname()" of what is called, as CPython's errors write it. Breaks the graph where only code of the program
// knows.
std::string callable_text(const ValueRef& callee);
// Nothing but a Python function looks at the arguments.
bool binds_in_python(const ValueRef& callee);
// Certainly not: of a builtin type without the protocol.
bool is_no_iterable(const ValueRef& v);
bool is_no_mapping(const ValueRef& v);
// As CPython's errors name the value's type.
std::string given_type(const ValueRef& v);

}  // namespace md
