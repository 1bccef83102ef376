// Settings of the process and the thread: set while tracing, for what is traced after, and set again by each run.
#include "frontend/builtins/families.h"
#include "frontend/cpython/import_module.h"
#include "frontend/tensors/generator_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/patched_config.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/objects.h"
#include "frontend/values/refusals.h"
#include "frontend/values/rules.h"
#include "ir/gradients/saved_tensor.h"
#include "ir/graph/kept_dtype.h"
#include "ir/reference/product_order.h"

namespace md {

namespace {

// Each run calls `setter`, after the graph.
void record_call(Tracer& t, const PyRef& setter, const CallArgs& args) {
  SideEffect e{EffectKind::Call, {}};
  e.value = make_ref<BuiltinValue>(setter);
  e.items = args.positional;
  if (!args.keywords.empty()) {
    PyRef names = checked(PyTuple_New(static_cast<Py_ssize_t>(args.keywords.size())));
    for (std::size_t i = 0; i < args.keywords.size(); ++i) {
      PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i), PyRef(args.keywords[i].first).release());
      e.items.push_back(args.keywords[i].second);
    }
    e.name = names;
  }
  t.effects.record(std::move(e));
}

constexpr const char* kSetProducts = "_set_product_freedom";

// Products of the graph before the call and behind it differ: it has a place among them.
void set_products_within(Tracer& t, const std::vector<PyRef>& given) {
  Node n{NodeKind::State};
  n.target = kSetProductFreedom;
  n.name = kSetProducts;
  for (const PyRef& g : given) n.args.push_back(Arg(checked(PyObject_IsTrue(g.get())) != 0));
  t.graphs.current->append(std::move(n));
}

// What it sets is put back at the end of the trace (frontend/driver/ambient_kept.h).
template <const char* const& name>
ValueRef rule_setter(Tracer& t, CallArgs& args) {
  std::vector<PyRef> positional;
  PyRef kwargs;
  if (!all_constant(args, positional, kwargs)) return {};
  const PyRef setter = checked(PyObject_GetAttrString(checked(import_module("minidynamo._C")).get(), name));
  const PyRef given = checked(PyTuple_New(static_cast<Py_ssize_t>(positional.size())));
  for (std::size_t i = 0; i < positional.size(); ++i)
    PyTuple_SET_ITEM(given.get(), static_cast<Py_ssize_t>(i), PyRef(positional[i]).release());
  if (!PyRef::steal(PyObject_Call(setter.get(), given.get(), kwargs.get()))) t.raise_current();
  record_call(t, setter, args);
  if (std::string_view(name) == kSetDefaultDType) {
    Node n{NodeKind::State};
    n.target = n.name = name;
    n.args = {Arg(default_dtype())};
    t.graphs.current->append(std::move(n));
  }
  if (std::string_view(name) == kSetProducts) set_products_within(t, positional);
  return t.none();
}

constexpr const char* kSavedTensors = "minidynamo.autograd.saved_tensors";
constexpr const char* kRefuseHooks = "_saved_tensors_hooks_disable";
constexpr const char* kAllowHooks = "_saved_tensors_hooks_enable";
constexpr const char* kSetDevice = "set_default_device";
constexpr const char* kSetThreads = "set_num_threads";
constexpr const char* kSetFill = "_set_deterministic_fill";

// What is asked of the process, as the reference has it: a call whose result no graph can hold.
template <const char* const& type, const char* const& name>
ValueRef rule_question(Tracer&, CallArgs&) {
  listed_break<GB0208>(std::string(type), std::string("call_function"), std::string(name));
}

constexpr const char* kInt = "int";
constexpr const char* kDevice = "device";
constexpr const char* kNumThreads = "get_num_threads";
constexpr const char* kSeed = "initial_seed";
constexpr const char* kPlace = "get_default_device";

// Whether hooks on saved tensors are refused: a graph keeps none by hooks, so that each run may set it after the graph.
template <const char* const& name>
ValueRef rule_hooks_refused(Tracer& t, CallArgs& args) {
  std::vector<PyRef> positional;
  PyRef kwargs;
  if (!t.config.fullgraph || saved_tensor_hooks() || !all_constant(args, positional, kwargs)) return {};
  record_call(t, checked(PyObject_GetAttrString(checked(import_module(kSavedTensors)).get(), name)), args);
  return t.none();
}

// The same for a block, all of which is in the graph where none of it may break.
ValueRef rule_hooks_refused_within(Tracer& t, CallArgs& args) {
  std::vector<PyRef> positional;
  PyRef kwargs;
  if (!t.config.fullgraph || saved_tensor_hooks() || !all_constant(args, positional, kwargs)) return {};
  if (args.size() != 1) return {};
  const PyRef nothing = checked(PyObject_GetAttrString(checked(import_module("contextlib")).get(), "nullcontext"));
  return make_ref<ContextValue>(ContextKind::Null, nothing, std::vector<ValueRef>());
}

// How tensors are shown as text: set again by each run, after the graph; traces make no such texts.
ValueRef rule_shown_as(Tracer& t, CallArgs& args) {
  std::vector<PyRef> positional;
  PyRef kwargs;
  if (!all_constant(args, positional, kwargs)) return {};
  record_call(t, checked(PyObject_GetAttrString(checked(import_module("minidynamo._C")).get(), "set_printoptions")),
              args);
  return t.none();
}

// Tuples of constants, wherever they come from.
PyRef constant_inside(Tracer& t, const ValueRef& raw) {
  const ValueRef v = t.realize(raw);
  auto* tuple = as<TupleValue>(v);
  if (!tuple) return v->as_constant();
  PyRef made = checked(PyTuple_New(static_cast<Py_ssize_t>(tuple->items.size())));
  for (std::size_t i = 0; i < tuple->items.size(); ++i) {
    PyRef item = constant_inside(t, tuple->items[i]);
    if (!item) return {};
    PyTuple_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i), item.release());
  }
  return made;
}

// The settings of this trace that patch_dynamo_config() may change, as they were.
ValueRef rule_use_settings(Tracer& t, CallArgs& args) {
  expect_args(t, "_use", args, 1, 1);
  const PyRef changes = constant_inside(t, args[0]);
  if (!changes || !PyTuple_Check(changes.get())) return {};
  const PyRef before = checked(PyList_New(0));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(changes.get()); ++i) {
    PyObject* const pair = PyTuple_GET_ITEM(changes.get(), i);
    if (text_of(PyTuple_GET_ITEM(pair, 0)) != "capture_scalar_outputs") continue;
    const PyRef was = PyRef::borrow(t.config.capture_scalar_outputs ? Py_True : Py_False);
    checked(PyList_Append(before.get(), checked(PyTuple_Pack(2, PyTuple_GET_ITEM(pair, 0), was.get())).get()));
    patched_config.set_capture(t.config, checked(PyObject_IsTrue(PyTuple_GET_ITEM(pair, 1))));
  }
  return t.constant(checked(PyList_AsTuple(before.get())));
}

// The stream starts anew before the graph runs: a graph that has drawn from it, or called what may, ends here.
ValueRef rule_manual_seed(Tracer& t, CallArgs& args) {
  ValueRef seed = args.take_keyword("seed");
  if (!seed && args.positional.size() == 1) seed = args[0];
  if (!seed || args.size() > args.positional.size()) return {};
  PyRef number = t.realize(seed)->as_constant();
  if (!number || !PyLong_Check(number.get())) return {};
  for (const auto& n : t.graphs.current->nodes) {
    const OpKind kind = n->kind == NodeKind::Op ? op(n->op).kind() : OpKind::View;
    const bool may_draw = kind == OpKind::Random || kind == OpKind::Kernel || kind == OpKind::Composite;
    if (n->kind == NodeKind::Call || may_draw) return {};
  }
  t.seed = seed_argument(number.get(), "manual_seed");
  return t.from_object(default_generator_object().get(), nullptr);
}

// The grad mode from here on, without a manager.
ValueRef rule_switch_grad(Tracer& t, CallArgs& args) {
  expect_args(t, "_set_grad_enabled", args, 1, 1);
  const PyRef on = args[0]->as_constant();
  if (!on) return {};
  t.grad_enabled = args[0]->truth(t);
  t.emit_grad_switch(t.grad_enabled);
  return t.none();
}

constexpr BuiltinRow kSettingRules[] = {
    {"minidynamo", "set_default_dtype", rule_setter<kSetDefaultDType>},
    {"minidynamo", "set_default_device", rule_setter<kSetDevice>},
    {"minidynamo", "set_num_threads", rule_setter<kSetThreads>},
    {"minidynamo", "set_printoptions", rule_shown_as},
    {kSavedTensors, kRefuseHooks, rule_hooks_refused<kRefuseHooks>},
    {kSavedTensors, kAllowHooks, rule_hooks_refused<kAllowHooks>},
    {kSavedTensors, "disable_saved_tensors_hooks", rule_hooks_refused_within},
    {"minidynamo._dynamo.config_patches", "_use", rule_use_settings},
    {"minidynamo._C", kSetFill, rule_setter<kSetFill>},
    {"minidynamo._C", kSetProducts, rule_setter<kSetProducts>},
    {"minidynamo", "manual_seed", rule_manual_seed},
    {"minidynamo._C", "_set_grad_enabled", rule_switch_grad},
    {"minidynamo", "get_num_threads", rule_question<kInt, kNumThreads>},
    {"minidynamo", "initial_seed", rule_question<kInt, kSeed>},
    {"minidynamo", "get_default_device", rule_question<kDevice, kPlace>},
};

}  // namespace

std::span<const BuiltinRow> setting_rules() { return kSettingRules; }

}  // namespace md
