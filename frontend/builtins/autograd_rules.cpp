// Autograd functions, whose forward is traced in place, the engine nobody may drive from a graph, and code that runs at
// compile time.
#include <algorithm>
#include <optional>

#include "frontend/builtins/backward_probe.h"
#include "frontend/builtins/families.h"
#include "frontend/cpython/frame_access.h"
#include "frontend/cpython/import_module.h"
#include "frontend/cpython/library_classes.h"
#include "frontend/cpython/made_once.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/entries/frame_notes.h"
#include "frontend/marked_callables/shaped_values.h"
#include "frontend/plan/result_shape.h"
#include "frontend/report/events.h"
#include "frontend/tensors/function_modes.h"
#include "frontend/tensors/subclass.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"
#include "frontend/values/objects.h"
#include "frontend/values/tensor.h"
#include "frontend/values/tensor_subclass.h"
#include "ir/graph/callee.h"

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

// The arguments of a call: containers and constants around what the graph computes and around objects of the program.
struct FunctionArguments {
  PyRef positional, keywords;
  std::vector<PyRef> held;  // for each hole in order; null: the graph computes it
};

// The call of a Function itself, for graphs that record gradients.
class AppliedFunction final : public Callee {
 public:
  AppliedFunction(PyRef apply, FunctionArguments given) : apply_(std::move(apply)), given_(std::move(given)) {}
  ~AppliedFunction() override {
    if (!Py_IsInitialized()) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    apply_ = PyRef(), given_ = {};
    PyGILState_Release(state);
  }
  // Tensors among the results, null where one is none.
  std::vector<TensorRef> run(std::span<const Arg> args, std::span<const ExpectedTensor>) const override {
    const PyRef call = checked(
        PyObject_CallFunctionObjArgs(of_module("minidynamo._dynamo.marked_callables", "_Spread").get(), apply_.get(),
                                     given_.positional.get(), given_.keywords.get(), shape_hole(), nullptr));
    const PyRef inside = checked(PyTuple_New(static_cast<Py_ssize_t>(given_.held.size())));
    auto next = args.begin();
    for (std::size_t i = 0; i < given_.held.size(); ++i) {
      PyRef value = given_.held[i] ? given_.held[i] : from_arg(*next++);
      PyTuple_SET_ITEM(inside.get(), static_cast<Py_ssize_t>(i), value.release());
    }
    const Disarmed plain;
    PyRef result = checked(PyObject_Call(call.get(), inside.get(), nullptr));
    PyRef items = PyTuple_Check(result.get()) ? result : checked(PyTuple_Pack(1, result.get()));
    std::vector<TensorRef> out;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
      PyObject* item = PyTuple_GET_ITEM(items.get(), i);
      out.push_back(is_tensor(item) ? TensorRef(tensor_impl(item)) : TensorRef());
    }
    return out;
  }

 private:
  PyRef apply_;
  FunctionArguments given_;
};

// Of an instance of a subclass its tensor. One that a handler knows leads to the program's object when the graph runs.
ValueRef tensor_in(const ValueRef& v) {
  const ValueRef data = data_of(v);
  return data->kind == ValueKind::Tensor ? data : v;
}

bool is_container(const ValueRef& v) { return as<ListValue>(v) || as<TupleValue>(v) || as<DictValue>(v); }

bool is_hole(const ValueRef& v) {
  return v->kind == ValueKind::Size || tensor_in(v)->kind == ValueKind::Tensor ||
         (v->real && v->kind != ValueKind::Constant && !is_container(v));
}

constexpr const char* kAutocast = "minidynamo.amp.autocast_mode";

// The call as it has to be made while the graph runs, where no region of autocast is open that the trace has entered.
PyRef as_under_autocast(Tracer& t, PyRef apply) {
  const PyRef name = checked(PyUnicode_FromString(kAutocast));
  const PyRef loaded = PyRef::steal(PyImport_GetModule(name.get()));
  if (!loaded) {
    clear_answer();
    return apply;
  }
  for (const auto& [kind, bits] : {std::pair("cpu", 3), std::pair("cuda", 12)}) {
    const auto ask = [&](const char* question) {
      const ValueRef callee = t.from_object(of_module(kAutocast, question).get(), nullptr);
      return t.call(callee, CallArgs{{t.constant(checked(PyUnicode_FromString(kind)))}, {}});
    };
    const bool on = is_true_constant(ask("is_autocast_enabled"), Py_True);
    if (!on && (autocast_word() & bits) == 0) continue;
    const ValueRef dtype = ask("get_autocast_dtype");
    if (!dtype->real) continue;
    apply = checked(PyObject_CallFunction(of_module(kAutocast, "applied_under").get(), "OsOO", apply.get(), kind,
                                          dtype->real.get(), on ? Py_True : Py_False));
  }
  return apply;
}

// While the forward of a Function is traced: which nodes stand for it.
class TracedForward {
 public:
  TracedForward(Tracer& t, const ValueRef& cls, const std::vector<ValueRef>& given, const CallArgs& named) : t_(t) {
    known_ = t.graphs.outer.empty();
    if (!known_) return;
    if (is_overridden(t, given)) unmodelled(kRecorded, "call that modes or classes with __torch_function__ answer");
    effects_ = t.effects.list().size();
    FunctionArguments arguments;
    arguments.positional = checked(PyList_New(0)), arguments.keywords = checked(PyDict_New());
    for (const ValueRef& v : given) checked(PyList_Append(arguments.positional.get(), shape_of(v, arguments).get()));
    for (const auto& [name, v] : named.keywords)
      checked(PyDict_SetItem(arguments.keywords.get(), name.get(), shape_of(v, arguments).get()));
    PyObject* type = reinterpret_cast<PyObject*>(as<ClassValue>(cls)->type());
    PyRef apply = as_under_autocast(t, checked(PyObject_GetAttrString(type, "apply")));
    call_.callee = std::make_shared<AppliedFunction>(std::move(apply), std::move(arguments));
    const auto& nodes = t.graphs.current->nodes;
    before_ = nodes.empty() ? nullptr : nodes.back().get();
    held_before_ = t.graphs.holds_functions;
  }

  // Whether effects outside are part of it, which the graph could not have again.
  bool has_effects() const { return known_ && t_.effects.list().size() != effects_; }

  // Whether the context is among what they store: it would outlive the call.
  bool lets_context_out() const {
    const auto is_context = [](const ValueRef& v) {
      const auto* o = as<ObjectValue>(v);
      return o && !o->real && is_library_class(o->type, LibraryClass::AutogradContext);
    };
    return std::any_of(
        t_.effects.list().begin() + static_cast<std::ptrdiff_t>(effects_), t_.effects.list().end(),
        [&](const SideEffect& e) { return is_context(e.value) || std::ranges::any_of(e.items, is_context); });
  }

  void finish(const ValueRef& result) {
    if (!known_ || !add_results(result) || !find_nodes()) return;
    t_.graphs.current->delegated.push_back(std::move(call_));
    t_.graphs.holds_functions = held_before_;
  }

 private:
  static constexpr const char* kRecorded = "autograd.Function whose gradients are recorded";

  // A region of autocast is a mode of the trace alone: as_under_autocast() sees to it.
  static bool is_autocast(const ValueRef& mode) {
    return mode->python_type() == reinterpret_cast<PyTypeObject*>(of_module(kAutocast, "Region").get());
  }
  // When the graph runs, the forward is called with tensors and nobody else is asked.
  static bool is_overridden(Tracer& t, const std::vector<ValueRef>& given) {
    if (t.overrides.asks_modes() && !std::ranges::all_of(t.overrides.modes, is_autocast)) return true;
    const PyRef handler = checked(PyUnicode_InternFromString("__torch_function__"));
    return t.overrides.asks_subclasses() &&
           std::ranges::any_of(asked_types(t, CallArgs{given, {}}), [&](PyTypeObject* type) {
             return !is_default_torch_function(t.on_class(type, handler.get()).found);
           });
  }
  // A torch.Size of known sizes, a slice or a range stands for itself, another torch.Size for a tuple.
  PyRef shape_of(const ValueRef& given, FunctionArguments& arguments) {
    ValueRef v = t_.realize(given);
    const bool stands_for_itself = v->kind == ValueKind::Slice || v->kind == ValueKind::Range;
    auto* const tuple = as<TupleValue>(v);
    const bool sizes = tuple && tuple->type != &PyTuple_Type && !tuple->is_namedtuple();
    if (stands_for_itself || sizes)
      if (PyRef constant = v->as_constant()) return constant;
    if (sizes) v = make_ref<TupleValue>(tuple->items);
    std::vector<ValueRef> holes;
    std::string offender;
    PyRef shape = result_shape(t_, v, holes, offender, is_hole);
    if (!shape) unmodelled(kRecorded, "argument of type " + offender);
    for (const ValueRef& hole : holes) {
      const ValueRef data = tensor_in(hole);
      const bool computed = data->kind == ValueKind::Tensor || data->kind == ValueKind::Size;
      arguments.held.push_back(computed ? PyRef() : held(data));
      if (computed) call_.args.push_back(t_.to_arg(data));
    }
    return shape;
  }
  // The graph runs before what the trace has changed is stored.
  PyRef held(const ValueRef& v) {
    if (effects_ != 0) unmodelled(kRecorded, "object among the arguments after changes to objects");
    if (v->source) t_.guard(GuardKind::IdMatch, v->source, v->real);
    return v->real;
  }
  bool add_results(const ValueRef& result) {
    auto* tuple = as<TupleValue>(result);
    const std::vector<ValueRef> items = tuple ? tuple->items : std::vector<ValueRef>{result};
    for (std::size_t i = 0; i < items.size(); ++i)
      if (auto* x = as<TensorValue>(tensor_in(t_.realize(items[i]))))
        call_.results.emplace_back(static_cast<int>(i), x->node);
    return !call_.results.empty();
  }
  bool find_nodes() {
    const auto& nodes = t_.graphs.current->nodes;
    const auto is_part = [](const auto& n) { return n->kind != NodeKind::Placeholder && n->kind != NodeKind::GetAttr; };
    // Placeholders that forward has brought stand in front: places have moved.
    const auto before = std::ranges::find(nodes, before_, [](const auto& n) { return n.get(); });
    const auto first = std::find_if(before == nodes.end() ? nodes.begin() : before + 1, nodes.end(), is_part);
    if (first == nodes.end()) return false;
    call_.first = first->get();
    call_.last = std::find_if(nodes.rbegin(), nodes.rend(), is_part)->get();
    return true;
  }

  Tracer& t_;
  bool known_, held_before_ = false;
  const Node* before_ = nullptr;  // the last node before the call
  std::size_t effects_ = 0;
  DelegatedCall call_{};
};

// Inside vmap, grad and their kin: one node, whose call knows the transforms when the graph runs.
ValueRef call_in_transform(Tracer& t, CallArgs args) {
  return t.call(t.from_object(of_module("minidynamo._transforms.functions", "call_in_graph").get(), nullptr),
                std::move(args));
}

constexpr const char* kContextMethods[] = {"maybe_clear_saved_tensors", "save_for_forward", "name", "register_hook",
                                           "register_prehook"};

// Methods of the context that have a code of their own, and those that every object has.
bool is_odd_context_method(PyObject* name) {
  for (const char* known : kContextMethods)
    if (text_of(name) == known) return true;
  PyObject* const found = text_of(name) == "__setattr__" ? nullptr : type_find(&PyBaseObject_Type, name);
  return found && (Py_TYPE(found) == &PyMethodDescr_Type || Py_TYPE(found) == &PyWrapperDescr_Type);
}

// The method with a code of its own that a function calls on its first argument, or that one of the functions does to
// which it may hand it on: those its closure and its globals hold. Null: there is none.
PyObject* odd_context_method(PyObject* function, int depth) {
  const auto body = decoded_body(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function)));
  if (body->argcount == 0) return nullptr;
  const auto& code = body->instructions;
  const auto is_context = [&](std::size_t k) { return code[k].op == Opcode::LOAD_FAST && code[k].a == 0; };
  PyObject* found = nullptr;
  const auto look_into = [&](PyObject* other) {
    if (!found && other && PyFunction_Check(other) && depth > 0) found = odd_context_method(other, depth - 1);
  };
  for (std::size_t k = 0; k + 1 < code.size() && !found; ++k) {
    if (is_context(k) && code[k + 1].op == Opcode::LOAD_ATTR && code[k + 1].b) {
      PyObject* const name = body->names.at(static_cast<std::size_t>(code[k + 1].a)).get();
      if (is_odd_context_method(name)) return name;
    }
    if (code[k].op == Opcode::LOAD_GLOBAL) {
      PyObject* const name = body->names.at(static_cast<std::size_t>(code[k].a)).get();
      look_into(PyDict_GetItemWithError(PyFunction_GET_GLOBALS(function), name));
    }
  }
  PyObject* const closure = PyFunction_GET_CLOSURE(function);
  for (Py_ssize_t k = 0; closure && k < PyTuple_GET_SIZE(closure); ++k)
    look_into(PyCell_GET(PyTuple_GET_ITEM(closure, k)));
  return found;
}

// What backward() calls on its context, read off its code: it is part of the graph although it runs later.
void check_backward_methods(const std::string& cls, PyTypeObject* type) {
  const PyRef backward = PyRef::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "backward"));
  clear_answer();
  constexpr int kHelpers = 2;
  PyObject* const name =
      backward && PyFunction_Check(backward.get()) ? odd_context_method(backward.get(), kHelpers) : nullptr;
  if (name) graph_break<GB0139>("AutogradFunctionContextVariable(" + cls + ")", text_of(name));
}

// Function.apply with the class in front.
ValueRef rule_apply(Tracer& t, CallArgs& args) {
  auto* cls = args.positional.empty() ? nullptr : as<ClassValue>(args[0]);
  if (!cls) return {};
  const std::string self = cls->print();
  PyTypeObject* type = cls->type();
  if (!t.graphs.transforms.empty()) return call_in_transform(t, std::move(args));
  std::vector<ValueRef> given(args.positional.begin() + 1, args.positional.end());
  if (!is_callable_code(t.on_class(type, checked(PyUnicode_InternFromString("forward")).get()).found))
    graph_break<GB0085>(self, print_list(given), print_keywords(args));
  bool wanted = false;
  for (auto& v : given) {
    auto* x = as<TensorValue>(data_of(v));
    wanted |= x && x->type.requires_grad;
  }
  if (wanted && t.grad_enabled) {
    if (overrides(t, type, "jvp")) graph_break<GB0144>(self, print_list(given), print_keywords(args));
    if (overrides(t, type, "vjp")) graph_break<GB0145>(self, print_list(given), print_keywords(args));
    if (!t.config.trace_more) check_backward_methods(self, type);
  }
  auto named = make_ref<DictValue>(&PyDict_Type);
  for (auto& [name, v] : args.keywords) named->put(t, t.constant(name), v);
  const std::string shown_args = print_list(given);
  std::optional<TracedForward> forward;
  if (wanted && t.grad_enabled) forward.emplace(t, args[0], given, args);
  ValueRef result = t.call(t.from_object(of_module(kModule, "_run").get(), nullptr),
                           CallArgs{{args[0], make_ref<TupleValue>(std::move(given)), named}, {}});
  if (forward && forward->has_effects() && forward->lets_context_out()) graph_break<GB0019>();
  if (forward && forward->has_effects()) not_modelled<GB0147>(self + ".apply", shown_args, "{}");
  if (forward) forward->finish(result);
  return result;
}

// The result of a traced forward: what the graph hands out requires grad.
ValueRef rule_require_grad(Tracer& t, CallArgs& args) {
  expect_args(t, "_require_grad", args, 1, 1);
  auto* x = as<TensorValue>(data_of(args[0]));
  if (!x) return {};
  x->set_grad_state({true, GradHistory::Computed});
  if (x->stand_in) x->stand_in->set_grad_state({true, GradHistory::Computed});
  t.graphs.holds_functions = true;
  return args[0];
}

ValueRef rule_save_for_backward(Tracer& t, CallArgs& args) {
  auto* ctx = args.positional.empty() ? nullptr : as<ObjectValue>(args[0]);
  if (!ctx) return {};
  // apply() says first of all which inputs need gradients: a context without that is one made by hand.
  if (ctx->real || !ctx->stored(checked(PyUnicode_InternFromString("needs_input_grad")).get()))
    graph_break<GB0138>(ctx->print());
  for (std::size_t k = 1; k < args.positional.size(); ++k)
    if (data_of(args[k])->kind != ValueKind::Tensor && !is_true_constant(args[k], Py_None))
      t.raise(PyExc_TypeError, "save_for_backward can only save variables, but got a " +
                                   (args[k]->python_type() ? type_name(args[k]->python_type()) : "object"));
  ctx->plain_store(t, checked(PyUnicode_InternFromString("_saved")).get(),
                   make_ref<TupleValue>(std::vector<ValueRef>(args.positional.begin() + 1, args.positional.end())));
  return t.none();
}

template <int which>
ValueRef rule_context_method(Tracer&, CallArgs& args) {
  if (args.positional.empty()) return {};
  graph_break<GB0139>(args[0]->print(), std::string(kContextMethods[which]));
}

ValueRef rule_engine_valid(Tracer&, CallArgs& args) {
  if (args.positional.empty()) return {};
  graph_break<GB0165>(args[0]->print(), "is_checkpoint_valid");
}

ValueRef rule_engine_callback(Tracer&, CallArgs& args) {
  if (args.positional.empty()) return {};
  graph_break<GB0166>(args[0]->print());
}

ValueRef rule_look_at_backward(Tracer& t, CallArgs& args) {
  expect_args(t, "_look_at_backward", args, 3, 3);
  probe_backward(t, args[0], args[1], args[2]);
  return t.none();
}

ValueRef rule_backward_hooks(Tracer&, CallArgs&) { graph_break<GB0083>(); }

// torch._C._set_grad_enabled(flag): as the managers switch, and stay.
ValueRef rule_switch_grad(Tracer& t, CallArgs& args) {
  expect_args(t, "_set_grad_enabled", args, 1, 1);
  if (args[0]->kind != ValueKind::Constant) unmodelled(args[0]->print(), "grad mode that is no constant");
  t.grad_enabled = args[0]->truth(t);
  t.emit_grad_switch(t.grad_enabled);
  return t.none();
}

constexpr BuiltinRow kAutogradRules[] = {{"minidynamo._C", "_set_grad_enabled", rule_switch_grad},
                                         {kModule, "Function.apply.__func__", rule_apply},
                                         {kModule, "_require_grad", rule_require_grad},
                                         {kModule, "_look_at_backward", rule_look_at_backward},
                                         {"minidynamo.nn.hooks", "_enter_with_backward_hooks", rule_backward_hooks},
                                         {kModule, "FunctionCtx.save_for_backward", rule_save_for_backward},
                                         {kModule, "FunctionCtx.maybe_clear_saved_tensors", rule_context_method<0>},
                                         {kModule, "FunctionCtx.save_for_forward", rule_context_method<1>},
                                         {kModule, "FunctionCtx.name", rule_context_method<2>},
                                         {kModule, "FunctionCtx.register_hook", rule_context_method<3>},
                                         {kModule, "FunctionCtx.register_prehook", rule_context_method<4>},
                                         {kModule, "_ImperativeEngine.is_checkpoint_valid", rule_engine_valid},
                                         {kModule, "_ImperativeEngine.queue_callback", rule_engine_callback}};

}  // namespace

std::span<const BuiltinRow> autograd_rules() { return kAutogradRules; }

}  // namespace md
