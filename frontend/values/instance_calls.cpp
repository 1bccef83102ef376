// Finds special methods in Python on classes below ones in C, and calls them.
#include "frontend/values/instance_calls.h"

#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/object_fields.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"

namespace md {

bool is_below_c(const Value& v) {
  if (v.kind != ValueKind::Opaque) return false;
  PyTypeObject* const type = v.python_type();
  return type && !is_c_type(type);
}

// The method, to be called with the instance first; null: the class has no Python function under the name.
static ValueRef special_function(Tracer& t, const Value& self, const char* name) {
  if (!is_below_c(self)) return {};
  PyTypeObject* const type = self.python_type();
  const auto [found, place] = t.on_class(type, interned(name).get(), self.source);
  return found && PyFunction_Check(found) ? t.wrap(found, place) : ValueRef();
}

ValueRef asked_instance(Tracer& t, Value& self, const char* name, std::vector<ValueRef> args) {
  const ValueRef method = special_function(t, self, name);
  if (!method) return {};
  args.insert(args.begin(), ValueRef(&self));
  return t.realize(t.call(method, CallArgs{std::move(args), {}}));
}

ValueRef called_instance(Tracer& t, Value& self, CallArgs& args) {
  if (const ValueRef method = special_function(t, self, "__call__")) {
    args.positional.insert(args.positional.begin(), ValueRef(&self));
    return t.call(method, std::move(args));
  }
  PyTypeObject* const type = is_below_c(self) ? self.python_type() : nullptr;
  if (!type || !self.source || !partial_type() || !PyType_IsSubtype(type, partial_type())) return {};
  t.expect_on_class(type, interned("__call__").get(), type_find(type, interned("__call__").get()));
  if (type->tp_call != partial_type()->tp_call) return {};
  return wrap_partial(t, self.real.get(), self.source)->call(t, std::move(args));
}

}  // namespace md
