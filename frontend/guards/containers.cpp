#include "frontend/guards/containers.h"

namespace md::guards {

std::string listed(PyObject* tuple) {
  std::string items;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i)
    items += (i ? ", " : "") + constant_repr(PyTuple_GET_ITEM(tuple, i));
  return "[" + items + "]";
}

// An instance of a class is referred to weakly: the guard must not keep a key of the program alive.
PyRef DictKeyOrder::keys_of(PyObject* dict) {
  PyRef keys = checked(PyList_AsTuple(checked(PyDict_Keys(dict)).get()));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys.get()); ++i) {
    PyObject* key = PyTuple_GET_ITEM(keys.get(), i);
    const bool instance = (Py_TYPE(key)->tp_flags & Py_TPFLAGS_HEAPTYPE) && !PyType_Check(key);
    if (!instance || !PyType_SUPPORTS_WEAKREFS(Py_TYPE(key))) continue;
    PyRef weak = checked(PyWeakref_NewRef(key, nullptr));
    PyTuple_SET_ITEM(keys.get(), i, weak.release());
    Py_DECREF(key);
  }
  return keys;
}

bool DictKeyOrder::same_keys(PyObject* dict, PyObject* keys) {
  const Py_ssize_t count = PyTuple_GET_SIZE(keys);
  if (PyDict_GET_SIZE(dict) != count) return false;
  DictKeyCursor cursor(dict);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* key = cursor.next();
    PyObject* expected = PyTuple_GET_ITEM(keys, i);
    if (PyWeakref_CheckRefExact(expected) && expected != key) expected = PyWeakref_GET_OBJECT(expected);
    if (!key || !plain_equal(expected, key)) return false;
  }
  return true;
}

void SetMatch::prepare(const Guard& g, GuardBuilder& b, GuardOp& op) {
  PyRef dict = checked(PyDict_New());
  const PyRef elements = checked(PySequence_List(g.object.get()));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(elements.get()); ++i) {
    PyObject* e = PyList_GET_ITEM(elements.get(), i);
    checked(PyDict_SetItem(dict.get(), e, e));
  }
  op.object = b.hold(std::move(dict));
}

std::string SetMatch::text(const GuardRecord& r, const std::string& s) {
  if (PySet_GET_SIZE(r.object.get()) == 0) return s + " == set()";
  const PyRef elements = PyRef::steal(PySequence_List(r.object.get()));
  std::string out;
  for (Py_ssize_t i = 0; elements && i < PyList_GET_SIZE(elements.get()); ++i) {
    out += (i ? ", " : "") + constant_repr(PyList_GET_ITEM(elements.get(), i));
  }
  return s + " == {" + out + "}";
}

}  // namespace md::guards
