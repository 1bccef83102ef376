// Walks the layouts that CPython's look-ups walk, and notes the words that decide what they find.
#include "frontend/guards/memo_words.h"

#include <cstring>

#include "frontend/cpython/dict_access.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/guards/kinds.h"

namespace md {
namespace {

bool is_static(PyTypeObject* type) { return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE); }

}  // namespace

bool is_scalar(PyObject* o) {
  return o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyUnicode_CheckExact(o) ||
         PyBytes_CheckExact(o) || PyComplex_CheckExact(o);
}

void MemoWords::word(const md_word& w, int node) {
  if (!noted_.insert(w.at).second) return;
  words.push_back(w);
  owners.push_back(node);
}
void MemoWords::word(const void* at, int node) {
  md_word w{at, 0};
  std::memcpy(&w.value, at, sizeof w.value);
  word(w, node);
}

void MemoWords::type_word(PyObject* o, const At& a) {
  if (!a.same || !is_static(Py_TYPE(o))) word(&o->ob_type, a.node);
}
// The tag and, in the same word, what fills the gap after it.
bool MemoWords::class_word(PyTypeObject* type, int node) {
  if (type->tp_version_tag == 0) return false;
  word(&type->tp_version_tag, node);
  return true;
}
bool MemoWords::scalar(PyObject* o, const At& a) {
  if (!is_scalar(o)) return false;
  if (!a.same) kept.push_back(PyRef::borrow(o));
  return true;
}

bool MemoWords::in_dict(PyObject* dict, PyObject* key, Py_hash_t hash, int node, bool& same) {
  if (!is_by_entry(node) && PyDict_CheckExact(dict) && dict_version_is_complete(dict)) {
    word(dict_version_at(dict), node);
    return same = true;
  }
  return entry(dict, key, hash, node, same);
}

bool MemoWords::entry(PyObject* dict, PyObject* key, Py_hash_t hash, int node, bool& same) {
  md_word found[MD_MOST_WORDS];
  const int n = PyDict_CheckExact(dict) ? md_lookup_words(dict, key, hash, found) : 0;
  for (int i = 0; i < n; ++i) word(found[i], node);
  same = false;
  return n > 0;
}

bool MemoWords::in_instance(PyObject* o, PyObject* name, const At& a, bool& same) {
  md_word found[MD_MOST_WORDS];
  PyObject* dict;
  word(&o->ob_type, a.node);
  if (PyType_Check(o) || !class_word(Py_TYPE(o), a.node)) return false;
  const int n = md_instance_words(o, name, found, &dict);
  for (int i = 0; i < n; ++i) word(found[i], a.node);
  same = false;
  return dict ? in_dict(dict, name, PyObject_Hash(name), a.node, same) : n >= 0;
}

bool MemoWords::attribute(PyObject* o, const LoadFact& f, const At& a, bool& same) {
  const AttrMemo& m = f.memo.attr;
  if (PyType_Check(o) || is_tensor(o) || PyModule_Check(o)) {
    if (!PyModule_CheckExact(o)) return false;
    type_word(o, a);
    PyObject** dict = reinterpret_cast<PyObject**>(reinterpret_cast<char*>(o) + PyModule_Type.tp_dictoffset);
    word(dict, a.node);
    return entry(*dict, f.access.key, f.access.hash, a.node, same);
  }
  if (m.hidden || m.type_version == 0 || m.type_version != Py_TYPE(o)->tp_version_tag) return false;
  if (!m.slot_offset) return in_instance(o, f.access.key, a, same);
  word(&o->ob_type, a.node);
  if (!class_word(Py_TYPE(o), a.node)) return false;
  word(reinterpret_cast<char*>(o) + m.slot_offset, a.node);
  return true;
}

bool MemoWords::on_class(PyObject* o, const At& a, const AccessMemo& m, bool& same) {
  if (!PyType_Check(o) || m.attr.type_version != reinterpret_cast<PyTypeObject*>(o)->tp_version_tag) return false;
  return same = class_word(reinterpret_cast<PyTypeObject*>(o), a.node);
}

// Of an exact list or tuple.
bool MemoWords::item(PyObject* o, Py_ssize_t index, const At& a, bool& same) {
  if (PyTuple_CheckExact(o) && a.same) return same = true;
  if (!(PyTuple_CheckExact(o) || PyList_CheckExact(o)) || index < 0 || index >= Py_SIZE(o)) return false;
  type_word(o, a);
  word(&reinterpret_cast<PyVarObject*>(o)->ob_size, a.node);
  if (PyList_CheckExact(o)) word(&reinterpret_cast<PyListObject*>(o)->ob_item, a.node);
  word(&(PyList_CheckExact(o) ? reinterpret_cast<PyListObject*>(o)->ob_item
                              : reinterpret_cast<PyTupleObject*>(o)->ob_item)[index],
       a.node);
  return true;
}

bool MemoWords::of_function(PyObject* o, const LoadFact& f, const At& a, bool& same) {
  if (!PyFunction_Check(o)) return false;
  auto* fn = reinterpret_cast<PyFunctionObject*>(o);
  const At part{.node = a.node};
  type_word(o, a);
  switch (f.access.kind) {
    case SourceKind::FuncCode:
      word(&fn->func_globals, a.node);
      if (!f.access.key && f.access.index == kOverOwnGlobals) over_globals = true;
      word(&fn->func_code, a.node);
      return true;
    case SourceKind::FuncDefault:
      word(&fn->func_defaults, a.node);
      return fn->func_defaults && item(fn->func_defaults, f.access.index, part, same);
    case SourceKind::FuncClosure:
      word(&fn->func_closure, a.node);
      return fn->func_closure && item(fn->func_closure, f.access.index, part, same);
    case SourceKind::ModuleGlobal:
      word(&fn->func_globals, a.node);
      return entry(fn->func_globals, f.access.key, f.access.hash, a.node, same);
    default:
      return false;
  }
}

bool MemoWords::of_class(PyObject* o, const LoadFact& f, const At& a) {
  PyObject* const* const place = class_field(o, f.access.key);
  if (!place) return false;
  type_word(o, a);
  word(place, a.node);
  return true;
}

bool MemoWords::access(PyObject* o, const LoadFact& f, const At& a, bool& same) {
  switch (f.access.kind) {
    case SourceKind::Attr:
      return attribute(o, f, a, same);
    case SourceKind::InstanceDict:
      return in_instance(o, f.access.key, a, same);
    case SourceKind::TypeOf:
      word(&o->ob_type, a.node);
      return true;
    case SourceKind::TypeAttr:
      word(&o->ob_type, a.node);
      return on_class(reinterpret_cast<PyObject*>(Py_TYPE(o)), a, f.memo, same);
    case SourceKind::ClassAttr:
      type_word(o, a);
      return on_class(o, a, f.memo, same);
    case SourceKind::ListItem:
      return item(o, f.access.index, a, same);
    case SourceKind::DictItem:
      if (!PyDict_CheckExact(o)) return false;
      type_word(o, a);
      return in_dict(o, f.access.key, f.access.hash, a.node, same);
    case SourceKind::CellContents:
      if (!PyCell_Check(o)) return false;
      type_word(o, a);
      word(&reinterpret_cast<PyCellObject*>(o)->ob_ref, a.node);
      return true;
    case SourceKind::MethodSelf:
    case SourceKind::MethodFunc: {
      if (!PyMethod_Check(o)) return false;
      auto* m = reinterpret_cast<PyMethodObject*>(o);
      type_word(o, a);
      word(f.access.kind == SourceKind::MethodSelf ? &m->im_self : &m->im_func, a.node);
      return true;
    }
    case SourceKind::Field:
      return of_class(o, f, a);
    default:
      return of_function(o, f, a, same);
  }
}

bool MemoWords::guard(GuardKind kind, const GuardOp& op, PyObject* o, const At& a) {
  bool same;
  switch (kind) {
    case GuardKind::TypeMatch:
      type_word(o, a);
      if (!is_static(Py_TYPE(o))) word(op.slot, a.node);
      return true;
    case GuardKind::IdMatch:
      if (!a.same) word(op.slot, a.node);
      return true;
    case GuardKind::CMethod:
      type_word(o, a);
      if (!a.same) word(&reinterpret_cast<PyCFunctionObject*>(o)->m_ml, a.node);
      return true;
    case GuardKind::EqualsMatch:
    case GuardKind::Nan:
      return scalar(o, a);
    case GuardKind::NoneMatch:
    case GuardKind::TrueMatch:
    case GuardKind::FalseMatch:
    case GuardKind::NotPresent:
      return true;
    case GuardKind::LengthCheck:
    case GuardKind::DictLength:
      return length(o, a);
    case GuardKind::DictContains:
    case GuardKind::DictNotContains:
      if (op.flag) return in_instance(o, op.key->key, a, same);
      if (!PyDict_CheckExact(o)) return false;
      type_word(o, a);
      return in_dict(o, op.key->key, op.key->hash, a.node, same);
    case GuardKind::DictKeyOrder:
      if (!PyDict_CheckExact(o) || is_by_entry(a.node) || !dict_version_is_complete(o)) return false;
      type_word(o, a);
      word(dict_version_at(o), a.node);
      return true;
    case GuardKind::NoHasattr:
    case GuardKind::Hasattr:
      return presence(o, *op.name, a);
    case GuardKind::ClassLookups:
      type_word(o, a);
      return op.cls->version == reinterpret_cast<PyTypeObject*>(o)->tp_version_tag &&
             class_word(reinterpret_cast<PyTypeObject*>(o), a.node);
    default:
      return false;
  }
}

bool MemoWords::length(PyObject* o, const At& a) {
  if (scalar(o, a)) return true;
  if (PyTuple_CheckExact(o) && a.same) return true;
  type_word(o, a);
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
    word(&reinterpret_cast<PyVarObject*>(o)->ob_size, a.node);
  } else if (!PyDict_CheckExact(o) && !PyODict_CheckExact(o)) {
    return false;
  } else if (PyODict_CheckExact(o) || is_by_entry(a.node) || !dict_version_is_complete(o)) {
    word(&reinterpret_cast<PyDictObject*>(o)->ma_used, a.node);
  } else {
    word(dict_version_at(o), a.node);
  }
  return true;
}

bool MemoWords::presence(PyObject* o, const NameFact& f, const At& a) {
  bool same;
  const AttrMemo& m = f.memo;
  if (PyType_Check(o) || PyModule_Check(o) || m.type_version == 0 || m.type_version != Py_TYPE(o)->tp_version_tag)
    return false;
  if (!m.slot_offset && !m.hidden) return in_instance(o, f.name, a, same);
  word(&o->ob_type, a.node);
  if (!class_word(Py_TYPE(o), a.node)) return false;
  if (m.slot_offset) word(reinterpret_cast<char*>(o) + m.slot_offset, a.node);
  return true;
}

}  // namespace md
