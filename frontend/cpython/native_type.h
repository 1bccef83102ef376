// A type of this package whose values C code alone compares and hashes: as keys they are like numbers. For C, too.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

void md_compare_natively(PyTypeObject* type);  // told once, at import
int md_compares_natively(PyTypeObject* type);
int md_is_plain_pattern(
    PyObject* o);  // a compiled pattern of a plain text: C code alone compares and hashes these, too

#ifdef __cplusplus
}
#endif
