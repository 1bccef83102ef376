// Copies names and attributes from bound methods and instances to functions.
#include "frontend/builtins/wrapped_objects.h"

#include "frontend/cpython/object_attr.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"

namespace md {

void wrap_object(Tracer& t, FunctionValue& wrapper, const ValueRef& wrapped, const std::vector<PyRef>& names) {
  if (wrapped->kind != ValueKind::BoundAttr && (wrapped->kind != ValueKind::Object || data_of(wrapped) != wrapped))
    unmodelled(wrapped->print(), "functools.wraps of an object that is no function");
  for (const PyRef& name : names) {
    const std::string n = text_of(name.get());
    if (wrapped->kind == ValueKind::BoundAttr && n == "__module__")
      wrapper.set_attr(t, name.get(), t.none());
    else if (const bool absent = wrapped->kind == ValueKind::BoundAttr && n == "__annotations__"; !absent)
      if (ValueRef v = attribute_or_null(t, wrapped, name.get())) wrapper.set_attr(t, name.get(), v);
  }
  if (wrapped->kind == ValueKind::Object) {
    const ValueRef held = t.realize(wrapped->get_attr(t, interned("__dict__").get()));
    for (const ValueRef& key : collect(t, held))
      wrapper.set_attr(t, interned(text_of(t.realize(key)->as_constant().get()).c_str()).get(), held->get_item(t, key));
  }
  wrapper.set_attr(t, interned("__wrapped__").get(), wrapped);
}

}  // namespace md
