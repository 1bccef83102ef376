// Types as annotations have them, and what subscripts make of them.
#include "frontend/values/type_expressions.h"

#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/objects.h"

namespace md {
namespace {

PyRef whole_sequence(Tracer& t, const std::vector<ValueRef>& items) {
  PyRef out = checked(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (std::size_t i = 0; i < items.size(); ++i) {
    PyRef item = type_expression(t, items[i]);
    if (!item) return {};
    PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), item.release());
  }
  return out;
}

}  // namespace

bool is_of_typing(const Value& v) {
  if (!v.real || (v.kind != ValueKind::Object && v.kind != ValueKind::Opaque)) return false;
  PyTypeObject* const type = Py_TYPE(v.real.get());
  const std::string_view name = type->tp_name;
  if (name == "types.UnionType" || PyType_IsSubtype(type, &Py_GenericAliasType) || name.starts_with("typing."))
    return true;
  PyObject* const module = type->tp_flags & Py_TPFLAGS_HEAPTYPE ? own_attribute(type, "__module__") : nullptr;
  return module && PyUnicode_Check(module) && text_of(module) == "typing";
}

PyRef type_expression(Tracer& t, const ValueRef& raw) {
  const ValueRef v = t.realize(raw);
  if (auto* tuple = as<TupleValue>(v)) return tuple->is_exact() ? whole_sequence(t, tuple->items) : PyRef();
  if (auto* list = as<ListValue>(v)) {
    const PyRef items = whole_sequence(t, list->items);
    return items ? checked(PySequence_List(items.get())) : PyRef();
  }
  if (is_of_typing(*v)) {
    if (v->source) t.guard(GuardKind::IdMatch, v->source, v->real);
    return v->real;
  }
  if (v->real && PyType_Check(v->real.get())) return v->kind == ValueKind::Class ? class_object(v) : v->real;
  return v->as_constant();
}

bool is_type_of_c(const Value& v) {
  if (!is_of_typing(v)) return false;
  const PyTypeObject* const type = Py_TYPE(v.real.get());
  if (is_c_type(type)) return type->tp_richcompare != nullptr;
  return type->tp_richcompare == Py_GenericAliasType.tp_richcompare && type->tp_hash == Py_GenericAliasType.tp_hash;
}

ValueRef part_of_type(Tracer& t, const ValueRef& alias, PyObject* name) {
  if (!is_of_typing(*alias)) return {};
  const std::string n = text_of(name);
  if (n != "__args__" && n != "__origin__" && n != "__parameters__") {
    // Aliases ask the class for what they do not have.
    PyTypeObject* const type = Py_TYPE(alias->real.get());
    const bool asks_class =
        type->tp_getattro == Py_GenericAliasType.tp_getattro && n != "__unpacked__" && !type_find(type, name);
    const ValueRef origin = asks_class ? part_of_type(t, alias, interned("__origin__").get()) : ValueRef();
    return origin ? t.realize(origin)->get_attr(t, name) : ValueRef();
  }
  const PyRef part = PyRef::steal(PyObject_GetAttr(type_expression(t, alias).get(), name));
  if (!part) t.raise_current();
  return from_folded(t, part.get());
}

ValueRef subscript_type(Tracer& t, PyObject* generic, const ValueRef& key) {
  const PyRef k = type_expression(t, key);
  if (!k) return {};
  const PyRef r = PyRef::steal(PyObject_GetItem(generic, k.get()));
  if (!r) t.raise_current();
  // Of a class below types.GenericAlias: made anew each time, so that a guard on it would see it die.
  PyTypeObject* const type = Py_TYPE(r.get());
  if (type != &Py_GenericAliasType && PyType_IsSubtype(type, &Py_GenericAliasType)) return make_ref<OpaqueValue>(r);
  return t.from_object(r.get(), nullptr);
}

}  // namespace md
