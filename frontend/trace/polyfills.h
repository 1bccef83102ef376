// Python code of this package that is traced in place of a library's: frames of it are nobody's business.
#pragma once

#include <string_view>

#include "frontend/cpython/py_ref.h"

namespace md {

// Globals of a module below minidynamo.polyfills, whose names never change.
bool in_polyfills(PyObject* globals);
// Of one whose functions run at trace time, on constants: facts and random_facts there, and numpy.facts.
bool is_facts_module(std::string_view name);
bool is_fact(PyObject* function);
// Imports minidynamo.polyfills.library; and adds to its table what there is for a module of the standard library.
void load_polyfills();
void take_up_polyfills(const char* module);
// A table of minidynamo.polyfills.numpy; borrowed row, null if there is none.
PyObject* numpy_row(const char* table, PyObject* key);
// What minidynamo.polyfills.library has for a callable of the standard library: a traced function, or a class whose
// objects stand in for the callable's. Borrowed; null if there is none.
PyObject* library_row(PyObject* callable);
// The traced function for a method of a builtin type, which takes the object first. Borrowed; null if there is none.
PyObject* library_method(PyTypeObject* type, PyObject* name);
// For the code of a closure of the library's: (traced function, names of the variables it takes first). As above.
PyObject* code_row(PyObject* code);

}  // namespace md
