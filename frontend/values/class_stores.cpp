// Attributes of classes that the trace stores to: recorded as effects, found before what the class has.
#include "frontend/values/class_stores.h"

#include <utility>

#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/functions.h"
#include "frontend/values/let_go.h"
#include "frontend/values/objects.h"

namespace md {
namespace {

std::string class_store_key(PyTypeObject* type, const std::string& name) {
  return std::to_string(reinterpret_cast<std::uintptr_t>(type)) + ":" + name;
}

bool is_special_name(const std::string& name) { return name.starts_with("__") && name.ends_with("__"); }

// Functions bind and everything else is handed out as it is; other descriptors would be asked.
bool is_plain_attribute(const ValueRef& v) {
  if (v->kind == ValueKind::Function) return true;
  PyTypeObject* const type = v->python_type();
  return type && !type->tp_descr_get && !type->tp_descr_set;
}

// The nearest class of the mro to which the trace has stored the name; null: none, or a nearer one had it before.
PyTypeObject* nearest_store(const Tracer& t, PyTypeObject* type, PyObject* name) {
  if (t.effects.stored_globals.empty()) return nullptr;
  const std::string text = text_of(name);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    auto* const cls = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    if (t.effects.stored_globals.contains(class_store_key(cls, text))) return cls;
    if (own_attribute(cls, name)) return nullptr;
  }
  return nullptr;
}

}  // namespace

ValueRef stored_on_class(Tracer& t, PyTypeObject* type, PyObject* name) {
  PyTypeObject* const cls = nearest_store(t, type, name);
  if (!cls) return {};
  expect_none_nearer(t, type, name, cls);
  return t.effects.stored_globals.at(class_store_key(cls, text_of(name)));
}

ValueRef stored_behind(Tracer& t, PyTypeObject* type, PyTypeObject* start, PyObject* name) {
  if (t.effects.stored_globals.empty()) return {};
  const std::string text = text_of(name);
  PyTypeObject* first = nullptr;
  bool after = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    auto* const cls = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    if (std::exchange(after, after || cls == start)) {
      if (!first) first = cls;
      const auto stored = t.effects.stored_globals.find(class_store_key(cls, text));
      if (stored != t.effects.stored_globals.end()) {
        if (!PyType_IsSubtype(first, cls)) refuse_stored_on_class(t, type, name);
        expect_none_nearer(t, first, name, cls);
        return stored->second;
      }
      if (own_attribute(cls, name)) return {};
    }
  }
  return {};
}

PyObject* found_on_class(Tracer& t, PyTypeObject* type, PyObject* name) {
  PyObject* const found = type_find(type, name);
  return found && Py_TYPE(found)->tp_descr_set && nearest_store(t, type, name) ? nullptr : found;
}

void refuse_stored_on_class(const Tracer& t, PyTypeObject* type, PyObject* name) {
  if (nearest_store(t, type, name))
    unmodelled(type_name(type) + "." + text_of(name), "attribute of a class that the function has stored to");
}

bool plain_store_on_class(Tracer& t, const Value& cls, PyObject* name, const ValueRef& v) {
  if (cls.kind != ValueKind::Class || static_cast<const ClassValue&>(cls).made || !v) return false;
  auto* const type = static_cast<const ClassValue&>(cls).type();
  PyTypeObject* const meta = Py_TYPE(cls.real.get());
  const bool fixed = !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE);
  if (fixed || is_special_name(text_of(name)) || !is_plain_attribute(t.realize(v))) return false;
  PyObject* const of_meta = type_find(meta, name);
  if (of_meta && Py_TYPE(of_meta)->tp_descr_set) return false;
  if (!t.graphs.outer.empty()) graph_break<GB0067>("the attribute " + text_of(name) + " of a class");
  t.expect_precedence(meta, name);
  ValueRef& stored = t.effects.stored_globals[class_store_key(type, text_of(name))];
  if (!stored) let_go_of_object(own_attribute(type, name));
  stored = t.realize(v);
  SideEffect e{EffectKind::Call, ValueRef(const_cast<Value*>(&cls))};
  e.value =
      make_ref<BuiltinValue>(checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyType_Type), "__setattr__")));
  e.items = {e.target, t.constant(name), v};
  t.effects.record(std::move(e));
  return true;
}

bool store_on_class(Tracer& t, const Value& cls, PyObject* name, const ValueRef& v) {
  if (cls.kind != ValueKind::Class || !v) return false;
  PyTypeObject* const meta = Py_TYPE(cls.real.get());
  PyRef key = checked(PyUnicode_InternFromString("__setattr__"));
  const auto [found, place] = t.on_class(meta, key.get());
  if (!found || found == type_find(&PyType_Type, key.get())) return plain_store_on_class(t, cls, name, v);
  if (!PyFunction_Check(found)) return false;
  t.call(t.wrap(found, place), CallArgs{{ValueRef(const_cast<Value*>(&cls)), t.constant(name), v}, {}});
  return true;
}

}  // namespace md
