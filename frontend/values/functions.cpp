// Attributes, calls and rebuilding of cells, functions, bound methods and builtins.
#include "frontend/values/functions.h"

#include <algorithm>

#include "frontend/cpython/call_cache.h"
#include "frontend/cpython/method_wrapper.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/object_fields.h"
#include "frontend/plan/plan.h"
#include "frontend/tensors/overridable_function.h"
#include "frontend/tensors/subclass.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/cycles.h"
#include "frontend/values/deferred_calls.h"
#include "frontend/values/inlining.h"
#include "frontend/values/let_go.h"
#include "frontend/values/objects.h"
#include "frontend/values/rules.h"
#include "frontend/values/skipped_methods.h"
#include "frontend/values/strict_backward.h"
#include "frontend/values/tensor.h"
#include "frontend/values/tensor_functions.h"
#include "frontend/values/tensor_subclass.h"

namespace md {

// --- cells -----------------------------------------------------------------------------------------------------------

ValueRef CellValue::get(Tracer& t) {
  if (looked) return content;
  looked = true;
  PyObject* inside = real ? PyCell_GET(real.get()) : nullptr;
  if (!inside) {
    if (source) t.guard(GuardKind::NotPresent, t.recorder.sources.child(source, SourceKind::CellContents));
    return {};
  }
  content = t.lazy(inside, source ? t.recorder.sources.child(source, SourceKind::CellContents) : nullptr);
  return content;
}

void CellValue::set(Tracer& t, ValueRef v) {
  real && !stored ? let_go_of_object(PyCell_GET(real.get())) : let_go(content);
  looked = stored = true;
  content = v;
  note_part_stored(this);
  if (!source) return;
  SideEffect e{EffectKind::CellSet, ValueRef(this)};
  e.value = std::move(v);
  t.effects.record(std::move(e));
}

ValueRef CellValue::get_attr(Tracer& t, PyObject* name) {
  if (text_of(name) != "cell_contents") return Value::get_attr(t, name);
  if (ValueRef v = get(t)) return v;
  t.raise(PyExc_ValueError, "Cell is empty");
}

void CellValue::set_attr(Tracer& t, PyObject* name, ValueRef v) {
  if (text_of(name) != "cell_contents") return Value::set_attr(t, name, std::move(v));
  set(t, std::move(v));
}

Reg CellValue::rebuild(PlanBuilder& b) {
  if (source) return b.load_source(source);
  const Reg r = b.step({StepOp::NewCell});
  b.remember(this, r);
  if (!content) return r;
  b.fill([&b, r, held = content] {
    PlanStep fill{StepOp::CellSet};
    fill.a = r;
    fill.b = b.rebuild(held);
    return fill;
  });
  return r;
}

// --- Python functions
// --------------------------------------------------------------------------------------------------

const char* FunctionValue::module_name() const {
  PyObject* name = find_item(globals.get(), "__name__");
  return name && PyUnicode_Check(name) ? utf8_of(name) : "";
}

std::string FunctionValue::file_name() const {
  return text_of(reinterpret_cast<PyCodeObject*>(code.get())->co_filename);
}

// The trace has deleted the attribute of a real function: it is noted without a value.
static bool was_deleted(const FunctionValue& f, PyObject* name) {
  return std::ranges::any_of(
      f.attrs, [&](auto& entry) { return !entry.second && PyUnicode_Compare(entry.first.get(), name) == 0; });
}

ValueRef FunctionValue::get_attr(Tracer& t, PyObject* name) {
  const std::string n = text_of(name);
  for (auto& [k, v] : attrs)
    if (PyUnicode_Compare(k.get(), name) == 0 && v) return v;
  if (was_deleted(*this, name)) t.raise(PyExc_AttributeError, "'function' object has no attribute '" + n + "'");
  if (n == "__code__")
    return real ? t.wrap(code.get(), t.recorder.sources.child(parts, SourceKind::FuncCode)) : t.constant(code);
  if (n == "__get__" || n == "__call__") return make_ref<BoundAttrValue>(ValueRef(this), PyRef::borrow(name));
  if (n == "__class__" && !overridable) return t.from_object(reinterpret_cast<PyObject*>(&PyFunction_Type), nullptr);
  if (!real) {
    if (ValueRef v = made_attr(t, name)) return v;
    if (type_find(&PyFunction_Type, name)) unmodelled(print() + "." + n, "attribute of a function made while tracing");
    t.raise(PyExc_AttributeError, "'function' object has no attribute '" + n + "'");
  }
  return real_attr(t, name);
}

// Of the function itself; raises AttributeError as it would.
ValueRef FunctionValue::real_attr(Tracer& t, PyObject* name) {
  static const char* const fields[] = {"__name__",     "__qualname__",   "__doc__",         "__module__",
                                       "__defaults__", "__kwdefaults__", "__annotations__", "__dict__",
                                       "__globals__",  "__builtins__",   "__closure__"};
  const std::string n = text_of(name);
  PyRef v = PyRef::steal(PyObject_GetAttr(real.get(), name));
  if (overridable && n.starts_with("__")) {
    PyRef v = PyRef::steal(PyObject_GetAttr(function_of_overridable(overridable.get()), name));
    if (!v) t.raise_current();
    return t.from_object(v.get(), nullptr);
  }
  if (!PyFunction_Check(real.get())) unmodelled(print() + "." + n, "attribute of a compiled function");
  if (n == "__dict__" && !attrs.empty()) unmodelled(print() + "." + n, "attributes of a function that has changed");
  if (std::find(std::begin(fields), std::end(fields), n) != std::end(fields))
    return t.from_object(v.get(), t.recorder.sources.child(parts, SourceKind::Field, name));
  SourceRef own = t.recorder.sources.child(parts, SourceKind::InstanceDict, name);
  if (!v) {
    t.guard(GuardKind::NotPresent, own);
    t.raise_current();
  }
  if (instance_find(real.get(), name).value == v.get()) return t.lazy(v.get(), own);
  unmodelled(print() + "." + n, "attribute of a function");
}

ValueRef FunctionValue::made_attr(Tracer& t, PyObject* name) {
  for (auto& [k, v] : attrs)
    if (PyUnicode_Compare(k.get(), name) == 0) return v;
  const std::string n = text_of(name);
  auto* co = reinterpret_cast<PyCodeObject*>(code.get());
  if (n == "__name__") return t.constant(co->co_name);
  if (n == "__qualname__") return t.constant(qualname);
  if (n == "__module__") {
    PyObject* module = find_item(globals.get(), "__name__");
    return module ? t.from_object(module, nullptr) : t.none();
  }
  if (n == "__doc__") {
    PyObject* first = PyTuple_GET_SIZE(co->co_consts) > 0 ? PyTuple_GET_ITEM(co->co_consts, 0) : Py_None;
    return t.constant(PyUnicode_Check(first) ? first : Py_None);
  }
  if (n == "__defaults__") return defaults.empty() ? t.none() : ValueRef(make_ref<TupleValue>(defaults));
  if (n == "__kwdefaults__") {
    if (!keyword_dict && !kwdefaults.empty()) {
      auto dict = make_ref<DictValue>(&PyDict_Type);
      for (auto& [k, v] : kwdefaults) dict->put(t, t.constant(k), v);
      keyword_dict = dict;
    }
    return keyword_dict ? keyword_dict : t.none();
  }
  if (n == "__closure__")
    return closure.empty() ? t.none()
                           : ValueRef(make_ref<TupleValue>(std::vector<ValueRef>(closure.begin(), closure.end())));
  if (n == "__globals__") {
    SourceRef own = globals.get() == t.args.globals ? t.recorder.sources.global(nullptr) : nullptr;
    return t.wrap(globals.get(), own);
  }
  if (n == "__builtins__") return t.wrap(builtins.get(), nullptr);
  if (n != "__annotations__") return {};
  if (annotations && annotations->kind == ValueKind::Dict) return annotations;
  auto dict = make_ref<DictValue>(&PyDict_Type);
  if (annotations) {
    auto flat = collect(t, annotations);
    for (std::size_t k = 0; k + 1 < flat.size(); k += 2) dict->put(t, t.realize(flat[k]), flat[k + 1]);
  }
  return annotations = dict;
}

bool FunctionValue::has_attr(Tracer& t, PyObject* name) {
  if (was_deleted(*this, name)) return false;
  for (auto& [k, v] : attrs)
    if (PyUnicode_Compare(k.get(), name) == 0) return true;
  if (!real) return made_attr(t, name) || type_find(&PyFunction_Type, name);
  const bool there = has_attribute(real.get(), name);
  if (source) t.guard(there ? GuardKind::Hasattr : GuardKind::NoHasattr, source, PyRef::borrow(name));
  return there;
}

// Attributes of the function type itself, but for those that only describe the function, decide what a call does.
static bool only_describes(const std::string& name) {
  for (const char* known : {"__name__", "__qualname__", "__doc__", "__module__", "__annotations__"})
    if (name == known) return true;
  return false;
}

DictValue* FunctionValue::keyword_dictionary(const Tracer& t) const {
  if (keyword_dict || keywords_stored || !real || !PyFunction_Check(real.get())) return as<DictValue>(keyword_dict);
  PyObject* const held = reinterpret_cast<PyFunctionObject*>(real.get())->func_kwdefaults;
  const auto seen = held ? t.objects.known.find(held) : t.objects.known.end();
  return seen == t.objects.known.end() ? nullptr : as<DictValue>(seen->second);
}

// Raises what the function would say of a value that does not fit.
bool FunctionValue::set_part(Tracer& t, const std::string& n, const ValueRef& given) {
  if (n != "__defaults__" && n != "__kwdefaults__" && n != "__code__") return false;
  const ValueRef v = given ? t.realize(given) : t.none();
  const bool none = is_true_constant(v, Py_None);
  if (n == "__defaults__") {
    PyTypeObject* const type = v->python_type();
    if (!none && !(type && PyType_IsSubtype(type, &PyTuple_Type)))
      t.raise(PyExc_TypeError, "__defaults__ must be set to a tuple object");
    defaults = none ? std::vector<ValueRef>() : collect(t, v);
    return defaults_stored = true;
  }
  if (n == "__kwdefaults__") {
    PyTypeObject* const type = v->python_type();
    if (!none && !(type && PyType_IsSubtype(type, &PyDict_Type)))
      t.raise(PyExc_TypeError, "__kwdefaults__ must be set to a dict object");
    if (!none && !as<DictValue>(v)) return false;
    kwdefaults.clear();
    keyword_dict = none ? ValueRef() : v;
    return keywords_stored = true;
  }
  PyRef c = given ? v->as_constant() : PyRef();
  if (!c || !PyCode_Check(c.get())) t.raise(PyExc_TypeError, "__code__ must be set to a code object");
  const Py_ssize_t cells = PyCode_GetNumFree(reinterpret_cast<PyCodeObject*>(c.get()));
  if (cells != static_cast<Py_ssize_t>(closure.size()))
    t.raise(PyExc_ValueError, text_of(reinterpret_cast<PyCodeObject*>(code.get())->co_name) +
                                  "() requires a code object with " + std::to_string(closure.size()) +
                                  " free vars, not " + std::to_string(cells));
  if (!real)  // made with its first code, it keeps what it was called
    for (const char* kept : {"__name__", "__doc__"})
      if (PyRef key = interned(kept); std::ranges::none_of(attrs, [&](auto& a) { return a.first.get() == key.get(); }))
        attrs.emplace_back(key, made_attr(t, key.get()));
  code = std::move(c);
  return true;
}

void FunctionValue::set_attr(Tracer& t, PyObject* name, ValueRef v) {
  const std::string n = text_of(name);
  const bool exists = source || real;
  const bool of_type = type_find(&PyFunction_Type, name) != nullptr, described = v && only_describes(n);
  const bool foreign = exists && (!source || !PyFunction_Check(real.get()) || overridable);
  const bool part = !foreign && set_part(t, n, v);
  if ((of_type && !described && !part) || foreign)
    unmodelled(print() + "." + n, v ? "attribute assignment on a function" : "attribute deletion on a function");
  if (part && !exists) return;
  if (part && !v) v = t.none();  // so is what it leaves
  if (n == "__name__" || n == "__qualname__") {
    PyRef text = t.realize(v)->as_constant();
    if (!text || !PyUnicode_Check(text.get())) t.raise(PyExc_TypeError, n + " must be set to a string object");
  }
  if (exists && !v) (void)get_attr(t, name);  // raises where it is not there
  if (exists) {
    SideEffect e{v ? EffectKind::AttrSet : EffectKind::AttrDelete, ValueRef(this)};
    e.name = PyRef::borrow(name);
    e.value = v;
    t.effects.record(std::move(e));
  }
  auto same = [&](auto& entry) { return PyUnicode_Compare(entry.first.get(), name) == 0; };
  auto at = std::find_if(attrs.begin(), attrs.end(), same);
  if (!v && exists) {
    if (at == attrs.end()) at = attrs.emplace(attrs.end(), PyRef::borrow(name), ValueRef());
    at->second = {};
    return;
  }
  if (!v && at == attrs.end()) t.raise(PyExc_AttributeError, "'function' object has no attribute '" + n + "'");
  if (!v)
    attrs.erase(at);
  else if (at != attrs.end())
    at->second = std::move(v);
  else
    attrs.emplace_back(PyRef::borrow(name), std::move(v));
}

ValueRef FunctionValue::call(Tracer& t, CallArgs args) {
  if (overridable && !args.positional.empty()) {  // may be one of Tensor's methods
    const std::string name = text_of(reinterpret_cast<PyCodeObject*>(code.get())->co_name);
    auto* x = as<TensorValue>(t.realize(args.positional[0]));
    if (x && is_forbidden_in_backward(t, *x, name))
      graph_break<GB0068>(x->print(), name, print_list(args.positional), print_keywords(args));
  }
  if (overridable)
    if (ValueRef answer = ask_torch_function(t, ValueRef(this), args)) return answer;
  if (t.config.trace_more && real && !args.positional.empty() && std::string_view(module_name()) == "random") {
    CallArgs rest{{args.positional.begin() + 1, args.positional.end()}, args.keywords};
    if (ValueRef deferred = defer_call(t, real.get(), t.realize(args.positional[0]), rest)) return deferred;
  }
  break_if_disabled(*this);
  break_if_known(t, *this, args);
  // What a frame that is compiled makes itself (a comprehension) is traced as the frame is.
  const bool of_root = !real && globals.get() == t.stack.frames.front()->globals.get();
  if (!of_root && !may_inline(t, *this)) {
    if (real && !args.positional.empty() && std::string_view(module_name()) == "random") {
      CallArgs rest{{args.positional.begin() + 1, args.positional.end()}, args.keywords};
      if (ValueRef drawn = defer_call(t, real.get(), t.realize(args.positional[0]), rest)) return drawn;
    }
    if (std::string_view(module_name()).starts_with("minidynamo."))  // a kind of tensor may have a code of its own
      for (auto& a : args.positional) (void)t.realize(a);
    if (real) break_on_skipped(t, *this, args);
    unmodelled(print(), "function of a module that is not traced");
  }
  if (t.config.trace_more || !is_tensor_function(t, *this)) return t.run_nested(t.make_frame(*this, std::move(args)));
  const bool asks = std::ranges::any_of(args.positional, [&](const ValueRef& v) {
    return v->kind == ValueKind::Tensor || t.realize(v)->kind == ValueKind::Tensor;
  });
  if (asks) check_tensor_question(*this);
  ValueRef answer = run_tensor_function(t, *this, std::move(args));
  check_tensor_answer(*this, asks, answer);
  return answer;
}

Reg FunctionValue::rebuild(PlanBuilder& b) {
  if (source) return b.load_source(source);
  if (real) return b.load_constant(real);
  PlanStep s{StepOp::MakeFunction};
  auto* co = reinterpret_cast<PyCodeObject*>(code.get());
  // None: the globals of the frame that runs, which may be others over the same code.
  PyObject* over = globals.get() == b.tracer.args.globals ? Py_None : globals.get();
  s.object = checked(PyTuple_Pack(4, code.get(), over, co->co_name, qualname.get()));
  auto tuple_of = [&](const std::vector<ValueRef>& items) { return b.rebuild(make_ref<TupleValue>(items)); };
  Reg kwd = keyword_dict ? b.rebuild(keyword_dict) : -1;
  if (!keyword_dict && !kwdefaults.empty()) {
    auto d = make_ref<DictValue>(&PyDict_Type);
    for (auto& [k, v] : kwdefaults) d->put(b.tracer, b.tracer.constant(k), v);
    kwd = b.rebuild(d);
  }
  Reg closure_reg = -1;
  if (!closure.empty()) closure_reg = tuple_of(std::vector<ValueRef>(closure.begin(), closure.end()));
  s.regs = {
      defaults.empty() ? -1 : tuple_of(defaults), kwd, closure_reg,
      annotations ? b.rebuild(made_attr(b.tracer, checked(PyUnicode_InternFromString("__annotations__")).get())) : -1};
  const Reg r = b.step(std::move(s));
  b.remember(this, r);
  for (auto& [k, v] : attrs) b.fill([&b, r, name = k, value = v] { return b.attribute(r, name, value); });
  return r;
}

// --- bound methods
// -----------------------------------------------------------------------------------------------------

std::string MethodValue::print() const {
  PyObject* f = function->real.get();
  return "UserMethodVariable(" + (f ? repr_of(f) : function->print()) + ", " + self->print() + ")";
}

ValueRef MethodValue::get_attr(Tracer& t, PyObject* name) {
  const std::string n = text_of(name);
  if (n == "__self__") return self;
  if (n == "__func__") return function;
  if (n == "__get__" && PyMethod_Type.tp_descr_get)
    return make_ref<BoundAttrValue>(ValueRef(this), PyRef::borrow(name));
  return function->get_attr(t, name);
}

bool MethodValue::has_attr(Tracer& t, PyObject* name) {
  return type_find(&PyMethod_Type, name) || function->has_attr(t, name);
}

ValueRef MethodValue::call(Tracer& t, CallArgs args) {
  if (t.is_ignored_method(*this)) return t.none();
  if (auto* f = as<FunctionValue>(function); f && !real && !is_deferred_draw(t, ValueRef(this)))
    break_on_skipped_method(t, *f);
  args.positional.insert(args.positional.begin(), self);
  return t.call(function, std::move(args));
}

Reg MethodValue::rebuild(PlanBuilder& b) {
  if (source) return b.load_source(source);
  // A method of a builtin type is bound by its descriptor: the result is no types.MethodType.
  PyObject* real_function = self->python_type() ? function->real.get() : nullptr;
  if (real_function &&
      (Py_TYPE(real_function) == &PyWrapperDescr_Type || Py_TYPE(real_function) == &PyMethodDescr_Type)) {
    PlanStep bind{StepOp::Call};
    bind.a = b.load_constant(checked(PyObject_GetAttrString(real_function, "__get__")));
    bind.regs = {b.rebuild(self), b.load_class(self->python_type())};
    return b.step(std::move(bind));
  }
  PlanStep s{StepOp::MakeMethod};
  s.regs = {b.rebuild(function), b.rebuild(self)};
  return b.step(std::move(s));
}

// --- builtins
// ----------------------------------------------------------------------------------------------------------

std::string BuiltinValue::print() const {
  if (is_call_cache(real.get())) return "UserDefinedObjectVariable(" + type_name(Py_TYPE(real.get())) + ")";
  PyRef name = PyRef::steal(PyObject_GetAttrString(real.get(), "__name__"));
  if (!name) clear_answer();
  return "BuiltinVariable(" + (name ? text_of(name.get()) : repr_of(real.get())) + ")";
}

ValueRef BuiltinValue::get_attr(Tracer& t, PyObject* name) {
  const PyTypeObject* const type = Py_TYPE(real.get());
  if ((type == &PyWrapperDescr_Type || type == &PyMethodDescr_Type) && text_of(name) == "__get__")
    return make_ref<BoundAttrValue>(ValueRef(this), PyRef::borrow(name));
  PyRef v = PyRef::steal(PyObject_GetAttr(real.get(), name));
  if (!v) t.raise_current();
  // Bound anew by each look-up (dict.fromkeys), it lives nowhere.
  SourceRef place = source ? t.recorder.sources.child(source, SourceKind::Attr, name) : nullptr;
  return t.from_object(v.get(), place && load(place, t.args).get() == v.get() ? place : nullptr);
}

ValueRef BuiltinValue::get_item(Tracer& t, const ValueRef& key) {
  if (auto* parts = as<TupleValue>(t.realize(key)))
    for (auto& part : parts->items) part = t.realize(part);
  PyRef k = t.realize(key)->as_constant();
  if (!k) return Value::get_item(t, key);
  PyRef r = PyRef::steal(PyObject_GetItem(real.get(), k.get()));
  if (!r) t.raise_current();
  return make_ref<BuiltinValue>(r);
}

ValueRef BuiltinValue::call(Tracer& t, CallArgs args) {
  if (ValueRef answer = call_default_torch_function(t, real.get(), args)) return answer;
  if (ValueRef answer = call_tensor_slot(t, real.get(), args)) return answer;
  if (op_function_asks(real.get())) {  // one with a rule
    if (ValueRef answer = ask_torch_function(t, ValueRef(this), args)) return answer;
    (void)strip_subclasses(t, args);
  }
  return call_builtin(t, *this, std::move(args));
}
Reg BuiltinValue::rebuild(PlanBuilder& b) { return source ? b.load_source(source) : b.load_constant(real); }

std::string OpFunctionValue::print() const { return "TorchInGraphFunctionVariable(" + repr_of(real.get()) + ")"; }

ValueRef OpFunctionValue::get_attr(Tracer& t, PyObject* name) {
  for (const char* known : {"__name__", "__qualname__", "__module__", "__doc__"})
    if (text_of(name) == known) return t.constant(checked(PyObject_GetAttr(real.get(), name)));
  return Value::get_attr(t, name);
}

ValueRef OpFunctionValue::call(Tracer& t, CallArgs args) {
  if (op_function_asks(real.get()))
    if (ValueRef answer = ask_torch_function(t, ValueRef(this), args)) return answer;
  const std::vector<ValueRef> instances = strip_subclasses(t, args);
  return with_instances(call_plain(t, std::move(args)), instances);
}

ValueRef OpFunctionValue::call_plain(Tracer& t, CallArgs args) {
  const std::string name = op_function_name(real.get());
  if (op_function_is_method(real.get()) && !args.positional.empty()) {
    ValueRef self = t.realize(args.positional[0]);
    if (self->kind == ValueKind::Tensor) {
      if (self->source && is_inplace_view(name)) graph_break<GB0072>(name);
      args.positional.erase(args.positional.begin());
      return self->call_method(t, checked(PyUnicode_FromString(name.c_str())).get(), std::move(args));
    }
  }
  return call_op_function(t, name, std::move(args));
}

Reg OpFunctionValue::rebuild(PlanBuilder& b) { return source ? b.load_source(source) : b.load_constant(real); }

// --- attributes taken and not called ---------------------------------------------------------------------------------

std::string BoundAttrValue::print() const {
  return "GetAttrVariable(" + self->print() + ", " + text_of(name.get()) + ")";
}
// A method written in C knows what it is bound to, and has its name and texts from its class.
ValueRef BoundAttrValue::get_attr(Tracer& t, PyObject* attr) {
  const std::string n = text_of(attr);
  PyTypeObject* const type = self->python_type();
  PyObject* const found = type ? type_find(type, name.get()) : nullptr;
  const bool in_c = found && (Py_TYPE(found) == &PyWrapperDescr_Type || Py_TYPE(found) == &PyMethodDescr_Type);
  if (in_c && n == "__self__") return self;
  if (in_c && (n == "__name__" || n == "__doc__" || n == "__text_signature__" || n == "__qualname__")) {
    t.expect_on_class(type, name.get(), found);
    return t.constant(checked(PyObject_GetAttr(found, attr)));
  }
  return Value::get_attr(t, attr);
}

PyTypeObject* BoundAttrValue::python_type() const {
  PyTypeObject* const type = self->python_type();
  PyObject* const found = type ? type_find(type, name.get()) : nullptr;
  return found && Py_TYPE(found) == &PyWrapperDescr_Type ? method_wrapper_type() : &PyCFunction_Type;
}
Reg BoundAttrValue::rebuild(PlanBuilder& b) {
  if (source) return b.load_source(source);
  if (self->kind == ValueKind::Exception && !self->real && text_of(name.get()) == "__traceback__")
    graph_break<GB0092>(print());
  PlanStep s{StepOp::GetAttr};
  s.a = b.rebuild(self);
  s.object = name;
  return b.step(std::move(s));
}

ValueRef WithExitValue::call(Tracer& t, CallArgs args) { return t.call(exit, std::move(args)); }

Reg WithExitValue::rebuild(PlanBuilder& b) { return b.rebuild(exit); }

}  // namespace md
