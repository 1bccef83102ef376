// The attribute search of object.__getattribute__ step by step, without calling descriptors.
#include "frontend/cpython/object_attr.h"

#include <structmember.h>

#include "frontend/cpython/refused_names.h"

namespace md {
namespace {

bool is_data_descriptor(PyObject* o) { return Py_TYPE(o)->tp_descr_set != nullptr; }

PyObject* interned_name(const char* text) { return PyUnicode_InternFromString(text); }

// A type with a Python __getattr__ has a slot of its own that first does the normal search.
bool overrides_getattribute(PyTypeObject* type) {
  static PyObject* const name = interned_name("__getattribute__");
  static PyObject* const of_object = _PyType_Lookup(&PyBaseObject_Type, name);
  static PyObject* const of_type = _PyType_Lookup(&PyType_Type, name);
  static PyObject* const of_module = _PyType_Lookup(&PyModule_Type, name);
  PyObject* const found = _PyType_Lookup(type, name);
  // Builtin types wrap the same function in an object of their own.
  if (found && Py_IS_TYPE(found, &PyWrapperDescr_Type) &&
      reinterpret_cast<PyWrapperDescrObject*>(found)->d_wrapped == reinterpret_cast<void*>(&PyObject_GenericGetAttr))
    return false;
  return found != of_object && found != of_type && found != of_module;
}

Attr find_in_class(PyTypeObject* type, PyObject* name) {
  PyObject* const of_meta = type_find(Py_TYPE(type), name);
  if (of_meta && is_data_descriptor(of_meta)) return {AttrWhere::DataDescriptor, PyRef::borrow(of_meta)};
  if (PyObject* const own = type_find(type, name)) return {AttrWhere::ClassMro, PyRef::borrow(own)};
  if (of_meta) return {AttrWhere::Type, PyRef::borrow(of_meta)};
  return {AttrWhere::Missing, {}};
}

}  // namespace

bool is_object_slot(PyObject* descriptor) {
  if (!Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) return false;
  const PyMemberDef* member = reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member;
  return (member->type == T_OBJECT_EX || member->type == T_OBJECT) &&
         !(member->flags & 1 << 3);  // bit 3: offset is relative to a subclass part
}

PyObject* type_find(PyTypeObject* type, PyObject* name) { return _PyType_Lookup(type, name); }

bool has_getattr_hook(PyTypeObject* type) {
  static PyObject* const name = interned_name("__getattr__");
  return _PyType_Lookup(type, name) != nullptr;
}

bool has_normal_getattribute(PyTypeObject* type) {
  if (type->tp_getattro == PyObject_GenericGetAttr || type->tp_getattro == PyModule_Type.tp_getattro ||
      type->tp_getattro == PyType_Type.tp_getattro) {
    return true;
  }
  return has_getattr_hook(type) && !overrides_getattribute(type);
}

Attr find_attr(PyObject* object, PyObject* name) {
  PyTypeObject* const type = Py_TYPE(object);
  if (!has_normal_getattribute(type)) return {AttrWhere::Undecidable, {}};
  if (PyType_Check(object)) return find_in_class(reinterpret_cast<PyTypeObject*>(object), name);
  PyObject* of_type = type_find(type, name);
  if (is_refused_name(of_type)) of_type = nullptr;
  if (of_type && is_object_slot(of_type)) {
    const PyMemberDef& member = *reinterpret_cast<PyMemberDescrObject*>(of_type)->d_member;
    PyObject* const value = *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + member.offset);
    // C code may take NULL for None.
    if (!value) return {member.type == T_OBJECT ? AttrWhere::Undecidable : AttrWhere::Missing, {}};
    return {AttrWhere::Slot, PyRef::borrow(value)};
  }
  if (of_type && is_data_descriptor(of_type)) return {AttrWhere::DataDescriptor, PyRef::borrow(of_type)};
  const Found own = instance_find(object, name);
  if (own.status == Lookup::Undecidable) return {AttrWhere::Undecidable, {}};
  if (own.status == Lookup::Found) return {AttrWhere::Instance, PyRef::borrow(own.value)};
  if (of_type) return {AttrWhere::Type, PyRef::borrow(of_type)};
  return {AttrWhere::Missing, {}};
}

}  // namespace md
