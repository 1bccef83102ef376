// minidynamo.dtype: one immortal object per element type, and names for those no tensor can have.
#include <array>
#include <cstring>
#include <string>

#include "frontend/tensors/mirror_types.h"

namespace md {

PyTypeObject* dtype_type = nullptr;

namespace {

struct DTypeObject {
  PyObject_HEAD
  const char* name;  // of a table row: ends with NUL
  int index;         // DType, or -1: only a name
  bool floating, complex, is_signed;
  int size;
};

// Recognised so that programs that mention them import; tensors of them raise.
struct NamedOnly {
  std::string_view name;
  bool floating, complex, is_signed;
  int size;
};
constexpr std::array<NamedOnly, 7> kNamedOnly{{
    {"complex32", false, true, true, 4},
    {"qint8", false, false, true, 1},
    {"quint8", false, false, false, 1},
    {"qint32", false, false, true, 4},
    {"quint4x2", false, false, false, 1},
    {"quint2x4", false, false, false, 1},
    {"float8_e8m0fnu", true, false, false, 1},
}};

struct Alias {
  const char* alias;
  const char* name;
};
constexpr Alias kAliases[] = {
    {"float", "float32"}, {"double", "float64"},  {"half", "float16"},     {"short", "int16"},        {"int", "int32"},
    {"long", "int64"},    {"chalf", "complex32"}, {"cfloat", "complex64"}, {"cdouble", "complex128"},
};

std::array<PyObject*, kDTypeCount> dtype_objects{};
std::array<PyObject*, kNamedOnly.size()> named_objects{};

DTypeObject* self_of(PyObject* o) { return reinterpret_cast<DTypeObject*>(o); }

PyObject* dtype_repr(PyObject* o) { return PyUnicode_FromFormat("torch.%s", self_of(o)->name); }
// Pickled and copied by name: every dtype is an attribute of the module.
PyObject* dtype_reduce(PyObject* o, PyObject*) { return PyUnicode_FromString(self_of(o)->name); }
PyObject* get_floating(PyObject* o, void*) { return PyBool_FromLong(self_of(o)->floating); }
PyObject* get_complex(PyObject* o, void*) { return PyBool_FromLong(self_of(o)->complex); }
PyObject* get_signed(PyObject* o, void*) { return PyBool_FromLong(self_of(o)->is_signed); }
PyObject* get_itemsize(PyObject* o, void*) { return PyLong_FromLong(self_of(o)->size); }

struct RealOf {
  std::string_view complex, real;
};
constexpr RealOf kRealOf[] = {{"complex32", "float16"}, {"complex64", "float32"}, {"complex128", "float64"}};
PyObject* dtype_named(std::string_view name);
PyObject* dtype_to_real(PyObject* o, PyObject*) {
  for (const RealOf& r : kRealOf) {
    if (r.complex == self_of(o)->name) return dtype_named(r.real);
  }
  return Py_NewRef(o);
}
PyObject* dtype_to_complex(PyObject* o, PyObject*) {
  if (self_of(o)->complex) return Py_NewRef(o);
  for (const RealOf& r : kRealOf) {
    if (r.real == self_of(o)->name) return dtype_named(r.complex);
  }
  return dtype_named("complex64");
}

PyMethodDef dtype_methods[] = {
    {"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
    {"to_real", dtype_to_real, METH_NOARGS, "The dtype of the real parts of a complex dtype; others stay."},
    {"to_complex", dtype_to_complex, METH_NOARGS, "The complex dtype with parts of this dtype."},
    {},
};
PyGetSetDef dtype_getset[] = {
    {"is_floating_point", get_floating, nullptr, "True for floating-point element types.", nullptr},
    {"is_complex", get_complex, nullptr, "True for complex element types.", nullptr},
    {"is_signed", get_signed, nullptr, "True if the element type has negative values.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of one element.", nullptr},
    {},
};
PyType_Slot dtype_slots[] = {
    {Py_tp_repr, reinterpret_cast<void*>(dtype_repr)},
    {Py_tp_methods, dtype_methods},
    {Py_tp_getset, dtype_getset},
    {Py_tp_doc, const_cast<char*>("Element type of a tensor.")},
    {0, nullptr},
};
PyType_Spec dtype_spec = {"minidynamo.dtype", sizeof(DTypeObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                          dtype_slots};

PyObject* dtype_named(std::string_view name) {
  for (PyObject* o : dtype_objects) {
    if (name == self_of(o)->name) return Py_NewRef(o);
  }
  for (PyObject* o : named_objects) {
    if (name == self_of(o)->name) return Py_NewRef(o);
  }
  Py_UNREACHABLE();
}

PyRef add_dtype(PyObject* module, const NamedOnly& row, int index) {
  PyRef o = checked(reinterpret_cast<PyObject*>(PyObject_New(DTypeObject, dtype_type)));
  DTypeObject* d = self_of(o.get());
  d->name = row.name.data();
  d->index = index;
  d->floating = row.floating, d->complex = row.complex, d->is_signed = row.is_signed;
  d->size = row.size;
  checked(PyModule_AddObjectRef(module, row.name.data(), o.get()));
  return o;
}

}  // namespace

int init_dtypes(PyObject* module) {
  dtype_type = add_type(module, &dtype_spec);
  if (!dtype_type) return -1;
  dtype_type->tp_name = "torch.dtype";
  try {
    for (const DTypeInfo& row : kDTypes) {
      const NamedOnly named{row.name, is_floating(row.dtype), is_complex(row.dtype), is_signed(row.dtype), row.size};
      const int index = static_cast<int>(row.dtype);
      dtype_objects[static_cast<std::size_t>(index)] = add_dtype(module, named, index).release();
    }
    for (std::size_t i = 0; i < kNamedOnly.size(); ++i) {
      named_objects[i] = add_dtype(module, kNamedOnly[i], -1).release();
    }
    for (const Alias& a : kAliases) {
      PyRef target = checked(PyObject_GetAttrString(module, a.name));
      checked(PyModule_AddObjectRef(module, a.alias, target.get()));
    }
  } catch (const PythonError&) {
    return -1;
  }
  return 0;
}

PyObject* dtype_object(DType t) { return dtype_objects[static_cast<std::size_t>(t)]; }

bool as_dtype(PyObject* o, DType& out) {
  if (Py_TYPE(o) != dtype_type || self_of(o)->index < 0) return false;
  out = static_cast<DType>(self_of(o)->index);
  return true;
}

bool dtype_of_python_type(PyObject* o, DType& out) {
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return out = DType::Float64, true;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return out = DType::Int64, true;
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return out = DType::Bool, true;
  return false;
}

DType tensor_dtype(PyObject* o) {
  DType t;
  if (as_dtype(o, t) || dtype_of_python_type(o, t)) return t;
  if (Py_TYPE(o) != dtype_type) {
    PyErr_Format(PyExc_TypeError, "dtype must be a torch.dtype, not %.200s", Py_TYPE(o)->tp_name);
    throw PythonError{};
  }
  std::string names;
  for (const DTypeInfo& row : kDTypes) names += (names.empty() ? "" : ", ") + std::string(row.name);
  PyErr_Format(PyExc_TypeError, "minidynamo has no tensors of dtype %R; the element types are %s", o, names.c_str());
  throw PythonError{};
}

}  // namespace md
