// Instances of immutable types, frozen sets of them, dtypes, devices and memory formats, values of the library that
// never change.
#include "frontend/tensors/constant_object.h"

#include <algorithm>
#include <string_view>

#include "frontend/cpython/type_dict.h"
#include "frontend/tensors/tensor_object.h"

namespace md {

namespace {

// sys.version_info and its like: tuples with names, whose class C code has made.
bool is_record(PyObject* o) {
  if (!PyTuple_Check(o) || !own_attribute(Py_TYPE(o), "n_sequence_fields")) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i)
    if (!is_constant_object(PyTuple_GET_ITEM(o, i))) return false;
  return true;
}

// A time zone may be an object of the program's.
bool has_time_zone(PyObject* o) {
  const std::string_view name = Py_TYPE(o)->tp_name;
  if (name != "datetime.datetime" && name != "datetime.time") return false;
  const PyRef zone = PyRef::steal(PyObject_GetAttrString(o, "tzinfo"));
  return zone.get() != Py_None;
}

}  // namespace

bool is_library_value_type(const PyTypeObject* type) {
  static constexpr std::string_view names[] = {"datetime.timedelta", "datetime.date", "datetime.datetime",
                                               "datetime.time",      "re.Pattern",    "re.Match"};
  return is_c_type(type) && std::ranges::find(names, std::string_view(type->tp_name)) != std::end(names);
}

bool is_constant_object(PyObject* o) {
  if (o == Py_None || o == Py_Ellipsis || o == Py_NotImplemented) return true;
  PyTypeObject* t = Py_TYPE(o);
  if (t == &PyBool_Type || t == &PyLong_Type || t == &PyFloat_Type || t == &PyUnicode_Type || t == &PyBytes_Type ||
      t == &PyComplex_Type || t == &PyCode_Type)
    return true;
  DType ignored;
  MemoryFormat format;
  if (as_dtype(o, ignored) || is_device(o) || as_memory_format(o, format)) return true;
  if (t == &PyFrozenSet_Type) {
    PyRef it = PyRef::steal(PyObject_GetIter(o));
    while (PyRef x = PyRef::steal(PyIter_Next(it.get())))
      if (!is_constant_object(x.get())) return false;
    return true;
  }
  return is_c_type(t) && (PyTuple_Check(o) ? is_record(o) : is_library_value_type(t) && !has_time_zone(o));
}

}  // namespace md
