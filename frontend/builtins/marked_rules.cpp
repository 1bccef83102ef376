// Functions of the compiler's own that traced code calls: nonstrict_trace, checkpoint, error_on_graph_break.
#include "frontend/builtins/families.h"
#include "frontend/cpython/import_module.h"
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
  expect_args(t, "nonstrict_trace", args, 1, 1);
  const ValueRef& f = args[0];
  if (f->kind == ValueKind::Constant)
    graph_break<GB0111>(f->print(), print_list(args.positional), print_keywords(args));
  if (!f->real || !PyCallable_Check(f->real.get())) graph_break<GB0078>(f->print());
  return make_ref<MarkedValue>(MarkKind::Nonstrict, f->real, f->real);
}

bool is_constant(const ValueRef& v) { return bool(v->as_constant()); }

// utils.checkpoint.checkpoint(function, *args): the call itself, which has to be one that could be repeated.
ValueRef rule_checkpoint(Tracer& t, CallArgs& args) {
  for (const char* name : {"use_reentrant", "determinism_check", "debug", "preserve_rng_state", "early_stop"})
    args.take_keyword(name);
  if (ValueRef contexts = args.take_keyword("context_fn")) {
    contexts = t.realize(contexts);
    if (auto* bound = as<PartialValue>(contexts)) {
      for (auto& v : bound->args.positional)
        if (!is_constant(t.realize(v))) graph_break<GB0086>(contexts->print());
      for (auto& [name, v] : bound->args.keywords)
        if (!is_constant(t.realize(v))) graph_break<GB0086>(contexts->print());
    }
    unmodelled(contexts->print(), "contexts of a checkpoint");
  }
  if (args.positional.empty()) t.raise(PyExc_TypeError, "checkpoint() missing required argument: 'function'");
  ValueRef function = args[0];
  args.positional.erase(args.positional.begin());
  return call_without_effects(t, function, std::move(args));
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

constexpr BuiltinRow kRows[] = {{"minidynamo.compiler", "is_exporting", rule_is_exporting},
                                {"minidynamo._dynamo", "nonstrict_trace", rule_nonstrict_trace},
                                {"minidynamo._dynamo", "error_on_graph_break", rule_error_on_graph_break},
                                {"minidynamo.utils.checkpoint", "checkpoint", rule_checkpoint}};

}  // namespace

std::span<const BuiltinRow> marked_rules() { return kRows; }

}  // namespace md
