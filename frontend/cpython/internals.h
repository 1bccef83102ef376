// What only CPython's own headers can say, written in C because some of them are not C++. Nothing here runs Python code
// or sets an exception; results are borrowed.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

// 1: found, 0: not there, -1: cannot be told without running a user's __eq__.
int md_dict_find(PyObject* dict, PyObject* key, Py_hash_t hash, PyObject** value);
// The attribute in the instance's own dictionary, without creating that dictionary. `name` is an exact str.
int md_instance_find(PyObject* object, PyObject* name, PyObject** value);
// That dictionary itself, if there is one already.
PyObject* md_instance_dict(PyObject* object);
// The first two with a memory of where the key was last time (start with 0): one comparison when it is still there.
int md_dict_find_hinted(PyObject* dict, PyObject* key, Py_hash_t hash, PyObject** value, unsigned* hint);
int md_instance_find_hinted(PyObject* object, PyObject* name, PyObject** value, unsigned* hint);
// The values live inside an instance, whose attribute stores leave the version tag alone (3.13).
int md_dict_has_inline_values(PyObject* dict);
// A sys.monitoring tool watches starts, returns, calls, lines or instructions, everywhere or in this code (3.12+).
int md_is_monitored(PyCodeObject* code);

#ifdef __cplusplus
}
#endif
