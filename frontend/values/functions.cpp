#include "frontend/values/functions.h"

#include "frontend/breaks.h"
#include "frontend/builtins/table.h"
#include "frontend/plan.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/objects.h"

namespace md {

// --- cells -----------------------------------------------------------------------------------------------------------

ValueRef CellValue::get(Tracer& t) {
  if (looked) return content;
  looked = true;
  PyObject* inside = real ? PyCell_GET(real.get()) : nullptr;
  if (!inside) {
    if (source) t.guard(GuardKind::NotPresent, t.sources.child(source, SourceKind::CellContents));
    return {};
  }
  content = t.lazy(inside, source ? t.sources.child(source, SourceKind::CellContents) : nullptr);
  if (!source) t.guard(GuardKind::IdMatch, nullptr, real);
  return content;
}

void CellValue::set(Tracer& t, ValueRef v) {
  looked = stored = true;
  content = v;
  if (!source) return;
  SideEffect e{EffectKind::CellSet, ValueRef(this)};
  e.value = std::move(v);
  t.effects.record(std::move(e));
}

Reg CellValue::rebuild(PlanBuilder& b) {
  if (source) return b.load_source(source);
  const Reg r = b.step({StepOp::NewCell});
  b.remember(this, r);
  if (content) {
    PlanStep fill{StepOp::CellSet};
    fill.a = r;
    fill.b = b.rebuild(content);
    b.fill(std::move(fill));
  }
  return r;
}

// --- Python functions
// --------------------------------------------------------------------------------------------------

const char* FunctionValue::module_name() const {
  PyObject* name = PyDict_GetItemString(globals.get(), "__name__");
  return name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : "";
}

std::string FunctionValue::file_name() const {
  return text_of(reinterpret_cast<PyCodeObject*>(code.get())->co_filename);
}

bool may_inline(const FunctionValue& f) {
  if (f.real && PyObject_HasAttrString(f.real.get(), "_torchdynamo_disable")) return false;
  static const char* const closed[] = {"minidynamo",      "random",    "copy",    "threading", "logging", "warnings",
                                       "traceback",       "linecache", "inspect", "numpy",     "pdb",     "subprocess",
                                       "multiprocessing", "pickle"};
  const std::string module = f.module_name();
  for (const char* c : closed)
    if (module == c || module.rfind(std::string(c) + ".", 0) == 0)
      return module.rfind("minidynamo.polyfills", 0) == 0 || module.rfind("minidynamo.nn", 0) == 0;
  return true;
}

void break_on_skipped(Tracer&, PyObject* o) {
  auto attr = [&](const char* name) -> std::string {
    PyRef v = PyRef::steal(PyObject_GetAttrString(o, name));
    if (!v || v.get() == Py_None) {
      PyErr_Clear();
      return "";
    }
    return text_of(v.get());
  };
  std::string module = attr("__module__"), qualname = attr("__qualname__");
  if (qualname.empty()) qualname = attr("__name__");
  if (PyFunction_Check(o)) {
    std::string file = text_of(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(o))->co_filename);
    graph_break<GB0007>(module, qualname, "<missing reason>", file);
  }
  if (module.empty()) module = "<unknown module>";
  if (module == "_warnings") graph_break<GB0007_warning>(module, qualname, "<missing reason>");
  graph_break<GB0007_builtin>(module, qualname, "<missing reason>", module + "." + qualname);
}

ValueRef FunctionValue::get_attr(Tracer& t, PyObject* name) {
  const std::string n = text_of(name);
  for (auto& [k, v] : attrs)
    if (PyUnicode_Compare(k.get(), name) == 0) return v;
  auto* co = reinterpret_cast<PyCodeObject*>(code.get());
  if (n == "__name__")
    return t.constant(real ? checked(PyObject_GetAttr(real.get(), name)) : PyRef::borrow(co->co_name));
  if (n == "__qualname__" && !real) return t.constant(qualname);
  if (n == "__code__") return t.constant(code);
  if (!real) unmodelled(print() + "." + n, "attribute of a function made while tracing");
  PyRef v = PyRef::steal(PyObject_GetAttr(real.get(), name));
  if (!v) t.raise_current();
  SourceRef s = source ? t.sources.child(source, SourceKind::Attr, name) : nullptr;
  return t.from_object(v.get(), s);
}

void FunctionValue::set_attr(Tracer& t, PyObject* name, ValueRef v) {
  if (source || real) unmodelled(print(), "attribute assignment on a function");
  attrs.emplace_back(PyRef::borrow(name), std::move(v));
  (void)t;
}

// compiler.disable() marks the wrapper it makes (recursive) or the function itself.
static void break_if_disabled(const FunctionValue& f) {
  if (!f.real || !PyObject_HasAttrString(f.real.get(), "_torchdynamo_disable")) return;
  PyRef reason = PyRef::steal(PyObject_GetAttrString(f.real.get(), "_torchdynamo_disable_msg"));
  PyErr_Clear();
  const std::string why = reason ? text_of(reason.get()) : "None";
  if (PyObject_HasAttrString(f.real.get(), "_torchdynamo_orig_callable"))
    graph_break<GB0098>(repr_of(f.real.get()), why);
  graph_break<GB0099>(repr_of(f.real.get()), why);
}

ValueRef FunctionValue::call(Tracer& t, CallArgs args) {
  break_if_disabled(*this);
  if (!may_inline(*this)) {
    if (real) break_on_skipped(t, real.get());
    unmodelled(print(), "function of a module that is not traced");
  }
  return t.run_nested(t.make_frame(*this, std::move(args)));
}

Reg FunctionValue::rebuild(PlanBuilder& b) {
  if (source) return b.load_source(source);
  if (real) return b.load_constant(real);
  PlanStep s{StepOp::MakeFunction};
  auto* co = reinterpret_cast<PyCodeObject*>(code.get());
  s.object = checked(PyTuple_Pack(4, code.get(), globals.get(), co->co_name, qualname.get()));
  auto tuple_of = [&](const std::vector<ValueRef>& items) { return b.rebuild(make_ref<TupleValue>(items)); };
  Reg kwd = -1;
  if (!kwdefaults.empty()) {
    auto d = make_ref<DictValue>(&PyDict_Type);
    for (auto& [k, v] : kwdefaults) d->put(b.tracer, b.tracer.constant(k), v);
    kwd = b.rebuild(d);
  }
  Reg closure_reg = -1;
  if (!closure.empty()) closure_reg = tuple_of(std::vector<ValueRef>(closure.begin(), closure.end()));
  s.regs = {defaults.empty() ? -1 : tuple_of(defaults), kwd, closure_reg, annotations ? b.rebuild(annotations) : -1};
  const Reg r = b.step(std::move(s));
  b.remember(this, r);
  for (auto& [k, v] : attrs) {
    PlanStep set{StepOp::AttrSet};
    set.a = r, set.b = b.rebuild(v), set.object = k;
    b.fill(std::move(set));
  }
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
  return function->get_attr(t, name);
}

ValueRef MethodValue::call(Tracer& t, CallArgs args) {
  args.positional.insert(args.positional.begin(), self);
  return t.call(function, std::move(args));
}

Reg MethodValue::rebuild(PlanBuilder& b) {
  if (source) return b.load_source(source);
  PlanStep s{StepOp::MakeMethod};
  s.regs = {b.rebuild(function), b.rebuild(self)};
  return b.step(std::move(s));
}

// --- builtins
// ----------------------------------------------------------------------------------------------------------

std::string BuiltinValue::print() const {
  PyRef name = PyRef::steal(PyObject_GetAttrString(real.get(), "__name__"));
  if (!name) PyErr_Clear();
  return "BuiltinVariable(" + (name ? text_of(name.get()) : repr_of(real.get())) + ")";
}

ValueRef BuiltinValue::get_attr(Tracer& t, PyObject* name) {
  PyRef v = PyRef::steal(PyObject_GetAttr(real.get(), name));
  if (!v) t.raise_current();
  return t.from_object(v.get(), source ? t.sources.child(source, SourceKind::Attr, name) : nullptr);
}

ValueRef BuiltinValue::get_item(Tracer& t, const ValueRef& key) {
  PyRef k = t.realize(key)->as_constant();
  if (!k) return Value::get_item(t, key);
  PyRef r = PyRef::steal(PyObject_GetItem(real.get(), k.get()));
  if (!r) t.raise_current();
  return make_ref<BuiltinValue>(r);
}

ValueRef BuiltinValue::call(Tracer& t, CallArgs args) { return call_builtin(t, *this, std::move(args)); }
Reg BuiltinValue::rebuild(PlanBuilder& b) { return source ? b.load_source(source) : b.load_constant(real); }

std::string OpFunctionValue::print() const { return "TorchInGraphFunctionVariable(" + repr_of(real.get()) + ")"; }

ValueRef OpFunctionValue::call(Tracer& t, CallArgs args) {
  const std::string name = op_function_name(real.get());
  if (op_function_is_method(real.get()) && !args.positional.empty()) {
    ValueRef self = t.realize(args.positional[0]);
    if (self->kind == ValueKind::Tensor) {
      args.positional.erase(args.positional.begin());
      return self->call_method(t, checked(PyUnicode_FromString(name.c_str())).get(), std::move(args));
    }
  }
  return call_op_function(t, name, std::move(args));
}

Reg OpFunctionValue::rebuild(PlanBuilder& b) { return source ? b.load_source(source) : b.load_constant(real); }

// --- functools.partial
// -------------------------------------------------------------------------------------------------

ValueRef PartialValue::get_attr(Tracer& t, PyObject* name) {
  const std::string n = text_of(name);
  if (n == "func") return function;
  if (n == "args") return make_ref<TupleValue>(args.positional);
  if (n == "keywords") {
    auto d = make_ref<DictValue>(&PyDict_Type);
    for (auto& [k, v] : args.keywords) d->put(t, t.constant(k), v);
    return d;
  }
  return Value::get_attr(t, name);
}

ValueRef PartialValue::call(Tracer& t, CallArgs more) {
  CallArgs all = args;
  all.positional.insert(all.positional.end(), more.positional.begin(), more.positional.end());
  for (auto& [name, v] : more.keywords) {
    bool replaced = false;
    for (auto& [k, old] : all.keywords)
      if (PyUnicode_Compare(k.get(), name.get()) == 0) old = v, replaced = true;
    if (!replaced) all.keywords.emplace_back(name, v);
  }
  return t.call(function, std::move(all));
}

Reg PartialValue::rebuild(PlanBuilder& b) {
  if (source) return b.load_source(source);
  if (!args.keywords.empty()) graph_break<GB0092>(print());
  PyRef functools = checked(PyImport_ImportModule("functools"));
  PlanStep s{StepOp::Call};
  s.a = b.load_constant(checked(PyObject_GetAttrString(functools.get(), "partial")));
  s.regs.push_back(b.rebuild(function));
  for (auto& v : args.positional) s.regs.push_back(b.rebuild(v));
  return b.step(std::move(s));
}

// --- attributes taken and not called
// -----------------------------------------------------------------------------------

std::string BoundAttrValue::print() const {
  return "GetAttrVariable(" + self->print() + ", " + text_of(name.get()) + ")";
}
PyTypeObject* BoundAttrValue::python_type() const { return &PyCFunction_Type; }
ValueRef BoundAttrValue::call(Tracer& t, CallArgs args) { return self->call_method(t, name.get(), std::move(args)); }

Reg BoundAttrValue::rebuild(PlanBuilder& b) {
  PlanStep s{StepOp::GetAttr};
  s.a = b.rebuild(self);
  s.object = name;
  return b.step(std::move(s));
}

}  // namespace md
