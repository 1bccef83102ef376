// Comparing constants without running user code.
#pragma once

#include "frontend/cpython/py_ref.h"

namespace md {

// Hash and equality are C code: str, bytes, int, float (of subclasses that leave both to these, too), bool, complex,
// None, a device, an object whose class compares by identity (members of enumerations, whose hash is the library's,
// among them), or an exact tuple or frozenset of such.
bool is_plain(PyObject* o);
// Same exact type and same value, floats by their bits, of subclasses the same object; `a` is plain, `b` anything.
// Never runs user code, leaves no exception.
bool plain_equal(PyObject* a, PyObject* b);

// Of objects and of tensors: as keys they are found by identity.
bool hashes_by_identity(const PyTypeObject* type);
void set_hash_of_tensors(hashfunc hash);  // at import

// What an instance of a subclass holds is equal to `data`, an int, float (by its bits), complex, str or bytes. Never
// runs user code, leaves no exception.
bool holds_equal(PyObject* data, PyObject* instance);

// The old strings of C code in 3.11 have no length until they are made ready. False: MemoryError is set.
inline bool ready_text([[maybe_unused]] PyObject* str) {
#if PY_VERSION_HEX < 0x030C0000
  return PyUnicode_READY(str) == 0;
#else
  return true;
#endif
}

// `reverse` of sorted() and list.sort() is whatever is true; up to 3.11 it has to be an int.
inline constexpr bool kReverseIsInt = PY_VERSION_HEX < 0x030C0000;

// Membership of plain `key` in an exact or subclassed set: 1, 0, or -1 where only user code could tell.
int set_contains(PyObject* set, PyObject* key, Py_hash_t hash);
// The set holds exactly the elements of `dict`, which maps plain constants to themselves; 1 and True differ.
bool set_equals_keys(PyObject* set, PyObject* dict);
bool set_within_keys(PyObject* set, PyObject* dict);  // each of its elements is one
// Iterating over the set gives exactly the plain elements of `tuple`, in that order; for a weak reference there, what
// it refers to.
bool set_iterates_as(PyObject* set, PyObject* tuple);

}  // namespace md
