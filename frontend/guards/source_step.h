// One step along a source: from the base's object to the source's.
#pragma once

#include "frontend/cpython/attr_memo.h"
#include "frontend/guards/source.h"

namespace md {

// What a look-up found, good while the dict it was made in keeps its version.
struct StepMemo {
  std::uint64_t dict_version = 0;
  PyObject* value = nullptr;  // borrowed from that dict
  AttrMemo attr;              // its hint serves dicts too
};

// What step() needs of a source.
struct SourceStep {
  SourceKind kind;
  int index;
  PyObject* key;            // borrowed
  Py_hash_t hash;           // of key
  PyObject* const* object;  // Constant: where the object is found (None once it has died)
};
SourceStep step_of(const Source& s);

// Borrowed, kept alive by `base` or the frame; null if it is not there or only user code could tell. Allocates nothing,
// sets no exception.
PyObject* step(const SourceStep& s, PyObject* base, const FrameArgs& args, StepMemo& memo);

// Where a class keeps what a Field of this name is: its name, its bases. Null: no class that may change, no such field.
PyObject* const* class_field(PyObject* cls, PyObject* key);

// The dict a look-up of this kind goes to, if that takes no look-up to find out.
inline PyObject* dict_of_step(const SourceStep& s, PyObject* base, const FrameArgs& args) {
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

// step() with its commonest cases inline: an unchanged dict, an element of a list or tuple.
inline PyObject* quick_step(const SourceStep& s, PyObject* base, const FrameArgs& args, StepMemo& memo) {
  if (s.kind == SourceKind::ListItem) {
    if (PyList_CheckExact(base)) return s.index < PyList_GET_SIZE(base) ? PyList_GET_ITEM(base, s.index) : nullptr;
    if (PyTuple_CheckExact(base)) return s.index < PyTuple_GET_SIZE(base) ? PyTuple_GET_ITEM(base, s.index) : nullptr;
  } else if (memo.dict_version != 0 && memo.value) {
    PyObject* dict = dict_of_step(s, base, args);
    if (dict && PyDict_Check(dict) && dict_version(dict) == memo.dict_version) return memo.value;
  }
  return step(s, base, args, memo);
}

}  // namespace md
