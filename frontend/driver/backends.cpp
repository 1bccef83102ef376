// Applying a backend to a traced graph.
#include "frontend/driver/artifact_texts.h"
#include "frontend/driver/finish_trace.h"
#include "frontend/driver/graph_module.h"
#include "frontend/driver/kernel_call.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/value.h"
#include "frontend/values/constant.h"
#include "frontend/values/inference_mode.h"
#include "frontend/values/tensor.h"
#include "ir/compile/gradient_program.h"
#include "ir/run/transforms.h"

namespace md {

namespace {

[[noreturn]] void backend_failed(const std::string& name, PyRef cause) {
  PyRef error = report("backend_failed", {py_str(name), std::move(cause)});
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  throw PythonError{};
}

// Some errors say that the backend cannot take this graph, not that it failed: one that is set becomes a break.
void break_if_refused(const std::string& backend) {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "minidynamo._subclasses.fake_tensor");
  if (!module) return;  // nobody can have raised one
  for (const char* name :
       {"DataDependentOutputException", "DynamicOutputShapeException", "UnsupportedFakeTensorException",
        "UnsupportedMutationAliasingException", "UnsupportedOperatorException"}) {
    PyObject* cls = PyDict_GetItemString(PyModule_GetDict(module), name);
    if (!cls || !PyErr_ExceptionMatches(cls)) continue;
    PyRef error = take_exception();
    const std::string what = type_name(Py_TYPE(error.get())) + ": " + text_of(error.get());
    graph_break<GB0219>(backend, what, text_of(report("traceback_text", {error}).get()));
  }
}

// A user's callable gets the graph and the real inputs, and returns what to call.
std::shared_ptr<Kernel> call_user_backend(std::shared_ptr<Graph> graph, const Tracer& t,
                                          const CompileOptions& options) {
  std::size_t sizes = 0;
  PyRef gm = make_graph_module(graph);
  PyRef inputs = checked(PyList_New(0));
  for (const Node* n : graph->placeholders()) {
    if (!n->is_size) break;
    const auto symbol = static_cast<std::size_t>(*symbol_index(n->type().sizes[0]));
    const std::int64_t now = number_at(t.sizes.places.at(symbol), t.args);
    checked(PyList_Append(inputs.get(), py_int(static_cast<long>(now)).get()));
    ++sizes;
  }
  for (auto& v : t.graphs.inputs) checked(PyList_Append(inputs.get(), v->real.get()));
  PyRef args = checked(PyTuple_Pack(2, gm.get(), inputs.get()));
  PyRef compiled = PyRef::steal(PyObject_Call(options.backend, args.get(), options.backend_options.get()));
  if (!compiled) {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) throw PythonError{};  // Ctrl-C, sys.exit()
    break_if_refused(options.backend_name);
    backend_failed(options.backend_name, take_exception());
  }
  if (!PyCallable_Check(compiled.get())) {
    PyErr_SetString(PyExc_AssertionError, "compiler_fn did not return callable");
    backend_failed(options.backend_name, take_exception());
  }
  return python_kernel(std::move(compiled), sizes);
}

// The graph with its gradients; null where they are found by running it again.
std::shared_ptr<GradientProgram> with_gradients(const Graph& graph, const std::vector<bool>& differentiated,
                                                Backend& backend, const CompileStyle& style, const LogSwitches& logs) {
  if (differentiated.empty()) return nullptr;
  try {
    return std::make_shared<GradientProgram>(clone(graph), differentiated, backend, style);
  } catch (const NotFunctional& e) {
    if (logs.perf_hints) log_gradient_hint(graph, e.what());
    return nullptr;
  }
}

// The number of ints that come before the tensors.
std::size_t size_inputs(const Graph& graph) {
  std::size_t sizes = 0;
  for (const Node* n : graph.placeholders()) sizes += n->is_size;
  return sizes;
}

// Op by op; `why`: for who has asked that its launches on a GPU be one graph.
GraphKernels interpreted(const std::shared_ptr<Graph>& graph, const CompileStyle& style, const std::string& why = "") {
  if (style.replays) tell_replay({graph->name, 0, "a graph that runs op by op" + (why.empty() ? "" : ": " + why), ""});
  return {interpreting_kernel(graph), nullptr};
}

GraphKernels compile_own(const std::shared_ptr<Graph>& graph, const std::vector<bool>& differentiated, const Tracer& t,
                         const CompileOptions& options, const LogSwitches& logs) {
  Backend* backend = find_backend(options.backend_name);
  if (!backend) throw InternalError("backend '" + options.backend_name + "' is not installed");
  CompileStyle style = options.style;
  if (style.mode == CompileMode::Background && !t.config.background_compile) style.mode = CompileMode::Wait;
  GraphKernels made;
  // Its outputs are what later gradients are asked for: they need the record of each op.
  if (!differentiated.empty() && hands_out_level_inputs(*graph)) return interpreted(graph, style);
  if (may_be_opened(*graph)) {
    PyRef opened = opened_graph(make_graph_module(graph), options.backend_name);
    if (opened.get() != Py_None) return {python_kernel(std::move(opened), size_inputs(*graph)), nullptr};
  }
  std::shared_ptr<const Graph> functional;
  const auto program = with_gradients(*graph, differentiated, *backend, style, logs);
  made.backward = program;
  // Code of the program is called once: its gradients are recorded as it runs. So is what refuses inference tensors.
  const bool recorded = !program && !differentiated.empty();
  if (recorded && (calls_out(*graph) || switches_inference(*graph))) return interpreted(graph, style);
  try {
    functional = program ? program->take_forward() : optimize(*graph);
  } catch (const NotFunctional& e) {
    if (logs.perf_hints) log_perf_hints(*graph, t, e.what());
    return interpreted(graph, style, e.what());
  }
  if (logs.aot_graphs) log_functional_graph(*functional);
  if (logs.aot_graphs && program) log_functional_graph(*program->backward_graph(), "Backward");
  if (logs.fusion) log_fusion(*functional, *backend);
  if (logs.fusion && program) log_fusion(*program->backward_graph(), *backend, "Backward");
  if (logs.perf_hints) log_perf_hints(*graph, t, "");
  if (logs.output_code)
    report("log_artifact", {py_str("output_code"), py_str("Output code: \n" + backend->code(*functional))});
  made.forward = backend->compile(std::move(functional), style);
  return made;
}

}  // namespace

GraphKernels compile_graph(std::shared_ptr<Graph> graph, const std::vector<bool>& differentiated, const Tracer& t,
                           const CompileOptions& options, const LogSwitches& logs) {
  report("on_compile", {py_str(options.backend_name), py_int(t.graphs.calls_captured)});
  if (logs.info) report("log_info", {py_str("Step 2: calling compiler function " + options.backend_name)});
  GraphKernels made;
  if (options.backend)
    made.forward = call_user_backend(graph, t, options);
  else if (options.backend_name == "eager")
    made.forward = interpreting_kernel(graph);
  else
    made = compile_own(graph, differentiated, t, options, logs);
  if (logs.info) report("log_info", {py_str("Step 2: done compiler function " + options.backend_name)});
  return made;
}

}  // namespace md
