// One access of a source: from the base's object to the source's.
#pragma once

#include "frontend/cpython/attr_memo.h"
#include "frontend/guards/source.h"

namespace md {

// What a look-up found, good while the dict it was made in keeps its version.
struct AccessMemo {
  std::uint64_t dict_version = 0;
  PyObject* value = nullptr;  // borrowed from that dict
  AttrMemo attr;              // its hint serves dicts too
};

// What follow() needs of a source.
struct SourceAccess {
  SourceKind kind;
  int index;
  PyObject* key;            // borrowed
  Py_hash_t hash;           // of key
  PyObject* const* object;  // Constant: where the object is found (None once it has died)
};
SourceAccess access_of(const Source& s);

// Borrowed, kept alive by `base` or the frame; null if it is not there or only user code could tell. Allocates nothing,
// sets no exception.
PyObject* follow(const SourceAccess& s, PyObject* base, const FrameArgs& args, AccessMemo& memo);

// Where a class keeps what a Field of this name is: its name, its bases. Null: no class that may change, no such field.
PyObject* const* class_field(PyObject* cls, PyObject* key);

// The dict a look-up of this kind goes to, if that takes no look-up to find out.
inline PyObject* dict_of_access(const SourceAccess& s, PyObject* base, const FrameArgs& args) {
  switch (s.kind) {
    case SourceKind::Global:
      return args.globals;
    case SourceKind::Builtin:
      return args.builtins;
    case SourceKind::DictItem:
      return PyDict_CheckExact(base) ? base : nullptr;
    case SourceKind::Attr:
      if (!PyModule_CheckExact(base)) return nullptr;
      return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(base) + PyModule_Type.tp_dictoffset);
    default:
      return nullptr;
  }
}

// follow() with its commonest cases inline: an unchanged dict, an element of a list or tuple.
inline PyObject* quick_access(const SourceAccess& s, PyObject* base, const FrameArgs& args, AccessMemo& memo) {
  if (s.kind == SourceKind::ListItem) {
    if (PyList_CheckExact(base)) return s.index < PyList_GET_SIZE(base) ? PyList_GET_ITEM(base, s.index) : nullptr;
    if (PyTuple_CheckExact(base)) return s.index < PyTuple_GET_SIZE(base) ? PyTuple_GET_ITEM(base, s.index) : nullptr;
  } else if (memo.dict_version != 0 && memo.value) {
    PyObject* dict = dict_of_access(s, base, args);
    if (dict && PyDict_Check(dict) && dict_version(dict) == memo.dict_version) return memo.value;
  }
  return follow(s, base, args, memo);
}

}  // namespace md
