// Fields of builtin objects whose structs CPython does not publish. Borrowed; null if `o` is of another type.
#pragma once

#include "frontend/cpython/py_ref.h"

namespace md {

enum class RangePart { Start, Stop, Step };
PyObject* range_field(PyObject* o, RangePart part);  // range or slice

enum class PartialPart { Func, Args, Keywords };
PyObject* partial_field(PyObject* o, PartialPart part);  // functools.partial, subclasses too
PyTypeObject* partial_type();                            // functools.partial; null if it is not there

PyTypeObject* tuplegetter_type();  // what the fields of named tuples are; null if it is not there

// Element of an exact collections.deque.
PyObject* deque_item(PyObject* o, Py_ssize_t index);
Py_ssize_t deque_length(PyObject* o);  // -1: not a deque
Py_ssize_t deque_maxlen(PyObject* o);  // -1: none, -2: not a deque

// Walks the keys of a dict in the order Python shows, an OrderedDict's own order included.
class DictKeyCursor {
 public:
  explicit DictKeyCursor(PyObject* dict);
  PyObject* next();  // null at the end

 private:
  PyObject* dict_;
  Py_ssize_t at_ = 0;
  const void* node_ = nullptr;
  bool ordered_;
};

// What a dict, an OrderedDict too, has under this very key; nothing is hashed or compared. Null: the key is not there.
PyObject* value_of_key(PyObject* dict, PyObject* key);

}  // namespace md
