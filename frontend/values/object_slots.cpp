// object's own slots, and names of attributes as getattr() and its kin are given them.
#include "frontend/values/object_slots.h"

#include "frontend/cpython/library_classes.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"
#include "frontend/values/objects.h"
#include "frontend/values/pinned_modules.h"
#include "frontend/values/tensor_subclass.h"

namespace md {

PyRef attr_name(const ValueRef& v, const std::string& object, const std::string& fallback) {
  PyRef n = v->as_constant();
  if (!n || !PyUnicode_Check(n.get())) graph_break<GB0190>(object, v->print(), fallback);
  PyObject* interned = n.release();
  PyUnicode_InternInPlace(&interned);
  return PyRef::steal(interned);
}

ValueRef call_object_slot(Tracer& t, const ValueRef& self, const std::string& name, CallArgs& args) {
  auto* o = as<ObjectValue>(self);
  if (auto* e = as<ExceptionValue>(self); e && name == "__init__") {
    e->args = args.positional;
    return t.none();
  }
  if (!o) return {};
  if (name == "__init__") {
    // Of the two that may take arguments one has to be the class's own.
    const bool own_init = o->type->tp_init != PyBaseObject_Type.tp_init;
    if (args.size() > 0 && (own_init || o->type->tp_new == PyBaseObject_Type.tp_new))
      t.raise(PyExc_TypeError, (own_init ? "object" : type_name(o->type)) +
                                   ".__init__() takes exactly one argument (the instance to initialize)");
    return t.none();
  }
  if (name == "__init_subclass__") return t.none();
  if (name == "__setattr__" && args.size() == 2) {
    o->plain_store(t, attr_name(args[0]).get(), args[1]);
    return t.none();
  }
  if (name == "__delattr__" && args.size() == 1) {
    if (args[0]->kind != ValueKind::Constant) graph_break<GB0084>(self->print(), args[0]->print());
    if (finds_attributes_itself(*o) && is_library_class(o->type, LibraryClass::Module))
      graph_break<GB0004>(o->print(), std::string("__delattr__"), type_name(o->type));
    o->plain_store(t, attr_name(args[0]).get(), {});
    return t.none();
  }
  if (name == "__getattribute__" && args.size() == 1) return o->plain_attr(t, attr_name(args[0]).get());
  if (name == "__eq__" && args.size() == 1)
    return same_object(t, self, args[0]) ? t.boolean(true) : t.constant(Py_NotImplemented);
  return {};
}

void raise_refused_store(Tracer& t, const ObjectValue& self, PyObject* name, bool store) {
  PyTypeObject* type = self.type;
  if (type->tp_new == PyBaseObject_Type.tp_new &&
      !type_find(type, checked(PyUnicode_InternFromString("__del__")).get())) {
    PyRef fresh = checked(type->tp_alloc(type, 0));
    if (PyObject_GenericSetAttr(fresh.get(), name, store ? Py_None : nullptr) < 0) t.raise_current();
  }
  t.raise(PyExc_AttributeError, "'" + type_name(type) + "' object has no attribute '" + text_of(name) + "'");
}

bool is_c_slot(PyObject* o) { return Py_TYPE(o) == &PyWrapperDescr_Type || Py_TYPE(o) == &PyMethodDescr_Type; }

void call_store(Tracer& t, ObjectValue& self, PyObject* name, const ValueRef& v, PyObject* hook, SourceRef source) {
  if (!hook || (!is_c_slot(hook) && !PyFunction_Check(hook)))
    refuse_store(t, self, name, "a __setattr__ or __delattr__ that is no function");
  CallArgs args{{ValueRef(&self), t.constant(name)}, {}};
  if (v) args.positional.push_back(v);
  const ValueRef called = t.wrap(hook, source);
  // The statement asks for it: that is no call which the registry lists.
  if (auto* f = as<FunctionValue>(called); f && tensor_instance(ValueRef(&self)))
    t.run_nested(t.make_frame(*f, std::move(args)));
  else
    t.call(called, std::move(args));
}

void refuse_store(Tracer& t, const Value& self, PyObject* name, const char* what) {
  if (t.frame().instruction().op == Opcode::STORE_ATTR) title_only_break("STORE_ATTR-caused graph break");
  unmodelled(self.print() + "." + text_of(name), what);
}

}  // namespace md
