// What every exception keeps in its struct: its arguments, its cause and what was handled when it was raised.
#pragma once

#include <Python.h>

#include <string_view>

namespace md {

// Borrowed. By the name of the attribute; null: it is none of these, or `o` is no exception.
PyObject* exception_field(PyObject* o, std::string_view name);
// The same where `found` is what the class of `o` has under the name; null, too, where a class below replaces it.
PyObject* exception_field(PyObject* o, PyObject* found);

}  // namespace md
