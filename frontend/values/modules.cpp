// Modules: what they hold, what their class or a function of their own answers for.
#include "frontend/cpython/object_attr.h"
#include "frontend/plan/plan.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/constant.h"
#include "frontend/values/functions.h"
#include "frontend/values/inlining.h"
#include "frontend/values/objects.h"

namespace md {

// Without a specification repr() asks the module for this and that, which may run code of the program.
std::string ModuleValue::print() const {
  PyObject* const dict = PyModule_GetDict(real.get());
  PyObject* const spec = dict ? find_item(dict, "__spec__") : nullptr;
  if (spec && spec != Py_None) return "PythonModuleVariable(" + repr_of(real.get()) + ")";
  PyObject* const name = dict ? find_item(dict, "__name__") : nullptr;
  return "PythonModuleVariable(<module " + (name && PyUnicode_Check(name) ? constant_repr(name) : "'?'") + ">)";
}

// A class of its own has a property, or another data descriptor, which is asked before what the module holds.
PyObject* ModuleValue::outranking(Tracer& t, PyObject* name) {
  PyTypeObject* const type = Py_TYPE(real.get());
  if (type == &PyModule_Type || !source) return nullptr;
  t.guard(GuardKind::TypeMatch, source, PyRef::borrow(reinterpret_cast<PyObject*>(type)));
  PyObject* const found = t.on_class(type, name).found;
  return found && Py_TYPE(found)->tp_descr_set && found != type_find(&PyModule_Type, name) ? found : nullptr;
}

ValueRef ModuleValue::get_attr(Tracer& t, PyObject* name) {
  PyObject* dict = PyModule_GetDict(real.get());
  if (!dict) unmodelled(print(), "module that was not initialised");
  if (PyObject* const found = outranking(t, name)) {
    const ValueRef cls = t.from_object(reinterpret_cast<PyObject*>(Py_TYPE(real.get())), nullptr);
    if (ValueRef v = python_get(t, found, ValueRef(this), cls)) return v;
    unmodelled(print() + "." + text_of(name), "data descriptor of a module's class");
  }
  if (ValueRef stored = t.stored_global(dict, name)) return stored;
  PyObject* found = PyDict_GetItemWithError(dict, name);
  if (!found) {
    if (PyErr_Occurred()) throw PythonError{};
    return missing_attr(t, name);
  }
  return t.lazy(found, source ? t.recorder.sources.child(source, SourceKind::Attr, name) : nullptr);
}

// A descriptor of the module's class whose __set__ is a function in Python.
static bool set_by_descriptor(Tracer& t, PyObject* found, const ValueRef& module, const ValueRef& v) {
  const PyRef key = checked(PyUnicode_InternFromString("__set__"));
  PyObject* const set = type_find(Py_TYPE(found), key.get());
  if (!set || !PyFunction_Check(set)) return false;
  t.expect_on_class(Py_TYPE(found), key.get(), set);
  t.call(t.wrap(set, nullptr), CallArgs{{t.from_object(found, nullptr), module, v}, {}});
  return true;
}

void ModuleValue::set_attr(Tracer& t, PyObject* name, ValueRef v) {
  PyObject* const dict = PyModule_GetDict(real.get());
  PyTypeObject* const type = Py_TYPE(real.get());
  const bool generic = v && dict && source && type->tp_setattro == PyObject_GenericSetAttr;
  PyObject* const over = generic ? outranking(t, name) : nullptr;
  if (over && set_by_descriptor(t, over, ValueRef(this), v)) return;
  const bool plain = generic && !over;
  PyObject* const found = type_find(type, name);
  if (!plain || (found && Py_TYPE(found)->tp_descr_set)) return Value::set_attr(t, name, std::move(v));
  t.guard(GuardKind::TypeMatch, source, PyRef::borrow(reinterpret_cast<PyObject*>(type)));
  store_in_module(t, dict, name, std::move(v));
}

// Its entries are attributes to its class's __getattr__, which is ours.
static bool is_own_config(PyObject* module) {
  PyObject* const name = find_item(PyModule_GetDict(module), "__name__");
  return name && PyUnicode_Check(name) && text_of(name) == "minidynamo._dynamo.config";
}

// Loads a name that the library has on demand: had the trace seen it absent, its entry would not hold any more.
static bool is_loaded_now(PyObject* module, PyObject* dict, PyObject* name) {
  PyObject* const own = Py_TYPE(module) == &PyModule_Type ? find_item(dict, "__name__") : nullptr;
  if (!own || !PyUnicode_Check(own)) return false;
  const std::string called = text_of(own);
  if (called != "minidynamo" && !called.starts_with("minidynamo.")) return false;
  const PyRef found = PyRef::steal(PyObject_GetAttr(module, name));
  if (!found) clear_answer();
  return found && checked(PyDict_Contains(dict, name));
}

// Not in the module: its __getattr__ answers, or its class.
ValueRef ModuleValue::missing_attr(Tracer& t, PyObject* name) {
  if (!source)  // met in code that polyfills a library's
    t.raise(PyExc_AttributeError,
            "module '" + std::string(PyModule_GetName(real.get())) + "' has no attribute '" + text_of(name) + "'");
  PyObject* dict = PyModule_GetDict(real.get());
  t.guard(GuardKind::TypeMatch, source, PyRef::borrow(reinterpret_cast<PyObject*>(Py_TYPE(real.get()))));
  if (PyObject* const on_class = type_find(Py_TYPE(real.get()), name)) {
    // Found by way of the module, which may be gone from sys.modules when the code lives on.
    if (text_of(name) == "__dict__" && on_class == type_find(&PyModule_Type, name))
      return t.wrap(dict, t.recorder.sources.child(source, SourceKind::Field, name));
    // What the class finds is kept as it is, for as long as the code lives, or made now.
    PyObject* const own = find_item(dict, "__name__");
    PyObject* const kept =
        own && PyUnicode_CheckExact(own) ? PyDict_GetItemWithError(PyImport_GetModuleDict(), own) : nullptr;
    if (!kept) clear_answer();
    if (kept != real.get() || text_of(name) == "__annotations__")
      unmodelled(print() + "." + text_of(name), "attribute that a module's class finds");
    PyRef v = PyRef::steal(PyObject_GetAttr(real.get(), name));
    if (!v) t.raise_current();
    return t.from_object(v.get(), nullptr);
  }
  if (is_loaded_now(real.get(), dict, name)) return get_attr(t, name);
  t.guard(GuardKind::NotPresent, t.recorder.sources.child(source, SourceKind::Attr, name));
  PyRef hook_name = checked(PyUnicode_InternFromString("__getattr__"));
  if (const auto of_class = t.on_class(Py_TYPE(real.get()), hook_name.get()); of_class.found) {
    const ValueRef cls = t.from_object(reinterpret_cast<PyObject*>(Py_TYPE(real.get())), nullptr);
    if (!is_own_config(real.get()))
      return t.call(bind_class_attr(t, of_class.found, of_class.source, ValueRef(this), cls),
                    CallArgs{{t.constant(name)}, {}});
    PyRef v = PyRef::steal(PyObject_GetAttr(real.get(), name));
    if (!v) t.raise_current();
    return t.from_object(v.get(), nullptr);
  }
  SourceRef place = t.recorder.sources.child(source, SourceKind::Attr, hook_name.get());
  PyObject* hook = PyDict_GetItemWithError(dict, hook_name.get());
  if (hook && PyFunction_Check(hook) && may_inline(*as<FunctionValue>(t.wrap(hook, place)))) {
    CallArgs args;
    args.positional = {t.constant(name)};
    return t.call(t.wrap(hook, place), std::move(args));
  }
  if (!hook) t.guard(GuardKind::NotPresent, place);
  // A submodule loaded on demand is found from now on.
  PyRef v = PyRef::steal(PyObject_GetAttr(real.get(), name));
  if (!v) t.raise_current();
  return t.from_object(v.get(), nullptr);
}

bool ModuleValue::has_attr(Tracer& t, PyObject* name) {
  PyObject* const dict = PyModule_GetDict(real.get());
  if (dict && t.stored_global(dict, name)) return true;
  const bool there = dict && checked(PyDict_Contains(dict, name));
  if (!there && source) {  // its class or a function of its own may have an answer
    try {
      (void)missing_attr(t, name);
      return true;
    } catch (const TracedRaise& e) {
      if (!PyType_IsSubtype(e.exception->python_type(), reinterpret_cast<PyTypeObject*>(PyExc_AttributeError))) throw;
    }
  }
  if (source) t.guard(there ? GuardKind::Hasattr : GuardKind::NoHasattr, source, PyRef::borrow(name));
  return there;
}

Reg ModuleValue::rebuild(PlanBuilder& b) { return source ? b.load_source(source) : b.load_constant(real); }

}  // namespace md
