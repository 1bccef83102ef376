// Attributes read without running user code.
#pragma once

#include "frontend/cpython/dict_access.h"

namespace md {

// What `type.__mro__` has under `name`, unbound; borrowed, null if nothing.
PyObject* type_find(PyTypeObject* type, PyObject* name);

// The instance's own dictionary or inline values; `name` is an exact str.
inline Found instance_find(PyObject* object, PyObject* name) {
  PyObject* value;
  const int status = md_instance_find(object, name, &value);
  return found(status, value);
}

enum class AttrWhere {
  Missing,         // the normal search finds nothing (a __getattr__ may still answer: see has_getattr_hook)
  Slot,            // a __slots__ member: the stored value
  Instance,        // instance dictionary, module dictionary: the stored value
  ClassMro,        // object is a class: found in its own mro, unbound
  Type,            // in the type's mro, no data descriptor: unbound (functions, plain class attributes, …)
  DataDescriptor,  // in the type's mro, with __set__ or __delete__ (property, getset): the descriptor itself
  Undecidable,     // __getattribute__ is overridden, or a dictionary key only user code can compare
};

struct Attr {
  AttrWhere where;
  PyRef value;
};

// A descriptor of a member that holds an object: one of __slots__, a field of a record made in C.
bool is_object_slot(PyObject* descriptor);
// The search of object.__getattribute__ (or type's, or a module's) up to where a descriptor would be called.
Attr find_attr(PyObject* object, PyObject* name);

// The type defines __getattr__ in Python.
bool has_getattr_hook(PyTypeObject* type);
// tp_getattro is object's, a module's or type's own.
bool has_normal_getattribute(PyTypeObject* type);

}  // namespace md
