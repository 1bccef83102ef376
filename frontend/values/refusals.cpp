// Asks the real operation with empty arguments of the same types and raises what it raises.
#include "frontend/values/refusals.h"

#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"

namespace md {

std::string listed_types(Tracer& t, const std::vector<ValueRef>& values) {
  PyRef names = checked(PyList_New(0));
  for (const ValueRef& v : values) {
    PyTypeObject* const type = t.realize(v)->python_type();
    checked(PyList_Append(names.get(), py_str(type ? type_name(type) : "object").get()));
  }
  return repr_of(names.get());
}

std::string argument_types(Tracer& t, const CallArgs& args) {
  std::vector<ValueRef> values = args.positional;
  for (const auto& keyword : args.keywords) values.push_back(keyword.second);
  return listed_types(t, values);
}

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

namespace {

// The TypeError of a call in which `other` stands for what has no like; null: there is none. `stood_in`: it was needed.
PyRef refusal(Tracer& t, PyObject* callable, const CallArgs& args, const PyRef& other, bool& stood_in) {
  const auto given = [&](const ValueRef& raw) {
    PyRef c = empty_like(t.realize(raw));
    stood_in |= !c;
    return c ? c : other;
  };
  PyRef positional = checked(PyTuple_New(static_cast<Py_ssize_t>(args.positional.size())));
  for (std::size_t i = 0; i < args.positional.size(); ++i)
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), given(args[i]).release());
  PyRef keywords = args.keywords.empty() ? PyRef() : checked(PyDict_New());
  for (auto& [name, v] : args.keywords) checked(PyDict_SetItem(keywords.get(), name.get(), given(v).get()));
  if (PyRef r = PyRef::steal(PyObject_Call(callable, positional.get(), keywords.get()))) return {};
  const bool fits = PyErr_ExceptionMatches(PyExc_TypeError);
  PyObject *type, *error, *trace;
  PyErr_Fetch(&type, &error, &trace);
  PyErr_NormalizeException(&type, &error, &trace);
  const PyRef kept[] = {PyRef::steal(type), PyRef::steal(trace)};
  PyRef raised = PyRef::steal(error);
  return fits ? raised : PyRef();
}

}  // namespace

// What it says of all stand-ins alike; null: it may take the arguments.
static PyRef agreed_refusal(Tracer& t, PyObject* callable, const CallArgs& args) {
  bool stood_in = false;
  const PyRef first = refusal(t, callable, args, checked(PyTuple_New(0)), stood_in);
  bool agreed = static_cast<bool>(first);
  const PyRef number = checked(PyLong_FromLong(0)),
              object = checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type)));
  for (const PyRef& other : {number, object})
    if (agreed && stood_in) {
      const PyRef again = refusal(t, callable, args, other, stood_in);
      agreed = again &&
               text_of(checked(PyObject_Str(again.get())).get()) == text_of(checked(PyObject_Str(first.get())).get());
    }
  return agreed ? first : PyRef();
}

bool refuses_arguments(Tracer& t, PyObject* callable, const CallArgs& args) {
  return static_cast<bool>(agreed_refusal(t, callable, args));
}

void refuse_arguments(Tracer& t, PyObject* callable, const CallArgs& args) {
  const PyRef said = agreed_refusal(t, callable, args);
  if (said) PyErr_SetObject(PyExc_TypeError, said.get());
  raise_or_break(t, said ? PyRef() : PyRef::borrow(Py_None), repr_of(callable), args);
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
