// Equality, hash and set operations of constants in C alone: no __eq__ or __hash__ of a program is called.
#include "frontend/cpython/plain_object.h"

#include <algorithm>
#include <cstring>

#include "frontend/cpython/dict_access.h"
#include "frontend/cpython/library_modules.h"
#include "frontend/cpython/method_wrapper.h"
#include "frontend/cpython/native_type.h"

namespace md {
namespace {

bool str_equal(PyObject* a, PyObject* b) {
  if (!ready_text(a) || !ready_text(b)) return PyErr_Clear(), false;
  if (PyUnicode_GET_LENGTH(a) != PyUnicode_GET_LENGTH(b) || PyUnicode_KIND(a) != PyUnicode_KIND(b)) return false;
  return std::memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b),
                     static_cast<std::size_t>(PyUnicode_GET_LENGTH(a)) * PyUnicode_KIND(a)) == 0;
}

bool c_equal(PyObject* a, PyObject* b) {
  PyObject* r = Py_TYPE(a)->tp_richcompare(a, b, Py_EQ);
  if (!r) return PyErr_Clear(), false;
  Py_DECREF(r);
  return r == Py_True;
}

bool bits_equal(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

bool tuple_equal(PyObject* a, PyObject* b) {
  if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i) {
    if (!plain_equal(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
  }
  return true;
}

// Calls f(key, hash) on the elements until it returns false; true if it never did.
template <class F>
bool all_elements(PyObject* set, F&& f) {
  const auto* s = reinterpret_cast<PySetObject*>(set);
  for (Py_ssize_t i = 0; i <= s->mask; ++i) {
    PyObject* key = s->table[i].key;
    if (key && s->table[i].hash != -1 && !f(key, s->table[i].hash)) return false;  // hash -1: a deleted entry
  }
  return true;
}

bool frozenset_equal(PyObject* a, PyObject* b) {
  if (PySet_GET_SIZE(a) != PySet_GET_SIZE(b)) return false;
  return all_elements(a, [&](PyObject* key, Py_hash_t hash) {
    return !all_elements(b, [&](PyObject* other, Py_hash_t h) { return h != hash || !plain_equal(key, other); });
  });
}

hashfunc hash_of_tensors = nullptr;

// The class (still) inherits object's own comparison and hash. Tensors compare element by element, but in containers
// two of them never meet: their hashes differ.
bool by_identity(PyObject* o) {
  const PyTypeObject* type = Py_TYPE(o);
  return type->tp_hash == hash_of_tensors ||
         (type->tp_richcompare == PyBaseObject_Type.tp_richcompare && type->tp_hash == PyBaseObject_Type.tp_hash);
}

// A tuple, a named tuple, torch.Size: compared as tuples are, nothing on the instance but its items.
bool compares_as_tuple(PyObject* o) {
  const PyTypeObject* type = Py_TYPE(o);
  return PyTuple_Check(o) && type->tp_richcompare == PyTuple_Type.tp_richcompare &&
         type->tp_hash == PyTuple_Type.tp_hash && type->tp_dictoffset == 0;
}

// An int, str, bytes or float of a subclass that leaves both to the builtin type.
bool is_data_of_subclass(PyObject* o) {
  const PyTypeObject* type = Py_TYPE(o);
  return std::ranges::any_of(
      std::initializer_list<const PyTypeObject*>{&PyLong_Type, &PyUnicode_Type, &PyBytes_Type, &PyFloat_Type},
      [&](const PyTypeObject* base) {
        return type->tp_richcompare == base->tp_richcompare && type->tp_hash == base->tp_hash;
      });
}

// A member of an enumeration is compared by identity, and hashed by code of the library that reads its name.
bool is_hashed_member(PyObject* o) {
  PyTypeObject* const type = Py_TYPE(o);
  if (type->tp_richcompare != PyBaseObject_Type.tp_richcompare || PyType_CheckExact(type)) return false;
  PyObject* const metaclass = library_object("enum", "EnumMeta");
  if (!metaclass || !PyType_IsSubtype(Py_TYPE(type), reinterpret_cast<PyTypeObject*>(metaclass))) return false;
  PyObject* const own = library_object("enum", "Enum");
  const PyRef name = checked(PyUnicode_InternFromString("__hash__"));
  PyObject* const hash = _PyType_Lookup(type, name.get());
  return own && hash && hash == _PyType_Lookup(reinterpret_cast<PyTypeObject*>(own), name.get());
}

}  // namespace

void set_hash_of_tensors(hashfunc hash) { hash_of_tensors = hash; }

bool hashes_by_identity(const PyTypeObject* type) {
  return type->tp_hash == PyBaseObject_Type.tp_hash || type->tp_hash == hash_of_tensors;
}

bool is_plain(PyObject* o) {
  if (o == Py_None || PyBool_Check(o) || PyUnicode_CheckExact(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) ||
      PyBytes_CheckExact(o) || PyComplex_CheckExact(o)) {
    return true;
  }
  if (compares_as_tuple(o)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) {
      if (!is_plain(PyTuple_GET_ITEM(o, i))) return false;
    }
    return true;
  }
  if (PyFrozenSet_CheckExact(o)) return all_elements(o, [](PyObject* key, Py_hash_t) { return is_plain(key); });
  // Bound by C code, these compare what they are bound to by identity.
  return by_identity(o) || is_method_wrapper(o) || is_data_of_subclass(o) || md_compares_natively(Py_TYPE(o)) ||
         is_hashed_member(o) || md_is_plain_pattern(o);
}

bool holds_equal(PyObject* data, PyObject* instance) {
  if (!PyObject_TypeCheck(instance, Py_TYPE(data))) return false;
  if (PyUnicode_CheckExact(data)) return str_equal(data, instance);
  if (PyLong_CheckExact(data) || PyBytes_CheckExact(data)) return c_equal(data, instance);
  if (PyFloat_CheckExact(data)) return bits_equal(PyFloat_AS_DOUBLE(data), PyFloat_AS_DOUBLE(instance));
  if (!PyComplex_CheckExact(data)) return false;
  const Py_complex x = reinterpret_cast<PyComplexObject*>(data)->cval;
  const Py_complex y = reinterpret_cast<PyComplexObject*>(instance)->cval;
  return bits_equal(x.real, y.real) && bits_equal(x.imag, y.imag);
}

bool plain_equal(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (holds_equal(a, b)) return true;
  if (compares_as_tuple(a)) return tuple_equal(a, b);
  if (PyFrozenSet_CheckExact(a)) return frozenset_equal(a, b);
  return (md_compares_natively(Py_TYPE(a)) || md_is_plain_pattern(a)) && c_equal(a, b);
}

int set_contains(PyObject* set, PyObject* key, Py_hash_t hash) {
  bool doubt = false;
  const bool absent = all_elements(set, [&](PyObject* element, Py_hash_t h) {
    if (element == key) return false;
    if (h != hash) return true;
    if (!is_plain(element)) return !(doubt = true);
    const int same = PyObject_RichCompareBool(element, key, Py_EQ);
    if (same < 0) PyErr_Clear();
    return same == 0;
  });
  return doubt ? -1 : !absent;
}

bool set_equals_keys(PyObject* set, PyObject* dict) {
  return PySet_GET_SIZE(set) == PyDict_GET_SIZE(dict) && set_within_keys(set, dict);
}

bool set_within_keys(PyObject* set, PyObject* dict) {
  return all_elements(set, [&](PyObject* element, Py_hash_t hash) {
    if (!is_plain(element)) return false;
    const Found known = dict_find(dict, element, hash);
    return known.status == Lookup::Found && plain_equal(known.value, element);
  });
}

bool set_iterates_as(PyObject* set, PyObject* tuple) {
  if (PySet_GET_SIZE(set) != PyTuple_GET_SIZE(tuple)) return false;
  Py_ssize_t at = 0;
  return all_elements(set, [&](PyObject* element, Py_hash_t) {
    PyObject* const expected = PyTuple_GET_ITEM(tuple, at++);
    if (expected == element) return true;
    if (!PyWeakref_CheckRefExact(expected)) return plain_equal(expected, element);
    return reinterpret_cast<PyWeakReference*>(expected)->wr_object == element && element != Py_None;
  });
}

}  // namespace md
