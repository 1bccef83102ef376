// Texts and tests behind CPython's errors for calls: the callee's name, what cannot be unpacked.
#include "frontend/values/call_errors.h"

#include "frontend/cpython/object_attr.h"
#include "frontend/trace/breaks.h"
#include "frontend/values/constant.h"
#include "frontend/values/functions.h"
#include "frontend/values/objects.h"

namespace md {

namespace {

bool is_fixed_type(PyTypeObject* type) {
  return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE);
}

std::string with_module(PyObject* module, const std::string& qualname) {
  const bool named = module && PyUnicode_Check(module) && text_of(module) != "builtins";
  return (named ? text_of(module) + "." : std::string()) + qualname + "()";
}

// Of a type whose attributes run no code of the program.
bool answers_natively(PyObject* o) {
  return PyFunction_Check(o) || PyMethod_Check(o) || (PyType_Check(o) && Py_IS_TYPE(o, &PyType_Type)) ||
         (is_fixed_type(Py_TYPE(o)) && Py_TYPE(o)->tp_getattro == PyObject_GenericGetAttr);
}

}  // namespace

std::string callable_text(const ValueRef& callee) {
  if (auto* method = as<MethodValue>(callee)) return callable_text(method->function);
  if (auto* fn = as<FunctionValue>(callee); fn && !fn->real)
    return with_module(find_item(fn->globals.get(), "__name__"), text_of(fn->qualname.get()));
  PyObject* const real = callee->real.get();
  PyRef qualname =
      real && answers_natively(real) ? PyRef::steal(PyObject_GetAttrString(real, "__qualname__")) : PyRef();
  clear_answer();
  if (!qualname || !PyUnicode_Check(qualname.get())) unmodelled(callee->print(), "call with wrong arguments");
  PyRef module = PyRef::steal(PyObject_GetAttrString(real, "__module__"));
  clear_answer();
  return with_module(module.get(), text_of(qualname.get()));
}

bool binds_in_python(const ValueRef& callee) {
  if (auto* method = as<MethodValue>(callee)) return binds_in_python(method->function);
  auto* cls = as<ClassValue>(callee);
  if (!cls) return as<FunctionValue>(callee) != nullptr;
  PyObject* const init = type_find(cls->type(), checked(PyUnicode_InternFromString("__init__")).get());
  return init && PyFunction_Check(init) && Py_IS_TYPE(cls->real.get(), &PyType_Type) &&
         cls->type()->tp_new == PyBaseObject_Type.tp_new;
}

bool is_no_iterable(const ValueRef& v) {
  PyTypeObject* const type = v->python_type();
  return type && is_fixed_type(type) && !type->tp_iter && !(type->tp_as_sequence && type->tp_as_sequence->sq_item);
}

bool is_no_mapping(const ValueRef& v) {
  PyTypeObject* const type = v->python_type();
  return type && is_fixed_type(type) && !type_find(type, checked(PyUnicode_InternFromString("keys")).get());
}

std::string given_type(const ValueRef& v) { return v->python_type()->tp_name; }

}  // namespace md
