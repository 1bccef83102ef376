// The slots of `object` itself, which traced code reaches through super() or by the class.
#pragma once

#include "frontend/trace/value.h"

namespace md {

struct ObjectValue;

// object.__init__, object.__setattr__, dict.__getitem__ ... reached through super() or the class; null if not one of
// them.
ValueRef call_object_slot(Tracer& t, const ValueRef& self, const std::string& name, CallArgs& args);

// What Python says where an instance without the attribute is asked to change it: a fresh one is asked.
[[noreturn]] void raise_refused_store(Tracer& t, const ObjectValue& self, PyObject* name, bool store);

bool is_c_slot(PyObject* o);  // a method in C that is bound when it is found on a class

// self.name = v (no `v`: del) by what the class has for it, a function or the slot of a builtin base.
void call_store(Tracer& t, ObjectValue& self, PyObject* name, const ValueRef& v, PyObject* hook, SourceRef source);

// A store that nothing models: the statement breaks under the reference's title for it, calls of setattr() and
// delattr() as constructs without a rule, which `what` names.
[[noreturn]] void refuse_store(Tracer& t, const Value& self, PyObject* name, const char* what);

}  // namespace md
