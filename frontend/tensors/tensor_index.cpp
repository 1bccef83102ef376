// x[...], x[...] = value, len, iteration and `in`.
#include "frontend/tensors/mirror_types.h"
#include "frontend/tensors/overridable.h"
#include "frontend/tensors/tensor_parts.h"
#include "frontend/tensors/written_tensors.h"
#include "ir/run/eager.h"

namespace md {

namespace {

[[noreturn]] void bad_index(PyObject* o) {
  if (PyUnicode_Check(o)) throw OpError(ErrorKind::Type, "new(): invalid data type 'str'");
  throw OpError(ErrorKind::Index,
                std::string("only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
                            "indices (got ") +
                    Py_TYPE(o)->tp_name + ")");
}

bool holds_tensors(PyObject* list) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject* o = PyList_GET_ITEM(list, i);
    if (is_tensor(o) || is_array(o)) return true;
  }
  return false;
}

// In a tuple a list of tensors is a tensor of positions.
Arg list_element(PyObject* o, bool in_tuple) {
  if (in_tuple && holds_tensors(o)) return tensor_from_data(o, nullptr);
  return to_arg(o);
}

Arg index_element(PyObject* o, bool in_tuple) {
  if (o == Py_None || o == Py_Ellipsis || PySlice_Check(o)) return to_arg(o);
  if (PyLong_Check(o) || is_tensor(o)) return to_arg(o);  // bools too
  if (PyList_Check(o)) return list_element(o, in_tuple);
  if (TensorRef t = tensor_from_array(o)) return t;
  if (PyRange_Check(o)) return to_arg(checked(PySequence_List(o)).get());
  if (in_tuple && PyTuple_Check(o)) return list_element(checked(PySequence_List(o)).get(), true);
  if (!PyIndex_Check(o)) bad_index(o);
  return to_arg(checked(PyNumber_Index(o)).get());
}

Arg index_arg(PyObject* key) {
  if (!PyTuple_Check(key)) return index_element(key, false);
  ListArg list;
  list.tuple = true;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) {
    list.items.push_back(index_element(PyTuple_GET_ITEM(key, i), true));
  }
  return Arg(std::move(list));
}

// x[i] is a view, x[True] a copy.
TensorRef indexed(PyObject* self, PyObject* key) {
  TensorRef whole(tensor_impl(self));
  TensorRef part = index_tensor(whole, index_arg(key));
  bool copied = PyBool_Check(key);
  for (Py_ssize_t i = 0; PyTuple_Check(key) && i < PyTuple_GET_SIZE(key); ++i)
    copied |= PyBool_Check(PyTuple_GET_ITEM(key, i));
  return copied && part->storage == whole->storage ? call_table("clone", {Arg(part)}).get<TensorRef>() : part;
}

// What x[...] = value takes: a tensor or a number.
Arg value_arg(PyObject* value) {
  if (is_tensor(value)) return Arg(TensorRef(tensor_impl(value)));
  if (TensorRef t = tensor_from_array(value)) return Arg(std::move(t));
  Arg number = to_arg(value);
  if (!number.is_number()) {
    throw OpError(ErrorKind::Type, std::string("can't assign a ") + Py_TYPE(value)->tp_name + " to a torch.Tensor");
  }
  return number;
}

void assign(PyObject* self, PyObject* key, PyObject* value) {
  write_item(TensorRef(tensor_impl(self)), index_arg(key), value_arg(value));
}

}  // namespace

Py_ssize_t tensor_length(PyObject* self) {
  const TensorImpl& t = *tensor_impl(self);
  if (t.dim() == 0) {
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return -1;
  }
  return static_cast<Py_ssize_t>(t.sizes[0]);
}

PyObject* tensor_subscript(PyObject* self, PyObject* key) {
  return guarded([&]() -> PyObject* {
    if (!may_be_overridden(self)) return wrap_tensor(indexed(self, key)).release();
    if (PyRef answer = ask_overrides("__getitem__", {self, key})) return answer.release();
    PyRef made = wrap_tensor(indexed(self, key));
    PyObject* args[] = {self, key};
    return keep_subclass(std::move(made), PassedArgs{args, 2, nullptr}).release();
  });
}

int tensor_ass_subscript(PyObject* self, PyObject* key, PyObject* value) {
  PyObject* ok = guarded([&]() -> PyObject* {
    if (!value) throw_type_error("Tensor does not support deleting items");
    if (may_be_overridden(self) || !is_tensor_exact(value)) {
      if (PyRef answer = ask_overrides("__setitem__", {self, key, value})) return Py_None;
    }
    assign(self, key, value);
    return Py_None;
  });
  return ok ? 0 : -1;
}

PyObject* tensor_iter(PyObject* self) {
  return guarded([&]() -> PyObject* {
    if (may_be_overridden(self)) {  // by methods, which ask
      const PyRef dim = checked(PyObject_CallMethod(self, "dim", nullptr));
      if (!checked(PyObject_IsTrue(dim.get()))) throw OpError(ErrorKind::Type, "iteration over a 0-d tensor");
      return PyObject_GetIter(checked(PyObject_CallMethod(self, "unbind", "i", 0)).get());
    }
    if (tensor_impl(self)->dim() == 0) throw OpError(ErrorKind::Type, "iteration over a 0-d tensor");
    const std::int64_t n = tensor_impl(self)->sizes[0];
    PyRef rows = checked(PyTuple_New(static_cast<Py_ssize_t>(n)));
    for (std::int64_t i = 0; i < n; ++i) {
      PyRef index = checked(PyLong_FromLongLong(i));
      PyRef row = checked(tensor_subscript(self, index.get()));
      PyTuple_SET_ITEM(rows.get(), static_cast<Py_ssize_t>(i), row.release());
    }
    return PyObject_GetIter(rows.get());
  });
}

int tensor_contains(PyObject* self, PyObject* value) {
  int found = 0;
  PyObject* ok = guarded([&]() -> PyObject* {
    if (!is_tensor(value) && !PyLong_Check(value) && !PyFloat_Check(value)) {
      PyErr_Format(PyExc_RuntimeError, "Tensor.__contains__ only supports Tensor or scalar, but you passed in a %R.",
                   reinterpret_cast<PyObject*>(Py_TYPE(value)));
      throw PythonError{};
    }
    PyRef equal = checked(PyObject_RichCompare(self, value, Py_EQ));
    PyRef any = checked(PyObject_CallMethod(equal.get(), "any", nullptr));
    found = checked(PyObject_IsTrue(any.get()));
    return Py_None;
  });
  return ok ? found : -1;
}

}  // namespace md
