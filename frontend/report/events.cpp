// Calls into minidynamo._dynamo.report, with frames, breaks and exceptions as Python objects.
#include "frontend/report/events.h"

#include <functional>
#include <map>
#include <string_view>

#include "frontend/cpython/import_module.h"

namespace md {

PyRef py_str(const std::string& s) {
  return checked(PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace"));
}
PyRef py_int(long long v) { return checked(PyLong_FromLongLong(v)); }

PyRef own_module(const char* name) {
  static auto* const known = new std::map<std::string, PyObject*, std::less<>>();  // with the GIL held
  if (auto it = known->find(std::string_view(name)); it != known->end()) return PyRef::borrow(it->second);
  PyRef module = checked(import_module(name));
  known->emplace(name, Py_NewRef(module.get()));
  return module;
}

LogSwitches log_switches() {
  PyRef logging = own_module("minidynamo._logging");
  PyRef mask = checked(PyObject_GetAttrString(logging.get(), "_enabled_mask"));
  LogSwitches out;
  if (PyObject_IsTrue(mask.get()) == 0) return out;
  PyRef names = own_module("minidynamo._logging.names");
  PyRef bits = checked(PyObject_GetAttrString(names.get(), "BITS"));
  const unsigned long long value = PyLong_AsUnsignedLongLong(mask.get());
  auto on = [&](const char* name) {
    PyObject* bit = find_item(bits.get(), name);
    return bit && (value & PyLong_AsUnsignedLongLong(bit));
  };
  out.graph_breaks = on("graph_breaks"), out.graph_code = on("graph_code"), out.graph = on("graph"),
  out.guards = on("guards");
  out.recompiles = on("recompiles"), out.bytecode = on("bytecode"), out.info = on("dynamo_info"),
  out.debug = on("dynamo_debug");
  out.trace_source = on("trace_source"), out.trace_bytecode = on("trace_bytecode"), out.trace_call = on("trace_call");
  out.output_code = on("output_code");
  out.graph_sizes = on("graph_sizes"), out.recompiles_verbose = on("recompiles_verbose");
  out.aot_graphs = on("aot_graphs"), out.perf_hints = on("perf_hints"), out.dynamic = on("dynamic_info");
  out.fusion = on("fusion");
  return out;
}

PyRef report(const char* function, std::initializer_list<PyRef> args) {
  PyRef module = own_module("minidynamo._dynamo.report");
  PyRef fn = checked(PyObject_GetAttrString(module.get(), function));
  PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(args.size())));
  Py_ssize_t k = 0;
  for (const PyRef& a : args) PyTuple_SET_ITEM(tuple.get(), k++, Py_NewRef(a ? a.get() : Py_None));
  return checked(PyObject_CallObject(fn.get(), tuple.get()));
}

PyRef take_exception() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback && value) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return PyRef::steal(value);
}

void drop_exception() noexcept {
  try {
    const PyRef error = take_exception();
    PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(error.get()));
    if (!PyErr_GivenExceptionMatches(type, PyExc_Exception) || report("came_from_outside", {error}).get() == Py_True)
      PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), type);
  } catch (const PythonError&) {
    PyErr_Clear();
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace md
