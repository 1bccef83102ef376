// Programs for other processors as Python objects: dictionaries, lists, numbers and texts.
#include "frontend/driver/target_programs.h"

#include "frontend/cpython/object_text.h"
#include "frontend/report/events.h"
#include "ir/compile/backend.h"
#include "ir/compile/gradient_program.h"
#include "ir/compile/target_program.h"
#include "ir/core/error.h"
#include "ir/graph/dataflow.h"
#include "ir/tensor/readable.h"

namespace md {
namespace {

void put(const PyRef& dict, const char* key, const PyRef& value) {
  checked(PyDict_SetItemString(dict.get(), key, value.get()));
}

template <class Items, class Made>
PyRef list_of(const Items& items, Made&& made) {
  PyRef list = checked(PyList_New(0));
  for (const auto& item : items) checked(PyList_Append(list.get(), PyRef(made(item)).get()));
  return list;
}

PyRef tensor_dict(const TargetTensor& t) {
  PyRef d = checked(PyDict_New());
  put(d, "name", py_str(t.name));
  put(d, "memory", py_str(t.memory));
  put(d, "dtype", py_str(std::string(info(t.dtype).name)));
  put(d, "sizes", list_of(t.sizes, py_int));
  put(d, "strides", list_of(t.strides, py_int));
  put(d, "shift", py_int(t.shift));
  put(d, "bytes", py_int(t.bytes));
  if (t.is_size) put(d, "is_size", PyRef::borrow(Py_True));
  if (t.constant) {
    const TensorRef here = readable(t.constant);
    put(d, "content", checked(PyBytes_FromStringAndSize(static_cast<const char*>(here->data()), t.bytes)));
  }
  return d;
}

PyRef argument_dict(const TargetArgument& a) {
  static constexpr const char* kNames[] = {"buffer", "value", "param", "rows", "cols", "status"};
  PyRef d = checked(PyDict_New());
  put(d, "kind", py_str(kNames[static_cast<std::size_t>(a.kind)]));
  if (a.kind == TargetArgument::Kind::Buffer || a.kind == TargetArgument::Kind::Value) {
    put(d, "of", py_str(a.memory));
    put(d, "dtype", py_str(std::string(info(a.dtype).name)));
    put(d, "shift", py_int(a.value));
  } else if (a.kind != TargetArgument::Kind::Status) {
    put(d, "value", py_int(a.value));
  }
  if (!a.size.empty()) put(d, "size", py_str(a.size));
  return d;
}

PyRef launch_dict(const TargetLaunch& s) {
  PyRef d = checked(PyDict_New());
  put(d, "name", py_str(s.name));
  put(d, "entry", py_str(s.entry));
  put(d, "text", py_str(s.code));
  put(d, "why", py_str(s.why));
  put(d, "call", py_str(s.call));
  put(d, "operands", list_of(s.operands, tensor_dict));
  put(d, "results", list_of(s.results, tensor_dict));
  put(d, "arguments", list_of(s.arguments, argument_dict));
  put(d, "grid", list_of(s.grid, py_int));
  put(d, "block", list_of(s.block, py_int));
  put(d, "shared_bytes", py_int(s.shared_bytes));
  put(d, "bytes", py_int(s.bytes));
  put(d, "instructions", py_int(s.instructions));
  put(d, "double_instructions", py_int(s.double_instructions));
  return d;
}

PyRef program_dict(const TargetProgram& p) {
  PyRef d = checked(PyDict_New());
  put(d, "target", py_str(p.target));
  put(d, "why", py_str(p.why));
  put(d, "inputs", list_of(p.inputs, tensor_dict));
  put(d, "outputs", list_of(p.outputs, tensor_dict));
  put(d, "constants", list_of(p.constants, tensor_dict));
  put(d, "temporaries", list_of(p.temporaries, py_int));
  put(d, "launches", list_of(p.launches, launch_dict));
  return d;
}

void tell(const Graph& functional, const char* direction, const std::string& target, const FrameRequest& request) {
  TargetProgram program;
  try {
    program = target_program(functional, target);
  } catch (const InternalError& e) {
    program = {.target = target, .why = e.what()};
  }
  report("on_target_program", {PyRef::borrow(reinterpret_cast<PyObject*>(request.code)), py_str(request.printed_name),
                               py_str(functional.name), py_str(direction), program_dict(program)});
}

void tell_none(const Graph& traced, const std::string& target, const char* why, const FrameRequest& request) {
  report("on_target_program", {PyRef::borrow(reinterpret_cast<PyObject*>(request.code)), py_str(request.printed_name),
                               py_str(traced.name), py_str("Forward"), program_dict({.target = target, .why = why})});
}

}  // namespace

void tell_target_programs(const Graph& traced, const std::vector<bool>& differentiated, const FrameRequest& request) {
  PyRef wanted = report("wanted_target", {request.options->backend ? PyRef() : request.options->backend_options});
  if (wanted.get() == Py_None) return;
  const std::string target = text_of(wanted.get());
  Backend* backend = find_backend("llvm");
  if (!backend) throw InternalError("the backend llvm is not installed");
  try {
    if (differentiated.empty()) {
      tell(*optimize(traced), "Forward", target, request);
      return;
    }
    GradientProgram program(clone(traced), differentiated, *backend, CompileStyle{});
    tell(*program.take_forward(), "Forward", target, request);
    tell(*program.backward_graph(), "Backward", target, request);
  } catch (const NotFunctional& e) {
    tell_none(traced, target, e.what(), request);
  }
}

}  // namespace md
