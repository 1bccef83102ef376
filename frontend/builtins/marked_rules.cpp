// Functions of the compiler's own that traced code calls: nonstrict_trace, checkpoint, error_on_graph_break.
#include "frontend/builtins/families.h"
#include "frontend/cpython/import_module.h"
#include "frontend/cpython/library_classes.h"
#include "frontend/marked_callables/marked_value.h"
#include "frontend/marked_callables/regions.h"
#include "frontend/trace/breaks.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/objects.h"

namespace md {

namespace {

ValueRef rule_is_exporting(Tracer& t, CallArgs& args) {
  expect_args(t, "is_exporting", args, 0, 0);
  return t.boolean(true);
}

// nonstrict_trace(g)(x) written inside compiled code.
ValueRef rule_nonstrict_trace(Tracer& t, CallArgs& args) {
  if (args.positional.empty())
    if (ValueRef named = args.take_keyword("traceable_fn")) args.positional.push_back(t.realize(named));
  expect_args(t, "nonstrict_trace", args, 1, 1);
  const ValueRef& f = args[0];
  if (PyTypeObject* type = f->python_type(); f->kind == ValueKind::Constant || (type && !type->tp_call))
    graph_break<GB0111>(f->print(), print_list(args.positional), print_keywords(args));
  if (!f->real || !PyCallable_Check(f->real.get())) graph_break<GB0078>(f->print());
  return make_ref<MarkedValue>(MarkKind::Nonstrict, f->real, f->real);
}

// What a guard could compare: no tensor, object or function made here over variables, on its own or in a container.
bool is_constant(Tracer& t, const ValueRef& raw) {
  ValueRef v = t.realize(raw);
  const auto all = [&](const std::vector<ValueRef>& items) {
    return std::ranges::all_of(items, [&](const ValueRef& item) { return is_constant(t, item); });
  };
  if (auto* f = as<FunctionValue>(v)) return f->closure.empty() || f->real;
  if (auto* list = as<ListValue>(v)) return all(list->items);
  if (auto* tuple = as<TupleValue>(v)) return all(tuple->items);
  if (auto* dict = as<DictValue>(v))
    return std::ranges::all_of(dict->live(), [&](const auto& e) { return is_constant(t, e.value); });
  switch (v->kind) {
    case ValueKind::Tensor:
    case ValueKind::Object:
    case ValueKind::Context:
      return false;
    default:
      return true;
  }
}

void check_context_function(Tracer& t, const ValueRef& contexts) {
  auto* bound = as<PartialValue>(contexts);
  if (!bound) return;
  for (auto& v : bound->args.positional)
    if (!is_constant(t, v)) graph_break<GB0086>(t.realize(v)->print());
  for (auto& [name, v] : bound->args.keywords)
    if (!is_constant(t, v)) graph_break<GB0086>(t.realize(v)->print());
}

// utils.checkpoint.checkpoint(function, *args): the call itself, which has to be one that could be repeated.
ValueRef rule_checkpoint(Tracer& t, CallArgs& args) {
  for (const char* name : {"use_reentrant", "determinism_check", "debug", "preserve_rng_state", "early_stop"})
    args.take_keyword(name);
  ValueRef contexts = args.take_keyword("context_fn");
  if (contexts) check_context_function(t, contexts = t.realize(contexts));
  if (args.positional.empty()) t.raise(PyExc_TypeError, "checkpoint() missing required argument: 'function'");
  ValueRef function = args[0];
  args.positional.erase(args.positional.begin());
  if (!contexts) return call_without_effects(t, function, std::move(args));
  auto named = make_ref<DictValue>(&PyDict_Type);
  for (auto& [name, v] : args.keywords) named->put(t, t.constant(name), v);
  PyRef module = checked(import_module("minidynamo._higher_order_ops.wrap"));
  PyRef within = checked(PyObject_GetAttrString(module.get(), "within_contexts"));
  CallArgs given{{contexts, function, make_ref<TupleValue>(std::move(args.positional)), named}, {}};
  return t.call(t.from_object(within.get(), nullptr), std::move(given));
}

ValueRef rule_error_on_graph_break(Tracer& t, CallArgs& args) {
  expect_args(t, "error_on_graph_break", args, 1, 1);
  PyRef c = args[0]->as_constant();
  if (!c) unmodelled(args[0]->print(), "error_on_graph_break with an argument that is no constant");
  PyRef module = checked(import_module("minidynamo._dynamo"));
  auto manager = make_ref<ContextValue>(
      ContextKind::BreakPolicy, checked(PyObject_GetAttrString(module.get(), "error_on_graph_break")), args.positional);
  manager->target = args[0]->truth(t);
  return manager;
}

// Within a trace compile(function) asks for what happens anyway.
ValueRef rule_compile(Tracer& t, CallArgs& args) {
  if (args.positional.size() != 1) return {};
  const ValueRef function = t.realize(args[0]);
  const bool callable = function->kind == ValueKind::Function || function->kind == ValueKind::Method ||
                        is_library_class(function->python_type(), LibraryClass::Module);
  return callable ? function : ValueRef();
}

constexpr BuiltinRow kMarkedRules[] = {{"minidynamo", "compile", rule_compile},
                                       {"minidynamo.compiler", "is_exporting", rule_is_exporting},
                                       {"minidynamo._dynamo", "nonstrict_trace", rule_nonstrict_trace},
                                       {"minidynamo._dynamo", "error_on_graph_break", rule_error_on_graph_break},
                                       {"minidynamo.utils.checkpoint", "checkpoint", rule_checkpoint}};

}  // namespace

std::span<const BuiltinRow> marked_rules() { return kMarkedRules; }

}  // namespace md
