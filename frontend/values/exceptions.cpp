// Exceptions of the traced program, and the library's context managers.
#include <algorithm>

#include "frontend/cpython/import_module.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/plan/plan.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/polyfills.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/caller_frames.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"
#include "frontend/values/inference_mode.h"
#include "frontend/values/objects.h"
#include "frontend/values/polyfilled.h"

namespace md {

ExceptionValue::ExceptionValue(PyTypeObject* type, std::vector<ValueRef> args)
    : Value(kKind), type(type), type_ref(PyRef::borrow(reinterpret_cast<PyObject*>(type))), args(std::move(args)) {}

std::string ExceptionValue::print() const { return "ExceptionVariable(" + repr_of(type_ref.get()) + ")"; }

ValueRef ExceptionValue::get_attr(Tracer& t, PyObject* name) {
  const std::string n = text_of(name);
  if (n == "args" && args.size() > 2 && PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_OSError)))
    return builtin_field(t, name);  // without the file names
  if (n == "args") return make_ref<TupleValue>(args);
  if (n == "__cause__") return cause ? cause : t.none();
  if (n == "__context__") {
    if (!context && traceback && !nothing_handled_outside(t))
      unmodelled(print() + "." + n, "exception that a caller handles");
    return context ? context : t.none();
  }
  if (n == "__suppress_context__") return t.boolean(suppress_context);
  if (n == "__class__") return t.from_object(type_ref.get(), nullptr);
  for (auto& [k, v] : attrs)
    if (PyUnicode_Compare(k.get(), name) == 0) return v;
  if (n == "value" && PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_StopIteration)))
    return args.empty() ? t.none() : args[0];
  // A traceback can only be handed on: to be set on an exception again, or to be compared with None.
  if (n == "__traceback__" && !traceback) return t.none();
  if (n == "__traceback__") return make_ref<BoundAttrValue>(ValueRef(this), PyRef::borrow(name));
  PyObject* there = type_find(type, name);
  if (members && there && Py_TYPE(there) == &PyMemberDescr_Type && n == "message") return message;
  if (members && there && Py_TYPE(there) == &PyMemberDescr_Type && n == "exceptions") return members;
  if (there && (Py_TYPE(there) == &PyMemberDescr_Type || Py_TYPE(there) == &PyGetSetDescr_Type))
    return builtin_field(t, name);
  const auto [found, place] = t.on_class(type, name);
  if (found && is_method(found) && !PyFunction_Check(found) && Py_TYPE(found) != &PyStaticMethod_Type &&
      Py_TYPE(found) != &PyClassMethod_Type)
    return make_ref<BoundAttrValue>(ValueRef(this), PyRef::borrow(name));
  if (found) return bind_class_attr(t, found, place, ValueRef(this), t.from_object(type_ref.get(), nullptr));
  t.raise(PyExc_AttributeError, std::string("'") + type->tp_name + "' object has no attribute '" + n + "'");
}

// errno, name, code, ...: fields the constructor of a builtin exception sets from its arguments; one made of the same
// constants is asked.
ValueRef ExceptionValue::builtin_field(Tracer& t, PyObject* name) {
  PyTypeObject* builtin = type;
  while (builtin->tp_flags & Py_TPFLAGS_HEAPTYPE) builtin = builtin->tp_base;
  PyRef constants = make_ref<TupleValue>(args)->as_constant();
  if (!constants || !attrs.empty())
    unmodelled(print() + "." + text_of(name), "attribute computed outside the traced program");
  PyRef real = PyRef::steal(PyObject_CallObject(reinterpret_cast<PyObject*>(builtin), constants.get()));
  PyRef value = real ? PyRef::steal(PyObject_GetAttr(real.get(), name)) : PyRef();
  if (!value) t.raise_current();
  return from_folded(t, value.get());
}

// What stands for a method that BaseExceptionGroup has; null: it has none of this name.
static PyObject* group_method(PyObject* name) {
  return library_method(reinterpret_cast<PyTypeObject*>(PyExc_BaseExceptionGroup), name);
}

ValueRef ExceptionValue::call_method(Tracer& t, PyObject* name, CallArgs args) {
  const std::string n = text_of(name);
  PyObject* found = type_find(type, name);
  if (found && !PyFunction_Check(found)) {
    if (n == "with_traceback" && args.size() == 1) {
      set_attr(t, checked(PyUnicode_InternFromString("__traceback__")).get(), t.realize(args[0]));
      return ValueRef(this);
    }
    if (n == "add_note" && args.size() == 1) return add_note(t, t.realize(args[0]));
    if (n == "__init__" && args.keywords.empty()) {
      this->args = args.positional;
      return t.none();
    }
    if (PyObject* row = found && members ? group_method(name) : nullptr) {
      args.positional.insert(args.positional.begin(), ValueRef(this));
      return call_library(t, found, row, std::move(args));
    }
  }
  return Value::call_method(t, name, std::move(args));
}

ValueRef ExceptionValue::add_note(Tracer& t, const ValueRef& note) {
  PyTypeObject* given = note->python_type();
  if (!given || !PyType_IsSubtype(given, &PyUnicode_Type))
    t.raise(PyExc_TypeError, "note must be a str, not '" + (given ? type_name(given) : "object") + "'");
  PyRef key = checked(PyUnicode_InternFromString("__notes__"));
  for (auto& [k, v] : attrs)
    if (PyUnicode_Compare(k.get(), key.get()) == 0) {
      auto* list = as<ListValue>(t.realize(v));
      if (!list) t.raise(PyExc_TypeError, "Cannot add note: __notes__ is not a list");
      list->append(t, note);
      return t.none();
    }
  attrs.emplace_back(key, make_ref<ListValue>(std::vector<ValueRef>{note}));
  return t.none();
}

void ExceptionValue::set_attr(Tracer& t, PyObject* name, ValueRef v) {
  const std::string n = text_of(name);
  if (n == "__cause__" || n == "__context__") {
    const ValueRef given = v ? t.realize(v) : ValueRef();
    PyTypeObject* const kind = given ? given->python_type() : nullptr;
    if (kind && kind != Py_TYPE(Py_None) &&
        !PyType_IsSubtype(kind, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)))
      t.raise(PyExc_TypeError, "exception " + n.substr(2, n.size() - 4) + " must be None or derive from BaseException");
  }
  if (n == "__cause__") {
    cause = v, suppress_context = true;
  } else if (n == "__context__") {
    context = v;
  } else if (n == "__suppress_context__") {
    suppress_context = t.realize(v)->truth(t);
  } else if (n == "__traceback__") {
    ValueRef given = v ? t.realize(v) : ValueRef();
    auto* own = as<BoundAttrValue>(given);
    if (own && own->self.get() == this && PyUnicode_Compare(own->name.get(), name) == 0) return;
    if (!given || !is_true_constant(given, Py_None)) graph_break<GB0095>(print(), n);
    traceback = 0;
  } else if (PyObject* found = type_find(type, name);
             (found && Py_TYPE(found)->tp_descr_set) ||
             (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) && !t.config.trace_more)) {
    graph_break<GB0135>(print(), n);
  } else {
    auto same = [&](auto& entry) { return PyUnicode_Compare(entry.first.get(), name) == 0; };
    auto at = std::find_if(attrs.begin(), attrs.end(), same);
    if (!v && at == attrs.end())
      t.raise(PyExc_AttributeError, "'" + type_name(type) + "' object has no attribute '" + n + "'");
    if (!v)
      attrs.erase(at);
    else if (at != attrs.end())
      at->second = std::move(v);
    else
      attrs.emplace_back(PyRef::borrow(name), std::move(v));
  }
}

Reg ExceptionValue::rebuild(PlanBuilder& b) {
  if (source) return b.load_source(source);
  if (real) return b.load_constant(real);
  if (traceback) graph_break<GB0092>(print());
  PlanStep s{StepOp::NewException};
  s.a = b.load_class(type);
  for (auto& a : members ? std::vector<ValueRef>{message, members} : args) s.regs.push_back(b.rebuild(a));
  const Reg r = b.step(std::move(s));
  b.remember(this, r);
  const auto set = [&](PyRef name, const ValueRef& v) {
    b.fill([&b, r, name, value = v] { return b.attribute(r, name, value); });
  };
  if (members) set(checked(PyUnicode_InternFromString("args")), make_ref<TupleValue>(args));
  for (auto& [name, v] : attrs) set(name, v);
  const auto name = [](const char* n) { return checked(PyUnicode_InternFromString(n)); };
  if (context) set(name("__context__"), context);
  if (cause) set(name("__cause__"), cause);
  if (cause || suppress_context) set(name("__suppress_context__"), b.tracer.boolean(suppress_context));
  return r;
}

bool is_caught(Tracer& t, const ValueRef& raw, PyTypeObject* type) {
  ValueRef v = t.realize(raw);
  if (auto* tuple = as<TupleValue>(v)) {
    // Python looks at all of them before it compares any.
    for (auto& x : tuple->items)
      if (PyRef c = class_object(t.realize(x)); !c || !PyExceptionClass_Check(c.get())) graph_break<GB0051>(v->print());
    return std::ranges::any_of(tuple->items, [&](const ValueRef& x) { return is_caught(t, x, type); });
  }
  PyRef c = class_object(v);
  if (!c || !PyExceptionClass_Check(c.get())) graph_break<GB0050>(v->print());
  return PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(c.get()));
}

static PyTypeObject* as_type(PyObject* o) { return reinterpret_cast<PyTypeObject*>(o); }

Ref<ExceptionValue> new_group(Tracer& t, ClassValue& cls, const std::vector<ValueRef>& args) {
  const auto refuse = [&] { unmodelled(cls.print(), "a group of exceptions made of what does not fit"); };
  std::string message;
  if (args.size() != 2 || !constant_str(t.realize(args[0]), message)) refuse();
  ValueRef given = t.realize(args[1]);
  if (given->kind != ValueKind::List && given->python_type() != &PyTuple_Type) refuse();
  const std::vector<ValueRef> members = collect(t, given);
  bool all = true;  // are below Exception
  for (auto& raw : members) {
    PyTypeObject* type = t.realize(raw)->python_type();
    if (!type || !PyType_IsSubtype(type, as_type(PyExc_BaseException))) refuse();
    all = all && PyType_IsSubtype(type, as_type(PyExc_Exception));
  }
  if (members.empty() || (!all && PyType_IsSubtype(cls.type(), as_type(PyExc_Exception)))) refuse();
  const bool is_base = all && cls.real.get() == PyExc_BaseExceptionGroup;
  auto made =
      make_ref<ExceptionValue>(is_base ? as_type(find_item(PyEval_GetBuiltins(), "ExceptionGroup")) : cls.type(), args);
  made->message = t.realize(args[0]);
  made->members = given->kind == ValueKind::List ? ValueRef(make_ref<TupleValue>(members)) : given;
  return made;
}

PyTypeObject* type_of_exception(Tracer& t, ClassValue& cls, const std::vector<ValueRef>& args) {
  PyTypeObject* builtin = layout_base(cls.type());
  const auto below = [&](PyObject* type) { return PyType_IsSubtype(builtin, as_type(type)) != 0; };
  const bool looks = (args.size() > 1 && (below(PyExc_OSError) || below(PyExc_SyntaxError))) ||
                     below(PyExc_UnicodeEncodeError) || below(PyExc_UnicodeDecodeError) ||
                     below(PyExc_UnicodeTranslateError);
  if (!looks) return cls.type();
  for (auto& a : args) (void)t.realize(a);
  PyRef given = make_ref<TupleValue>(args)->as_constant();
  if (!given) unmodelled(cls.print(), "an exception whose class or fields depend on its arguments");
  PyRef real = PyRef::steal(PyObject_CallObject(reinterpret_cast<PyObject*>(builtin), given.get()));
  if (!real) t.raise_current();
  return cls.type() == builtin ? Py_TYPE(real.get()) : cls.type();
}

// --- library context managers
// --------------------------------------------------------------------------------------------

std::string ContextValue::print() const {
  if (which == ContextKind::BreakPolicy) return "ErrorOnGraphBreakVariable()";
  if (which == ContextKind::Overrides) return "TorchFunctionDisableVariable()";
  if (which == ContextKind::Autocast) return "AutocastModeVariable()";
  return which == ContextKind::Null ? "NullContextVariable()" : "GradModeVariable()";
}

ValueRef ContextValue::get_attr(Tracer&, PyObject* name) {
  return make_ref<BoundAttrValue>(ValueRef(this), PyRef::borrow(name));
}

static void set_grad(Tracer& t, bool on) {
  t.grad_enabled = on;
  t.emit_grad_switch(on);
}

// Regions are modes, which Python code makes and takes off the stack.
static ValueRef call_of_autocast(Tracer& t, const char* function, const std::vector<ValueRef>& args) {
  const PyRef module = checked(import_module("minidynamo.amp.autocast_mode"));
  const PyRef traced = checked(PyObject_GetAttrString(module.get(), function));
  return t.realize(t.call(t.from_object(traced.get(), nullptr), CallArgs{args, {}}));
}

// The manager of inference mode.
static bool is_inference_mode(const ContextValue& c) {
  PyRef library = checked(import_module("minidynamo"));
  return checked(PyObject_GetAttrString(library.get(), "inference_mode")).get() == c.cls.get();
}

void ContextValue::enter(Tracer& t) {
  if (which == ContextKind::Null || at_once) return;
  if (which == ContextKind::BreakPolicy) {
    outer = std::exchange(t.errors_on_break, target);
    return;
  }
  if (which == ContextKind::Overrides) {
    asked_before = static_cast<std::uint8_t>(t.overrides.asked);
    t.overrides.asked = static_cast<Asked>(asked == 0 ? asked : std::max(asked, asked_before));
    return;
  }
  if (which == ContextKind::Autocast) {
    region = call_of_autocast(t, "_enter_region", args);
    return;
  }
  outer = t.grad_enabled;
  if (!is_inference_mode(*this)) return set_grad(t, target);
  asked_before = is_inference_on(t);
  switch_inference(t, !target, target);
}

void ContextValue::exit(Tracer& t) {
  if (which == ContextKind::Autocast) (void)call_of_autocast(t, "_leave_region", {region});
  if (which == ContextKind::GradMode && is_inference_mode(*this))
    switch_inference(t, asked_before != 0, outer);
  else if (which == ContextKind::GradMode)
    set_grad(t, outer);
  if (which == ContextKind::BreakPolicy) t.errors_on_break = outer;
  if (which == ContextKind::Overrides) t.overrides.asked = static_cast<Asked>(asked_before);
}

// Every other manager of the gradient mode is entered again as set_grad_enabled(mode). What nullcontext() gives, which
// may be no constant, has been given: it is entered again without.
OpenContext ContextValue::reopened(int stack_index) const {
  if (which == ContextKind::GradMode && !is_inference_mode(*this)) {
    PyRef library = checked(import_module("minidynamo"));
    return {stack_index,
            checked(PyObject_GetAttrString(library.get(), "set_grad_enabled")),
            {PyRef::borrow(target ? Py_True : Py_False)}};
  }
  OpenContext open{stack_index, cls, {}};
  if (which == ContextKind::Null) return open;
  for (auto& a : args) open.args.push_back(a->as_constant());
  return open;
}

// Each call of what is made of the function enters a manager of its own.
ValueRef ContextValue::call(Tracer& t, CallArgs given) {
  const bool switches = which == ContextKind::GradMode || which == ContextKind::Autocast;
  const bool wraps = switches && given.keywords.empty() && given.positional.size() == 1 &&
                     t.realize(given.positional[0])->kind == ValueKind::Function;
  if (!wraps) return Value::call(t, std::move(given));
  if (at_once) exit(t);  // only the calls switch
  const PyRef module = checked(import_module("minidynamo.autograd.in_mode"));
  const PyRef wrap = checked(PyObject_GetAttrString(module.get(), "decorated"));
  const ValueRef manager = t.from_object(cls.get(), nullptr);
  return t.call(t.from_object(wrap.get(), nullptr),
                CallArgs{{given.positional[0], manager, make_ref<TupleValue>(args)}, {}});
}

ValueRef ContextValue::call_method(Tracer& t, PyObject* name, CallArgs args) {
  const std::string n = text_of(name);
  if (which == ContextKind::GradMode && n == "__enter__" && is_inference_mode(*this)) unmodelled_method(*this, n, args);
  if (n == "__enter__") {
    enter(t);
    if (which == ContextKind::Autocast) return ValueRef(this);
    return which == ContextKind::Null && !this->args.empty() ? this->args[0] : t.none();
  }
  if (n != "__exit__") unmodelled_method(*this, n, args);
  exit(t);
  return t.boolean(false);
}

Reg ContextValue::rebuild(PlanBuilder& b) {
  if (at_once) graph_break<GB0092>(print());  // making it again would switch again
  PlanStep s{StepOp::Call};
  s.a = b.load_constant(cls);
  for (auto& a : args) s.regs.push_back(b.rebuild(a));
  return b.step(std::move(s));
}

}  // namespace md
