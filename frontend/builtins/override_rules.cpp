// What torch.overrides stands on: switches, the stack of modes, and the question whether anybody overrides.
#include <algorithm>

#include "frontend/builtins/families.h"
#include "frontend/cpython/import_module.h"
#include "frontend/tensors/ambient_modes.h"
#include "frontend/tensors/handlers.h"
#include "frontend/tensors/overridable_function.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"
#include "frontend/values/iterators.h"
#include "frontend/values/refusals.h"
#include "frontend/values/rules.h"
#include "frontend/values/tensor_subclass.h"

namespace md {

namespace {

ValueRef manager(Tracer& t, CallArgs& args, const char* name, Asked inside) {
  expect_args(t, name, args, 0, 0);
  const PyRef module = checked(import_module("minidynamo._C"));
  auto made = make_ref<ContextValue>(ContextKind::Overrides, checked(PyObject_GetAttrString(module.get(), name)),
                                     std::vector<ValueRef>());
  made->asked = static_cast<std::uint8_t>(inside);
  return made;
}
ValueRef rule_disable_subclasses(Tracer& t, CallArgs& args) {
  return manager(t, args, "DisableTorchFunctionSubclass", Asked::Modes);
}
ValueRef rule_disable_all(Tracer& t, CallArgs& args) { return manager(t, args, "DisableTorchFunction", Asked::None); }
ValueRef rule_enable(Tracer& t, CallArgs& args) { return manager(t, args, "_EnableTorchFunction", Asked::All); }

ValueRef is_overridden(Tracer& t, const std::vector<ValueRef>& values) {
  CallArgs flat;  // what is in lists does not count here
  for (const ValueRef& v : values)
    if (t.realize(v)->kind == ValueKind::Object) flat.positional.push_back(v);
  return t.boolean(t.overrides.asks_modes() || (t.overrides.asks_subclasses() && !asked_types(t, flat).empty()));
}
ValueRef rule_has(Tracer& t, CallArgs& args) {
  expect_args(t, "has_torch_function", args, 1, 1);
  return is_overridden(t, collect(t, args[0]));
}
ValueRef rule_has_variadic(Tracer& t, CallArgs& args) {
  if (!args.keywords.empty()) throw WrongArguments{};
  return is_overridden(t, args.positional);
}

// (callable, relevant, args, kwargs)
ValueRef rule_handle(Tracer& t, CallArgs& args) {
  expect_args(t, "_handle_torch_function", args, 4, 4);
  CallArgs relevant, call;
  relevant.positional = collect(t, args[1]);
  call.positional = collect(t, args[2]);
  auto* keywords = as<DictValue>(t.realize(args[3]));
  if (!keywords) throw WrongArguments{};
  keywords->observe_keys(t);
  for (auto& e : keywords->live()) call.keywords.emplace_back(e.key->as_constant(), e.value);
  return answer_of_overrides(t, asked_types(t, relevant), t.realize(args[0]), call);
}

// Modes come and go with the blocks of their `with`, whose frames are not split.
bool is_called_by(Tracer& t, const char* method) {
  const PyRef name = checked(PyObject_GetAttrString(t.frame().code.get(), "co_qualname"));
  return text_of(name.get()) == std::string("TorchFunctionMode.") + method;
}

ValueRef rule_push(Tracer& t, CallArgs& args) {
  expect_args(t, "_push_on_torch_function_stack", args, 1, 1);
  if (!is_called_by(t, "__enter__")) return {};
  t.overrides.modes.push_back(args[0]);
  return t.none();
}
ValueRef rule_pop(Tracer& t, CallArgs& args) {
  expect_args(t, "_pop_torch_function_stack", args, 0, 0);
  if (t.overrides.modes.empty() || !is_called_by(t, "__exit__")) return {};
  const ValueRef mode = t.overrides.modes.back();
  // One that was there before the call stays there while the graph runs: the block ends in plain Python.
  const SourceRef place = mode->source ? mode->source->base : nullptr;
  if (place && place->kind == SourceKind::Constant && place->object.get() == modes_list()) return {};
  t.overrides.modes.pop_back();
  return mode;
}
ValueRef rule_modes_count(Tracer& t, CallArgs& args) {
  expect_args(t, "_len_torch_function_stack", args, 0, 0);
  return t.integer(static_cast<std::int64_t>(t.overrides.modes.size()));
}
ValueRef rule_mode_at(Tracer& t, CallArgs& args) {
  expect_args(t, "_get_function_stack_at", args, 1, 1);
  std::int64_t i = 0;
  if (!constant_int(args[0], i) || i < 0 || i >= static_cast<std::int64_t>(t.overrides.modes.size())) return {};
  return t.overrides.modes[static_cast<std::size_t>(i)];
}
ValueRef rule_is_enabled(Tracer& t, CallArgs& args) {
  expect_args(t, "_is_torch_function_enabled", args, 0, 0);
  return t.boolean(t.overrides.asks_subclasses());
}
ValueRef rule_is_all_disabled(Tracer& t, CallArgs& args) {
  expect_args(t, "_is_torch_function_all_disabled", args, 0, 0);
  return t.boolean(t.overrides.asked == Asked::None);
}
ValueRef rule_class_has_handler(Tracer& t, CallArgs& args) {
  expect_args(t, "_class_has_handler", args, 1, 1);
  auto* const cls = as<ClassValue>(args[0]);
  return t.boolean(cls && PyType_IsSubtype(cls->type(), tensor_type) && class_has_handler(cls->type()));
}

// autocast(device_type, dtype, enabled, cache_enabled) of constants; null: it is an object of the class like any other.
ValueRef region_of_constants(Tracer& t, const PyRef& module, const PyRef& cls, const CallArgs& args) {
  static constexpr const char* kNames[] = {"device_type", "dtype", "enabled", "cache_enabled"};
  if (args.positional.size() > std::size(kNames)) return {};
  std::vector<ValueRef> given{{}, t.none(), t.boolean(true), t.none()};
  for (std::size_t i = 0; i < args.positional.size(); ++i) given[i] = t.realize(args.positional[i]);
  for (const auto& [name, v] : args.keywords) {
    const auto at = std::ranges::find(kNames, text_of(name.get()));
    if (at == std::end(kNames)) return {};
    given[static_cast<std::size_t>(at - std::begin(kNames))] = t.realize(v);
  }
  const PyRef kind = given[0] ? given[0]->as_constant() : PyRef();
  if (!kind || !PyUnicode_Check(kind.get())) return {};
  if (is_true_constant(given[1], Py_None)) {  // what the region around has
    const PyRef usual = checked(PyObject_GetAttrString(module.get(), "_traced_dtype"));
    given[1] = t.realize(t.call(t.from_object(usual.get(), nullptr), CallArgs{{given[0]}, {}}));
  }
  PyRef constants = checked(PyTuple_New(4));
  for (std::size_t i = 0; i < given.size(); ++i) {
    PyRef c = given[i]->as_constant();
    if (!c) return {};
    PyTuple_SET_ITEM(constants.get(), static_cast<Py_ssize_t>(i), c.release());
  }
  const PyRef real = PyRef::steal(PyObject_Call(cls.get(), constants.get(), nullptr));
  if (!real) {  // the traced class raises it
    PyErr_Clear();
    return {};
  }
  const PyRef enabled = checked(PyObject_GetAttrString(real.get(), "_enabled"));
  given[2] = t.constant(enabled);
  return make_ref<ContextValue>(ContextKind::Autocast, cls, std::move(given));
}

ValueRef rule_autocast(Tracer& t, CallArgs& args) {
  const PyRef module = checked(import_module("minidynamo.amp.autocast_mode"));
  const PyRef cls = checked(PyObject_GetAttrString(module.get(), "autocast"));
  if (ValueRef region = region_of_constants(t, module, cls, args)) return region;
  const auto plain = make_ref<ClassValue>(cls);
  return instantiate(t, *plain, std::move(args));
}

ValueRef rule_inside_of(Tracer& t, CallArgs& args) {
  expect_args(t, "_inside_of", args, 1, 1);
  auto* f = as<FunctionValue>(t.realize(args[0]));
  return f && f->overridable ? t.from_object(function_of_overridable(f->overridable.get()), nullptr) : t.none();
}

constexpr BuiltinRow kOverrideRules[] = {{"minidynamo.amp.autocast_mode", "autocast", rule_autocast},
                                         {"minidynamo._C", "_inside_of", rule_inside_of},
                                         {"minidynamo._C", "_class_has_handler", rule_class_has_handler},
                                         {"minidynamo._C", "DisableTorchFunctionSubclass", rule_disable_subclasses},
                                         {"minidynamo._C", "DisableTorchFunction", rule_disable_all},
                                         {"minidynamo._C", "_EnableTorchFunction", rule_enable},
                                         {"minidynamo._C", "_has_torch_function", rule_has},
                                         {"minidynamo._C", "_has_torch_function_unary", rule_has_variadic},
                                         {"minidynamo._C", "_has_torch_function_variadic", rule_has_variadic},
                                         {"minidynamo._C", "_handle_torch_function", rule_handle},
                                         {"minidynamo._C", "_push_on_torch_function_stack", rule_push},
                                         {"minidynamo._C", "_pop_torch_function_stack", rule_pop},
                                         {"minidynamo._C", "_len_torch_function_stack", rule_modes_count},
                                         {"minidynamo._C", "_get_function_stack_at", rule_mode_at},
                                         {"minidynamo._C", "_is_torch_function_enabled", rule_is_enabled},
                                         {"minidynamo._C", "_is_torch_function_all_disabled", rule_is_all_disabled}};

}  // namespace

std::span<const BuiltinRow> override_rules() { return kOverrideRules; }

}  // namespace md
