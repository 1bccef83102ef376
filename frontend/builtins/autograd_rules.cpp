// Autograd functions, whose forward is traced in place, the engine nobody may drive from a graph, and code that runs at
// compile time.
#include "frontend/builtins/families.h"
#include "frontend/cpython/import_module.h"
#include "frontend/cpython/library_classes.h"
#include "frontend/cpython/made_once.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/report/events.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"
#include "frontend/values/objects.h"
#include "frontend/values/tensor.h"

namespace md {

namespace {

constexpr const char* kModule = "minidynamo.autograd.function";

PyRef of_module(const char* module, const char* name) {
  return checked(PyObject_GetAttrString(checked(import_module(module)).get(), name));
}

PyObject* base_function() {
  return made_once([] { return of_module(kModule, "Function").release(); });
}

// Whether the class has something else under the name than Function itself.
bool overrides(Tracer& t, PyTypeObject* cls, const char* name) {
  PyRef key = checked(PyUnicode_InternFromString(name));
  return t.on_class(cls, key.get()).found != type_find(reinterpret_cast<PyTypeObject*>(base_function()), key.get());
}

bool is_callable_code(PyObject* found) {
  if (found && (Py_TYPE(found) == &PyStaticMethod_Type || Py_TYPE(found) == &PyClassMethod_Type)) {
    PyRef inner = checked(PyObject_GetAttrString(found, "__func__"));
    return PyFunction_Check(inner.get());
  }
  return found && PyFunction_Check(found);
}

// Function.apply with the class in front.
ValueRef rule_apply(Tracer& t, CallArgs& args) {
  auto* cls = args.positional.empty() ? nullptr : as<ClassValue>(args[0]);
  if (!cls) return {};
  const std::string self = cls->print();
  PyTypeObject* type = cls->type();
  std::vector<ValueRef> given(args.positional.begin() + 1, args.positional.end());
  if (!is_callable_code(t.on_class(type, checked(PyUnicode_InternFromString("forward")).get()).found))
    graph_break<GB0085>(self, print_list(given), print_keywords(args));
  bool wanted = false;
  for (auto& v : given) {
    auto* x = as<TensorValue>(v);
    wanted |= x && x->type.requires_grad;
  }
  if (wanted && t.grad_enabled) {
    if (overrides(t, type, "jvp")) graph_break<GB0144>(self, print_list(given), print_keywords(args));
    if (overrides(t, type, "vjp")) graph_break<GB0145>(self, print_list(given), print_keywords(args));
  }
  auto named = make_ref<DictValue>(&PyDict_Type);
  for (auto& [name, v] : args.keywords) named->put(t, t.constant(name), v);
  return t.call(t.from_object(of_module(kModule, "_run").get(), nullptr),
                CallArgs{{args[0], make_ref<TupleValue>(std::move(given)), named}, {}});
}

// The result of a traced forward: what the graph hands out requires grad.
ValueRef rule_require_grad(Tracer& t, CallArgs& args) {
  expect_args(t, "_require_grad", args, 1, 1);
  auto* x = as<TensorValue>(args[0]);
  if (!x) return {};
  x->set_grad_state({true, GradHistory::Computed});
  t.graphs.holds_functions = true;
  return args[0];
}

ValueRef rule_save_for_backward(Tracer& t, CallArgs& args) {
  auto* ctx = args.positional.empty() ? nullptr : as<ObjectValue>(args[0]);
  if (!ctx) return {};
  if (ctx->real) graph_break<GB0138>(ctx->print());
  for (std::size_t k = 1; k < args.positional.size(); ++k)
    if (args[k]->kind != ValueKind::Tensor && !is_true_constant(args[k], Py_None))
      t.raise(PyExc_TypeError, "save_for_backward can only save variables, but got a " +
                                   (args[k]->python_type() ? type_name(args[k]->python_type()) : "object"));
  ctx->plain_store(t, checked(PyUnicode_InternFromString("_saved")).get(),
                   make_ref<TupleValue>(std::vector<ValueRef>(args.positional.begin() + 1, args.positional.end())));
  return t.none();
}

template <int which>
ValueRef rule_context_method(Tracer&, CallArgs& args) {
  static const char* const names[] = {"maybe_clear_saved_tensors", "save_for_forward"};
  if (args.positional.empty()) return {};
  graph_break<GB0139>(args[0]->print(), std::string(names[which]));
}

ValueRef rule_engine_valid(Tracer&, CallArgs& args) {
  if (args.positional.empty()) return {};
  graph_break<GB0165>(args[0]->print(), "is_checkpoint_valid");
}

ValueRef rule_engine_callback(Tracer&, CallArgs& args) {
  if (args.positional.empty()) return {};
  graph_break<GB0166>(args[0]->print());
}

constexpr BuiltinRow kRows[] = {{kModule, "Function.apply.__func__", rule_apply},
                                {kModule, "_require_grad", rule_require_grad},
                                {kModule, "FunctionCtx.save_for_backward", rule_save_for_backward},
                                {kModule, "FunctionCtx.maybe_clear_saved_tensors", rule_context_method<0>},
                                {kModule, "FunctionCtx.save_for_forward", rule_context_method<1>},
                                {kModule, "_ImperativeEngine.is_checkpoint_valid", rule_engine_valid},
                                {kModule, "_ImperativeEngine.queue_callback", rule_engine_callback}};

}  // namespace

std::span<const BuiltinRow> autograd_rules() { return kRows; }

}  // namespace md
