// minidynamo.device and minidynamo.layout. Tensors live on the CPU; other devices can be named, not used.
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#include "frontend/tensors/mirror_types.h"

namespace md {

PyTypeObject* device_type = nullptr;
PyTypeObject* layout_type = nullptr;

namespace {

struct DeviceObject {
  PyObject_HEAD
  DeviceArg* value;
};

constexpr std::array<std::string_view, 8> kDeviceTypes{"cpu", "cuda", "mps", "xpu", "meta", "hip", "xla", "mtia"};

const std::string& text_of(PyObject* o) { return reinterpret_cast<DeviceObject*>(o)->value->text; }
std::string type_part(const std::string& text) { return text.substr(0, text.find(':')); }
// -1 if the text names no index.
long index_part(const std::string& text) {
  const auto colon = text.find(':');
  return colon == std::string::npos ? -1 : std::strtol(text.c_str() + colon + 1, nullptr, 10);
}

[[noreturn]] void bad_device(const std::string& text) {
  throw OpError(ErrorKind::Runtime, "Invalid device string: '" + text + "' (a device is written 'cpu' or 'cuda:0')");
}

void check_device_text(const std::string& text) {
  const std::string type = type_part(text);
  bool known = false;
  for (std::string_view t : kDeviceTypes) known = known || t == type;
  if (!known) bad_device(text);
  const std::string index = text.substr(type.size());
  if (index.empty()) return;
  const bool digits =
      index.size() > 1 && index.size() < 6 && index.find_first_not_of("0123456789", 1) == std::string::npos;
  if (!digits) bad_device(text);
}

std::string unicode_text(PyObject* o) {
  const char* s = PyUnicode_AsUTF8(o);
  if (!s) throw PythonError{};
  return s;
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
    if (!PyUnicode_Check(type)) {
      PyErr_Format(PyExc_TypeError, "device(): argument 'type' must be str, not %.200s", Py_TYPE(type)->tp_name);
      throw PythonError{};
    }
    std::string text = unicode_text(type);
    if (index != Py_None) {
      const long i = PyLong_AsLong(index);
      if (i == -1 && PyErr_Occurred()) throw PythonError{};
      if (i < 0) throw OpError(ErrorKind::Runtime, "Device index must not be negative");
      if (text.find(':') != std::string::npos) {
        throw OpError(ErrorKind::Runtime, "type must not contain an index when an index is given separately: " + text);
      }
      text += ":" + std::to_string(i);
    }
    check_device_text(text);
    return device_object(text).release();
  });
}

void device_dealloc(PyObject* o) {
  delete reinterpret_cast<DeviceObject*>(o)->value;
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}
PyObject* device_repr(PyObject* o) {
  const std::string& text = text_of(o);
  const long index = index_part(text);
  if (index < 0) return PyUnicode_FromFormat("device(type='%s')", text.c_str());
  return PyUnicode_FromFormat("device(type='%s', index=%ld)", type_part(text).c_str(), index);
}
PyObject* device_str(PyObject* o) { return PyUnicode_FromString(text_of(o).c_str()); }
Py_hash_t device_hash(PyObject* o) {
  const auto h = static_cast<Py_hash_t>(std::hash<std::string>{}(text_of(o)));
  return h == -1 ? -2 : h;
}
PyObject* device_compare(PyObject* a, PyObject* b, int op) {
  if ((op != Py_EQ && op != Py_NE) || !is_device(a) || !is_device(b)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((text_of(a) == text_of(b)) == (op == Py_EQ));
}
PyObject* device_get_type(PyObject* o, void*) { return PyUnicode_FromString(type_part(text_of(o)).c_str()); }
PyObject* device_get_index(PyObject* o, void*) {
  const long i = index_part(text_of(o));
  if (i < 0) Py_RETURN_NONE;
  return PyLong_FromLong(i);
}
PyObject* device_reduce(PyObject* o, PyObject*) {
  return Py_BuildValue("(O(s))", reinterpret_cast<PyObject*>(Py_TYPE(o)), text_of(o).c_str());
}

PyMethodDef device_methods[] = {{"__reduce__", device_reduce, METH_NOARGS, nullptr}, {}};
PyGetSetDef device_getset[] = {{"type", device_get_type, nullptr, "\"cpu\", \"cuda\", ...", nullptr},
                               {"index", device_get_index, nullptr, "Ordinal of the device, or None.", nullptr},
                               {}};
PyType_Slot device_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(device_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(device_dealloc)},
    {Py_tp_repr, reinterpret_cast<void*>(device_repr)},
    {Py_tp_str, reinterpret_cast<void*>(device_str)},
    {Py_tp_hash, reinterpret_cast<void*>(device_hash)},
    {Py_tp_richcompare, reinterpret_cast<void*>(device_compare)},
    {Py_tp_methods, device_methods},
    {Py_tp_getset, device_getset},
    {Py_tp_doc, const_cast<char*>("device(type, index=None): where a tensor lives.")},
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
  device_type->tp_name = "torch.device";
  layout_type->tp_name = "torch.layout";
  PyObject* strided = reinterpret_cast<PyObject*>(PyObject_New(PyObject, layout_type));
  return strided ? PyModule_AddObject(module, "strided", strided) : -1;
}

PyRef device_object(const std::string& text) {
  PyRef made = checked(device_type->tp_alloc(device_type, 0));
  reinterpret_cast<DeviceObject*>(made.get())->value = new DeviceArg{text};
  return made;
}

bool is_device(PyObject* o) { return Py_TYPE(o) == device_type; }
const DeviceArg& device_value(PyObject* o) { return *reinterpret_cast<DeviceObject*>(o)->value; }

void check_tensor_device(PyObject* o) {
  if (!o || o == Py_None) return;
  std::string text;
  if (is_device(o)) {
    text = text_of(o);
  } else if (PyUnicode_Check(o)) {
    text = unicode_text(o);
    check_device_text(text);
  } else {
    PyErr_Format(PyExc_TypeError, "device must be a torch.device or str, not %.200s", Py_TYPE(o)->tp_name);
    throw PythonError{};
  }
  if (type_part(text) != "cpu") {
    throw OpError(ErrorKind::Runtime, "minidynamo holds tensors on the CPU only; device '" + text + "' was asked for");
  }
}

}  // namespace md
