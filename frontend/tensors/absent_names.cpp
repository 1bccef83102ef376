// Descriptors on Tensor for the names that only torch has.
#include "frontend/tensors/absent_names.h"

#include "frontend/cpython/refused_names.h"
#include "frontend/tensors/op_function.h"

namespace md {

namespace {

PyTypeObject* meta_type = nullptr;
// (what Python says, name) -> what the AttributeError is made of; null: nothing more to say
PyObject* describe = nullptr;

struct AbsentName {
  PyObject_HEAD
  PyObject* name;
};

// `of`: the object that was asked, if it is there.
void raise_absent(PyRef plain, PyObject* name, PyObject* of) {
  if (!plain) return;
  if (describe) plain = PyRef::steal(PyObject_CallFunctionObjArgs(describe, plain.get(), name, nullptr));
  if (!plain) return;
  const PyRef error = PyRef::steal(PyObject_CallOneArg(PyExc_AttributeError, plain.get()));
  if (!error || PyObject_SetAttrString(error.get(), "name", name) < 0) return;
  if (of && PyObject_SetAttrString(error.get(), "obj", of) < 0) return;
  PyErr_SetObject(PyExc_AttributeError, error.get());
}

PyObject* absent_get(PyObject* self, PyObject* instance, PyObject* owner) {
  PyObject* const name = reinterpret_cast<AbsentName*>(self)->name;
  const bool of_class = !instance || instance == Py_None;
  if (of_class && (!owner || !PyType_Check(owner))) {
    PyErr_SetString(PyExc_TypeError, "__get__() needs an instance or a class");
    return nullptr;
  }
  PyTypeObject* const type = of_class ? reinterpret_cast<PyTypeObject*>(owner) : Py_TYPE(instance);
  raise_absent(PyRef::steal(PyUnicode_FromFormat(
                   of_class ? "type object '%.50s' has no attribute '%U'" : "'%.50s' object has no attribute '%U'",
                   type->tp_name, name)),
               name, of_class ? owner : instance);
  return nullptr;
}

void absent_dealloc(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  Py_XDECREF(reinterpret_cast<AbsentName*>(self)->name);
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot absent_slots[] = {
    {Py_tp_descr_get, reinterpret_cast<void*>(absent_get)},
    {Py_tp_dealloc, reinterpret_cast<void*>(absent_dealloc)},
    {0, nullptr},
};
PyType_Spec absent_spec = {"minidynamo._C.absent_name", sizeof(AbsentName), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, absent_slots};

// dir(): what the ordinary __dir__ finds, without the names that `type` has to refuse them and `own`, the attributes of
// an instance, does not hold.
PyObject* listed(PyObject* all, PyTypeObject* type, PyObject* own) {
  if (!all) return nullptr;
  const PyRef names = PyRef::steal(PySequence_List(all));
  Py_DECREF(all);
  if (!names) return nullptr;
  PyRef kept = PyRef::steal(PyList_New(0));
  for (Py_ssize_t i = 0; kept && i < PyList_GET_SIZE(names.get()); ++i) {
    PyObject* const name = PyList_GET_ITEM(names.get(), i);
    PyObject* const found = _PyType_Lookup(type, name);
    const int has = own && found && is_refused_name(found) ? PyDict_Contains(own, name) : 0;
    const bool keep = !found || !is_refused_name(found) || has > 0;
    if (has < 0 || (keep && PyList_Append(kept.get(), name) < 0)) return nullptr;
  }
  return kept.release();
}

PyObject* ordinary_dir(PyTypeObject* of, PyObject* o) {
  const PyRef function = PyRef::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(of), "__dir__"));
  return function ? PyObject_CallOneArg(function.get(), o) : nullptr;
}
PyObject* meta_dir(PyObject* type, PyObject*) {
  return listed(ordinary_dir(&PyType_Type, type), reinterpret_cast<PyTypeObject*>(type), nullptr);
}
PyObject* tensor_dir(PyObject* o, PyObject*) {
  return listed(ordinary_dir(&PyBaseObject_Type, o), Py_TYPE(o), reinterpret_cast<TensorObject*>(o)->dict);
}

PyMethodDef meta_methods[] = {{"__dir__", meta_dir, METH_NOARGS, nullptr}, {}};
PyType_Slot meta_slots[] = {
    {Py_tp_methods, meta_methods},
    {Py_tp_doc, const_cast<char*>("The type of Tensor: dir() shows what there is.")},
    {0, nullptr},
};
PyType_Spec meta_spec = {"minidynamo._C._TensorMeta", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, meta_slots};

PyMethodDef tensor_dir_def = {"__dir__", tensor_dir, METH_NOARGS, nullptr};

// _set_absent_names(names, describe, type of the texts)
PyObject* set_absent_names(PyObject*, PyObject* args) {
  PyObject *names, *maker, *text_type;
  if (!PyArg_ParseTuple(args, "O!OO!", &PyList_Type, &names, &maker, &PyType_Type, &text_type)) return nullptr;
  Py_XSETREF(describe, Py_NewRef(maker));
  absent_text_type = reinterpret_cast<PyTypeObject*>(Py_NewRef(text_type));  // kept for the life of the process
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(names); ++i) {
    PyObject* const name = PyList_GET_ITEM(names, i);
    if (PyObject* const known = _PyType_Lookup(tensor_type, name); known && !is_refused_name(known)) continue;
    PyRef made = PyRef::steal(refused_name_type->tp_alloc(refused_name_type, 0));
    if (!made) return nullptr;
    reinterpret_cast<AbsentName*>(made.get())->name = Py_NewRef(name);
    if (PyDict_SetItem(tensor_type->tp_dict, name, made.get()) < 0) return nullptr;
  }
  PyType_Modified(tensor_type);
  Py_RETURN_NONE;
}
PyMethodDef functions[] = {
    {"_set_absent_names", set_absent_names, METH_VARARGS, "Names of torch.Tensor, and what to say of absent ones."},
    {}};

}  // namespace

PyTypeObject* absent_text_type = nullptr;

void set_absent(PyObject* name) {
  raise_absent(PyRef::steal(PyUnicode_FromFormat("'Tensor' object has no attribute '%U'", name)), name, nullptr);
}

int init_absent_names(PyObject* module) {
  refused_name_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&absent_spec));
  PyRef bases = PyRef::steal(PyTuple_Pack(1, reinterpret_cast<PyObject*>(&PyType_Type)));
  if (!refused_name_type || !bases) return -1;
  meta_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&meta_spec, bases.get()));
  if (!meta_type) return -1;
  if (meta_type->tp_basicsize != PyType_Type.tp_basicsize) {
    PyErr_SetString(PyExc_SystemError, "a metaclass has other sizes than type");
    return -1;
  }
  PyRef dir = PyRef::steal(PyDescr_NewMethod(tensor_type, &tensor_dir_def));
  if (!dir || PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_type), "__dir__", dir.get()) < 0) return -1;
  Py_SET_TYPE(tensor_type, reinterpret_cast<PyTypeObject*>(Py_NewRef(reinterpret_cast<PyObject*>(meta_type))));
  return PyModule_AddFunctions(module, functions);
}

}  // namespace md
