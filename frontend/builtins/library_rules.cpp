// Library functions the tracer knows: our own _dynamo functions, grad mode, contextlib, functools, copy.
#include "frontend/builtins/families.h"
#include "frontend/builtins/wrapped_objects.h"
#include "frontend/cpython/frame_access.h"
#include "frontend/cpython/import_module.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/tensors/array_view.h"
#include "frontend/tensors/promoted_dtype.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/values/array.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/deque.h"
#include "frontend/values/functions.h"
#include "frontend/values/known_items.h"
#include "frontend/values/objects.h"
#include "frontend/values/refusals.h"
#include "frontend/values/scalar_outputs.h"
#include "frontend/values/size_value.h"
#include "frontend/values/tensor.h"
#include "frontend/values/wrong_arguments.h"

namespace md {

namespace {

// The message reaches the text only by keyword, as in the reference.
std::string message_of(const CallArgs& args, const char* without) {
  for (auto& [name, v] : args.keywords)
    if (text_of(name.get()) == "msg") {
      PyRef c = v->as_constant();
      if (c && c.get() == Py_None) break;
      return c ? text_of(c.get()) : v->print();
    }
  return without;
}

ValueRef rule_graph_break(Tracer&, CallArgs& args) {
  const std::string given = print_list(args.positional), named = print_keywords(args), message = message_of(args, "");
  if (message.empty()) graph_break<GB0025_silent>(given, named);
  graph_break<GB0025>(given, named, message);
}

ValueRef rule_skip_frame(Tracer&, CallArgs& args) {
  SkipFrame skip{"Skip frame due to `torch._dynamo.skip_frame()`. Message: " + message_of(args, "None")};
  skip.user_request = true;
  throw skip;
}

ValueRef rule_is_compiling(Tracer& t, CallArgs& args) {
  expect_args(t, "is_compiling", args, 0, 0);
  return t.boolean(true);
}

// The float as a graph input, guarded by its type alone.
ValueRef rule_open_number(Tracer& t, CallArgs& args) {
  expect_args(t, "open_number", args, 1, 1);
  auto* lazy = as<LazyValue>(args[0]);
  if (!lazy || lazy->realized || !lazy->source || !PyFloat_CheckExact(lazy->real.get())) return t.realize(args[0]);
  const SourceRef place = t.recorder.sources.child(lazy->source, SourceKind::ArrayTensor);
  for (const Ref<TensorValue>& known : t.graphs.inputs)
    if (known->source == place) return known;
  t.guard(GuardKind::TypeMatch, lazy->source, PyRef::borrow(reinterpret_cast<PyObject*>(&PyFloat_Type)));
  return t.input_tensor(array_tensor(lazy->real.get()).get(), place);
}

// Graphs have no nodes to name.
ValueRef rule_as_one_call(Tracer&, CallArgs& args) { return args[0]; }

ValueRef rule_is_grad_enabled(Tracer& t, CallArgs& args) {
  expect_args(t, "is_grad_enabled", args, 0, 0);
  return t.boolean(t.grad_enabled);
}

PyRef library_class(const char* name) {
  return checked(PyObject_GetAttrString(checked(import_module("minidynamo")).get(), name));
}

ValueRef grad_manager(Tracer& t, CallArgs& args, const char* name, bool target) {
  const bool decorates = args.size() == 1 && args.positional.size() == 1 && args[0]->kind == ValueKind::Function;
  auto c = make_ref<ContextValue>(ContextKind::GradMode, library_class(name),
                                  decorates ? std::vector<ValueRef>() : args.positional);
  c->target = target;
  if (decorates) return c->call(t, std::move(args));
  return c;
}

ValueRef rule_no_grad(Tracer& t, CallArgs& args) { return grad_manager(t, args, "no_grad", false); }
ValueRef rule_enable_grad(Tracer& t, CallArgs& args) { return grad_manager(t, args, "enable_grad", true); }

ValueRef rule_set_grad_enabled(Tracer& t, CallArgs& args) {
  expect_args(t, "set_grad_enabled", args, 1, 1);
  if (args[0]->kind != ValueKind::Constant) unmodelled(args[0]->print(), "grad mode that is no constant");
  ValueRef made = grad_manager(t, args, "set_grad_enabled", args[0]->truth(t));
  auto* manager = as<ContextValue>(made);
  manager->enter(t);
  manager->at_once = true;
  return made;
}

ValueRef rule_inference_mode(Tracer& t, CallArgs& args) {
  ValueRef mode = args.take_keyword("mode");
  if (!mode && !args.positional.empty()) mode = args[0];
  if (args.size() > (args.positional.empty() ? 0u : 1u)) throw WrongArguments{};
  if (mode) mode = t.realize(mode);
  const bool decorates = mode && mode->kind == ValueKind::Function;
  const bool leaves = mode && is_true_constant(mode, Py_False);
  if (mode && !decorates && !leaves && !is_true_constant(mode, Py_True)) return {};
  args.positional.clear();
  if (decorates || leaves) args.positional.push_back(mode);
  return grad_manager(t, args, "inference_mode", leaves);
}

ValueRef rule_nullcontext(Tracer&, CallArgs& args) {
  if (ValueRef given = args.take_keyword("enter_result")) args.positional.push_back(given);
  PyRef cls = checked(PyObject_GetAttrString(checked(import_module("contextlib")).get(), "nullcontext"));
  return make_ref<ContextValue>(ContextKind::Null, cls, args.positional);
}

ValueRef rule_partial(Tracer& t, CallArgs& args) {
  if (args.positional.empty()) throw WrongArguments{};
  ValueRef fn = args[0];
  if (PyTypeObject* type = fn->python_type(); type && !type->tp_call) throw WrongArguments{};
  CallArgs rest = args;
  rest.positional.erase(rest.positional.begin());
  if (auto* inner = as<PartialValue>(fn)) {  // a partial of a partial is one
    rest = inner->joined(t, std::move(rest));
    fn = inner->function;
  }
  return make_ref<PartialValue>(fn, std::move(rest));
}

// What update_wrapper() takes from a function in C: its names and its text. False: one of them is no constant.
bool copy_names(Tracer& t, FunctionValue& wrapper, const ValueRef& from) {
  for (const char* attribute : {"__module__", "__name__", "__qualname__", "__doc__"}) {
    const PyRef name = checked(PyUnicode_InternFromString(attribute));
    const PyRef v = PyRef::steal(PyObject_GetAttr(from->real.get(), name.get()));
    if (!v) clear_answer();
    if (v && !is_constant_object(v.get())) return false;
    if (v) wrapper.set_attr(t, name.get(), t.constant(v));
  }
  wrapper.set_attr(t, checked(PyUnicode_InternFromString("__wrapped__")).get(), from);
  return true;
}

// What a function from outside has been given as attributes, but for those the trace has changed.
void copy_attributes(Tracer& t, FunctionValue& to, const FunctionValue& from) {
  const PyRef key = interned("__dict__");
  const PyRef held = from.real ? checked(PyObject_GetAttr(from.real.get(), key.get())) : PyRef();
  if (!held || PyDict_GET_SIZE(held.get()) == 0) return;
  auto* own =
      from.parts && PyFunction_Check(from.real.get())
          ? as<DictValue>(t.wrap(held.get(), t.recorder.sources.child(from.parts, SourceKind::Field, key.get())))
          : nullptr;
  if (!own) unmodelled(from.print(), "functools.wraps of a function with attributes of its own");
  own->observe_keys(t);
  for (const auto& e : own->live()) {
    const PyRef name = e.key->as_constant();
    const auto changed = [&](const auto& a) { return PyObject_RichCompareBool(a.first.get(), name.get(), Py_EQ) == 1; };
    if (!name || !PyUnicode_CheckExact(name.get())) unmodelled(from.print(), "an attribute whose name is no str");
    if (std::ranges::none_of(from.attrs, changed)) to.set_attr(t, name.get(), e.value);
  }
}

// The names in assigned=(...); nullopt: it is no tuple of constant strings.
std::optional<std::vector<PyRef>> names_to_assign(Tracer& t, const ValueRef& given) {
  std::vector<PyRef> names;
  if (!given) {
    for (const char* name : {"__module__", "__name__", "__qualname__", "__doc__", "__annotations__"})
      names.push_back(checked(PyUnicode_InternFromString(name)));
    return names;
  }
  const PyRef tuple = t.realize(given)->as_constant();
  if (!tuple || !PyTuple_Check(tuple.get())) return std::nullopt;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(tuple.get()); ++k) {
    PyObject* const name = PyTuple_GET_ITEM(tuple.get(), k);
    if (!PyUnicode_CheckExact(name)) return std::nullopt;
    names.push_back(interned(text_of(name).c_str()));
  }
  return names;
}

// functools.update_wrapper on a function made while tracing; any other object is changed outside of the graph.
ValueRef rule_update_wrapper(Tracer& t, CallArgs& args) {
  ValueRef wrapped = args.take_keyword("wrapped");
  const auto names = names_to_assign(t, args.take_keyword("assigned"));
  if (!wrapped && args.positional.size() == 2) wrapped = args[1], args.positional.pop_back();
  if (!wrapped || !names || args.size() != 1 || args.positional.empty()) return {};
  auto* wrapper = as<FunctionValue>(args[0]);
  if (!wrapper || wrapper->real) graph_break<GB0187>(args[0]->print());
  const ValueRef whole = t.realize(wrapped);
  if ((whole->kind == ValueKind::Builtin || whole->kind == ValueKind::OpFunction) && whole->real)
    return copy_names(t, *wrapper, whole) ? args[0] : ValueRef();
  auto* const method = as<MethodValue>(whole);  // which has the attributes of its function
  auto* from = as<FunctionValue>(method ? t.realize(method->function) : whole);
  if (!from) {
    wrap_object(t, *wrapper, whole, *names);
    return args[0];
  }
  for (const PyRef& name : *names)
    if (from->has_attr(t, name.get())) wrapper->set_attr(t, name.get(), from->get_attr(t, name.get()));
  copy_attributes(t, *wrapper, *from);
  PyRef parameters = from->real ? PyRef::steal(PyObject_GetAttrString(from->real.get(), "__type_params__")) : PyRef();
  clear_answer();  // before 3.12
  if (parameters && PyTuple_GET_SIZE(parameters.get()) > 0)
    unmodelled(from->print(), "functools.wraps of a generic function");
  for (auto& [name, v] : from->attrs)
    if (v && !type_find(&PyFunction_Type, name.get())) wrapper->set_attr(t, name.get(), v);
  wrapper->set_attr(t, checked(PyUnicode_InternFromString("__wrapped__")).get(), wrapped);
  return args[0];
}

ValueRef rule_wraps(Tracer& t, CallArgs& args) {
  ValueRef wrapped = args.take_keyword("wrapped");
  if (!wrapped && args.positional.size() == 1) wrapped = args[0], args.positional.pop_back();
  const ValueRef assigned = args.take_keyword("assigned");
  if (!wrapped || args.size() != 0) return {};  // other attributes than the usual ones are updated
  PyRef functools = checked(import_module("functools"));
  CallArgs held;
  if (assigned) held.keywords.emplace_back(checked(PyUnicode_InternFromString("assigned")), assigned);
  held.keywords.emplace_back(checked(PyUnicode_InternFromString("wrapped")), wrapped);
  return make_ref<PartialValue>(
      t.from_object(checked(PyObject_GetAttrString(functools.get(), "update_wrapper")).get(), nullptr),
      std::move(held));
}

ValueRef rule_reduce(Tracer& t, CallArgs& args) {
  expect_args(t, "reduce", args, 2, 3);
  PyTypeObject* type = args[1]->python_type();
  if (type && args[1]->kind != ValueKind::Object && !type->tp_iter &&
      !(type->tp_as_sequence && type->tp_as_sequence->sq_item))
    t.raise(PyExc_TypeError, "reduce() arg 2 must support iteration");
  ValueRef it = t.realize(args[1]->iter(t)), total = args.size() == 3 ? args[2] : it->next(t);
  if (!total) t.raise(PyExc_TypeError, "reduce() of empty iterable with no initial value");
  while (ValueRef v = it->next(t)) total = t.call(args[0], CallArgs{{total, v}, {}});
  return total;
}

PyTypeObject* collections_type(const char* name) {
  PyRef type = checked(PyObject_GetAttrString(checked(import_module("collections")).get(), name));
  return reinterpret_cast<PyTypeObject*>(type.get());  // the module keeps it
}

// defaultdict(default_factory=None, /, *args, **keywords)
ValueRef rule_defaultdict(Tracer& t, CallArgs& args) {
  auto d = make_ref<DictValue>(collections_type("defaultdict"));
  if (args.positional.size() > 2) throw WrongArguments{};
  if (!args.positional.empty() && !is_true_constant(args[0], Py_None)) {
    PyTypeObject* type = args[0]->python_type();
    if (type && !type->tp_call) throw WrongArguments{};
    d->default_factory = args[0];
  }
  if (args.positional.size() == 2) fill_dict(t, *d, args[1]);
  for (auto& [k, v] : args.keywords) d->put(t, t.constant(k), v);
  return d;
}

ValueRef rule_ordered_dict(Tracer& t, CallArgs& args) {
  auto d = make_ref<DictValue>(&PyODict_Type);
  if (args.positional.size() > 1) throw WrongArguments{};
  if (!args.positional.empty()) fill_dict(t, *d, args[0]);
  for (auto& [k, v] : args.keywords) d->put(t, t.constant(k), v);
  return d;
}

// A new class at every call; nothing makes one in a plan.
ValueRef rule_namedtuple(Tracer& t, CallArgs& args) {
  std::vector<PyRef> positional;
  PyRef kwargs;
  if (!all_known(t, args, positional, kwargs)) graph_break<GB0201>(print_list(args.positional), print_keywords(args));
  return {};
}

ValueRef rule_cast(Tracer&, CallArgs& args) {
  if (args.size() != 2) graph_break<GB0174>(print_list(args.positional), print_keywords(args));
  if (args.positional.size() == 2) return args[1];
  const ValueRef type = args.positional.empty() ? args.take_keyword("typ") : args[0];
  return type ? args.take_keyword("val") : ValueRef();
}

ValueRef rule_is_tensor(Tracer& t, CallArgs& args) {
  expect_args(t, "is_tensor", args, 1, 1);
  PyTypeObject* const type = args[0]->python_type();
  return t.boolean(type && PyType_IsSubtype(type, tensor_type));
}

ValueRef rule_is_floating_point(Tracer& t, CallArgs& args) {
  auto* x = args.size() == 1 ? as<TensorValue>(args[0]) : nullptr;
  return x ? t.boolean(is_floating(x->type.dtype)) : ValueRef();
}

ValueRef rule_is_complex(Tracer& t, CallArgs& args) {
  auto* x = args.size() == 1 ? as<TensorValue>(args[0]) : nullptr;
  return x ? t.boolean(is_complex(x->type.dtype)) : ValueRef();
}

ValueRef rule_numel(Tracer& t, CallArgs& args) {
  auto* x = args.size() == 1 ? as<TensorValue>(args[0]) : nullptr;
  return x ? x->call_method(t, checked(PyUnicode_FromString("numel")).get(), {}) : ValueRef();
}

// A Python bool computed from tensor contents.
template <int which>
ValueRef rule_data_dependent(Tracer& t, CallArgs& args) {
  for (const char* name : {"input", "other"})  // by name they are the same
    if (ValueRef v = args.take_keyword(name)) args.positional.push_back(std::move(v));
  auto *a = args.size() == 2 ? as<TensorValue>(args[0]) : nullptr, *b = a ? as<TensorValue>(args[1]) : nullptr;
  const auto constant = [](const Size& n) { return n.is_const(); };
  if (which == 0 && b && std::ranges::all_of(a->type.sizes, constant) && std::ranges::all_of(b->type.sizes, constant) &&
      a->type.dtype == b->type.dtype && a->type.device == b->type.device && a->type.sizes != b->type.sizes)
    return make_ref<ConstantValue>(PyRef::borrow(Py_False));  // other sizes: no element decides
  const std::string name = which == 0 ? "equal" : "allclose";
  refuse_wrong_call(t, name, args);
  graph_break<GB0033>(name);
}

// torch._check(cond, message): what it says of sizes stays known.
ValueRef check_condition(Tracer& t, CallArgs& args, const ValueRef& condition) {
  if (auto* test = as<SizeTestValue>(condition)) {
    assert_sizes(t, *test);
    return t.none();
  }
  if (condition->kind != ValueKind::Constant || !PyBool_Check(condition->real.get()))
    t.raise(PyExc_TypeError, "cond must be a bool");
  if (condition->truth(t)) return t.none();
  ValueRef message = args.take_keyword("message");
  if (!message && args.positional.size() > 1) message = args[1];
  if (message) message = t.call(message, {});
  PyRef text = message ? message->as_constant() : PyRef();
  t.raise(PyExc_RuntimeError,
          text && PyUnicode_Check(text.get()) ? text_of(text.get()) : "Expected cond to be True, but got False.");
}
ValueRef rule_check(Tracer& t, CallArgs& args) {
  ValueRef condition = args.take_keyword("cond");
  if (!condition && !args.positional.empty()) condition = args[0];
  if (!condition) t.raise(PyExc_TypeError, "_check() missing 1 required positional argument: 'cond'");
  return check_condition(t, args, t.realize(condition));
}
ValueRef rule_check_is_size(Tracer& t, CallArgs& args) {
  ValueRef size = args.take_keyword("i");
  if (!size && !args.positional.empty()) size = args[0];
  if (!size) t.raise(PyExc_TypeError, "_check_is_size() missing 1 required positional argument: 'i'");
  return check_condition(t, args, t.realize(t.compare(t.realize(size), t.integer(0), Py_GE)));
}

// torch._assert_async(x), torch._check_tensor_all(x): the graph looks.
template <bool all>
ValueRef rule_checked_tensor(Tracer& t, CallArgs& args) {
  ValueRef condition = args.take_keyword(all ? "cond" : "input");
  if (!condition && !args.positional.empty()) condition = args[0];
  auto* x = condition ? as<TensorValue>(t.realize(condition)) : nullptr;
  if (!x || (all && x->type.dtype != DType::Bool)) throw WrongArguments{};
  const ValueRef whole = all ? t.realize(t.call_op("all", Spelling::Method, CallArgs{{ValueRef(x)}, {}})) : ValueRef(x);
  require_true(t, *as<TensorValue>(truth_in_graph(t, *as<TensorValue>(whole))));
  return t.none();
}

ValueRef rule_inference_mode_enabled(Tracer&, CallArgs&) { graph_break<GB0046>(); }

// Answers that depend on nothing but constants and the guarded default dtype.
template <int which>
ValueRef rule_constant_answer(Tracer& t, CallArgs& args) {
  static const char* const names[] = {"get_default_dtype", "promote_types", "can_cast", "result_type"};
  std::vector<PyRef> positional;
  PyRef kwargs;
  if (!all_constant(args, positional, kwargs)) return {};
  if (std::string_view(names[which]) == "can_cast" && !t.config.trace_more)
    listed_break<GB0208>("bool", "call_function", "can_cast" + print_list(args.positional));
  PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(positional.size())));
  for (std::size_t i = 0; i < positional.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), positional[i].release());
  PyRef r = PyRef::steal(PyObject_Call(library_class(names[which]).get(), tuple.get(), kwargs.get()));
  if (!r) t.raise_current();
  return from_folded(t, r.get());
}

// A fact of dtypes, ranks and the guarded default dtype.
ValueRef rule_result_type(Tracer& t, CallArgs& args) {
  if (ValueRef known = rule_constant_answer<3>(t, args)) return known;
  refuse_wrong_call(t, "result_type", args);
  if (!t.config.trace_more) listed_break<GB0208>("dtype", "call_function", "result_type" + print_list(args.positional));
  std::vector<ValueRef> operands = args.positional;
  for (const char* name : {"tensor1", "tensor2"})
    if (ValueRef named = args.take_keyword(name)) operands.push_back(named);
  if (operands.size() != 2 || !args.keywords.empty()) return {};
  std::vector<Arg> known;
  for (ValueRef& v : operands) {
    v = t.realize(v);
    if (v->kind != ValueKind::Tensor && v->kind != ValueKind::Size && v->kind != ValueKind::Number &&
        v->kind != ValueKind::Constant)
      return {};
    known.push_back(t.to_arg(v));
    if (!known.back().is_number() && !known.back().is<Node*>()) return {};
  }
  return from_folded(t, dtype_object(promoted_dtype(known[0], known[1])));
}

// Looks at what nested lists and tuples hold, each with a guard.
void realize_items(Tracer& t, ValueRef& v) {
  if (is_stack_short()) unmodelled(v->print(), "a list nested too deep");
  v = t.realize(v);
  auto* list = as<ListValue>(v);
  auto* tuple = as<TupleValue>(v);
  for (std::size_t k = 0; k < (list ? list->items.size() : tuple ? tuple->items.size() : 0); ++k)
    realize_items(t, list ? list->items[k] : tuple->items[k]);
}

// A tensor made from constants: held by the graph, copied at each call.
ValueRef make_tensor(Tracer& t, CallArgs& args, const char* name) {
  std::vector<PyRef> positional;
  PyRef kwargs;
  if (!args.positional.empty()) realize_items(t, args.positional[0]);
  for (auto& [key, v] : args.keywords) realize_items(t, v);
  if (!all_constant(args, positional, kwargs))
    unmodelled(name, "a tensor of values that are no constants, " + print_list(args.positional));
  PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(positional.size())));
  for (std::size_t i = 0; i < positional.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), positional[i].release());
  PyRef made = PyRef::steal(PyObject_Call(library_class(name).get(), tuple.get(), kwargs.get()));
  if (!made) t.raise_current();
  return t.constant_tensor(made.get());
}
// Whether it holds; what the second argument says where only a run knows.
ValueRef rule_known_or(Tracer& t, CallArgs& args) {
  expect_args(t, "_known_or", args, 2, 2);
  auto* number = as<NumberValue>(args[0]);
  const bool unknown = args[0]->kind == ValueKind::SizeTest || (number && !number->hint);
  return unknown ? args[1] : t.boolean(args[0]->truth(t));
}

ValueRef rule_tensor(Tracer& t, CallArgs& args) {
  if (ValueRef made = tensor_of_array(t, args, true)) return made;
  if (ValueRef made = tensor_of_tensor(t, args, true)) return made;
  if (ValueRef made = tensor_of_numbers(t, args)) return made;
  return make_tensor(t, args, "tensor");
}
ValueRef rule_as_tensor(Tracer& t, CallArgs& args) {
  if (ValueRef made = tensor_of_array(t, args, false)) return made;
  if (ValueRef made = tensor_of_tensor(t, args, false)) return made;
  if (ValueRef made = tensor_of_numbers(t, args)) return made;
  return make_tensor(t, args, "as_tensor");
}
constexpr BuiltinRow kLibraryRules[] = {{"minidynamo._dynamo", "graph_break", rule_graph_break},
                                        {"minidynamo._dynamo", "skip_frame", rule_skip_frame},
                                        {"minidynamo._dynamo", "is_compiling", rule_is_compiling},
                                        {"minidynamo._dynamo.eval_frame", "open_number", rule_open_number, false},
                                        {"minidynamo._C", "_as_one_call", rule_as_one_call, false},
                                        {"minidynamo", "is_grad_enabled", rule_is_grad_enabled},
                                        {"minidynamo", "no_grad", rule_no_grad},
                                        {"minidynamo", "inference_mode", rule_inference_mode},
                                        {"minidynamo", "enable_grad", rule_enable_grad},
                                        {"minidynamo", "set_grad_enabled", rule_set_grad_enabled},
                                        {"minidynamo", "_check", rule_check},
                                        {"minidynamo._symbolic_numbers", "_known_or", rule_known_or},
                                        {"minidynamo", "_check_is_size", rule_check_is_size},
                                        {"minidynamo._more_checks", "_assert_async", rule_checked_tensor<false>},
                                        {"minidynamo._more_checks", "_check_tensor_all", rule_checked_tensor<true>},
                                        {"minidynamo", "is_tensor", rule_is_tensor},
                                        {"minidynamo", "is_complex", rule_is_complex},
                                        {"minidynamo", "is_floating_point", rule_is_floating_point},
                                        {"minidynamo", "numel", rule_numel},
                                        {"minidynamo", "equal", rule_data_dependent<0>},
                                        {"minidynamo", "allclose", rule_data_dependent<1>},
                                        {"minidynamo", "is_inference_mode_enabled", rule_inference_mode_enabled},
                                        {"minidynamo", "result_type", rule_result_type},
                                        {"minidynamo", "get_default_dtype", rule_constant_answer<0>},
                                        {"minidynamo", "promote_types", rule_constant_answer<1>},
                                        {"minidynamo", "can_cast", rule_constant_answer<2>},
                                        {"minidynamo", "tensor", rule_tensor},
                                        {"minidynamo", "as_tensor", rule_as_tensor},
                                        {"contextlib", "nullcontext", rule_nullcontext},
                                        {"functools", "partial", rule_partial},
                                        {"functools", "update_wrapper", rule_update_wrapper},
                                        {"functools", "wraps", rule_wraps},
                                        {"functools", "reduce", rule_reduce},
                                        {"collections", "namedtuple", rule_namedtuple},
                                        {"collections", "deque", make_deque},
                                        {"collections", "defaultdict", rule_defaultdict},
                                        {"collections", "OrderedDict", rule_ordered_dict},
                                        {"typing", "cast", rule_cast}};

}  // namespace

std::span<const BuiltinRow> library_rules() { return kLibraryRules; }

}  // namespace md
