// The recorder of ops (ir/run/op_recorder.h) bound to Python: minidynamo/_aten/opened.py records with it what handlers
// make of a graph.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "frontend/cpython/import_module.h"
#include "frontend/driver/graph_module.h"
#include "frontend/tensors/known_values.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/tensors/untouched_memory.h"
#include "ir/compile/passes/functionalize.h"
#include "ir/graph/callee.h"
#include "ir/graph/handled_input.h"
#include "ir/run/op_recorder.h"

namespace md {

namespace {

namespace py = pybind11;

std::vector<TensorRef> tensors_of_list(const py::list& list) {
  std::vector<TensorRef> out;
  for (const py::handle o : list) {
    if (!is_tensor(o.ptr())) throw py::type_error("a list of tensors is expected");
    out.emplace_back(tensor_impl(o.ptr()));
  }
  return out;
}

// Code of the program in the graph that results of handlers may come from.
bool calls_what_handles(const Graph& g) {
  return std::ranges::any_of(g.nodes, [](const auto& n) { return n->callee && n->callee->aliases; });
}

struct PythonRecorder {
  OpRecorder recorder{untouched_zeros};
  std::unique_ptr<CallsRecorded> recorded;
  std::unique_ptr<UnknownValues> unknown;

  void add_input(const py::object& tensor) {
    if (!is_tensor(tensor.ptr())) throw py::type_error("a tensor is expected");
    recorder.add_input(TensorRef(tensor_impl(tensor.ptr())));
  }
  void begin() {
    if (recorded) throw py::value_error("the recorder is at work already");
    recorded = std::make_unique<CallsRecorded>(&recorder);
    unknown = std::make_unique<UnknownValues>();
  }
  void end() {
    unknown = nullptr;
    recorded = nullptr;
  }
  bool is_written(const py::object& tensor) const { return recorder.is_written(*tensor_impl(tensor.ptr())); }
  // `given`: those that are there anyway.
  py::list used_later(std::size_t first, const py::list& results, const py::list& given) const {
    const std::vector<TensorRef> there = tensors_of_list(given);
    py::list out;
    for (const TensorRef& t : recorder.used_later(first, tensors_of_list(results)))
      if (std::ranges::find(there, t) == there.end())
        out.append(py::reinterpret_steal<py::object>(wrap_tensor(t).release()));
    return out;
  }
  std::shared_ptr<Graph> graph(std::size_t first, std::size_t end, const py::list& inputs,
                               const py::list& outputs) const {
    return recorder.graph(first, end, tensors_of_list(inputs), tensors_of_list(outputs));
  }
};

}  // namespace

bool may_be_opened(const Graph& g) {
  const auto has_own_parts = [](const auto& n) { return !n->regions.empty() || !n->unbacked.empty(); };
  if (!g.delegated.empty() || std::ranges::any_of(g.nodes, has_own_parts)) return false;
  return calls_what_handles(g) || std::ranges::any_of(g.nodes, [](const auto& n) { return is_handled_input(*n); });
}

PyRef opened_graph(const PyRef& graph_module, const std::string& backend) {
  const PyRef module = checked(import_module("minidynamo._aten.opened"));
  return checked(PyObject_CallMethod(module.get(), "compiled", "Os", graph_module.get(), backend.c_str()));
}

void bind_recorder(py::module_& module) {
  module.def(
      "_is_recording", [] { return op_recorder() != nullptr; }, "Whether calls of this thread are written down.");
  py::class_<PythonRecorder>(module, "_OpRecorder", "Between begin() and end() ops are written down, not computed.")
      .def(py::init<>())
      .def("add_input", &PythonRecorder::add_input, "A tensor that calls may use.")
      .def("begin", &PythonRecorder::begin, "Calls of this thread are recorded from here on.")
      .def("end", &PythonRecorder::end, "No longer.")
      .def(
          "count", [](const PythonRecorder& r) { return r.recorder.count(); }, "How many calls there are.")
      .def("is_written", &PythonRecorder::is_written, "Whether a call writes to memory of the tensor.")
      .def("used_later", &PythonRecorder::used_later, "Tensors from before a call that later ones, or results, need.")
      .def("graph", &PythonRecorder::graph, "Calls [first, end) as a graph with these inputs and outputs.");
}

}  // namespace md
