// Which treatment a marked callable gets when it is called: a node, a plain inlined call, a break, a rule.
#include "frontend/marked_callables/marked_value.h"

#include <algorithm>

#include "frontend/cpython/frame_access.h"
#include "frontend/cpython/import_module.h"
#include "frontend/cpython/library_classes.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/marked_callables/call_out.h"
#include "frontend/marked_callables/comptime.h"
#include "frontend/marked_callables/fake_tensors.h"
#include "frontend/marked_callables/regions.h"
#include "frontend/marked_callables/trees.h"
#include "frontend/plan/plan.h"
#include "frontend/plan/result_shape.h"
#include "frontend/report/events.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/frame_places.h"
#include "frontend/values/attributes.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"
#include "frontend/values/rules.h"
#include "frontend/values/tensor_functions.h"
#include "frontend/values/tensor_subclass.h"
#include "ir/graph/op_table.h"

namespace md {

namespace {

PyRef attribute(const PyRef& o, const char* name) { return checked(PyObject_GetAttrString(o.get(), name)); }
std::string text_attribute(const PyRef& o, const char* name) { return text_of(attribute(o, name).get()); }

bool contains(const PyRef& set, PyObject* o) {
  if (!set || !PyAnySet_Check(set.get()) || PySet_GET_SIZE(set.get()) == 0) return false;
  if (!PyCallable_Check(o) || PyType_Check(o) || !Py_TYPE(o)->tp_hash) return false;
  const bool known_hash = PyFunction_Check(o) || PyCFunction_Check(o) || PyMethod_Check(o);
  return known_hash && checked(PySet_Contains(set.get(), o));
}

// "step" of "module.step"; a callable without a name by its class.
std::string name_of(PyObject* o) {
  PyRef name = PyRef::steal(PyObject_GetAttrString(o, "__name__"));
  clear_answer();
  return name ? text_of(name.get()) : type_name(Py_TYPE(o));
}

std::string module_of(PyObject* o) {
  PyRef name = PyRef::steal(PyObject_GetAttrString(o, "__module__"));
  clear_answer();
  std::string out = name && name.get() != Py_None ? text_of(name.get()) : "";
  std::ranges::replace(out, '.', '_');
  return out;
}

// A marked object with a __call__ of the program's: only calls of it are special.
bool is_callable_instance(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || PyType_Check(o)) return false;
  constexpr MarkKind kOfCalls[] = {MarkKind::AllowInGraph, MarkKind::AssumeConstant, MarkKind::Disallow,
                                   MarkKind::Forbid, MarkKind::Substitute};
  const auto mark = find_mark(o);
  if (!mark || std::ranges::find(kOfCalls, mark->kind) == std::end(kOfCalls)) return false;
  PyObject* call = type_find(type, checked(PyUnicode_InternFromString("__call__")).get());
  return call && PyFunction_Check(call);
}

}  // namespace

ValueRef wrap_marked(Tracer& t, PyObject* o, SourceRef source) {
  return is_callable_instance(o) ? ValueRef() : t.marked_callable(o, source);
}

ValueRef Tracer::marked_callable(PyObject* o, SourceRef source) {
  auto mark = find_mark(o);
  if (!mark && contains(config.reorderable_logging_functions, o)) mark = CallableMark{MarkKind::Logging, {}};
  if (!mark && contains(config.ignore_logger_methods, o)) mark = CallableMark{MarkKind::Ignored, {}};
  if (!mark || mark->kind == MarkKind::DontSkip) return {};
  if (mark->kind == MarkKind::RegionOperator) graph_break<GB0017>();
  // A bound method is made anew by each look-up: what it is bound to and what it calls are the same.
  if (!PyMethod_Check(o)) guard(GuardKind::IdMatch, source, PyRef::borrow(o));
  return make_ref<MarkedValue>(mark->kind, PyRef::borrow(o), mark->payload);
}

bool Tracer::is_ignored_method(const MethodValue& m) {
  const PyRef& ignored = config.ignore_logger_methods;
  if (!ignored || !PyAnySet_Check(ignored.get()) || PySet_GET_SIZE(ignored.get()) == 0) return false;
  if (!m.function->real || !m.self->real) return false;
  return contains(ignored, checked(PyMethod_New(m.function->real.get(), m.self->real.get())).get());
}

std::string MarkedValue::print() const {
  if (which == MarkKind::Text) return "StringFormatVariable(" + repr_of(payload.get()) + ")";
  return "TorchInGraphFunctionVariable(" + repr_of(real.get()) + ")";
}

PyTypeObject* MarkedValue::python_type() const { return real ? Py_TYPE(real.get()) : &PyUnicode_Type; }

namespace {

// torch.ops.<namespace>.<name> is what is registered now, and may be registered anew.
void guard_registered(Tracer& t, const PyRef& space, PyObject* name) {
  PyRef key = checked(PyObject_CallMethod(space.get(), "_key", "O", name));
  if (key.get() == Py_None) return;
  PyRef module = checked(import_module("minidynamo._ops"));
  PyRef operators = attribute(module, "_operators");
  SourceRef all = t.recorder.sources.constant(operators.get(), "torch.ops");
  if (PyObject* found = PyDict_GetItemWithError(operators.get(), key.get()))
    t.guard(GuardKind::IdMatch, t.recorder.sources.child(all, SourceKind::DictItem, key.get()), PyRef::borrow(found));
  else
    t.guard(GuardKind::DictNotContains, all, key);
}

}  // namespace

ValueRef MarkedValue::get_attr(Tracer& t, PyObject* name) {
  if (!real) unmodelled_method(*this, text_of(name));
  if (which == MarkKind::Comptime) return make_ref<BoundAttrValue>(ValueRef(this), PyRef::borrow(name));
  if (source && PyFunction_Check(real.get())) {
    PyObject* own = reinterpret_cast<PyFunctionObject*>(real.get())->func_dict;
    if (PyObject* found = own ? PyDict_GetItemWithError(own, name) : nullptr)
      return t.lazy(found, t.recorder.sources.child(source, SourceKind::Attr, name));
  }
  PyRef v = PyRef::steal(PyObject_GetAttr(real.get(), name));
  if (!v && source && PyFunction_Check(real.get())) {
    PyRef error = take_exception();
    t.guard(GuardKind::NoHasattr, source, PyRef::borrow(name));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  }
  if (which == MarkKind::Namespace) {
    PyRef error = v ? PyRef() : take_exception();
    guard_registered(t, real, name);
    if (error) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  }
  if (!v) t.raise_current();
  return t.from_object(v.get(), nullptr);
}

ValueRef MarkedValue::call(Tracer& t, CallArgs args) {
  switch (which) {
    case MarkKind::CustomOp:
      return call_operator(t, std::move(args));
    case MarkKind::OwnOp:
      return call_own(t, std::move(args));
    case MarkKind::AllowInGraph:
    case MarkKind::Nonstrict:
      return call_opaque(t, std::move(args));
    case MarkKind::AssumeConstant:
      return call_constant(t, std::move(args));
    case MarkKind::Disallow:
      break_on_skipped(t, real.get());
    case MarkKind::Forbid: {
      PyRef module = checked(import_module("minidynamo._dynamo.exc"));
      PyErr_Format(attribute(module, "ForbiddenCallable").get(), "Attempt to trace forbidden callable %R", real.get());
      throw PythonError{};
    }
    case MarkKind::Substitute:
      return t.call(t.from_object(payload.get(), nullptr), std::move(args));
    case MarkKind::CompileRegion:
      return call_region(t, std::move(args));
    case MarkKind::BreakPolicy:
      return call_with_policy(t, std::move(args));
    case MarkKind::Logging:
      return call_later(t, std::move(args));
    case MarkKind::Ignored:
      return t.none();
    case MarkKind::Comptime:
      return call_comptime(t, "__call__", std::move(args));
    default:
      break;
  }
  return Value::call(t, std::move(args));
}

ValueRef MarkedValue::call_method(Tracer& t, PyObject* name, CallArgs args) {
  if (which == MarkKind::Comptime) return call_comptime(t, text_of(name), std::move(args));
  if (which == MarkKind::Text) unmodelled_method(*this, text_of(name), args);
  return Value::call_method(t, name, std::move(args));
}

// A bool or an int is nothing that the call of an operator in a graph may give, unless it stands for an element.
static void break_on_plain_answer(Tracer& t, const std::string& name, const ValueRef& answer) {
  const PyRef c = answer->kind == ValueKind::Constant ? answer->as_constant() : PyRef();
  if (!c || !PyLong_Check(c.get()) || t.config.trace_more || is_in_library(t)) return;
  if (name == "item" || name == "_local_scalar_dense" || name.starts_with("sym_")) return;
  listed_break<GB0208>(std::string(Py_TYPE(c.get())->tp_name), std::string("call_function"), "aten." + name);
}

// An op of the table by its name in torch.ops.aten.
ValueRef MarkedValue::call_own(Tracer& t, CallArgs args) {
  const std::string name = text_attribute(real, "_own_name");
  if (ValueRef answer = ask_torch_function(t, ValueRef(this), args)) return answer;
  for (auto& a : args.positional) a = t.realize(a);
  for (auto& k : args.keywords) k.second = t.realize(k.second);
  // A function of the library that is no op of the table, or takes other arguments: equal(), _softmax().
  const std::string base = name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
  if (overloads(base).empty() || attribute(real, "_in_python").get() == Py_True) {
    ValueRef answer = t.call(t.from_object(attribute(real, "_function").get(), nullptr), std::move(args));
    break_on_plain_answer(t, name, answer);
    return answer;
  }
  try {
    return t.call_op(name, Spelling::Function, args, text_attribute(real, "_graph_target"));
  } catch (const GraphBreak& b) {
    if (b.id != break_rows()[GB0112].id) throw;
    graph_break<GB0049>(text_attribute(real, "_name"), b.context);
  }
}

// An operator of minidynamo.library: it knows its name, its rule for shapes and what it writes to.
ValueRef MarkedValue::call_operator(Tracer& t, CallArgs args) {
  const PyRef asked = checked(PyObject_CallMethod(real.get(), "_as_asked", nullptr));
  if (ValueRef answer = ask_torch_function(t, t.from_object(asked.get(), nullptr), args)) return answer;
  (void)strip_subclasses(t, args);  // below, only handlers of operators are asked
  OutCall c;
  c.name = text_attribute(real, "_name");
  if (t.config.only_allow_pt2_compliant_ops && PyObject_IsTrue(attribute(real, "_pt2_compliant").get()) != 1)
    graph_break<GB0043>(c.name);
  c.target = text_attribute(real, "_graph_target");
  c.node_name = text_attribute(real, "_graph_name");
  c.function = real;
  c.key = attribute(real, "_operator");
  c.declared = true;
  c.fake = attribute(real, "_fake");
  c.gives_nothing = PyObject_IsTrue(attribute(real, "_gives_nothing").get()) == 1;
  PyRef rule = attribute(real, "_fake_function");
  if (PyFunction_Check(rule.get())) c.traced = t.from_object(rule.get(), nullptr);
  // How many tensors each argument brings decides which of them is which.
  PyRef counts = checked(PyList_New(0)), named = checked(PyDict_New());
  const auto count = [&](const ValueRef& v) {
    return checked(PyLong_FromSize_t(tensors_of(t, CallArgs{{v}, {}}).size()));
  };
  for (auto& v : args.positional) checked(PyList_Append(counts.get(), count(v).get()));
  for (auto& [key, v] : args.keywords) checked(PyDict_SetItem(named.get(), key.get(), count(v).get()));
  PyRef written = checked(PyObject_CallMethod(real.get(), "_written", "OO", counts.get(), named.get()));
  c.writes.emplace();
  for (Py_ssize_t k = 0; k < PyList_GET_SIZE(written.get()); ++k)
    c.writes->push_back(static_cast<int>(PyLong_AsLong(PyList_GET_ITEM(written.get(), k))));
  return call_out(t, c, std::move(args));
}

namespace {

bool holds_dict(Tracer& t, const ValueRef& raw) {
  ValueRef v = t.realize(raw);
  const auto inside = [&](const ValueRef& item) { return holds_dict(t, item); };
  if (auto* list = as<ListValue>(v)) return std::ranges::any_of(list->items, inside);
  if (auto* tuple = as<TupleValue>(v)) return std::ranges::any_of(tuple->items, inside);
  return v->kind == ValueKind::Dict;
}

// Nodes have no dictionaries: the call gets the tensors inside its arguments, and puts the rest around them.
PyRef spread(Tracer& t, const PyRef& function, CallArgs& args) {
  std::vector<ValueRef> tensors;
  const auto shape_of = [&](const ValueRef& v) {
    PyRef shape = tree_shape(t, v, tensors);
    if (!shape) graph_break<GB0055>(print_list(args.positional) + " " + print_keywords(args));
    return shape;
  };
  PyRef positional = checked(PyList_New(0)), named = checked(PyDict_New());
  for (auto& v : args.positional) checked(PyList_Append(positional.get(), shape_of(t.realize(v)).get()));
  for (auto& [key, v] : args.keywords) checked(PyDict_SetItem(named.get(), key.get(), shape_of(t.realize(v)).get()));
  args.positional = std::move(tensors);
  args.keywords.clear();
  PyRef module = checked(import_module("minidynamo._dynamo.marked_callables"));
  return checked(PyObject_CallMethod(module.get(), "_Spread", "OOOO", function.get(), positional.get(), named.get(),
                                     shape_hole()));
}

}  // namespace

ValueRef MarkedValue::call_opaque(Tracer& t, CallArgs args) {
  OutCall c;
  const bool nonstrict = which == MarkKind::Nonstrict;
  PyRef function = payload.get() == Py_None || !payload ? real : payload;
  c.name = name_of(real.get());
  c.target = nonstrict ? kFlatApply : module_of(real.get()) + "_" + c.name;
  c.node_name = nonstrict ? c.target : c.name;
  c.spelling = Spelling::Name;
  const bool trees = nonstrict && has_tree_classes();
  const auto is_spread = [&](const ValueRef& v) { return holds_dict(t, v) || (trees && holds_tree(t, v)); };
  const bool nested = std::ranges::any_of(args.positional, is_spread) ||
                      std::ranges::any_of(args.keywords, [&](const auto& k) { return is_spread(k.second); });
  c.key = function;
  if (nested) {
    c.positional = args.positional.size();
    if (!args.keywords.empty()) c.keywords = checked(PyTuple_New(static_cast<Py_ssize_t>(args.keywords.size())));
    for (std::size_t k = 0; k < args.keywords.size(); ++k)
      PyTuple_SET_ITEM(c.keywords.get(), static_cast<Py_ssize_t>(k), Py_NewRef(args.keywords[k].first.get()));
    function = spread(t, function, args);
  }
  c.function = c.fake = function;
  if (PyFunction_Check(function.get())) c.traced = t.from_object(function.get(), nullptr);
  if (auto* f = c.traced ? as<MarkedValue>(c.traced) : nullptr; f) c.traced = ValueRef();  // it is itself marked
  if (!trees) return call_out(t, c, std::move(args));
  try {
    return call_out(t, c, args);
  } catch (const GraphBreak&) {  // perhaps by the class of a result
    PyRef module = checked(import_module("minidynamo._dynamo.marked_callables"));
    const PyRef apart = checked(PyObject_CallMethod(module.get(), "_TakenApart", "OO", function.get(), shape_hole()));
    c.function = c.fake = apart;
    c.traced = ValueRef();
    const ValueRef tensors = call_out(t, c, std::move(args));
    const PyRef structure = attribute(apart, "structure");
    if (PyObject_IsTrue(attribute(apart, "has_trees").get()) != 1) throw;
    return tree_value(t, structure.get(), tensors);
  }
}

// Called while tracing; nothing guards what it gave.
ValueRef MarkedValue::call_constant(Tracer& t, CallArgs args) {
  for (auto& a : args.positional) a = t.realize(a);
  for (auto& k : args.keywords) k.second = t.realize(k.second);
  std::vector<PyRef> positional;
  PyRef keywords;
  if (!all_constant(args, positional, keywords))
    unmodelled(print(), "call of a function assumed to be constant, with arguments that are not");
  PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(positional.size())));
  for (std::size_t i = 0; i < positional.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), positional[i].release());
  PyRef result = PyRef::steal(PyObject_Call(real.get(), tuple.get(), keywords.get()));
  if (!result) t.raise_current();
  return is_tensor_exact(result.get()) ? held_tensor(t, result.get()) : from_folded(t, result.get());
}

// After the graph, in the order of the program, with what the arguments hold then.
ValueRef MarkedValue::call_later(Tracer& t, CallArgs args) {
  SideEffect e{EffectKind::Call, {}};
  e.value = ValueRef(this);
  const auto take = [&](const ValueRef& raw) {
    ValueRef v = t.realize(raw);
    auto* text = as<MarkedValue>(v);
    if (v->kind != ValueKind::Constant && v->kind != ValueKind::Tensor && !(text && text->which == MarkKind::Text))
      title_only_break("Reordering debugging function " + repr_of(real.get()) + " with the arguments " +
                       print_list(args.positional) + " is not possible: constants, tensors and f-strings of them are");
    if (text) text->waits = true;
    e.items.push_back(v);
  };
  for (auto& a : args.positional) take(a);
  if (!args.keywords.empty()) e.name = checked(PyTuple_New(static_cast<Py_ssize_t>(args.keywords.size())));
  for (std::size_t k = 0; k < args.keywords.size(); ++k) {
    take(args.keywords[k].second);
    PyTuple_SET_ITEM(e.name.get(), static_cast<Py_ssize_t>(k), Py_NewRef(args.keywords[k].first.get()));
  }
  t.effects.record(std::move(e));
  return t.none();
}

// What has a graph of its own in torch's calls can be a region; here the graph is the one around it.
ValueRef MarkedValue::call_region(Tracer& t, CallArgs args) {
  ValueRef f = t.from_object(payload.get(), nullptr);
  const bool module = is_library_class(Py_TYPE(payload.get()), LibraryClass::Module);
  if (f->kind != ValueKind::Function && !module) {
    const GraphBreak b = make_break<GB0042>(f->print());
    uncaptured(placed_frames(t), "nested_compile_region", &b, "");
  }
  return trace_inlined(t, "nested_compile_region", f, std::move(args), InlineRule::OwnResults);
}

ValueRef MarkedValue::call_with_policy(Tracer& t, CallArgs args) {
  const bool outer = t.errors_on_break;
  t.errors_on_break = PyObject_IsTrue(attribute(real, "error").get()) == 1;
  ValueRef r = t.call(t.from_object(attribute(real, "function").get(), nullptr), std::move(args));
  t.errors_on_break = outer;
  return r;
}

Reg MarkedValue::rebuild(PlanBuilder& b) {
  if (source) return b.load_source(source);
  if (real) return b.load_constant(real);
  if (!waits) unmodelled(print(), "text of a tensor");
  PlanStep s{StepOp::Call};
  s.a = b.load_constant(attribute(payload, "format"));
  for (auto& v : parts) s.regs.push_back(b.rebuild(v));
  return b.step(std::move(s));
}

}  // namespace md
