// minidynamo.Size: the tuple of a tensor's extents.
#include "frontend/tensors/mirror_types.h"

namespace md {

PyTypeObject* size_type = nullptr;

namespace {

bool fits(PyObject* index) {
  int overflow = 0;
  (void)PyLong_AsLongLongAndOverflow(index, &overflow);
  return !overflow;
}

// Size(iterable): every element must be usable as an index of 64 bits; bools become ints.
PyObject* size_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyRef made = checked(PyTuple_Type.tp_new(type, args, kwargs));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(made.get()); ++i) {
      PyObject* item = PyTuple_GET_ITEM(made.get(), i);
      if (PyLong_CheckExact(item) && fits(item)) continue;
      PyObject* index = PyIndex_Check(item) ? PyNumber_Index(item) : nullptr;
      if (!index) {
        PyErr_Format(PyExc_TypeError, "torch.Size() takes an iterable of 'int' (item %zd is '%.200s')", i,
                     Py_TYPE(item)->tp_name);
        throw PythonError{};
      }
      if (PyBool_Check(index)) {
        Py_DECREF(index);
        index = checked(PyLong_FromLong(item == Py_True)).release();
      }
      if (!fits(index)) {
        Py_DECREF(index);
        PyErr_SetString(PyExc_ValueError, "torch.Size() holds ints of 64 bits");
        throw PythonError{};
      }
      // The tuple is ours alone until returned.
      PyTuple_SET_ITEM(made.get(), i, index);
      Py_DECREF(item);
    }
    return made.release();
  });
}

PyObject* size_repr(PyObject* o) {
  return guarded([&]() -> PyObject* {
    PyRef list = checked(PySequence_List(o));
    return PyUnicode_FromFormat("torch.Size(%R)", list.get());
  });
}

PyObject* as_size(PyObject* tuple) {
  if (!tuple || !PyTuple_CheckExact(tuple)) return tuple;
  PyObject* made = PyObject_CallOneArg(reinterpret_cast<PyObject*>(size_type), tuple);
  Py_DECREF(tuple);
  return made;
}

// Slices, sums and repetitions of a Size are Sizes again.
PyObject* size_subscript(PyObject* o, PyObject* key) {
  PyObject* r = PyTuple_Type.tp_as_mapping->mp_subscript(o, key);
  return PySlice_Check(key) ? as_size(r) : r;
}
PyObject* size_concat(PyObject* a, PyObject* b) { return as_size(PyTuple_Type.tp_as_sequence->sq_concat(a, b)); }
// Either operand may be the Size.
PyObject* size_add(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(a) || !PyTuple_Check(b)) Py_RETURN_NOTIMPLEMENTED;
  return size_concat(a, b);
}
PyObject* size_repeat(PyObject* o, Py_ssize_t n) { return as_size(PyTuple_Type.tp_as_sequence->sq_repeat(o, n)); }

PyObject* size_numel(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyRef product = checked(PyLong_FromLong(1));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) {
      product = checked(PyNumber_Multiply(product.get(), PyTuple_GET_ITEM(o, i)));
    }
    return product.release();
  });
}
PyObject* size_reduce(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyRef list = checked(PySequence_List(o));
    return Py_BuildValue("(O(O))", reinterpret_cast<PyObject*>(Py_TYPE(o)), list.get());
  });
}

PyMethodDef size_methods[] = {{"numel", size_numel, METH_NOARGS, "Number of elements of a tensor of this size."},
                              {"__reduce__", size_reduce, METH_NOARGS, nullptr},
                              {}};
PyType_Slot size_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(size_new)},
    {Py_tp_repr, reinterpret_cast<void*>(size_repr)},
    {Py_tp_methods, size_methods},
    {Py_mp_subscript, reinterpret_cast<void*>(size_subscript)},
    {Py_nb_add, reinterpret_cast<void*>(size_add)},
    {Py_sq_concat, reinterpret_cast<void*>(size_concat)},
    {Py_sq_repeat, reinterpret_cast<void*>(size_repeat)},
    {Py_tp_doc, const_cast<char*>("Sizes of a tensor: a tuple of ints.")},
    {0, nullptr},
};
PyType_Spec size_spec = {"minidynamo.Size", 0, 0, Py_TPFLAGS_DEFAULT, size_slots};

}  // namespace

int init_size(PyObject* module) {
  size_type = add_type(module, &size_spec, reinterpret_cast<PyObject*>(&PyTuple_Type));
  if (!size_type) return -1;
  size_type->tp_name = "torch.Size";
  return 0;
}

PyRef size_object(const DimVec& sizes) {
  PyRef made = checked(size_type->tp_alloc(size_type, static_cast<Py_ssize_t>(sizes.size())));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    PyTuple_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i), checked(PyLong_FromLongLong(sizes[i])).release());
  }
  return made;
}

bool is_size_type(PyTypeObject* t) { return t == size_type; }

}  // namespace md
