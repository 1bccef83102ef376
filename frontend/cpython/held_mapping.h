// The mapping that a mappingproxy or a view of a dictionary shows.
#pragma once

#include "frontend/cpython/py_ref.h"

namespace md {

PyObject* held_mapping(PyObject* view);  // borrowed; null: it holds none, or more than one object

}  // namespace md
