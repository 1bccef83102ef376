// Exceptions for operands and arguments that do not fit, in CPython's own words: the real operation is asked, on
// constants and on empty containers of the operands' types.
#pragma once

#include "frontend/trace/value.h"
#include "ir/core/error.h"

namespace md {

// The types of arguments, as messages list them: "['int', 'Tensor']".
std::string listed_types(Tracer& t, const std::vector<ValueRef>& values);
std::string argument_types(Tracer& t, const CallArgs& args);

// A rule's arguments are too few, too many or unknown: whoever called the rule lets the real callable say so.
struct WrongArguments : InternalError {
  WrongArguments() : InternalError("arguments that do not fit were given to a rule") {}
};

// A constant itself, or an empty container of the same type; null for anything else.
PyRef empty_like(const ValueRef& v);
// Calls the callable with such objects and raises what it says. Breaks the graph if it has nothing against them. Other
// arguments are stood for by objects that have little in common: what it says has to be the same of all of them.
[[noreturn]] void refuse_arguments(Tracer& t, PyObject* callable, const CallArgs& args);
// Whether it says so. Nothing is raised.
bool refuses_arguments(Tracer& t, PyObject* callable, const CallArgs& args);
// The same of a method of a builtin container.
[[noreturn]] void refuse_method_arguments(Tracer& t, const Value& self, PyObject* name, const CallArgs& args);
// The same of an operation on two operands.
[[noreturn]] void refuse_operands(Tracer& t, const ValueRef& a, const ValueRef& b,
                                  PyObject* (*operation)(PyObject*, PyObject*), const std::string& name);

}  // namespace md
