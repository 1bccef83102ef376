// One step along a source: from the base's object to the source's.
#pragma once

#include "frontend/cpython/attr_memo.h"
#include "frontend/source.h"

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

}  // namespace md
