// str() and repr() of objects as UTF-8.
#pragma once

#include <Python.h>

#include <string>

namespace md {

std::string text_of(PyObject* str);  // UTF-8 of a str; str(o) of anything else
std::string repr_of(PyObject* o);    // never fails

}  // namespace md
