// str(), repr(), ascii() and format() of values.
#include "frontend/cpython/object_attr.h"
#include "frontend/hatches/hatch_value.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/polyfills.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/enumerations.h"
#include "frontend/values/iterators.h"
#include "frontend/values/objects.h"
#include "frontend/values/stand_in.h"

namespace md {

namespace {

constexpr int kAsciiOfText = 4;  // of the text a __repr__ gave: the last part of ascii()

// What a __str__, __repr__ or __format__ of the program gave.
ValueRef checked_text(Tracer& t, const ValueRef& raw, const std::string& complaint) {
  ValueRef v = t.realize(raw);
  PyTypeObject* type = v->python_type();
  if (type && !PyType_IsSubtype(type, &PyUnicode_Type))
    t.raise(PyExc_TypeError,
            complaint + (complaint.back() == ' ' ? type_name(type) : " (type " + type_name(type) + ")"));
  return v;
}

// str() of an object that is only passed around: by its class's own method; null: it has none. What is written in C, or
// found by the class's own look-up, breaks.
ValueRef opaque_text(Tracer& t, const ValueRef& raw) {
  const Value& v = *raw;
  if (v.kind != ValueKind::Opaque) return {};
  PyTypeObject* type = v.python_type();
  if (!has_normal_getattribute(type)) graph_break<GB0184>(v.print());
  const auto [found, place] = t.on_class(type, checked(PyUnicode_InternFromString("__str__")).get());
  if (found && PyFunction_Check(found))
    return checked_text(t, t.call(t.wrap(found, place), CallArgs{{raw}, {}}), "__str__ returned non-string");
  if (type->tp_str != PyBaseObject_Type.tp_str) graph_break<GB0005>(repr_of(reinterpret_cast<PyObject*>(type)));
  return {};
}

// By the class's own method, or as a builtin exception of the same constants is written; null: neither.
ValueRef exception_text(Tracer& t, ExceptionValue& e, int conversion) {
  const bool plain = conversion == 0 || conversion == 1;
  for (const char* name : {"__str__", "__repr__"}) {
    if (!plain && name == std::string("__str__")) continue;
    PyRef key = checked(PyUnicode_InternFromString(name));
    const auto [found, place] = t.on_class(e.type, key.get());
    if (found && !PyFunction_Check(found) && Py_TYPE(found) != &PyWrapperDescr_Type)
      unmodelled(e.print() + "." + name, "special method that is no function");
    if (!found || !PyFunction_Check(found)) continue;
    ValueRef text = t.call(t.wrap(found, place), CallArgs{{ValueRef(&e)}, {}});
    return checked_text(t, text, plain ? "__str__ returned non-string" : "__repr__ returned non-string");
  }
  if (e.members && conversion != 3)
    return call_polyfill(t, "exceptions", plain ? "text" : "representation", {ValueRef(&e)});
  const bool own_class = e.type->tp_flags & Py_TPFLAGS_HEAPTYPE;
  PyRef args = make_ref<TupleValue>(e.args)->as_constant();
  if (!args || (own_class && !plain)) return {};
  PyRef real = PyRef::steal(PyObject_CallObject(reinterpret_cast<PyObject*>(layout_base(e.type)), args.get()));
  if (!real) {
    clear_answer();
    return {};
  }
  auto* written = conversion == 2 ? PyObject_Repr : conversion == 3 ? PyObject_ASCII : PyObject_Str;
  return t.constant(checked(written(real.get())));
}

}  // namespace

// The class has a __str__ written in C that is not object's (__str__ = int.__repr__): of what the instance holds.
static PyRef native_text(Tracer& t, ObjectValue& o) {
  PyRef name = checked(PyUnicode_InternFromString("__str__"));
  PyObject* own = t.on_class(o.type, name.get(), o.source).found;
  if (!own || PyFunction_Check(own) || own == type_find(&PyBaseObject_Type, name.get())) return {};
  PyRef held = o.payload ? o.payload->as_constant() : PyRef();
  if (!held || Py_TYPE(own) != &PyWrapperDescr_Type) return {};
  return checked(PyObject_CallOneArg(own, held.get()));
}

// What is written for a value: of a set the object whose order the program's set has.
static PyRef written_object(Tracer& t, const ValueRef& v) {
  auto* set = as<SetValue>(v);
  PyRef c = v->as_constant();
  if (!set || !c) return c;
  (void)set->items(t);
  if (set->source && set->real && !set->changed) return set->real;
  if (!set->frozen) return set->members;
  PyRef copied = checked(PySequence_List(c.get())), own = checked(PySequence_List(set->members.get()));
  return checked(PyObject_RichCompareBool(copied.get(), own.get(), Py_EQ)) ? c : PyRef();
}

ValueRef Tracer::format_value(const ValueRef& raw, int conversion, const ValueRef& given_spec) {
  Tracer& t = *this;
  ValueRef v = t.realize(raw), spec = given_spec;
  if (ValueRef text = deferred_text(t, v, conversion, spec)) return text;
  if (PyRef text = text_of_member(t, v, conversion, spec)) return t.constant(text);
  if (auto* cls = as<ClassValue>(v); cls && cls->made && !spec && conversion != 3)
    return t.constant(checked(PyObject_Repr(cls->real.get())));  // its prototype has the same names
  if (auto* o = as<ObjectValue>(v)) {
    const bool repr = conversion == 2 || conversion == 3;
    ValueRef m = conversion == 0 ? o->special(t, "__format__") : ValueRef();
    if (m) {
      CallArgs args{{spec ? spec : t.constant(checked(PyUnicode_FromString("")))}, {}};
      return checked_text(t, t.call(m, std::move(args)), "__format__ must return a str, not ");
    }
    // The builtin types' own gives str() of the instance for an empty specification.
    if (spec && o->payload && o->payload->kind == ValueKind::Constant && conversion == 0)
      if (PyRef s = t.realize(spec)->as_constant(); s && PyUnicode_Check(s.get()) && PyUnicode_GET_LENGTH(s.get()) == 0)
        spec = {};
    if (!repr) m = o->special(t, "__str__");
    if (PyRef text = m || repr ? PyRef() : native_text(t, *o); text && !spec) return t.constant(text);
    if (!m) m = o->special(t, "__repr__");
    if (m && !spec) {
      v = checked_text(t, t.call(m, {}), repr ? "__repr__ returned non-string" : "__str__ returned non-string");
      if (conversion != 3) return v;
      conversion = kAsciiOfText;
    } else if (o->payload && o->payload->kind == ValueKind::Set) {
      unmodelled(o->print(), "text of an instance of a subclass of set or frozenset");
    } else if (o->payload) {
      return t.format_value(o->payload, conversion, spec);
    }
  }
  if (auto* made = as<StandInValue>(v); made && !spec)
    if (ValueRef m = made->method(t, "__repr__")) {
      v = t.realize(t.call(m, {}));
      if (conversion != 3) return v;
      conversion = kAsciiOfText;
    }
  if (auto* e = as<ExceptionValue>(v); e && !spec)
    if (ValueRef text = exception_text(t, *e, conversion)) return text;
  if (conversion == 1)
    if (ValueRef text = opaque_text(t, v)) return text;
  PyRef c = written_object(t, v);
  PyRef s = spec ? t.realize(spec)->as_constant() : PyRef();
  if (!c || (spec && !s)) not_modelled<GB0059>(std::string("format"), "[" + v->print() + "]", std::string("False"));
  PyRef text = c;
  if (conversion == 1) text = PyRef::steal(PyObject_Str(c.get()));
  if (conversion == 2) text = PyRef::steal(PyObject_Repr(c.get()));
  if (conversion == 3) text = PyRef::steal(PyObject_ASCII(c.get()));
  if (conversion == kAsciiOfText) {
    PyRef bytes = checked(PyUnicode_AsEncodedString(c.get(), "ascii", "backslashreplace"));
    text = checked(PyUnicode_FromEncodedObject(bytes.get(), "ascii", nullptr));
  }
  if (text && (conversion == 0 || s)) text = PyRef::steal(PyObject_Format(text.get(), s.get()));
  if (!text) t.raise_current();
  return t.constant(text);
}

}  // namespace md
