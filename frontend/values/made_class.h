// Classes made while tracing, by type(name, bases, namespace) or (config.trace_more) a class statement.
#pragma once

#include "frontend/values/containers.h"
#include "frontend/values/objects.h"

namespace md {

// Rebuilt as type(name, bases, members).
struct MadeClass {
  PyRef name;
  std::vector<ValueRef> bases;
  Ref<DictValue> members;
};

// A class whose metaclass is `type`, of what its body has left in its namespace. Raises what `type` would; GB0075 for
// what the trace cannot stand for.
ValueRef make_class(Tracer& t, PyRef name, std::vector<ValueRef> bases, Ref<DictValue> members);
// The same for a call type(name, bases, namespace), which breaks with GB0147.
ValueRef class_of_namespace(Tracer& t, const CallArgs& args);
// Breaks with GB0075 on bases that have a say in how the class is made.
void check_base(Tracer& t, const ValueRef& base);
ValueRef made_class_attr(Tracer& t, ClassValue& cls, PyObject* name);
Reg rebuild_class(PlanBuilder& b, const ClassValue& cls);
// A real object for a class namespace: the value's own, or one that stands for it.
PyRef stand_in(Tracer& t, const ValueRef& v);

}  // namespace md
