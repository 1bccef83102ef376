// minidynamo.memory_format: one immortal object per memory format.
#include <array>

#include "frontend/tensors/mirror_types.h"
#include "frontend/tensors/op_function.h"

namespace md {

PyTypeObject* memory_format_type = nullptr;

namespace {

struct MemoryFormatObject {
  PyObject_HEAD
  MemoryFormat value;
};

std::array<PyObject*, kMemoryFormatCount> objects{};

// The name, of a table row: ends with NUL.
const char* name_of(PyObject* o) { return info(reinterpret_cast<MemoryFormatObject*>(o)->value).attribute.data(); }

PyObject* format_repr(PyObject* o) { return PyUnicode_FromFormat("torch.%s", name_of(o)); }
// Pickled and copied by name: every format is an attribute of the module.
PyObject* format_reduce(PyObject* o, PyObject*) { return PyUnicode_FromString(name_of(o)); }

PyMethodDef format_methods[] = {{"__reduce__", format_reduce, METH_NOARGS, nullptr}, {}};
PyType_Slot format_slots[] = {
    {Py_tp_repr, reinterpret_cast<void*>(format_repr)},
    {Py_tp_methods, format_methods},
    {Py_tp_doc, const_cast<char*>("In which order the dimensions of a tensor lie in memory.")},
    {0, nullptr},
};
PyType_Spec format_spec = {"minidynamo.memory_format", sizeof(MemoryFormatObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                           format_slots};

}  // namespace

int init_memory_formats(PyObject* module) {
  memory_format_type = add_type(module, &format_spec);
  if (!memory_format_type) return -1;
  memory_format_type->tp_name = "torch.memory_format";
  try {
    for (const MemoryFormatInfo& row : kMemoryFormats) {
      PyRef o = checked(reinterpret_cast<PyObject*>(PyObject_New(MemoryFormatObject, memory_format_type)));
      reinterpret_cast<MemoryFormatObject*>(o.get())->value = row.format;
      checked(PyModule_AddObjectRef(module, row.attribute.data(), o.get()));
      objects[static_cast<std::size_t>(row.format)] = o.release();
    }
  } catch (const PythonError&) {
    return -1;
  }
  return 0;
}

PyObject* memory_format_object(MemoryFormat f) { return objects[static_cast<std::size_t>(f)]; }

bool as_memory_format(PyObject* o, MemoryFormat& out) {
  if (Py_TYPE(o) != memory_format_type) return false;
  out = reinterpret_cast<MemoryFormatObject*>(o)->value;
  return true;
}

MemoryFormat named_memory_format(PyObject* o, const char* function) {
  MemoryFormat f;
  if (as_memory_format(o, f)) return f;
  throw_type_error("%s(): argument 'memory_format' must be torch.memory_format, not %.200s", function,
                   Py_TYPE(o)->tp_name);
}

}  // namespace md
