// Exceptions of the traced program, and the library's context managers.
#include "frontend/breaks.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/plan.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"
#include "frontend/values/objects.h"

namespace md {

ExceptionValue::ExceptionValue(PyTypeObject* type, std::vector<ValueRef> args)
    : Value(kKind), type(type), type_ref(PyRef::borrow(reinterpret_cast<PyObject*>(type))), args(std::move(args)) {}

std::string ExceptionValue::print() const { return "ExceptionVariable(" + repr_of(type_ref.get()) + ")"; }

ValueRef ExceptionValue::get_attr(Tracer& t, PyObject* name) {
  const std::string n = text_of(name);
  if (n == "args") return make_ref<TupleValue>(args);
  if (n == "__cause__") return cause ? cause : t.none();
  if (n == "__context__") return context ? context : t.none();
  if (n == "__suppress_context__") return t.boolean(suppress_context);
  if (n == "__class__") return t.from_object(type_ref.get(), nullptr);
  for (auto& [k, v] : attrs)
    if (PyUnicode_Compare(k.get(), name) == 0) return v;
  const auto [found, place] = t.on_class(type, name);
  if (n == "value" && PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_StopIteration)))
    return args.empty() ? t.none() : args[0];
  if (found && PyFunction_Check(found)) return make_ref<MethodValue>(t.wrap(found, place), ValueRef(this));
  // A traceback can only be handed on: to be set on another exception, which breaks, or to be compared with None.
  const bool passed_on = n == "__traceback__" || (found && is_method(found));
  if (found && !passed_on) unmodelled(print() + "." + n, "attribute computed outside the traced program");
  if (found) return make_ref<BoundAttrValue>(ValueRef(this), PyRef::borrow(name));
  t.raise(PyExc_AttributeError, std::string("'") + type->tp_name + "' object has no attribute '" + n + "'");
}

void ExceptionValue::set_attr(Tracer& t, PyObject* name, ValueRef v) {
  const std::string n = text_of(name);
  if (n == "__cause__") {
    cause = v, suppress_context = true;
  } else if (n == "__context__") {
    context = v;
  } else if (n == "__suppress_context__") {
    suppress_context = t.realize(v)->truth(t);
  } else if (n == "__traceback__") {
    if (!is_true_constant(t.realize(v), Py_None)) graph_break<GB0095>(print(), n);
  } else if (PyObject* found = type_find(type, name);
             (found && Py_TYPE(found)->tp_descr_set) || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
    graph_break<GB0135>(print(), n);
  } else {
    attrs.emplace_back(PyRef::borrow(name), std::move(v));
  }
}

Reg ExceptionValue::rebuild(PlanBuilder& b) {
  if (real) return b.load_constant(real);
  if (cause || context || !attrs.empty()) graph_break<GB0092>(print());
  PlanStep s{StepOp::NewException};
  s.object = type_ref;
  for (auto& a : args) s.regs.push_back(b.rebuild(a));
  return b.step(std::move(s));
}

// --- library context managers
// --------------------------------------------------------------------------------------------

std::string ContextValue::print() const {
  if (which == ContextKind::BreakPolicy) return "ErrorOnGraphBreakVariable()";
  return which == ContextKind::Null ? "NullContextVariable()" : "GradModeVariable()";
}

ValueRef ContextValue::get_attr(Tracer&, PyObject* name) {
  return make_ref<BoundAttrValue>(ValueRef(this), PyRef::borrow(name));
}

static void set_grad(Tracer& t, bool on) {
  t.grad_enabled = on;
  t.emit_grad_switch(on);
}

void ContextValue::enter(Tracer& t) {
  if (which == ContextKind::Null || at_once) return;
  if (which == ContextKind::BreakPolicy) {
    outer = std::exchange(t.errors_on_break, target);
    return;
  }
  outer = t.grad_enabled;
  set_grad(t, target);
}

void ContextValue::exit(Tracer& t) {
  if (which == ContextKind::GradMode) set_grad(t, outer);
  if (which == ContextKind::BreakPolicy) t.errors_on_break = outer;
}

// Every manager of the gradient mode is entered again as set_grad_enabled(mode).
OpenContext ContextValue::reopened(int stack_index) const {
  if (which == ContextKind::GradMode) {
    PyRef library = checked(PyImport_ImportModule("minidynamo"));
    return {stack_index,
            checked(PyObject_GetAttrString(library.get(), "set_grad_enabled")),
            {PyRef::borrow(target ? Py_True : Py_False)}};
  }
  OpenContext open{stack_index, cls, {}};
  for (auto& a : args) open.args.push_back(a->as_constant());
  return open;
}

ValueRef ContextValue::call_method(Tracer& t, PyObject* name, CallArgs args) {
  const std::string n = text_of(name);
  if (n == "__enter__") {
    enter(t);
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
