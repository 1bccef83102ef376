// What the mark of a pinned module forbids.
#include "frontend/values/pinned_modules.h"

#include "frontend/cpython/library_classes.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"

namespace md {

bool is_pinned(Tracer& t, const ObjectValue& o) {
  if (!is_library_class(o.type, LibraryClass::Module)) return false;
  const PyRef mark = checked(PyUnicode_InternFromString("torchdynamo_force_dynamic"));
  // Where the program puts the mark later, or takes it away, the results are the same.
  const Found own = o.real ? instance_find(o.real.get(), mark.get()) : Found{};
  if (own.status == Lookup::Found) return own.value == Py_False;
  return t.on_class(o.type, mark.get()).found == Py_False;
}

bool finds_attributes_itself(const ObjectValue& o) {
  const PyRef name = checked(PyUnicode_InternFromString("__getattribute__"));
  PyObject* const found = type_find(o.type, name.get());
  return found && PyFunction_Check(found);
}

Attr attr_past_getattribute(PyObject* o, PyObject* name) {
  const Found own = instance_find(o, name);
  if (own.status == Lookup::Undecidable) return {AttrWhere::Undecidable, {}};
  if (own.status == Lookup::Found) return {AttrWhere::Instance, PyRef::borrow(own.value)};
  return {AttrWhere::Missing, {}};
}

ValueRef pinned_attribute(Tracer& t, ObjectValue& module, const ValueRef& getattribute, PyObject* name) {
  try {
    return t.call(getattribute, CallArgs{{ValueRef(&module), t.constant(name)}, {}});
  } catch (const GraphBreak&) {
    graph_break<GB0031>(module.print(), text_of(name));
  }
}

void refuse_dict_of_pinned(Tracer& t, const ObjectValue& module, const ValueRef& key) {
  if (finds_attributes_itself(module) && is_pinned(t, module)) graph_break<GB0032>(module.print(), key->print());
}

void refuse_change_of_pinned(Tracer& t, const ObjectValue& module) {
  if (is_pinned(t, module)) graph_break<GB0052>(std::string("100"));
}

}  // namespace md
