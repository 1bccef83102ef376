// The Python face of this folder's look-ups and of the frame hook, for tests.
#include "frontend/cpython/cpython_init.h"

#include "frontend/cpython/frame_access.h"
#include "frontend/cpython/frame_probe.h"
#include "frontend/cpython/interpreter_lock.h"
#include "frontend/cpython/object_attr.h"

namespace md {
namespace {

const char* const kStatus[] = {"found", "missing", "undecidable"};
const char* const kWhere[] = {"missing", "slot", "instance", "class_mro", "type", "data_descriptor", "undecidable"};

PyObject* describe(const Found& f) {
  return Py_BuildValue("sO", kStatus[static_cast<int>(f.status)], f.value ? f.value : Py_None);
}

PyObject* py_dict_find(PyObject*, PyObject* args) {
  PyObject *dict, *key;
  if (!PyArg_ParseTuple(args, "O!O", &PyDict_Type, &dict, &key)) return nullptr;
  return describe(dict_find(dict, key));
}

PyObject* py_dict_version(PyObject*, PyObject* dict) {
  if (!PyDict_Check(dict)) return PyErr_Format(PyExc_TypeError, "expected a dict");
  return Py_BuildValue("Ki", dict_version(dict), dict_version_is_complete(dict));
}

PyObject* py_instance_find(PyObject*, PyObject* args) {
  PyObject *object, *name;
  if (!PyArg_ParseTuple(args, "OU", &object, &name)) return nullptr;
  return describe(instance_find(object, name));
}

PyObject* py_find_attr(PyObject*, PyObject* args) {
  PyObject *object, *name;
  if (!PyArg_ParseTuple(args, "OU", &object, &name)) return nullptr;
  const Attr attr = find_attr(object, name);
  return Py_BuildValue("sO", kWhere[static_cast<int>(attr.where)], attr.value ? attr.value.get() : Py_None);
}

// What run_hooked's hook does: code object → function called with the frame's arguments in its place.
thread_local PyObject* replacements = nullptr;
thread_local long hooked_frames = 0;

PyObject* replacing_hook(PyThreadState* thread, Frame* frame, int throwflag) {
  if (!is_armed_here() || !is_function_entry(frame, throwflag)) return pass_through(thread, frame, throwflag);
  ++hooked_frames;
  PyCodeObject* const code = frame_code(frame);
  PyObject* const function = PyDict_GetItemWithError(replacements, reinterpret_cast<PyObject*>(code));
  if (!function || is_observed(thread, code)) return pass_through(thread, frame, throwflag);
  const int n = code->co_argcount + code->co_kwonlyargcount + !!(code->co_flags & CO_VARARGS) +
                !!(code->co_flags & CO_VARKEYWORDS);
  return finish_frame(thread, frame, PyObject_Vectorcall(function, frame_slots(frame), n, nullptr));
}

PyObject* py_run_hooked(PyObject*, PyObject* args) {
  PyObject *callable, *mapping;
  if (!PyArg_ParseTuple(args, "OO!", &callable, &PyDict_Type, &mapping)) return nullptr;
  PyObject* const outer = std::exchange(replacements, mapping);
  const EvalFrame before = exchange_frame_hook(replacing_hook);
  hooked_frames = 0;
  PyObject* result;
  {
    const Armed armed;
    result = PyObject_CallNoArgs(callable);
  }
  exchange_frame_hook(before);
  replacements = outer;
  return result ? Py_BuildValue("Nl", result, hooked_frames) : nullptr;
}

PyObject* py_probe(PyObject*, PyObject*) { return PyBool_FromLong(probe_frames()); }

PyMethodDef kInspectionFunctions[] = {
    {"dict_find", py_dict_find, METH_VARARGS, "dict_find(dict, key) -> (status, value)"},
    {"dict_version", py_dict_version, METH_O, "dict_version(dict) -> (tag, the tag sees every change)"},
    {"instance_find", py_instance_find, METH_VARARGS, "instance_find(object, name) -> (status, value)"},
    {"find_attr", py_find_attr, METH_VARARGS, "find_attr(object, name) -> (where, value)"},
    {"run_hooked", py_run_hooked, METH_VARARGS,
     "run_hooked(callable, {code: function}) -> (result, frames the hook looked at)"},
    {"probe_frames", py_probe, METH_NOARGS, "probe_frames() -> the frame layout is as compiled for"},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "minidynamo._C._cpython", nullptr, -1, kInspectionFunctions};

}  // namespace

int init_cpython(PyObject* module) {
  install_host_lock();
  PyObject* part = PyModule_Create(&definition);
  return part ? PyModule_AddObject(module, "_cpython", part) : -1;
}

}  // namespace md
