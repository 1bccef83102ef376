// Graphs bound to Python (pybind11), and the call of a backend that is a Python callable.
#include "frontend/driver/graph_module.h"

#include <fmt/format.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "frontend/cpython/import_module.h"
#include "frontend/marked_callables/call_out.h"
#include "frontend/tensors/ambient_modes.h"
#include "frontend/tensors/function_modes.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/values/constant.h"
#include "ir/compile/passes/functionalize.h"
#include "ir/graph/region_call.h"
#include "ir/run/eager.h"
#include "ir/run/evaluate_graph.h"
#include "ir/run/read_set.h"
#include "ir/run/undo_log.h"
#include "ir/sizes/shape_env.h"

namespace md {

namespace {

namespace py = pybind11;

py::object owned(PyRef r) { return py::reinterpret_steal<py::object>(r.release()); }

using NodeIndex = std::unordered_map<const Node*, long>;

// A number under the hints; the name of what has none.
py::object plain_size(Size s) {
  const bool known = s.is_const() || s.expr()->env->is_backed(s);
  return known ? py::object(py::int_(hint(s))) : py::object(py::str(to_string(s)));
}

// Arguments as Python objects; a node becomes ("%", index of the node).
py::object plain_arg(const NodeIndex& index, const Arg& a) {
  if (auto* n = a.get_if<Node*>()) return py::make_tuple("%", index.at(*n));
  if (auto* l = a.get_if<ListArg>()) {
    py::list list;
    for (auto& x : l->items) list.append(plain_arg(index, x));
    return l->tuple ? py::object(py::tuple(list)) : list;
  }
  if (auto* s = a.get_if<SliceArg>())
    return py::slice(plain_arg(index, (*s->parts)[0]), plain_arg(index, (*s->parts)[1]),
                     plain_arg(index, (*s->parts)[2]));
  if (auto* s = a.get_if<Size>()) return plain_size(*s);
  return owned(from_arg(a));
}

const char* opcode_text(const Node& n) {
  switch (n.kind) {
    case NodeKind::Placeholder:
      return "placeholder";
    case NodeKind::GetAttr:
      return "get_attr";
    case NodeKind::Output:
      return "output";
    default:
      return n.kind == NodeKind::Op && n.spelling == Spelling::Method ? "call_method" : "call_function";
  }
}

const char* spelling_text(const Node& n) {
  if (n.kind == NodeKind::GetItem) return "operator";
  if (n.kind == NodeKind::State) return "function";
  switch (n.spelling) {
    case Spelling::Operator:
    case Spelling::Inplace:
      return "operator";
    case Spelling::Attribute:
      return "attribute";
    case Spelling::Method:
      return "method";
    case Spelling::Name:
      return "name";
    default:
      return "function";
  }
}

py::object stack_text(const Node& n) {
  if (!n.stack || n.stack->empty()) return py::none();
  std::string trace;
  for (auto& f : *n.stack)
    trace += "  File \"" + f.file + "\", line " + std::to_string(f.line) + ", in " + f.function + "\n    " +
             f.line_text + "\n";
  return py::str(trace);
}

py::object called_function(const Node& n) {
  const PyRef function = function_of(n);
  return function ? py::reinterpret_borrow<py::object>(function.get()) : py::none();
}

// (op, spelling, target, name, args, kwargs, sizes or None, dtype or None, stack or None, called function or None)
py::tuple node_row(const NodeIndex& index, const Node& n) {
  py::list args;
  py::dict kwargs;
  for (auto& a : n.args) args.append(plain_arg(index, a));
  const std::size_t before = n.regions.empty() ? 0 : arguments_before_regions(region_kind(n.target));
  for (std::size_t k = n.regions.size(); k-- > 0;)  // their rows stand before this one
    args.insert(before, py::make_tuple("%", index.at(&n) - static_cast<long>(n.regions.size() - k)));
  if (n.kind == NodeKind::GetItem) args.append(n.index);
  if (n.kind == NodeKind::Op && n.spelling == Spelling::Attribute) args.append(n.target);
  for (auto& [k, a] : n.kwargs) kwargs[py::str(k)] = plain_arg(index, a);
  py::object sizes = py::none(), dtype = py::none();
  if (!n.types.empty()) {
    py::list known;
    for (const Size& s : n.types[0].sizes) known.append(plain_size(s));
    sizes = std::move(known);
    dtype = py::reinterpret_borrow<py::object>(dtype_object(n.types[0].dtype));
  }
  return py::make_tuple(opcode_text(n), spelling_text(n), n.target, n.name, py::tuple(args), kwargs, sizes, dtype,
                        stack_text(n), called_function(n));
}

py::list graph_nodes(const Graph& g) {
  NodeIndex index;
  long row = 0;
  for (auto& n : g.nodes) {
    row += static_cast<long>(n->regions.size());
    index.emplace(n.get(), row++);
  }
  py::list rows;
  for (auto& n : g.nodes) {
    for (auto& region : n->regions) {
      const Node get{.kind = NodeKind::GetAttr, .target = region->name, .name = region->name};
      rows.append(node_row(index, get));
    }
    rows.append(node_row(index, *n));
  }
  return rows;
}

// A call of a user's backend: what the graphs it runs do, and the exception one of them raised.
struct BackendCall {
  UndoLog undo;
  PyRef failure;
};
BackendCall*& backend_call() {
  thread_local BackendCall* call = nullptr;
  return call;
}

PyRef exception_that_is_set() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyRef found = PyRef::borrow(value);
  PyErr_Restore(type, value, traceback);
  return found;
}

// Runs a graph; within a call of a user's backend it is noted what failed, so that plain Python can take over.
template <class Run>
std::vector<TensorRef> run_noted(Run run) {
  BackendCall* call = backend_call();
  if (!call) return run(nullptr);
  try {
    return run(&call->undo);
  } catch (const OpError& e) {
    raise_op_error(e);
  } catch (const PythonError&) {
  }
  call->failure = exception_that_is_set();
  throw PythonError{};
}

std::vector<TensorRef> interpret_noted(const Graph& g, const std::vector<TensorRef>& inputs) {
  return run_noted([&](UndoLog* undo) { return undo ? interpret(g, inputs, nullptr, undo) : interpret(g, inputs); });
}

std::vector<TensorRef> graph_inputs(const Graph& g, const py::args& args) {
  const auto placeholders = g.placeholders();
  const std::size_t want = placeholders.size();
  if (args.size() != want)
    throw py::type_error(
        fmt::format("forward() takes {} input{} but {} were given", want, want == 1 ? "" : "s", args.size()));
  std::vector<TensorRef> inputs;
  for (const py::handle o : args) {
    if (placeholders[inputs.size()]->is_size) {
      inputs.push_back(size_carrier(py::cast<std::int64_t>(o)));
      continue;
    }
    if (!is_tensor(o.ptr()))
      throw py::type_error(fmt::format("forward() takes tensors, argument {} is of type '{}'", inputs.size() + 1,
                                       Py_TYPE(o.ptr())->tp_name));
    inputs.emplace_back(tensor_impl(o.ptr()));
  }
  return inputs;
}

py::tuple graph_outputs(const std::vector<TensorRef>& outputs, const std::vector<TensorRef>& inputs,
                        const py::args& args) {
  py::tuple result(outputs.size());
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    // An output that is an input is that very object.
    const auto same = std::find(inputs.begin(), inputs.end(), outputs[k]);
    result[k] = same == inputs.end() ? owned(wrap_tensor(outputs[k])) : py::object(args[same - inputs.begin()]);
  }
  return result;
}

py::tuple graph_run(Graph& g, const py::args& args) {
  const auto inputs = graph_inputs(g, args);
  return graph_outputs(interpret_noted(g, inputs), inputs, args);
}

// What a backend of our own makes of a captured graph. Inputs laid out in another way than those the graph was captured
// for, and graphs without a functional form, are interpreted.
struct CompiledGraph {
  std::shared_ptr<Graph> traced;
  std::shared_ptr<const Graph> functional;  // null where there is none
  std::shared_ptr<Kernel> kernel;
  std::size_t outputs = 0;

  CompiledGraph(std::shared_ptr<Graph> g, const std::string& backend, bool replays) : traced(std::move(g)) {
    Backend* chosen = find_backend(backend);
    if (!chosen) throw py::value_error("there is no backend '" + backend + "'");
    try {
      functional = optimize(*traced);
    } catch (const NotFunctional& e) {
      if (replays) tell_replay({traced->name, 0, std::string("a graph that runs op by op: ") + e.what(), ""});
      return;
    }
    outputs = GraphEvaluator(functional).output_count();
    kernel = chosen->compile(functional, {CompileMode::Wait, replays});
  }

  bool fits(const std::vector<TensorRef>& inputs) const {
    const auto placeholders = traced->placeholders();
    std::vector<std::int64_t> symbols;
    std::vector<const SizeVec*> declared;
    std::vector<const DimVec*> actual;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const TensorType& type = placeholders[i]->type();
      if (type.dtype != inputs[i]->dtype || type.sizes.size() != inputs[i]->sizes.size()) return false;
      declared.push_back(&type.sizes);
      actual.push_back(&inputs[i]->sizes);
    }
    if (traced->shapes) bind_symbols(*traced->shapes, declared, actual, symbols);
    const auto value = [&](Size s) { return s.is_const() ? s.value() : traced->shapes->evaluate(s, symbols); };
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const TensorType& type = placeholders[i]->type();
      for (std::size_t d = 0; d < type.sizes.size(); ++d) {
        if (value(type.sizes[d]) != inputs[i]->sizes[d]) return false;
        const bool counts = !placeholders[i]->is_size && inputs[i]->sizes[d] != 1;
        if (counts && value(type.strides[d]) != inputs[i]->strides[d]) return false;
      }
    }
    return true;
  }

  py::tuple run(const py::args& args) const {
    const auto inputs = graph_inputs(*traced, args);
    if (!kernel || !fits(inputs)) return graph_outputs(interpret_noted(*traced, inputs), inputs, args);
    const auto made = run_noted([&](UndoLog*) {
      std::vector<TensorImpl*> in;
      for (const TensorRef& t : inputs) in.push_back(t.get());
      std::vector<TensorRef> out(outputs);
      kernel->run(in, out);
      return out;
    });
    return graph_outputs(made, inputs, args);
  }
};

std::shared_ptr<Graph> empty_graph() {
  auto g = std::make_shared<Graph>();
  Node out{NodeKind::Output};
  out.name = "output";
  out.args = {Arg(ListArg{{}, true})};
  g->append(std::move(out));
  return g;
}

struct InterpretingKernel final : Kernel {
  bool records_gradients() const override { return true; }
  std::shared_ptr<Graph> graph;
  void run(std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs) override {
    std::vector<TensorRef> in(inputs.begin(), inputs.end());
    UndoLog undo;
    try {
      auto out = interpret(*graph, in, nullptr, &undo);
      ReadSet::validate();
      std::move(out.begin(), out.end(), outputs.begin());
    } catch (...) {
      undo.take_back();
      throw;
    }
  }
};

struct PythonKernel final : Kernel {
  bool records_gradients() const override { return true; }
  PyRef callable;
  std::size_t sizes = 0;
  void run(std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs) override {
    BackendCall call;
    BackendCall* outer = std::exchange(backend_call(), &call);
    SmallVector<std::uint32_t, 8> versions;
    for (const TensorImpl* t : inputs) versions.push_back(t->storage->version);
    try {
      call_inside(inputs, outputs);
      backend_call() = outer;
    } catch (const PythonError&) {
      backend_call() = outer;
      // The program's own failure, in a graph that has done nothing else: plain Python can take over.
      if (!call.failure || exception_that_is_set().get() != call.failure.get()) throw BackendFailed{};
      call.undo.take_back();
      throw;
    }
    try {
      ReadSet::validate();
    } catch (const ReadConflict&) {
      // What the backend wrote by itself nobody can take back: it stays, and the call is of the time when it began.
      for (std::size_t k = 0; k < inputs.size(); ++k)
        if (inputs[k]->storage->version != versions[k] && !call.undo.knows(*inputs[k]->storage)) return;
      call.undo.take_back();
      throw;
    }
  }

  void call_inside(std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs) const {
    const WithoutReadSet part;
    call_backend(inputs, outputs);
  }

  void call_backend(std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs) const {
    // Modes around the call have answered while it was traced.
    std::optional<LessOverrides> unasked;
    if (modes_around() != 0) unasked.emplace(Overrides::None);
    PyRef args = checked(PyTuple_New(static_cast<Py_ssize_t>(inputs.size())));
    for (std::size_t k = 0; k < inputs.size(); ++k)
      PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(k),
                       k < sizes ? checked(PyLong_FromLongLong(inputs[k]->sizes[0])).release()
                                 : wrap_tensor(TensorRef(inputs[k])).release());
    PyRef result = checked(PyObject_CallObject(callable.get(), args.get()));
    PyRef items = checked(
        PySequence_Fast(result.get(), "the compiled function of a backend must return a tuple or list of tensors"));
    if (PySequence_Fast_GET_SIZE(items.get()) != static_cast<Py_ssize_t>(outputs.size())) {
      PyErr_Format(PyExc_RuntimeError, "the compiled function of the backend returned %zd values instead of %zu",
                   PySequence_Fast_GET_SIZE(items.get()), outputs.size());
      throw PythonError{};
    }
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      PyObject* o = PySequence_Fast_GET_ITEM(items.get(), static_cast<Py_ssize_t>(k));
      if (!is_tensor(o)) {
        PyErr_Format(PyExc_TypeError, "the compiled function of the backend returned a '%s' where a tensor is expected",
                     Py_TYPE(o)->tp_name);
        throw PythonError{};
      }
      outputs[k] = TensorRef(tensor_impl(o));
    }
  }
};

}  // namespace

PyRef make_graph_module(std::shared_ptr<Graph> graph) {
  PyRef module = checked(import_module("minidynamo.fx"));
  return checked(PyObject_CallMethod(module.get(), "_module_of", "O", py::cast(std::move(graph)).ptr()));
}

TensorRef size_carrier(std::int64_t value) {
  static const Ref<Storage> nothing = allocate_storage(0);
  return make_ref<TensorImpl>(nothing, DType::Int64, DimVec{value}, DimVec{1}, 0);
}

std::shared_ptr<Kernel> python_kernel(PyRef callable, std::size_t sizes) {
  auto k = std::make_shared<PythonKernel>();
  k->sizes = sizes;
  k->callable = std::move(callable);
  return k;
}

std::shared_ptr<Kernel> interpreting_kernel(std::shared_ptr<Graph> graph) {
  auto k = std::make_shared<InterpretingKernel>();
  k->graph = std::move(graph);
  return k;
}

void bind_graph(py::module_& module) {
  py::class_<Graph, std::shared_ptr<Graph>>(module, "_Graph", "A captured graph, as the tracer made it.")
      .def(
          "code", [](const Graph& g) { return print_code(g, {.fx_header = true}); }, "The graph as a Python function.")
      .def(
          "readable",
          [](const Graph& g, bool strides, bool device) {
            return print_code(g, {.strides = strides, .device = device});
          },
          py::arg("strides") = false, py::arg("device") = false, "The same as logs show it.")
      .def(
          "fx", [](const Graph& g) { return print_fx_graph(g); }, "One line per node.")
      .def(
          "rows", [](const Graph& g) { return table_rows(g); },
          "Five cells per node: opcode, name, target, args, kwargs.")
      .def("nodes", &graph_nodes, "(op, spelling, target, name, args, kwargs, sizes, dtype, stack, function) per node.")
      .def(
          "opened",
          [](const Graph& g, const py::object& graph_module, const std::string& backend) {
            if (!may_be_opened(g)) return py::object(py::none());
            return owned(opened_graph(PyRef::borrow(graph_module.ptr()), backend));
          },
          "What a backend makes of it where handlers have a say that can be asked once; None elsewhere.")
      .def_static("empty", &empty_graph, "A graph that takes and gives nothing.")
      .def("run", &graph_run, "Runs the graph node by node: a tuple of its outputs.")
      .def(
          "compiled",
          [](std::shared_ptr<Graph> g, const std::string& name, bool replays) {
            return CompiledGraph(std::move(g), name, replays);
          },
          py::arg("backend"), py::arg("replays") = false, "What the backend \"llvm\" or \"blocks\" makes of it.");
  py::class_<CompiledGraph>(module, "_CompiledGraph", "A captured graph, compiled by a backend of our own.")
      .def_property_readonly(
          "functional", [](const CompiledGraph& c) { return c.functional ? print_code(*c.functional, {}) : ""; },
          "The functional graph that was compiled, as code; empty if the graph has no such form and is interpreted.")
      .def("run", &CompiledGraph::run, "Runs the compiled graph: a tuple of its outputs.");
  bind_recorder(module);
}

}  // namespace md
