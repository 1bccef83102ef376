// Classes, modules, super() and objects that are only passed around.
#include "frontend/breaks.h"
#include "frontend/builtins/table.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/plan.h"
#include "frontend/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"
#include "frontend/values/iterators.h"
#include "frontend/values/objects.h"

namespace md {

// --- classes
// -----------------------------------------------------------------------------------------------------------

std::string ClassValue::print() const { return "UserDefinedClassVariable(" + repr_of(real.get()) + ")"; }

ValueRef ClassValue::get_attr(Tracer& t, PyObject* name) {
  const std::string n = text_of(name);
  if (n == "__name__" || n == "__qualname__" || n == "__module__" || n == "__doc__" || n == "__mro__" ||
      n == "__bases__" || n == "__members__") {
    PyRef v = PyRef::steal(PyObject_GetAttr(real.get(), name));
    if (!v) t.raise_current();
    return from_folded(t, v.get());
  }
  if (n == "__class__") return t.from_object(reinterpret_cast<PyObject*>(Py_TYPE(real.get())), nullptr);
  PyObject* found = type_find(type(), name);
  SourceRef src = source ? t.sources.child(source, SourceKind::Attr, name) : nullptr;
  if (!found) {
    PyObject* meta = type_find(Py_TYPE(real.get()), name);
    if (meta && PyFunction_Check(meta)) return make_ref<MethodValue>(t.wrap(meta, nullptr), ValueRef(this));
    if (meta) return make_ref<BuiltinValue>(checked(PyObject_GetAttr(real.get(), name)));
    t.raise(PyExc_AttributeError, std::string("type object '") + type_name(type()) + "' has no attribute '" + n + "'");
  }
  if (Py_TYPE(found) == &PyProperty_Type || Py_TYPE(found) == &PyMemberDescr_Type)
    return make_ref<OpaqueValue>(PyRef::borrow(found));
  if (Py_TYPE(found)->tp_descr_get && !PyFunction_Check(found) && !PyType_Check(found) &&
      Py_TYPE(found) != &PyStaticMethod_Type && Py_TYPE(found) != &PyClassMethod_Type) {
    PyRef v = PyRef::steal(PyObject_GetAttr(real.get(), name));
    if (!v) t.raise_current();
    return t.from_object(v.get(), src);
  }
  return bind_class_attr(t, found, src, nullptr, ValueRef(this));
}

ValueRef ClassValue::get_item(Tracer& t, const ValueRef& key) {
  PyRef k = t.realize(key)->as_constant();
  if (!k) return Value::get_item(t, key);
  if (!PyObject_HasAttrString(real.get(), "__members__") && !PyObject_HasAttrString(real.get(), "__class_getitem__"))
    return Value::get_item(t, key);
  PyRef r = PyRef::steal(PyObject_GetItem(real.get(), k.get()));
  if (!r) t.raise_current();
  return t.from_object(r.get(), source ? t.sources.child(source, SourceKind::Attr, k.get()) : nullptr);
}

ValueRef ClassValue::iter(Tracer& t) {
  PyRef members = PyRef::steal(PyObject_GetAttrString(real.get(), "__members__"));
  if (!members) {
    PyErr_Clear();
    return Value::iter(t);
  }
  std::vector<ValueRef> items;
  PyRef it = checked(PyObject_GetIter(real.get()));
  while (PyRef x = PyRef::steal(PyIter_Next(it.get()))) items.push_back(t.from_object(x.get(), nullptr));
  return make_ref<SequenceIterator>(std::move(items), ValueRef(this));
}

static bool is_exception_class(PyTypeObject* type) {
  return PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException));
}

// Some base below object is implemented in C: its instances hold more than attributes.
static bool has_c_base(PyTypeObject* type) {
  for (Py_ssize_t i = 0; i + 1 < PyTuple_GET_SIZE(type->tp_mro); ++i)
    if (!(reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i))->tp_flags & Py_TPFLAGS_HEAPTYPE))
      return true;
  return false;
}

// Named tuples: the fields in order, from positions, keywords and defaults.
static ValueRef make_namedtuple(Tracer& t, ClassValue& cls, CallArgs args) {
  PyObject* fields = type_find(cls.type(), checked(PyUnicode_InternFromString("_fields")).get());
  PyObject* defaults = type_find(cls.type(), checked(PyUnicode_InternFromString("_field_defaults")).get());
  if (!fields || !defaults || !PyTuple_Check(fields)) unmodelled(cls.print(), "tuple subclass");
  std::vector<ValueRef> items = args.positional;
  const auto n = static_cast<std::size_t>(PyTuple_GET_SIZE(fields));
  if (items.size() > n)
    t.raise(PyExc_TypeError, std::string(type_name(cls.type())) + ".__new__() takes " + std::to_string(n + 1) +
                                 " positional arguments but " + std::to_string(items.size() + 1) + " were given");
  for (std::size_t i = items.size(); i < n; ++i) {
    PyObject* field = PyTuple_GET_ITEM(fields, static_cast<Py_ssize_t>(i));
    ValueRef v = args.take_keyword(PyUnicode_AsUTF8(field));
    if (PyObject* d = v ? nullptr : PyDict_GetItemWithError(defaults, field)) v = t.from_object(d, nullptr);
    if (!v)
      t.raise(PyExc_TypeError,
              std::string(type_name(cls.type())) + ".__new__() missing required argument '" + text_of(field) + "'");
    items.push_back(std::move(v));
  }
  if (!args.keywords.empty())
    t.raise(PyExc_TypeError, std::string(type_name(cls.type())) + ".__new__() got an unexpected keyword argument '" +
                                 text_of(args.keywords[0].first.get()) + "'");
  return make_ref<TupleValue>(std::move(items), cls.type());
}

// A fresh instance, `__init__` inlined.
static ValueRef instantiate(Tracer& t, ClassValue& cls, CallArgs args) {
  PyTypeObject* type = cls.type();
  PyObject* init = type_find(type, checked(PyUnicode_FromString("__init__")).get());
  if (is_exception_class(type)) {
    if (init && PyFunction_Check(init)) {
      auto e = make_ref<ExceptionValue>(type, args.positional);
      args.positional.insert(args.positional.begin(), e);
      t.call(t.wrap(init, nullptr), std::move(args));
      return e;
    }
    if (type == reinterpret_cast<PyTypeObject*>(PyExc_AssertionError))
      for (auto& a : args.positional)
        if (PyRef c = t.realize(a)->as_constant(); !c || !PyUnicode_Check(c.get()))
          graph_break<GB0171>(print_list(args.positional));
    return make_ref<ExceptionValue>(type, args.positional);
  }
  if (PyType_IsSubtype(type, &PyTuple_Type)) return make_namedtuple(t, cls, std::move(args));
  if (type->tp_new != PyBaseObject_Type.tp_new || has_c_base(type))
    unmodelled(cls.print(), "instance of a class with its own __new__ or a C base");
  auto self = make_ref<ObjectValue>(type);
  if (init && PyFunction_Check(init)) {
    args.positional.insert(args.positional.begin(), self);
    ValueRef r = t.call(t.wrap(init, cls.source ? t.sources.child(cls.source, SourceKind::Attr,
                                                                  checked(PyUnicode_FromString("__init__")).get())
                                                : nullptr),
                        std::move(args));
    if (!is_true_constant(r, Py_None))
      t.raise(PyExc_TypeError, std::string("__init__() should return None, not '") +
                                   (r->python_type() ? r->python_type()->tp_name : "object") + "'");
  } else if (args.size() > 0) {
    t.raise(PyExc_TypeError, std::string(type_name(type)) + "() takes no arguments");
  }
  return self;
}

ValueRef ClassValue::call(Tracer& t, CallArgs args) {
  if (Py_TYPE(real.get()) != &PyType_Type && std::string(Py_TYPE(real.get())->tp_name) != "ABCMeta") {
    if (PyObject_HasAttrString(real.get(), "__members__") && args.size() == 1 && !args.positional.empty()) {
      PyRef v = t.realize(args[0])->as_constant();
      if (!v)
        graph_break<GB0054>(args[0]->print(),
                            repr_of(checked(PyObject_GetAttrString(real.get(), "__members__")).get()));
      PyRef member = PyRef::steal(PyObject_CallOneArg(real.get(), v.get()));
      if (!member) t.raise_current();
      return t.from_object(member.get(), nullptr);
    }
    unmodelled(print(), "class with a metaclass");
  }
  return instantiate(t, *this, std::move(args));
}

Reg ClassValue::rebuild(PlanBuilder& b) { return source ? b.load_source(source) : b.load_constant(real); }

// --- modules
// -----------------------------------------------------------------------------------------------------------

std::string ModuleValue::print() const { return "PythonModuleVariable(" + repr_of(real.get()) + ")"; }

ValueRef ModuleValue::get_attr(Tracer& t, PyObject* name) {
  PyObject* dict = PyModule_GetDict(real.get());
  PyObject* found = PyDict_GetItemWithError(dict, name);
  if (!found) {
    if (PyErr_Occurred()) throw PythonError{};
    // A lazily loaded submodule or a module __getattr__: let the module itself answer, then look again.
    PyRef v = PyRef::steal(PyObject_GetAttr(real.get(), name));
    if (!v) t.raise_current();
    return t.from_object(v.get(), nullptr);
  }
  return t.lazy(found, source ? t.sources.child(source, SourceKind::Attr, name) : nullptr);
}

bool ModuleValue::has_attr(Tracer& t, PyObject* name) {
  const bool there = checked(PyDict_Contains(PyModule_GetDict(real.get()), name));
  if (source) t.guard(there ? GuardKind::Hasattr : GuardKind::NoHasattr, source, PyRef::borrow(name));
  return there;
}

Reg ModuleValue::rebuild(PlanBuilder& b) { return source ? b.load_source(source) : b.load_constant(real); }

// --- super()
// -----------------------------------------------------------------------------------------------------------

ValueRef SuperValue::get_attr(Tracer& t, PyObject* name) {
  const bool on_class = self->kind == ValueKind::Class;
  PyTypeObject* type = on_class ? static_cast<ClassValue*>(self.get())->type() : self->python_type();
  PyObject* mro = type ? type->tp_mro : nullptr;
  if (!mro) graph_break<GB0113>(text_of(name), std::string(type_name(start)));
  bool after = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    auto* cls = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    if (cls == start) {
      after = true;
      continue;
    }
    if (!after) continue;
    PyObject* found = PyDict_GetItemWithError(cls->tp_dict, name);
    if (!found) continue;
    if (PyFunction_Check(found) || Py_TYPE(found) == &PyStaticMethod_Type || Py_TYPE(found) == &PyClassMethod_Type ||
        Py_TYPE(found) == &PyProperty_Type)
      return bind_class_attr(t, found, nullptr, on_class ? nullptr : self,
                             on_class ? self : t.from_object(reinterpret_cast<PyObject*>(type), nullptr));
    return make_ref<MethodValue>(t.from_object(found, nullptr), self);
  }
  if (t.uncaught()) graph_break<GB0113>(text_of(name), std::string(type_name(start)));
  t.raise(PyExc_AttributeError, "'super' object has no attribute '" + text_of(name) + "'");
}

// --- opaque objects
// ------------------------------------------------------------------------------------------------------

std::string OpaqueValue::print() const {
  return std::string("UserDefinedObjectVariable(") + type_name(Py_TYPE(real.get())) + ")";
}

ValueRef OpaqueValue::get_attr(Tracer& t, PyObject* name) {
  if (text_of(name) == "__class__") return t.from_object(reinterpret_cast<PyObject*>(Py_TYPE(real.get())), nullptr);
  PyObject* found = type_find(Py_TYPE(real.get()), name);
  if (!found)
    t.raise(PyExc_AttributeError,
            std::string("'") + Py_TYPE(real.get())->tp_name + "' object has no attribute '" + text_of(name) + "'");
  if (!is_method(found)) unmodelled(print() + "." + text_of(name), "attribute computed outside the traced program");
  return make_ref<BoundAttrValue>(ValueRef(this), PyRef::borrow(name));
}

ValueRef OpaqueValue::call_method(Tracer& t, PyObject* name, CallArgs args) {
  PyObject* found = type_find(Py_TYPE(real.get()), name);
  if (found && PyFunction_Check(found)) {
    args.positional.insert(args.positional.begin(), ValueRef(this));
    return t.call(t.wrap(found, nullptr), std::move(args));
  }
  if (PyIter_Check(real.get()))
    graph_break<GB0156_iterator>(print(), std::string(Py_TYPE(real.get())->tp_name), text_of(name),
                                 print_list(args.positional), print_keywords(args));
  PyRef bound = PyRef::steal(PyObject_GetAttr(real.get(), name));
  if (!bound) t.raise_current();
  break_on_skipped(t, bound.get());
}

ValueRef OpaqueValue::next(Tracer& t) {
  if (!PyIter_Check(real.get())) return Value::next(t);
  return call_method(t, checked(PyUnicode_FromString("__next__")).get(), {});
}

Reg OpaqueValue::rebuild(PlanBuilder& b) { return source ? b.load_source(source) : b.load_constant(real); }

}  // namespace md
