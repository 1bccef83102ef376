// A handle is made by code of minidynamo.nn.hooks that is traced; the real hook is registered by an effect.
#include "frontend/values/hook_handles.h"

#include <algorithm>

#include "frontend/cpython/import_module.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/constant.h"
#include "frontend/values/functions.h"
#include "frontend/values/objects.h"

namespace md {

static PyRef function_of_hooks(const char* name) {
  return checked(PyObject_GetAttrString(checked(import_module("minidynamo.nn.hooks")).get(), name));
}

bool registers_hook(const std::string& method) {
  return method == "register_hook" || method == "register_post_accumulate_grad_hook";
}

// The handle goes straight to a global: that is said first.
static void break_where_stored(Tracer& t) {
  const SymbolicFrame& f = t.frame();
  const auto next = static_cast<std::size_t>(f.current) + 1;
  if (next >= f.body->instructions.size() || f.body->instructions[next].op != Opcode::STORE_GLOBAL) return;
  const std::string name = text_of(f.body->names[static_cast<std::size_t>(f.body->instructions[next].a)].get());
  if (!f.own_globals) graph_break<GB0101>(name);
  graph_break<GB0100>(name);
}

ValueRef register_hook(Tracer& t, TensorValue& tensor, PyObject* method, CallArgs& args) {
  const std::string n = text_of(method);
  ValueRef hook = args.take_keyword("hook");
  if (args.size() != (hook ? 0u : 1u)) unmodelled_method(tensor, n, args);
  if (!hook) hook = args[0];
  if (!tensor.type.requires_grad)
    t.raise(PyExc_RuntimeError, "cannot register a hook on a tensor that doesn't require gradient");
  if (!tensor.source) break_where_stored(t);
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
