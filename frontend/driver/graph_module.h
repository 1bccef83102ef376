// Graphs as Python objects, and backends that are Python callables.
#pragma once

#include <memory>

#include "frontend/cpython/py_ref.h"
#include "ir/compile/backend.h"
#include "ir/graph/graph.h"

namespace pybind11 {
class module_;
}

namespace md {

// A backend's own code raised: unlike when the graph it runs does, its inputs may have changed.
struct BackendFailed : PythonError {};

// minidynamo.fx.GraphModule over a traced graph. Throws PythonError.
PyRef make_graph_module(std::shared_ptr<Graph> graph);
// A callable taking and returning tensors (a tuple or list, in output order) as a kernel.
// Its first `sizes` arguments are ints.
std::shared_ptr<Kernel> python_kernel(PyRef callable, std::size_t sizes);
// An int as kernels take it: a tensor of that one size, without elements anybody reads.
TensorRef size_carrier(std::int64_t value);
// Runs the traced graph node by node: backend "eager".
std::shared_ptr<Kernel> interpreting_kernel(std::shared_ptr<Graph> graph);
void bind_graph(pybind11::module_& module);  // _C._Graph, and (graph_recorder.cpp) _C._OpRecorder
// Whether handlers of the program have a say in the graph, and nothing is in it that only a run can decide.
bool may_be_opened(const Graph& g);
// A callable that runs what the handlers make of the graph, compiled by this backend; None if it has to ask them.
PyRef opened_graph(const PyRef& graph_module, const std::string& backend);
void bind_recorder(pybind11::module_& module);

}  // namespace md
