// The functions that functools.lru_cache makes: what their caches hold, told without calling them.
#pragma once

#include "frontend/cpython/py_ref.h"

namespace md {

// An object of functools' C class, laid out as is known here. The parts below are those of such an object.
bool is_call_cache(PyObject* o);
PyObject* cached_function(PyObject* cache);  // borrowed: what is called for what the cache does not hold
Py_ssize_t cache_limit(PyObject* cache);     // of results: -1: none, 0: nothing is kept
// Borrowed: by key the result, or, where there is a limit, what holds it: cached_result().
PyObject* cached_results(PyObject* cache);
PyObject* cached_result(PyObject* holder);  // borrowed; null: no such object
// What the result of a call stands under. `keywords`: a dict or null.
PyRef cache_key(PyObject* cache, PyObject* positional, PyObject* keywords);

// Calls the cache with an answer in place of the function's: as if that had returned `result` or, for null, raised an
// exception of its own, which goes no further.
void enter_result(PyObject* cache, PyObject* positional, PyObject* keywords, PyObject* result);

}  // namespace md
