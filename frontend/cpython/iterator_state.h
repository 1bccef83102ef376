// Where iterators over tuples and ranges and itertools.count stand, told without moving them.
#pragma once

#include <string>

#include "frontend/cpython/py_ref.h"

namespace md {

bool is_tuple_iterator(PyObject* o);
Py_ssize_t tuple_iterator_left(PyObject* it);                   // -1: of something else
PyObject* tuple_iterator_item(PyObject* it, Py_ssize_t index);  // borrowed, counted from where it stands; null: no such

bool is_range_iterator(PyObject* o);
PyRef range_iterator_left(PyObject* it);  // a range

// Of plain ints or floats.
bool is_plain_count(PyObject* o);
PyRef count_next(PyObject* count);
PyRef count_step(PyObject* count);

// Another one over a range, or a count, that stands at the same place; and whether two do. The comparison runs none of
// the program's code.
bool has_comparable_state(PyObject* o);
PyRef iterator_copy(PyObject* it);
bool stand_alike(PyObject* a, PyObject* b);
std::string iterator_text(PyObject* it);  // "iter(range(2, 5))"

}  // namespace md
