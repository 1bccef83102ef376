// What the interpreter asks of an instance whose class in Python is below one in C (a stream, a functools.partial): the
// class's own methods answer.
#pragma once

#include "frontend/trace/value.h"

namespace md {

// An instance of such a class that nobody looks into.
bool is_below_c(const Value& v);
// self.<name>(args) where the class has a Python function under the name; null: it has none, or `self` is no such
// instance.
ValueRef asked_instance(Tracer& t, Value& self, const char* name, std::vector<ValueRef> args = {});
// self(args); null as above.
ValueRef called_instance(Tracer& t, Value& self, CallArgs& args);
// A real functools.partial, or an instance of a class below it, as what it does when it is called.
ValueRef wrap_partial(Tracer& t, PyObject* o, SourceRef s);

}  // namespace md
