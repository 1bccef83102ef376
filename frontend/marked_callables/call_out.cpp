// Makes the Call node of an opaque callable and its result values, and the callee that runs it with the graph.
#include "frontend/marked_callables/call_out.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/cpython/frame_access.h"
#include "frontend/cpython/import_module.h"
#include "frontend/cpython/library_classes.h"
#include "frontend/marked_callables/fake_tensors.h"
#include "frontend/marked_callables/shaped_values.h"
#include "frontend/plan/opaque_calls.h"
#include "frontend/plan/result_shape.h"
#include "frontend/report/call_text.h"
#include "frontend/report/events.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/append_item.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/logs.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/handled_values.h"
#include "frontend/values/objects.h"
#include "ir/graph/callee.h"
#include "ir/graph/op_ids.h"
#include "ir/run/run_callee.h"
#include "ir/tensor/device_generators.h"
#include "ir/tensor/handled.h"

namespace md {

namespace {

std::string tensor_text(DType dtype, const DimVec& sizes) {
  return fmt::format("{}[{}]", info(dtype).short_name, fmt::join(sizes, ", "));
}

// Frees Python objects from whatever thread drops the last graph.
void drop(PyRef& r) {
  const PyGILState_STATE state = PyGILState_Ensure();
  r = PyRef();
  PyGILState_Release(state);
}

class PythonCallee final : public Callee {
 public:
  PythonCallee(std::string name, PyRef function, PyRef shape, PyRef keywords, UserStack stack, OpaqueCall known)
      : name_(std::move(name)),
        function_(std::move(function)),
        shape_(std::move(shape)),
        keywords_(std::move(keywords)),
        stack_(std::move(stack)),
        known_(std::move(known)) {}
  ~PythonCallee() override {
    if (!Py_IsInitialized()) return;
    drop(function_), drop(shape_), drop(keywords_), drop(known_.key), drop(known_.keywords);
  }

  std::vector<TensorRef> run(std::span<const Arg> args, std::span<const ExpectedTensor> expected) const override {
    return run(args, expected, true);
  }
  std::vector<TensorRef> run_on_originals(std::span<const Arg> args,
                                          std::span<const ExpectedTensor> expected) const override {
    return run(args, expected, false);
  }

  std::vector<GradState> grads;  // of its results
  bool declared = false;
  PyObject* key() const { return known_.key.get(); }  // what plain Python calls

 private:
  std::vector<TensorRef> run(std::span<const Arg> args, std::span<const ExpectedTensor> expected, bool copies) const {
    const PyGILState_STATE state = PyGILState_Ensure();
    struct Release {
      PyGILState_STATE state;
      ~Release() { PyGILState_Release(state); }
    } release{state};
    std::vector<TensorRef> given;
    std::vector<Arg> kept(args.begin(), args.end());
    for_each_tensor(kept, [&](TensorRef& t) { given.push_back(t); });
    PyRef result;
    if (replays() && next_replayed() == known_.key.get()) result = replay(given);
    if (!result) result = call(args, given, copies);
    std::vector<TensorRef> out;
    if (!matches_shape(result.get(), shape_.get(), out))
      wrong("a result like " + shape_text(shape_.get()), text_of_result(result.get()));
    for (std::size_t i = 0; i < out.size(); ++i) {
      const ExpectedTensor& want = expected[i];
      if (out[i]->dtype != want.dtype || !(out[i]->sizes == want.sizes))
        wrong(tensor_text(want.dtype, want.sizes), tensor_text(out[i]->dtype, out[i]->sizes));
      if (!(out[i]->device() == want.device))
        wrong("a tensor on device " + to_string(want.device), "one on device " + to_string(out[i]->device()));
    }
    return out;
  }

  PyRef call(std::span<const Arg> args, const std::vector<TensorRef>& given, bool copies) const {
    std::vector<PyRef> held;
    SmallVector<PyObject*, 8> raw;
    for (const Arg& a : args) {
      held.push_back(from_arg(a));
      raw.push_back(held.back().get());
    }
    const auto named = keywords_ ? static_cast<std::size_t>(PyTuple_GET_SIZE(keywords_.get())) : 0;
    const DefaultStreams before;
    std::vector<std::uint32_t> versions;
    for (const TensorRef& t : given) versions.push_back(t->storage->version);
    PyRef result;
    {
      const InsideOpaque inside;
      Disarmed plain;
      result = PyRef::steal(PyObject_Vectorcall(function_.get(), raw.data(), raw.size() - named, keywords_.get()));
    }
    if (is_recording()) note(result, given, versions, before, copies);
    if (!result) throw PythonError{};
    return result;
  }

  void note(const PyRef& result, const std::vector<TensorRef>& given, const std::vector<std::uint32_t>& versions,
            const DefaultStreams& before, bool copies) const {
    OpaqueCall call = known_;
    call.grads = grads;
    call.before = before;
    call.after = DefaultStreams();
    call.result = result;
    if (!result) {
      PyObject *type, *value, *traceback;
      PyErr_Fetch(&type, &value, &traceback);
      PyErr_NormalizeException(&type, &value, &traceback);
      call.error = PyRef::borrow(value);
      call.traceback = PyRef::borrow(traceback);
      PyErr_Restore(type, value, traceback);
    }
    bool written = false;
    for (std::size_t k = 0; k < given.size(); ++k) {
      call.versions.push_back(given[k]->storage->version - versions[k]);
      const bool changed = call.versions.back() != 0;
      written |= changed;
      call.left.push_back(!changed ? TensorRef() : copies ? given[k] : copy_of(given[k]));
    }
    if (written || aliases) call.given = given;
    if (!written) call.left.clear();
    record(std::move(call));
  }

  static TensorRef copy_of(const TensorRef& t) { return call_op(op(id::Clone), std::vector<Arg>{t}).get<TensorRef>(); }

  static std::string text_of_result(PyObject* result) {
    std::vector<TensorRef> tensors;
    std::string offender;
    PyRef shape = result_shape(result, tensors, offender);
    return shape ? shape_text(shape.get()) : "a " + type_name(Py_TYPE(result));
  }

  // What the graph was built for is not what came. Without a rule of the program's that was a guess of ours, and plain
  // Python goes on with the result.
  [[noreturn]] void wrong(const std::string& expected, const std::string& got) const {
    if (!declared) throw OpError(ErrorKind::Runtime, name_ + "() returned " + got + " instead of " + expected);
    PyRef error = report("wrong_result", {py_str(name_), py_str(expected), py_str(got),
                                          frames_list(stack_ ? *stack_ : std::vector<UserFrame>())});
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
    throw PythonError{};
  }

  std::string name_;
  PyRef function_, shape_, keywords_;
  UserStack stack_;
  OpaqueCall known_;  // the key, and the arguments as written
};

// Why shapes are unknown decides what happens: a missing or unfinished rule breaks, any other exception is shown.
[[noreturn]] void fake_run_failed(const OutCall& call, const Node& n, const FakeRaised& e) {
  PyRef module = checked(import_module("minidynamo._dynamo.marked_callables"));
  const auto is = [&](const char* name) {
    return PyObject_IsInstance(e.error.get(), checked(PyObject_GetAttrString(module.get(), name)).get()) == 1;
  };
  if (is("DynamicShapeWithoutRule")) graph_break<GB0037>(call.name);
  if (is("DynamicShape")) graph_break<GB0036>(call.name);
  if (is("DataDependentValue")) graph_break<GB0033>(call.name);
  if (is("NoFakeImplementation")) graph_break<GB0090>(call.name);
  if (PyErr_GivenExceptionMatches(e.error.get(), PyExc_NotImplementedError))
    graph_break<GB0087>(call.name, text_of(e.error.get()));
  throw FailedFakeRun(e.error, call_text(n));
}

// Objects of the program's classes and the like exist outside the graph only.
bool fits_graph(Tracer& t, const ValueRef& raw) {
  ValueRef v = t.realize(raw);
  const auto all = [&](const std::vector<ValueRef>& items) {
    return std::ranges::all_of(items, [&](const ValueRef& item) { return fits_graph(t, item); });
  };
  if (auto* list = as<ListValue>(v)) return all(list->items);
  if (auto* tuple = as<TupleValue>(v)) return all(tuple->items);
  if (v->kind == ValueKind::Constant) return !PyComplex_Check(v->real.get()) && !PyBytes_Check(v->real.get());
  return v->kind == ValueKind::Tensor || v->kind == ValueKind::Size || v->kind == ValueKind::Slice;
}

// The ctx of a traced autograd function, which exists while tracing only.
bool is_autograd_context(const ValueRef& v) {
  auto* object = as<ObjectValue>(v);
  return object && !object->real && is_library_class(object->type, LibraryClass::AutogradContext);
}

void check_arguments(Tracer& t, const CallArgs& args) {
  for (auto& v : args.positional)
    if (is_autograd_context(v)) graph_break<GB0205>(v->print());
  for (auto& [name, v] : args.keywords)
    if (is_autograd_context(v)) graph_break<GB0205>(v->print());
  bool fits = std::ranges::all_of(args.positional, [&](const ValueRef& v) { return fits_graph(t, v); });
  fits &= std::ranges::all_of(args.keywords, [&](const auto& k) { return fits_graph(t, k.second); });
  if (!fits) graph_break<GB0055>(print_list(args.positional) + " " + print_keywords(args));
}

Node make_node(Tracer& t, const OutCall& call, const CallArgs& args) {
  check_arguments(t, args);
  Node n{NodeKind::Call};
  n.spelling = call.spelling;
  n.target = call.target;
  n.name = call.node_name;
  for (auto& a : args.positional) n.args.push_back(t.to_arg(a));
  for (auto& [k, v] : args.keywords) n.kwargs.emplace_back(text_of(k.get()), t.to_arg(v));
  n.stack = t.user_stack();
  return n;
}

}  // namespace

PyRef function_of(const Node& n) {
  const auto* callee = dynamic_cast<const PythonCallee*>(n.callee.get());
  const bool named = n.spelling == Spelling::Name && n.target != kFlatApply;
  return callee && named ? PyRef::borrow(callee->key()) : PyRef();
}

ValueRef call_out(Tracer& t, const OutCall& call, CallArgs args) {
  for (auto& a : args.positional) a = t.realize(a);
  for (auto& k : args.keywords) k.second = t.realize(k.second);
  Node n = make_node(t, call, args);
  FakeResult result;
  if (call.gives_nothing) result.shape = PyRef::borrow(Py_None);
  try {
    if (!call.gives_nothing) result = run_on_fakes(t, call.name, call.fake.get(), call.traced, args);
  } catch (const FakeRaised& e) {
    fake_run_failed(call, n, e);
  }
  PyRef keywords;
  if (!args.keywords.empty()) keywords = checked(PyTuple_New(static_cast<Py_ssize_t>(args.keywords.size())));
  for (std::size_t k = 0; k < args.keywords.size(); ++k)
    PyTuple_SET_ITEM(keywords.get(), static_cast<Py_ssize_t>(k), Py_NewRef(args.keywords[k].first.get()));
  OpaqueCall known;
  known.key = call.key;
  known.positional = call.positional.value_or(args.positional.size());
  known.keywords = call.positional ? call.keywords : keywords;
  auto callee = std::make_shared<PythonCallee>(call.name, call.function, result.shape, keywords, n.stack, known);
  callee->declared = call.declared;
  callee->aliases = !call.writes && result.aliases;
  // What only a handler knows is computed op by op.
  callee->aliases |= std::ranges::any_of(result.made, [](const TensorRef& x) { return handled_of(*x) != nullptr; });
  callee->writes = call.writes ? *call.writes : result.writes;
  n.callee = callee;
  n.types = result.types;
  for (TensorType& type : n.types)
    if (call.writes || type.storage < 0) type.storage = t.graphs.next_storage++;
  if (call.writes) {  // an operator: differentiable as far as anybody can tell
    const auto wants = [](const auto& x) { return x->type.requires_grad; };
    const bool grad = t.grad_enabled && std::ranges::any_of(tensors_of(t, args), wants);
    for (TensorType& type : n.types) {
      type.requires_grad = grad && is_differentiable(type.dtype);
      type.history = type.requires_grad ? GradHistory::Computed : GradHistory::Leaf;
    }
  }
  for (const TensorType& type : n.types) callee->grads.push_back(type.grad_state());
  n.multi = !is_one_tensor(result.shape.get()) && !n.types.empty();
  ++t.graphs.calls_captured;
  Node* made = t.graphs.current->append(std::move(n));
  if (t.log_traces) log_graph_call(t, *made);
  std::size_t next = 0;
  return shaped_value(t, result.shape.get(), [&]() -> ValueRef {
    const std::size_t i = next++;
    const ValueRef tensor = t.tensor_value(made->multi ? append_item(*t.graphs.current, made, i) : made);
    return i < result.made.size() ? with_stand_in(t, tensor, result.made[i]) : tensor;
  });
}

ValueRef held_tensor(Tracer& t, PyObject* tensor) {
  Node n{NodeKind::GetAttr};
  n.target = n.name = t.graphs.current->fresh_name("_held_tensor");
  n.constant = TensorRef(tensor_impl(tensor));
  n.types = {type_of(Arg(n.constant))};
  n.types[0].storage = t.graphs.next_storage++;
  n.stack = t.user_stack();
  return t.tensor_value(t.graphs.current->append(std::move(n)));
}

}  // namespace md
