// minidynamo.device and minidynamo.layout, and where new tensors are made. Devices without tensors can be named only.
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/cpython/native_type.h"
#include "frontend/tensors/mirror_types.h"
#include "ir/graph/text.h"
#include "ir/infer/infer.h"
#include "ir/tensor/device_runtime.h"

namespace md {

PyTypeObject* device_type = nullptr;
PyTypeObject* layout_type = nullptr;

namespace {

struct DeviceObject {
  PyObject_HEAD
  Device value;
};

Device value_of(PyObject* o) { return reinterpret_cast<DeviceObject*>(o)->value; }

Device parsed(const std::string& text) {
  const std::optional<Device> d = parse_device(text);
  if (!d) throw OpError(ErrorKind::Runtime, invalid_device(text));
  return *d;
}

// What `with` a device goes back to, in this thread.
std::vector<Device>& defaults_outside() {
  static thread_local std::vector<Device> stack;
  return stack;
}

std::string unicode_text(PyObject* o) {
  const char* s = PyUnicode_AsUTF8(o);
  if (!s) throw PythonError{};
  return s;
}

Device of_number(PyObject* number) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  return numbered_device(overflow > 0 ? std::numeric_limits<std::int64_t>::max() : value);  // -1 for too small ones
}

PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"type", "index", nullptr};
    PyObject* type = nullptr;
    PyObject* index = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", const_cast<char**>(names), &type, &index)) {
      throw PythonError{};
    }
    if (is_device(type) && index == Py_None) return Py_NewRef(type);
    if (PyLong_CheckExact(type) && index == Py_None) return device_object(of_number(type)).release();
    if (!PyUnicode_Check(type)) {
      PyErr_Format(PyExc_TypeError, "device(): argument 'type' must be str, not %.200s", Py_TYPE(type)->tp_name);
      throw PythonError{};
    }
    const std::string text = unicode_text(type);
    if (index == Py_None) return device_object(parsed(text)).release();
    const long i = PyLong_AsLong(index);
    if (i == -1 && PyErr_Occurred()) throw PythonError{};
    if (i < 0) throw OpError(ErrorKind::Runtime, "Device index must not be negative");
    if (text.find(':') != std::string::npos) {
      throw OpError(ErrorKind::Runtime, "type must not contain an index when an index is given separately: " + text);
    }
    return device_object(parsed(text + ":" + std::to_string(i))).release();
  });
}

void device_dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}
PyObject* device_repr_slot(PyObject* o) { return PyUnicode_FromString(device_repr(value_of(o)).c_str()); }
PyObject* device_str(PyObject* o) { return PyUnicode_FromString(to_string(value_of(o)).c_str()); }
Py_hash_t device_hash(PyObject* o) {
  const Device d = value_of(o);
  return (static_cast<Py_hash_t>(d.type) << 8) + d.index + 1;
}
PyObject* device_compare(PyObject* a, PyObject* b, int op) {
  if ((op != Py_EQ && op != Py_NE) || !is_device(a) || !is_device(b)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((value_of(a) == value_of(b)) == (op == Py_EQ));
}
PyObject* device_get_type(PyObject* o, void*) {
  const std::string_view name = value_of(o).info().name;
  return PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
}
PyObject* device_get_index(PyObject* o, void*) {
  const Device d = value_of(o);
  if (d.index < 0) Py_RETURN_NONE;
  return PyLong_FromLong(d.index);
}
PyObject* device_reduce(PyObject* o, PyObject*) {
  return Py_BuildValue("(O(s))", reinterpret_cast<PyObject*>(Py_TYPE(o)), to_string(value_of(o)).c_str());
}
PyObject* device_enter(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* {
    defaults_outside().push_back(default_device());
    set_default_device(value_of(o));
    return Py_NewRef(o);
  });
}
PyObject* device_exit(PyObject*, PyObject*) {
  std::vector<Device>& outside = defaults_outside();
  if (outside.empty()) {
    PyErr_SetString(PyExc_RuntimeError, "a device is left that was not entered");
    return nullptr;
  }
  thread_modes.default_device = outside.back();
  outside.pop_back();
  Py_RETURN_NONE;
}

PyMethodDef device_methods[] = {
    {"__reduce__", device_reduce, METH_NOARGS, nullptr},
    {"__enter__", device_enter, METH_NOARGS, "From here on, tensors made from nothing are made on this device."},
    {"__exit__", device_exit, METH_VARARGS, "Tensors are made again where they were before."},
    {}};
PyGetSetDef device_getset[] = {{"type", device_get_type, nullptr, "\"cpu\", \"cuda\", ...", nullptr},
                               {"index", device_get_index, nullptr, "Ordinal of the device, or None.", nullptr},
                               {}};
PyType_Slot device_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(device_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(device_dealloc)},
    {Py_tp_repr, reinterpret_cast<void*>(device_repr_slot)},
    {Py_tp_str, reinterpret_cast<void*>(device_str)},
    {Py_tp_hash, reinterpret_cast<void*>(device_hash)},
    {Py_tp_richcompare, reinterpret_cast<void*>(device_compare)},
    {Py_tp_methods, device_methods},
    {Py_tp_getset, device_getset},
    {Py_tp_doc,
     const_cast<char*>("device(type, index=None): where a tensor lives; `with` it, where new ones are made.")},
    {0, nullptr},
};
PyType_Spec device_spec = {"minidynamo.device", sizeof(DeviceObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                           device_slots};

PyObject* layout_repr(PyObject*) { return PyUnicode_FromString("torch.strided"); }
PyObject* layout_reduce(PyObject*, PyObject*) { return PyUnicode_FromString("strided"); }
PyMethodDef layout_methods[] = {{"__reduce__", layout_reduce, METH_NOARGS, nullptr}, {}};
PyType_Slot layout_slots[] = {
    {Py_tp_repr, reinterpret_cast<void*>(layout_repr)},
    {Py_tp_methods, layout_methods},
    {Py_tp_doc, const_cast<char*>("Memory layout of a tensor; there is one, strided.")},
    {0, nullptr},
};
PyType_Spec layout_spec = {"minidynamo.layout", sizeof(PyObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                           layout_slots};

}  // namespace

int init_device(PyObject* module) {
  device_type = add_type(module, &device_spec);
  layout_type = add_type(module, &layout_spec);
  if (!device_type || !layout_type) return -1;
  md_compare_natively(device_type);
  device_type->tp_name = "torch.device";
  layout_type->tp_name = "torch.layout";
  PyObject* strided = reinterpret_cast<PyObject*>(PyObject_New(PyObject, layout_type));
  return strided ? PyModule_AddObject(module, "strided", strided) : -1;
}

PyRef device_object(Device d) {
  PyRef made = checked(device_type->tp_alloc(device_type, 0));
  reinterpret_cast<DeviceObject*>(made.get())->value = d;
  return made;
}

bool is_device(PyObject* o) { return Py_TYPE(o) == device_type; }
Device device_value(PyObject* o) { return value_of(o); }

void set_default_device(Device d) { thread_modes.default_device = available(d); }

Device named_device(PyObject* o) {
  if (is_device(o)) return value_of(o);
  if (PyUnicode_Check(o)) return parsed(unicode_text(o));
  if (PyLong_CheckExact(o)) return of_number(o);
  PyErr_Format(PyExc_TypeError, "device must be a torch.device or str, not %.200s", Py_TYPE(o)->tp_name);
  throw PythonError{};
}

Device tensor_device(PyObject* o) { return available(named_device(o)); }

std::optional<Device> device_argument(PyObject* o) {
  if (!o || o == Py_None) return {};
  return tensor_device(o);
}

std::optional<Device> device_for_new(PyObject* o) {
  if (std::optional<Device> named = device_argument(o)) return named;
  return default_device().is_cpu() ? std::nullopt : std::optional(default_device());
}

void place_by_default(const Op& op, std::span<Arg> bound) {
  if (default_device().is_cpu() || !op.placed_by_default) return;
  Arg& device = bound[static_cast<std::size_t>(op.device)];
  if (device.is_none()) device = default_device();
}

}  // namespace md
