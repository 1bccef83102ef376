// What only CPython's own headers can say, written in C because some of them are not C++. Nothing here runs Python code
// or sets an exception; results are borrowed.
#pragma once

#include <Python.h>
#include <stdint.h>

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

// Grows whenever the interpreter's lock goes to another thread than had it last; asked with the lock held.
unsigned long md_lock_changes(void);

// Eight bytes of memory and what they were. Words that a look-up depends on: as long as all of them are unchanged,
// looked at in order, it gives what it gave.
typedef struct {
  const void* at;
  uint64_t value;
} md_word;
#define MD_MOST_WORDS 8
// Of `key` in `dict`, whatever else is stored there. 0: it is not there, or cannot be told. The key itself is compared
// by address.
int md_lookup_words(PyObject* dict, PyObject* key, Py_hash_t hash, md_word* out);
// Of where `object`, whose type is unchanged too, keeps its attributes: in *dict, which is for the caller to go on
// with, or, if that is null, nowhere or in the object, and then of `name` there as well. -1: cannot be told.
int md_instance_words(PyObject* object, PyObject* name, md_word* out, PyObject** dict);

#ifdef __cplusplus
}
#endif
