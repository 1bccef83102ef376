// find_attr for a place that looks again and again: remembers what the type contributed while the type is unchanged.
// Borrowed results, nothing allocated.
#pragma once

#include "frontend/cpython/object_attr.h"

namespace md {

struct AttrMemo {
  unsigned type_version = 0;    // 0: nothing remembered
  unsigned hint = 0;            // position in the instance's dictionary
  PyObject* on_type = nullptr;  // what the mro holds; alive as long as the version holds
  Py_ssize_t slot_offset = 0;   // on_type is a __slots__ member at this offset
  bool hidden = false;          // a descriptor or __getattribute__ decides: nothing raw to see
  bool only_in_dict = false;    // the type has nothing; instances may, in the dict at tp_dictoffset
};

// What `o.name` is before binding: slot or instance value, else what the class holds, unbound. Null if absent or where
// only user code or a C getter could tell. `name` is an interned exact str.
PyObject* raw_attr(PyObject* o, PyObject* name, AttrMemo& memo);
// No look-up of `name` on `o` can find anything, __getattr__ aside.
bool attr_absent_slow(PyObject* o, PyObject* name, AttrMemo& memo);
inline bool attr_absent(PyObject* o, PyObject* name, AttrMemo& memo) {
  const PyTypeObject* type = Py_TYPE(o);
  // An object whose attribute dictionary was never made: nearly every tensor.
  if (memo.only_in_dict && type->tp_version_tag == memo.type_version &&
      !*reinterpret_cast<PyObject**>(reinterpret_cast<char*>(o) + type->tp_dictoffset)) {
    return true;
  }
  return attr_absent_slow(o, name, memo);
}

}  // namespace md
