// Attribute look-up by a remembered type version: the slow path refreshes the memo, the fast one compares one number.
#include "frontend/cpython/attr_memo.h"

#include <structmember.h>

#include "frontend/cpython/refused_names.h"

namespace md {
namespace {

// Offset of a member that holds an object, as those of __slots__ and the fields of C's records do, or 0.
Py_ssize_t slot_offset(PyTypeObject* type, PyObject* attr) {
  if (!is_object_slot(attr)) return 0;
  const auto* descr = reinterpret_cast<PyMemberDescrObject*>(attr);
  return PyType_IsSubtype(type, descr->d_common.d_type) ? descr->d_member->offset : 0;
}

void look_at_type(PyTypeObject* type, PyObject* name, AttrMemo& m) {
  m.hidden = !has_normal_getattribute(type);
  m.on_type = type_find(type, name);
  if (is_refused_name(m.on_type)) m.on_type = nullptr;
  m.slot_offset = 0;
  m.type_version = type->tp_version_tag;  // after the look-up, which assigns one
  m.only_in_dict = !m.hidden && !m.on_type && m.type_version != 0 && type->tp_dictoffset > 0 &&
                   !(type->tp_flags & Py_TPFLAGS_MANAGED_DICT) && !PyType_IsSubtype(type, &PyType_Type);
  if (m.hidden || !m.on_type || !Py_TYPE(m.on_type)->tp_descr_set) return;
  m.slot_offset = slot_offset(type, m.on_type);
  m.hidden = m.slot_offset == 0;
}

void refresh(PyTypeObject* type, PyObject* name, AttrMemo& m) {
  if (m.type_version == 0 || m.type_version != type->tp_version_tag) look_at_type(type, name, m);
}

Found stored(PyObject* o, PyObject* name, AttrMemo& m) {
  PyObject* value;
  const int status = md_instance_find_hinted(o, name, &value, &m.hint);
  return found(status, value);
}

}  // namespace

PyObject* raw_attr(PyObject* o, PyObject* name, AttrMemo& m) {
  refresh(Py_TYPE(o), name, m);
  if (m.hidden) return nullptr;
  if (m.slot_offset) return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(o) + m.slot_offset);
  if (PyType_Check(o)) {
    PyObject* own = type_find(reinterpret_cast<PyTypeObject*>(o), name);
    return own ? own : m.on_type;
  }
  const Found own = stored(o, name, m);
  if (own.status == Lookup::Undecidable) return nullptr;
  return own.value ? own.value : m.on_type;
}

bool attr_absent_slow(PyObject* o, PyObject* name, AttrMemo& m) {
  refresh(Py_TYPE(o), name, m);
  if (m.slot_offset) return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(o) + m.slot_offset) == nullptr;
  if (m.hidden || m.on_type) return false;
  if (PyType_Check(o)) return type_find(reinterpret_cast<PyTypeObject*>(o), name) == nullptr;
  return stored(o, name, m).status == Lookup::Missing;
}

}  // namespace md
