// Objects that are only passed around.
#include <structmember.h>

#include <algorithm>

#include "frontend/cpython/byte_stream.h"
#include "frontend/cpython/exception_fields.h"
#include "frontend/cpython/method_wrapper.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/suspended_fields.h"
#include "frontend/cpython/thread_local.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/plan/plan.h"
#include "frontend/tensors/constant_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/c_function_breaks.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/deferred_calls.h"
#include "frontend/values/functions.h"
#include "frontend/values/let_go.h"
#include "frontend/values/objects.h"
#include "frontend/values/type_expressions.h"

namespace md {

std::string OpaqueValue::print() const {
  return std::string("UserDefinedObjectVariable(") + type_name(Py_TYPE(real.get())) + ")";
}

// What a threading.local holds for the thread that calls; null: it is something else, or nobody knows where it lives.
static DictValue* local_attributes(Tracer& t, const OpaqueValue& o) {
  if (!o.source || !is_thread_local(o.real.get())) return nullptr;
  const PyRef key = interned("__dict__"), held = checked(PyObject_GetAttr(o.real.get(), key.get()));
  return as<DictValue>(t.wrap(held.get(), t.recorder.sources.child(o.source, SourceKind::Field, key.get())));
}

static bool is_special_name(const std::string& name) { return name.starts_with("__") && name.ends_with("__"); }

[[noreturn]] static void raise_missing(Tracer& t, const OpaqueValue& o, PyObject* name) {
  t.raise(PyExc_AttributeError,
          std::string("'") + o.python_type()->tp_name + "' object has no attribute '" + text_of(name) + "'");
}

// An instance of a class in Python below one in C that stores attributes as objects of its own classes do.
static bool stores_attributes(const OpaqueValue& o) {
  PyTypeObject* const type = Py_TYPE(o.real.get());
  return o.source && !is_c_type(type) && type->tp_setattro == PyObject_GenericSetAttr;
}

// What the trace has stored under the name, or deleted; null: neither.
static const SideEffect* last_store(const Tracer& t, const OpaqueValue& o, PyObject* name) {
  const auto& done = t.effects.list();
  const auto found = std::find_if(done.rbegin(), done.rend(), [&](const SideEffect& e) {
    return (e.kind == EffectKind::AttrSet || e.kind == EffectKind::AttrDelete) && e.target.get() == &o &&
           PyUnicode_Compare(e.name.get(), name) == 0;
  });
  return found == done.rend() ? nullptr : &*found;
}

// An instance of a class in Python below one in C (a stream, an exception): what it holds itself, and what its classes
// in Python have for it. Nothing here changes it. Null: its C code would be asked.
static ValueRef attribute_of_instance(Tracer& t, OpaqueValue& o, PyObject* name, PyObject* found) {
  PyTypeObject* const type = Py_TYPE(o.real.get());
  if (!o.source || type->tp_getattro != PyObject_GenericGetAttr) return {};
  if (is_c_type(type) && (found || !_PyObject_GetDictPtr(o.real.get()))) return {};
  const ValueRef self(&o), cls = t.from_object(reinterpret_cast<PyObject*>(type), nullptr);
  if (found && Py_TYPE(found)->tp_descr_set)
    return Py_TYPE(found) == &PyProperty_Type ? bind_class_attr(t, found, nullptr, self, cls) : ValueRef();
  const bool bound = found && Py_TYPE(found)->tp_descr_get && !PyFunction_Check(found);
  if (bound && Py_TYPE(found) != &PyStaticMethod_Type && Py_TYPE(found) != &PyClassMethod_Type) return {};
  const SideEffect* const stored = last_store(t, o, name);
  if (stored && stored->value) return stored->value;
  SourceRef own = t.recorder.sources.child(o.source, SourceKind::InstanceDict, name);
  if (stored) {
    if (!found) raise_missing(t, o, name);
    return bind_class_attr(t, found, t.on_class(type, name, o.source).source, self, cls);
  }
  const Attr held = find_attr(o.real.get(), name);
  if (held.where == AttrWhere::Instance) {
    if (found) t.expect_precedence(type, name);
    return t.lazy(held.value.get(), own);
  }
  if (held.where != AttrWhere::Type && held.where != AttrWhere::Missing) return {};
  t.guard(GuardKind::NotPresent, own);
  if (!found) raise_missing(t, o, name);
  return bind_class_attr(t, found, t.on_class(type, name, o.source).source, self, cls);
}

// By the setter of a property of the class. False: it is none, or no function.
static bool set_property(Tracer& t, OpaqueValue& o, PyObject* found, const ValueRef& v) {
  if (Py_TYPE(found) != &PyProperty_Type) return false;
  const PyRef set = checked(PyObject_GetAttrString(found, v ? "fset" : "fdel"));
  if (!PyFunction_Check(set.get())) return false;
  CallArgs args;
  args.positional = {ValueRef(&o)};
  if (v) args.positional.push_back(v);
  t.call(t.wrap(set.get(), nullptr), std::move(args));
  return true;
}

// False: the class in C has a say.
static bool store_on_instance(Tracer& t, OpaqueValue& o, PyObject* name, const ValueRef& v) {
  if (!stores_attributes(o)) return false;
  PyTypeObject* const type = Py_TYPE(o.real.get());
  for (const char* hook : {"__setattr__", "__delattr__"}) (void)t.on_class(type, interned(hook).get(), o.source);
  t.expect_precedence(type, name);
  PyObject* const found = type_find(type, name);
  const bool slot =
      found && is_object_slot(found) && !(reinterpret_cast<PyMemberDescrObject*>(found)->d_member->flags & READONLY);
  if (!slot && found && Py_TYPE(found)->tp_descr_set) return set_property(t, o, found, v);
  if (!slot && type->tp_dictoffset == 0 && !(type->tp_flags & Py_TPFLAGS_MANAGED_DICT)) return false;
  const SideEffect* const before = last_store(t, o, name);
  const PyRef held =
      slot ? find_attr(o.real.get(), name).value : PyRef::borrow(instance_find(o.real.get(), name).value);
  if (!v && (before ? !before->value : !held)) return false;
  if (!before) let_go_of_object(held.get());
  if (!v && !before)
    t.expect_present(t.recorder.sources.child(o.source, slot ? SourceKind::Attr : SourceKind::InstanceDict, name));
  SideEffect e{v ? EffectKind::AttrSet : EffectKind::AttrDelete, ValueRef(&o)};
  e.name = PyRef::borrow(name);
  e.value = v;
  t.effects.record(std::move(e));
  return true;
}

// What the class of a threading.local has for all threads; null: nothing.
static ValueRef attribute_of_local_class(Tracer& t, OpaqueValue& o, PyObject* name) {
  PyTypeObject* const type = Py_TYPE(o.real.get());
  PyObject* const found = type_find(type, name);
  t.expect_on_class(type, name, found);
  if (!found) return {};
  return bind_class_attr(t, found, t.on_class(type, name, o.source).source, ValueRef(&o),
                         t.from_object(reinterpret_cast<PyObject*>(type), nullptr));
}

void OpaqueValue::set_attr(Tracer& t, PyObject* name, ValueRef v) {
  if (store_on_instance(t, *this, name, v)) return;
  DictValue* const local = is_special_name(text_of(name)) ? nullptr : local_attributes(t, *this);
  if (!local) return Value::set_attr(t, name, std::move(v));
  if (!v && !local->find(t, t.constant(PyRef::borrow(name)))) raise_missing(t, *this, name);
  local->set_item(t, t.constant(PyRef::borrow(name)), std::move(v));
}

// Of a special method of C code bound to an object: texts of its class, and the object. Null: another part.
static ValueRef part_of_wrapper(Tracer& t, OpaqueValue& o, PyObject* name) {
  const std::string n = text_of(name);
  const bool text = n == "__name__" || n == "__qualname__" || n == "__doc__" || n == "__text_signature__";
  if (!text && n != "__self__") return {};
  if (o.source) t.guard(GuardKind::IdMatch, o.source, o.real);
  const PyRef part = checked(PyObject_GetAttr(o.real.get(), name));
  return text ? t.constant(part) : t.from_object(part.get(), nullptr);
}

// Of an instance of a class below timedelta, date and the like, which never change: what C code keeps in it.
static ValueRef part_of_library_value(Tracer& t, const OpaqueValue& o, PyObject* found, PyObject* name) {
  PyTypeObject* const base = layout_base(Py_TYPE(o.real.get()));
  const bool field = Py_IS_TYPE(found, &PyMemberDescr_Type) || Py_IS_TYPE(found, &PyGetSetDescr_Type);
  if (!o.source || !field || PyDescr_TYPE(found) != base || !is_library_value_type(base)) return {};
  const PyRef part = checked(PyObject_GetAttr(o.real.get(), name));
  if (!is_constant_object(part.get())) return {};
  t.guard(GuardKind::IdMatch, o.source, o.real);
  return t.constant(part);
}

ValueRef OpaqueValue::get_attr(Tracer& t, PyObject* name) {
  PyTypeObject* type = Py_TYPE(real.get());
  if (const std::string n = text_of(name); !is_special_name(n) || n == "__dict__")
    if (DictValue* local = local_attributes(t, *this)) {
      if (n == "__dict__") return ValueRef(local);
      if (ValueRef v = local->find(t, t.constant(PyRef::borrow(name)))) return v;
      if (ValueRef v = attribute_of_local_class(t, *this, name)) return v;
      raise_missing(t, *this, name);
    }
  if (text_of(name) == "__class__" && type->tp_getattro == PyObject_GenericGetAttr &&
      type_find(type, name) == type_find(&PyBaseObject_Type, name))  // a proxy shows another class
    return t.from_object(reinterpret_cast<PyObject*>(type), nullptr);
  PyObject* found = type_find(type, name);
  t.expect_on_class(type, name, found);
  if (ValueRef part = part_of_type(t, ValueRef(this), name)) return part;
  if (found && source && PyTuple_Check(real.get()) && Py_TYPE(found) == &PyMemberDescr_Type && t.config.trace_more) {
    // A record of C code (sys.flags) is immutable.
    PyRef v = checked(PyObject_GetAttr(real.get(), name));
    t.guard(GuardKind::IdMatch, source, real);
    if (is_constant_object(v.get())) return t.constant(v);
  }
  if (ValueRef v = attribute_of_instance(t, *this, name, found)) return v;
  if (PyObject* held = found && source ? exception_field(real.get(), found) : nullptr)
    return t.lazy(held, t.recorder.sources.child(source, SourceKind::Field, name));
  if (PyObject* told = found && source ? suspended_field(real.get(), text_of(name)) : nullptr)
    return t.lazy(told, t.recorder.sources.child(source, SourceKind::Field, name));
  if (ValueRef part = found ? part_of_library_value(t, *this, found, name) : ValueRef()) return part;
  if (is_method_wrapper(real.get()))
    if (ValueRef part = part_of_wrapper(t, *this, name)) return part;
  if (PyObject* closed = found && source && text_of(name) == "closed" ? stream_closed(real.get()) : nullptr)
    return t.lazy(closed, t.recorder.sources.child(source, SourceKind::Field, name));
  if (type->tp_getattro != PyObject_GenericGetAttr || (!found && _PyObject_GetDictPtr(real.get())))
    unmodelled(print() + "." + text_of(name), "attribute computed outside the traced program");
  if (const SideEffect* stored = found ? last_store(t, *this, name) : nullptr) {
    if (!stored->value) raise_missing(t, *this, name);
    return stored->value;
  }
  if (found && source && is_object_slot(found)) {  // what an object made in C keeps in its struct
    const Attr held = find_attr(real.get(), name);
    SourceRef place = t.recorder.sources.child(source, SourceKind::Attr, name);
    if (held.where == AttrWhere::Slot && held.value) return t.lazy(held.value.get(), place);
    if (type == &PyProperty_Type) {  // without such a part
      t.guard(GuardKind::NotPresent, place);
      return t.none();
    }
  }
  if (!found)
    t.raise(PyExc_AttributeError,
            std::string("'") + type->tp_name + "' object has no attribute '" + text_of(name) + "'");
  if (!is_method(found)) unmodelled(print() + "." + text_of(name), "attribute computed outside the traced program");
  return make_ref<BoundAttrValue>(ValueRef(this), PyRef::borrow(name));
}

ValueRef OpaqueValue::call_method(Tracer& t, PyObject* name, CallArgs args) {
  const auto [found, place] = t.on_class(Py_TYPE(real.get()), name, source);
  if (found && PyFunction_Check(found)) {
    args.positional.insert(args.positional.begin(), ValueRef(this));
    return t.call(t.wrap(found, place), std::move(args));
  }
  if (ValueRef deferred = found ? defer_call(t, found, ValueRef(this), args) : ValueRef()) return deferred;
  // Files and string buffers are iterators as well: their other methods have nothing to do with a position.
  if (PyIter_Check(real.get()) && text_of(name).starts_with("__"))
    graph_break<GB0156_iterator>(print(), std::string(Py_TYPE(real.get())->tp_name), text_of(name),
                                 print_list(args.positional), print_keywords(args));
  if (Py_TYPE(real.get())->tp_getattro != PyObject_GenericGetAttr) unmodelled_method(*this, text_of(name), args);
  PyRef bound = PyRef::steal(PyObject_GetAttr(real.get(), name));
  if (!bound) t.raise_current();
  break_on_c_function(t, bound.get(), args);
}

ValueRef OpaqueValue::next(Tracer& t) {
  if (!PyIter_Check(real.get())) return Value::next(t);
  return call_method(t, checked(PyUnicode_FromString("__next__")).get(), {});
}

Reg OpaqueValue::rebuild(PlanBuilder& b) {
  if (source) return b.load_source(source);
  const bool describes = Py_IS_TYPE(real.get(), &PyGetSetDescr_Type) || Py_IS_TYPE(real.get(), &PyMemberDescr_Type);
  if (describes && b.tracer.prototypes.has(PyDescr_TYPE(real.get()))) graph_break<GB0092>(print());
  return b.load_constant(real);
}

}  // namespace md
