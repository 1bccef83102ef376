#include "frontend/builtins/refusals.h"

#include "frontend/breaks.h"
#include "frontend/tracer.h"
#include "frontend/values/constant.h"

namespace md {

PyRef empty_like(const ValueRef& v) {
  if (v->kind == ValueKind::Constant) return v->real;
  if (v->kind == ValueKind::Range) return v->as_constant();
  PyTypeObject* type = v->python_type();
  for (PyTypeObject* known : {&PyList_Type, &PyTuple_Type, &PyDict_Type, &PySet_Type, &PyFrozenSet_Type})
    if (type == known) return checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(type)));
  return {};
}

// Nothing but the kind of the refusal is taken from it: a TypeError, or what a look-up of constants gives.
[[noreturn]] static void raise_or_break(Tracer& t, const PyRef& result, const std::string& what, const CallArgs& args) {
  if (!result) t.raise_current();
  unmodelled(what, "operands " + print_list(args.positional) + ", " + print_keywords(args));
}

void refuse_arguments(Tracer& t, PyObject* callable, const CallArgs& args) {
  const auto given = [&](const ValueRef& raw) {
    PyRef c = empty_like(t.realize(raw));
    return c ? c : checked(PyTuple_New(0));
  };
  PyRef positional = checked(PyTuple_New(static_cast<Py_ssize_t>(args.positional.size())));
  for (std::size_t i = 0; i < args.positional.size(); ++i)
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), given(args[i]).release());
  PyRef keywords = args.keywords.empty() ? PyRef() : checked(PyDict_New());
  for (auto& [name, v] : args.keywords) checked(PyDict_SetItem(keywords.get(), name.get(), given(v).get()));
  PyRef r = PyRef::steal(PyObject_Call(callable, positional.get(), keywords.get()));
  if (!r && !PyErr_ExceptionMatches(PyExc_TypeError)) {
    clear_answer();
    r = PyRef::borrow(Py_None);
  }
  raise_or_break(t, r, repr_of(callable), args);
}

void refuse_method_arguments(Tracer& t, const Value& self, PyObject* name, const CallArgs& args) {
  PyTypeObject* type = self.python_type();
  PyRef empty = self.kind == ValueKind::Deque ? checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(type)))
                                              : empty_like(ValueRef(const_cast<Value*>(&self)));
  if (!empty) unmodelled_method(self, text_of(name), args);
  refuse_arguments(t, checked(PyObject_GetAttr(empty.get(), name)).get(), args);
}

void refuse_operands(Tracer& t, const ValueRef& a, const ValueRef& b, PyObject* (*operation)(PyObject*, PyObject*),
                     const std::string& name) {
  PyRef x = empty_like(a), y = empty_like(b);
  PyRef r = x && y ? PyRef::steal(operation(x.get(), y.get())) : PyRef::borrow(Py_None);
  raise_or_break(t, r, "operator." + name, CallArgs{{a, b}, {}});
}

}  // namespace md
