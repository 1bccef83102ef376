// A handle is made by code of minidynamo.nn.hooks that is traced; the real hook is registered by an effect.
#include "frontend/values/hook_handles.h"

#include <algorithm>

#include "frontend/cpython/frame_access.h"
#include "frontend/cpython/import_module.h"
#include "frontend/tensors/compiled_backward.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/constant.h"
#include "frontend/values/functions.h"
#include "frontend/values/objects.h"
#include "ir/graph/callee.h"

namespace md {

static PyRef function_of_hooks(const char* name) {
  return checked(PyObject_GetAttrString(checked(import_module("minidynamo.nn.hooks")).get(), name));
}

bool registers_hook(const std::string& method) {
  return method == "register_hook" || method == "register_post_accumulate_grad_hook";
}

// The globals of the program's first frame: below it may stand those of a called module.
static PyObject* first_globals(const Tracer& t) {
  for (auto& f : t.stack.frames) {
    PyObject* const module = find_item(f->globals.get(), "__name__");
    if (!module || !PyUnicode_Check(module) || !text_of(module).starts_with("minidynamo")) return f->globals.get();
  }
  return t.stack.frames.front()->globals.get();
}

void break_on_stored_handle(Tracer& t, const std::string& name) {
  if (t.frame().globals.get() == first_globals(t)) graph_break<GB0100>(name);
  graph_break<GB0101>(name);
}

// The handle goes straight to a global: that is said first.
static void break_where_stored(Tracer& t) {
  const SymbolicFrame& f = t.frame();
  const auto next = static_cast<std::size_t>(f.current) + 1;
  if (next >= f.body->instructions.size() || f.body->instructions[next].op != Opcode::STORE_GLOBAL) return;
  break_on_stored_handle(t, text_of(f.body->names[static_cast<std::size_t>(f.body->instructions[next].a)].get()));
}

// Registers a hook on a tensor the graph computes, where gradients are recorded.
class HookInGraph final : public Callee {
 public:
  explicit HookInGraph(PyRef hook) : hook_(std::move(hook)) {}
  ~HookInGraph() override {
    if (!Py_IsInitialized()) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    hook_ = PyRef();
    PyGILState_Release(state);
  }
  std::vector<TensorRef> run(std::span<const Arg> args, std::span<const ExpectedTensor>) const override {
    const Disarmed plain;
    const PyRef tensor = from_arg(args[0]);
    (void)checked(PyObject_CallMethod(tensor.get(), "register_hook", "O", hook_.get()));
    return {TensorRef(tensor_impl(tensor.get()))};
  }

 private:
  PyRef hook_;
};

// The function a graph can hold: one from outside, or one made of what is there outside. Null: there is none.
static PyRef lasting_function(Tracer& t, const ValueRef& hook) {
  const auto keep = [&](const ValueRef& v) {
    if (v->source) t.guard(GuardKind::IdMatch, v->source, v->real);
    return v->real;
  };
  auto* f = as<FunctionValue>(hook);
  if (!f) return hook->source && hook->real && hook->kind != ValueKind::Method ? keep(hook) : PyRef();
  if (f->real) return keep(hook);
  if (!f->defaults.empty() || !f->kwdefaults.empty() || !f->attrs.empty()) return {};
  for (auto& cell : f->closure)
    if (!cell->real || cell->stored) return {};
  PyRef made = checked(PyFunction_NewWithQualName(f->code.get(), f->globals.get(), f->qualname.get()));
  if (f->closure.empty()) return made;
  PyRef cells = checked(PyTuple_New(static_cast<Py_ssize_t>(f->closure.size())));
  for (std::size_t k = 0; k < f->closure.size(); ++k)
    PyTuple_SET_ITEM(cells.get(), static_cast<Py_ssize_t>(k), keep(ValueRef(f->closure[k].get())).release());
  checked(PyFunction_SetClosure(made.get(), cells.get()));
  return made;
}

// Where the whole function has to be one graph, the hook of a tensor it computes is registered when the backward pass
// runs the graph again (ir/run/graph_history.h). Nobody may look at the handle.
static bool hooked_in_graph(Tracer& t, const TensorValue& tensor, const std::string& method, const ValueRef& hook) {
  const SymbolicFrame& f = t.frame();
  const auto next = static_cast<std::size_t>(f.current) + 1;
  const bool unseen = next < f.body->instructions.size() && f.body->instructions[next].op == Opcode::POP_TOP;
  if (!t.config.fullgraph || !unseen || method != "register_hook" || !t.graphs.outer.empty()) return false;
  PyRef function = lasting_function(t, hook);
  if (!function) return false;
  DelegatedCall call{};
  call.args = {Arg(tensor.node)};
  const ValueRef seen =
      t.call_op("detach", Spelling::Method, CallArgs{{ValueRef(const_cast<TensorValue*>(&tensor))}, {}});
  Node* const node = as<TensorValue>(seen)->node;
  call.first = call.last = node;
  call.results.emplace_back(0, node);
  call.callee = std::make_shared<HookInGraph>(std::move(function));
  t.graphs.current->delegated.push_back(std::move(call));
  t.graphs.hooked.insert(tensor.type.storage);
  return true;
}

// backward() is captured as well, and the graph is for an export, which has no place for the state between the two.
static bool is_exported_with_backward() {
  if (!autograd_compiler()) return false;
  const PyRef exporting = checked(import_module("minidynamo._dynamo.exporting"));
  return checked(PyObject_CallMethod(exporting.get(), "under_way", nullptr)).get() == Py_True;
}

ValueRef register_hook(Tracer& t, TensorValue& tensor, PyObject* method, CallArgs& args) {
  const std::string n = text_of(method);
  ValueRef hook = args.take_keyword("hook");
  if (args.size() != (hook ? 0u : 1u)) unmodelled_method(tensor, n, args);
  if (!hook) hook = args[0];
  if (!tensor.type.requires_grad)
    t.raise(PyExc_RuntimeError, "cannot register a hook on a tensor that doesn't require gradient");
  if (!tensor.source) break_where_stored(t);
  if (!tensor.source && is_exported_with_backward()) graph_break<GB0173>();
  if (!tensor.source && hooked_in_graph(t, tensor, n, t.realize(hook))) return t.none();
  if (!tensor.source) graph_break<GB0029>(tensor.print(), n);
  if (!t.graphs.outer.empty()) graph_break<GB0067>("a hook of " + tensor.source->name);
  if (n != "register_hook" && !tensor.type.is_leaf())
    t.raise(PyExc_RuntimeError, "post accumulate grad hooks cannot be registered on non-leaf tensors");
  ValueRef handle = t.call(t.from_object(function_of_hooks("_noted_hook").get(), nullptr), CallArgs{{hook}, {}});
  SideEffect e{EffectKind::Call, {}};
  e.key = handle;  // by which it is known
  e.value = make_ref<BuiltinValue>(function_of_hooks("_register_noted"));
  e.items = {handle, make_ref<BoundAttrValue>(ValueRef(&tensor), PyRef::borrow(method))};
  t.effects.record(std::move(e));
  t.graphs.hooked.insert(tensor.type.storage);
  return handle;
}

bool is_hook_handle(Tracer& t, const ValueRef& v) {
  return std::ranges::any_of(t.effects.list(), [&](const SideEffect& e) {
    return e.kind == EffectKind::Call && !e.target && e.key && e.key.get() == v.get();
  });
}

}  // namespace md
