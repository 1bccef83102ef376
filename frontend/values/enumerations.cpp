// Looks up members and their fields in the tables an Enum class keeps.
#include "frontend/values/enumerations.h"

#include "frontend/cpython/import_module.h"
#include "frontend/cpython/library_modules.h"
#include "frontend/cpython/made_once.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"

namespace md {

bool is_enumeration(PyTypeObject* type) {
  PyObject* const metaclass = library_object("enum", "EnumMeta");
  return metaclass && PyType_IsSubtype(Py_TYPE(type), reinterpret_cast<PyTypeObject*>(metaclass));
}

bool is_member(const ValueRef& v) {
  auto* o = as<ObjectValue>(v);
  return o && o->real && is_enumeration(o->type);
}

// Where a member keeps it. A number there is no size that varies from call to call, and so no symbol.
static ValueRef kept(Tracer& t, ObjectValue& member, const char* field) {
  const PyRef name = interned(field);
  const Attr a = member.stored(name.get()) ? Attr{} : find_attr(member.real.get(), name.get());
  if (a.where != AttrWhere::Instance || !PyLong_CheckExact(a.value.get()) || !member.source)
    return member.plain_attr(t, name.get());
  t.expect_precedence(member.type, name.get());
  t.guard(GuardKind::EqualsMatch, t.recorder.sources.child(member.source, SourceKind::InstanceDict, name.get()),
          a.value);
  return t.constant(a.value);
}

// A member looked up by its name has no place that the reference knows, so its value may only be of a kind which needs
// none.
static void break_on_odd_value(const ObjectValue& member) {
  const Source* s = member.source;
  const bool by_name = s && s->kind == SourceKind::DictItem && s->base && s->base->key &&
                       PyUnicode_Check(s->base->key.get()) && text_of(s->base->key.get()) == "_member_map_";
  const PyRef value = by_name ? checked(PyObject_GetAttrString(member.real.get(), "_value_")) : PyRef();
  PyTypeObject* const type = value ? Py_TYPE(value.get()) : nullptr;
  if (!type || PyType_Check(value.get()) || PyCallable_Check(value.get())) return;
  if (is_constant_object(value.get()) && !is_library_value_type(type)) return;
  for (PyTypeObject* known :
       {&PyTuple_Type, &PyList_Type, &PyDict_Type, &PySet_Type, &PyFrozenSet_Type, &PyRange_Type, &PySlice_Type})
    if (type == known) return;
  if (is_enumeration(type)) return;
  const PyRef module = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__module__"));
  listed_break<GB0116>(text_of(module.get()), type_name(type));
}

ValueRef member_field(Tracer& t, ObjectValue& member, PyObject* found, PyObject* name) {
  const std::string n = text_of(name);
  if (!member.real || !found || (n != "value" && n != "name")) return {};
  PyObject* const base =
      made_once([] { return checked(PyObject_GetAttrString(checked(import_module("enum")).get(), "Enum")).release(); });
  if (found != type_find(reinterpret_cast<PyTypeObject*>(base), name)) return {};
  t.expect_on_class(member.type, name, found);
  if (!t.config.trace_more && n == "value") break_on_odd_value(member);
  return kept(t, member, n == "value" ? "_value_" : "_name_");
}

ValueRef member_of(Tracer& t, ClassValue& cls, const char* table, PyObject* key) {
  const bool plain =
      PyUnicode_CheckExact(key) || PyLong_CheckExact(key) || PyFloat_CheckExact(key) || PyBytes_CheckExact(key);
  const auto [held, place] = t.on_class(cls.type(), interned(table).get());
  if (!plain || !held || !place || !PyDict_CheckExact(held)) return {};
  PyObject* const member = PyDict_GetItemWithError(held, key);
  if (!member && PyErr_Occurred()) throw PythonError{};
  SourceRef at = t.recorder.sources.child(place, SourceKind::DictItem, key);
  if (!member) t.guard(GuardKind::NotPresent, at);
  // Not where the key there is one that only the program's code can compare.
  return member && load(at, t.args).get() == member ? t.wrap(member, at) : ValueRef();
}

PyRef text_of_member(Tracer& t, const ValueRef& v, int conversion, const ValueRef& spec) {
  if (!is_member(v)) return {};
  auto& o = *as<ObjectValue>(v);
  for (const char* name : {"__str__", "__repr__", "__format__"}) {
    const PyRef key = interned(name);
    PyObject* const found = type_find(o.type, key.get());
    t.expect_on_class(o.type, key.get(), found);
    if (!found || !PyFunction_Check(found)) continue;
    PyObject* module = find_item(PyFunction_GET_GLOBALS(found), "__name__");
    if (!module || text_of(module) != "enum") return {};
  }
  for (const char* field : {"_name_", "_value_"}) {
    if (o.stored(interned(field).get())) return {};
    (void)t.realize(kept(t, o, field));
  }
  PyRef s = spec ? t.realize(spec)->as_constant() : PyRef();
  if (spec && !s) return {};
  PyRef text = conversion == 2   ? PyRef::steal(PyObject_Repr(o.real.get()))
               : conversion == 3 ? PyRef::steal(PyObject_ASCII(o.real.get()))
               : conversion == 1 ? PyRef::steal(PyObject_Str(o.real.get()))
                                 : PyRef::steal(PyObject_Format(o.real.get(), s.get()));
  if (text && conversion != 0 && s) text = PyRef::steal(PyObject_Format(text.get(), s.get()));
  if (!text) t.raise_current();
  return text;
}

}  // namespace md
