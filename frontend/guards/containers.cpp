// Compares keys of dictionaries and elements of sets, and prints them.
#include "frontend/guards/containers.h"

namespace md::guards {

std::string listed(PyObject* tuple) {
  std::string items;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i)
    items += (i ? ", " : "") + constant_repr(PyTuple_GET_ITEM(tuple, i));
  return "[" + items + "]";
}

bool DictKeyOrder::same_keys(PyObject* dict, PyObject* keys) {
  const Py_ssize_t count = PyTuple_GET_SIZE(keys);
  if (PyDict_GET_SIZE(dict) != count) return false;
  DictKeyCursor cursor(dict);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *key = cursor.next(), *expected = PyTuple_GET_ITEM(keys, i);
    if (!key) return false;
    if (expected == key) continue;  // a dictionary may have weak references as its keys
    if (PyWeakref_CheckRefExact(expected)) {
      if (reinterpret_cast<PyWeakReference*>(expected)->wr_object != key || key == Py_None) return false;
    } else if (!plain_equal(expected, key)) {
      return false;
    }
  }
  return true;
}

PyRef DictKeyOrder::weak_keys(PyObject* keys) {
  PyRef out = checked(PyTuple_New(PyTuple_GET_SIZE(keys)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); ++i)
    PyTuple_SET_ITEM(out.get(), i, weak_key(PyRef::borrow(PyTuple_GET_ITEM(keys, i))).release());
  return out;
}

PyRef keys_of_set(PyObject* set) {
  PyRef dict = checked(PyDict_New());
  const PyRef elements = checked(PySequence_List(set));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(elements.get()); ++i) {
    PyObject* e = PyList_GET_ITEM(elements.get(), i);
    checked(PyDict_SetItem(dict.get(), e, e));
  }
  return dict;
}

std::string set_text(PyObject* set) {
  if (PySet_GET_SIZE(set) == 0) return "set()";
  const PyRef elements = checked(PySequence_List(set));
  std::string out;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(elements.get()); ++i) {
    out += (i ? ", " : "") + constant_repr(PyList_GET_ITEM(elements.get(), i));
  }
  return "{" + out + "}";
}

}  // namespace md::guards
