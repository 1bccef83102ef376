// Struct layouts of range, slice, partial, deque and OrderedDict, equal in all versions supported.
#include "frontend/cpython/object_fields.h"

#include "frontend/cpython/import_module.h"

namespace md {
namespace {

// The same on 3.11 to 3.13.
struct RangeLayout {
  PyObject_HEAD
  PyObject *start, *stop, *step, *length;
};
struct PartialLayout {
  PyObject_HEAD
  PyObject *fn, *args, *keywords;
};

struct OrderedNode {
  PyObject* key;
  Py_hash_t hash;
  OrderedNode *next, *previous;
};
struct OrderedDictLayout {
  PyDictObject dict;
  OrderedNode *first, *last;
};

PyTypeObject* imported_type(const char* module, const char* name) {
  PyObject* m = import_module(module);
  PyObject* type = m ? PyObject_GetAttrString(m, name) : nullptr;
  Py_XDECREF(m);
  if (!type || !PyType_Check(type)) PyErr_Clear();
  return reinterpret_cast<PyTypeObject*>(type);
}

PyTypeObject* deque_type() {
  static PyTypeObject* type = nullptr;  // as long as memory lacks; with the GIL held
  if (!type) type = imported_type("_collections", "deque");
  return type;
}

}  // namespace

PyTypeObject* partial_type() {
  static PyTypeObject* type = nullptr;  // as long as memory lacks; with the GIL held
  if (!type) type = imported_type("_functools", "partial");
  return type;
}

PyTypeObject* tuplegetter_type() {
  static PyTypeObject* type = nullptr;  // as long as memory lacks; with the GIL held
  if (!type) type = imported_type("_collections", "_tuplegetter");
  return type;
}

PyObject* range_field(PyObject* o, RangePart part) {
  if (PyRange_Check(o)) {
    const auto* r = reinterpret_cast<RangeLayout*>(o);
    return part == RangePart::Start ? r->start : part == RangePart::Stop ? r->stop : r->step;
  }
  if (!PySlice_Check(o)) return nullptr;
  const auto* s = reinterpret_cast<PySliceObject*>(o);
  return part == RangePart::Start ? s->start : part == RangePart::Stop ? s->stop : s->step;
}

PyObject* partial_field(PyObject* o, PartialPart part) {
  PyTypeObject* type = partial_type();
  if (!type || !PyObject_TypeCheck(o, type)) return nullptr;
  const auto* p = reinterpret_cast<PartialLayout*>(o);
  return part == PartialPart::Func ? p->fn : part == PartialPart::Args ? p->args : p->keywords;
}

DictKeyCursor::DictKeyCursor(PyObject* dict) : dict_(dict), ordered_(PyODict_Check(dict)) {
  if (ordered_) node_ = reinterpret_cast<OrderedDictLayout*>(dict)->first;
}

PyObject* DictKeyCursor::next() {
  if (ordered_) {
    const auto* node = static_cast<const OrderedNode*>(node_);
    if (!node) return nullptr;
    node_ = node->next;
    return node->key;
  }
  PyObject *key, *value;
  return PyDict_Next(dict_, &at_, &key, &value) ? key : nullptr;
}

PyObject* value_of_key(PyObject* dict, PyObject* key) {
  PyObject *held, *value;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &held, &value);)
    if (held == key) return value;
  return nullptr;
}

Py_ssize_t deque_length(PyObject* o) {
  PyTypeObject* type = deque_type();
  return type && Py_IS_TYPE(o, type) ? Py_SIZE(o) : -1;
}

Py_ssize_t deque_maxlen(PyObject* o) {
  if (deque_length(o) < 0) return -2;
  PyObject* limit = PyObject_GetAttrString(o, "maxlen");
  if (!limit) return PyErr_Clear(), -2;
  const Py_ssize_t n = limit == Py_None ? -1 : PyLong_AsSsize_t(limit);
  Py_DECREF(limit);
  return n;
}

PyObject* deque_item(PyObject* o, Py_ssize_t index) {
  if (index < 0 || index >= deque_length(o)) return nullptr;
  PyObject* item = Py_TYPE(o)->tp_as_sequence->sq_item(o, index);
  if (!item) return PyErr_Clear(), nullptr;
  Py_DECREF(item);  // the deque holds it
  return item;
}

}  // namespace md
