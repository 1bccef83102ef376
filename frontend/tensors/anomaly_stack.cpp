// Anomaly mode: the Python stack of each recorded call, and the warning that shows it.
#include "frontend/tensors/gradients.h"
#include "frontend/tensors/held_objects.h"
#include "frontend/tensors/node_object.h"
#include "ir/gradients/anomaly.h"

namespace md {

namespace {

constexpr const char* kStack = "traceback_";
constexpr const char* kParent = "parent_";

PyRef stack_lines() {
  const PyRef module = checked(PyImport_ImportModule("traceback"));
  return checked(PyObject_CallMethod(module.get(), "format_stack", nullptr));
}

std::string joined(PyObject* lines) {
  const PyRef empty = checked(PyUnicode_FromString(""));
  return utf8_of(checked(PyUnicode_Join(empty.get(), lines)).get());
}

PyObject* metadata_of(const GradNode& node) {
  return node.extras && node.extras->metadata ? static_cast<Held&>(*node.extras->metadata).object.get() : nullptr;
}

// What was kept when the node was made, and when the one was whose backward() made it, and so on.
std::string report_on(const GradNode& node) {
  std::string text = "Error detected in " + node.name() + ".";
  PyObject* metadata = metadata_of(node);
  PyObject* lines = metadata ? find_item(metadata, kStack) : nullptr;
  if (!lines) return text + " No forward pass information available: enable anomaly mode during the forward pass too.";
  text += " Traceback of forward call that caused the error:\n" + joined(lines);
  for (PyObject* parent = find_item(metadata, kParent); parent && is_node(parent);) {
    text += "\n\nThe call above was made by the backward of " + node_of(parent).name() + ".";
    metadata = metadata_of(node_of(parent));
    lines = metadata ? find_item(metadata, kStack) : nullptr;
    if (!lines) break;
    text += " Traceback of its forward call:\n" + joined(lines);
    parent = find_item(metadata, kParent);
  }
  return text;
}

class PythonStacks final : public AnomalySink {
 public:
  Ref<RefCounted> created(GradNode* during) override {
    if (!PyGILState_Check()) return nullptr;
    const PyRef metadata = checked(PyDict_New());
    checked(PyDict_SetItemString(metadata.get(), kStack, stack_lines().get()));
    if (during) checked(PyDict_SetItemString(metadata.get(), kParent, node_object(Ref<GradNode>(during)).get()));
    return make_ref<Held>(metadata);
  }
  // The exception on its way is the one to report, whatever becomes of the warning.
  void failed(GradNode& node) override {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    try {
      PyErr_WarnEx(PyExc_UserWarning, report_on(node).c_str(), 1);
    } catch (const PythonError&) {
    }
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
  }
};

PyRef set_anomaly(const PassedArgs& call) {
  static const char* const names[] = {"mode", "check_nan"};
  PyObject* out[2];
  parse_native({"_set_anomaly", names, 2}, call, out);
  anomaly_mode.check_nan = checked(PyObject_IsTrue(out[1]));
  anomaly_mode.on = checked(PyObject_IsTrue(out[0]));
  return PyRef::borrow(Py_None);
}
PyRef is_on(const PassedArgs& call) {
  no_arguments("is_anomaly_enabled", call, 0);
  return PyRef::borrow(anomaly_mode.on ? Py_True : Py_False);
}
PyRef checks_nan(const PassedArgs& call) {
  no_arguments("is_anomaly_check_nan_enabled", call, 0);
  return PyRef::borrow(anomaly_mode.check_nan ? Py_True : Py_False);
}

constexpr NativeRow kFunctions[] = {
    {"_set_anomaly", set_anomaly, "Anomaly mode, and whether NaNs count; behind set_detect_anomaly."},
    {"is_anomaly_enabled", is_on, "is_anomaly_enabled()\n\nWhether anomaly mode is on, in all threads."},
    {"is_anomaly_check_nan_enabled", checks_nan,
     "is_anomaly_check_nan_enabled()\n\nWhether a NaN among gradients is an error in anomaly mode."},
};

}  // namespace

std::span<const NativeRow> anomaly_functions() {
  static PythonStacks sink;
  anomaly_sink() = &sink;
  return kFunctions;
}

}  // namespace md
