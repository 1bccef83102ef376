// str(), repr(), ascii() and format() of values.
#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/marked_callables/marked_value.h"
#include "frontend/marked_callables/texts.h"
#include "frontend/operators/container_text.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/polyfills.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/enumerations.h"
#include "frontend/values/functions.h"
#include "frontend/values/iterators.h"
#include "frontend/values/objects.h"
#include "frontend/values/polyfilled.h"
#include "frontend/values/refusals.h"
#include "frontend/values/type_expressions.h"

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

// The class has a __str__ written in C that is not object's (__str__ = int.__repr__): of what the instance holds.
PyRef native_text(Tracer& t, ObjectValue& o) {
  PyRef name = checked(PyUnicode_InternFromString("__str__"));
  PyObject* own = t.on_class(o.type, name.get(), o.source).found;
  if (!own || PyFunction_Check(own) || own == type_find(&PyBaseObject_Type, name.get())) return {};
  PyRef held = o.payload ? o.payload->as_constant() : PyRef();
  if (!held || Py_TYPE(own) != &PyWrapperDescr_Type) return {};
  return checked(PyObject_CallOneArg(own, held.get()));
}

// __str__ of the class is a method written in C that is not object's.
void break_on_native_text(Tracer& t, const ObjectValue& o) {
  PyRef name = checked(PyUnicode_InternFromString("__str__"));
  PyObject* own = t.on_class(o.type, name.get(), o.source).found;
  if (!own || own == type_find(&PyBaseObject_Type, name.get())) return;
  if (Py_TYPE(own) == &PyWrapperDescr_Type || Py_TYPE(own) == &PyMethodDescr_Type)
    graph_break<GB0005>(repr_of(reinterpret_cast<PyObject*>(o.type)));
}

// What is written for a value: of a set the object whose order the program's set has.
PyRef written_object(Tracer& t, const ValueRef& v) {
  auto* set = as<SetValue>(v);
  PyRef c = v->as_constant();
  if (!c && is_type_of_c(*v) && is_c_type(v->python_type())) return type_expression(t, v);
  if (!set || !c) return c;
  (void)set->items(t);
  if (set->source && set->real && !set->changed) return set->real;
  if (!set->frozen) return set->members;
  PyRef copied = checked(PySequence_List(c.get())), own = checked(PySequence_List(set->members.get()));
  return checked(PyObject_RichCompareBool(copied.get(), own.get(), Py_EQ)) ? c : PyRef();
}

// One value on its way through the rows, which may put its text in its place.
struct Formatting {
  Tracer& t;
  ValueRef v;
  int conversion;  // FORMAT_VALUE's: 0 format(), 1 str(), 2 repr(), 3 ascii(); or kAsciiOfText
  ValueRef spec;   // null: none

  bool is_repr() const { return conversion == 2 || conversion == 3; }
  // The text a method of the program gave; null: what is left of ascii() remains to be done.
  ValueRef done(ValueRef text) {
    if (conversion != 3) return text;
    v = std::move(text);
    conversion = kAsciiOfText;
    return {};
  }
};

// A row answers, or gives null: the next one is asked.
using FormatRow = ValueRef (*)(Formatting& f);

ValueRef deferred_texts(Formatting& f) { return deferred_text(f.t, f.v, f.conversion, f.spec); }

ValueRef enumeration_members(Formatting& f) {
  PyRef text = text_of_member(f.t, f.v, f.conversion, f.spec);
  return text ? f.t.constant(text) : ValueRef();
}

// The prototype of a class made while tracing has the same names.
ValueRef made_classes(Formatting& f) {
  auto* cls = as<ClassValue>(f.v);
  if (!cls || !cls->made || f.spec || f.conversion == 3) return {};
  return f.t.constant(checked(PyObject_Repr(cls->real.get())));
}

// By the class's own __format__.
ValueRef formatted_objects(Formatting& f) {
  auto* o = as<ObjectValue>(f.v);
  if (!o || f.conversion != 0) return {};
  if (ValueRef m = o->special(f.t, "__format__")) {
    CallArgs args{{f.spec ? f.spec : f.t.constant(checked(PyUnicode_FromString("")))}, {}};
    return checked_text(f.t, f.t.call(m, std::move(args)), "__format__ must return a str, not ");
  }
  // The builtin types' own gives str() of the instance for an empty specification.
  if (f.spec && o->payload && o->payload->kind == ValueKind::Constant)
    if (PyRef s = f.t.realize(f.spec)->as_constant();
        s && PyUnicode_Check(s.get()) && PyUnicode_GET_LENGTH(s.get()) == 0)
      f.spec = {};
  return {};
}

// By the class's own __str__ or __repr__, or as what the instance holds.
ValueRef objects(Formatting& f) {
  auto* o = as<ObjectValue>(f.v);
  if (!o) return {};
  if (f.conversion == 1 && !has_normal_getattribute(o->type)) graph_break<GB0184>(o->print());
  ValueRef m = f.is_repr() ? ValueRef() : o->special(f.t, "__str__");
  if (PyRef text = m || f.is_repr() ? PyRef() : native_text(f.t, *o); text && !f.spec) return f.t.constant(text);
  if (!m && !f.is_repr() && !o->payload) break_on_native_text(f.t, *o);
  if (!m) m = o->special(f.t, "__repr__");
  if (m && !f.spec)
    return f.done(checked_text(f.t, f.t.call(m, {}),
                               f.is_repr() ? "__repr__ returned non-string" : "__str__ returned non-string"));
  if (!o->payload) return {};
  if (o->payload->kind == ValueKind::Set ||
      (o->payload->kind == ValueKind::Dict && o->payload->python_type() != &PyDict_Type))
    unmodelled(o->print(), "text of an instance of a subclass of set, frozenset or OrderedDict");
  return f.t.format_value(o->payload, f.conversion, f.spec);
}

// Of an instance of a class in Python below one in C: by its class's own method. Null: C code writes it.
ValueRef instances_below_c(Formatting& f) {
  if (f.v->kind != ValueKind::Opaque || !f.v->source || f.conversion > 3 || is_c_type(f.v->python_type())) return {};
  const auto method = [&](const char* name) {
    const auto [found, place] = f.t.on_class(f.v->python_type(), interned(name).get(), f.v->source);
    const bool own = found && found != type_find(&PyBaseObject_Type, interned(name).get());
    return std::pair{own, own && PyFunction_Check(found) ? f.t.wrap(found, place) : ValueRef()};
  };
  if (f.conversion == 0 && (f.spec || method("__format__").first)) return {};
  auto [own, function] = f.is_repr() ? std::pair{false, ValueRef()} : method("__str__");
  if (!own) function = method("__repr__").second;
  if (!function || f.spec) return {};
  return f.done(checked_text(f.t, f.t.call(function, CallArgs{{f.v}, {}}),
                             own ? "__str__ returned non-string" : "__repr__ returned non-string"));
}

ValueRef polyfilled_objects(Formatting& f) {
  auto* made = f.spec ? nullptr : as<PolyfilledValue>(f.v);
  ValueRef m = made ? made->method(f.t, "__repr__") : ValueRef();
  return m ? f.done(f.t.realize(f.t.call(m, {}))) : ValueRef();
}

ValueRef exceptions(Formatting& f) {
  auto* e = f.spec ? nullptr : as<ExceptionValue>(f.v);
  return e ? exception_text(f.t, *e, f.conversion) : ValueRef();
}

// The builtin that makes such a text.
std::string name_of_conversion(int conversion) {
  constexpr const char* kBuiltins[] = {"format", "str", "repr", "ascii", "ascii"};
  return kBuiltins[conversion];
}

// What `object` writes: the names of the class, and where the object is. Null: its class has a text of its own, or it
// will be made by a run.
ValueRef address_text(Formatting& f) {
  PyObject* const o = f.v->real.get();
  const PyRef spec = f.spec ? f.t.realize(f.spec)->as_constant() : PyRef();
  const bool specified = f.spec && !(spec && PyUnicode_Check(spec.get()) && PyUnicode_GET_LENGTH(spec.get()) == 0);
  if (!o || !f.v->source || data_of(f.v) != f.v || specified || f.conversion > 2) return {};
  PyTypeObject* const type = Py_TYPE(o);
  static constexpr const char* kAsked[] = {"__repr__", "__str__", "__format__"};  // format() asks all of them
  for (int k = 0; k <= 2 - f.conversion; ++k)
    if (f.t.on_class(type, interned(kAsked[k]).get(), f.v->source).found !=
        type_find(&PyBaseObject_Type, interned(kAsked[k]).get()))
      return {};
  (void)f.t.on_class(type, interned("__module__").get(), f.v->source);
  f.t.guard(GuardKind::IdMatch, f.v->source, f.v->real);
  return f.t.constant(checked(PyObject_Repr(o)));
}

// What Python writes for an object of a builtin type.
ValueRef constants(Formatting& f) {
  if (f.conversion == 1)
    if (ValueRef text = opaque_text(f.t, f.v)) return text;
  PyTypeObject* const type = f.v->kind == ValueKind::Constant ? f.v->python_type() : nullptr;
  if (f.conversion == 1 && type && is_library_value_type(type) && type->tp_str != PyBaseObject_Type.tp_str &&
      !f.t.config.trace_more)
    listed_break<GB0005>(repr_of(reinterpret_cast<PyObject*>(type)));  // a date
  if (auto* fn = as<FunctionValue>(f.v); fn && fn->real && !fn->attrs.empty())
    unmodelled(fn->print(), "text of a function that has changed");
  if (f.v->kind == ValueKind::Opaque || f.v->kind == ValueKind::Object)
    if (ValueRef text = address_text(f)) return text;
  PyRef c = written_object(f.t, f.v);
  PyRef s = f.spec ? f.t.realize(f.spec)->as_constant() : PyRef();
  if (!c && f.v->kind == ValueKind::Opaque && is_c_type(f.v->python_type()))  // only its C code knows
    graph_break<GB0059>(name_of_conversion(f.conversion), listed_types(f.t, {f.v}), std::string("False"));
  if (!c || (f.spec && !s))
    not_modelled<GB0059>(name_of_conversion(f.conversion), listed_types(f.t, {f.v}), std::string("False"));
  PyRef text = c;
  if (f.conversion == 1) text = PyRef::steal(PyObject_Str(c.get()));
  if (f.conversion == 2) text = PyRef::steal(PyObject_Repr(c.get()));
  if (f.conversion == 3) text = PyRef::steal(PyObject_ASCII(c.get()));
  if (f.conversion == kAsciiOfText) {
    PyRef bytes = checked(PyUnicode_AsEncodedString(c.get(), "ascii", "backslashreplace"));
    text = checked(PyUnicode_FromEncodedObject(bytes.get(), "ascii", nullptr));
  }
  if (text && (f.conversion == 0 || s)) text = PyRef::steal(PyObject_Format(text.get(), s.get()));
  if (!text) f.t.raise_current();
  return f.t.constant(text);
}

// Lists, tuples and dicts that are no constants.
ValueRef containers(Formatting& f) {
  const ValueKind kind = f.v->kind;
  if (f.spec || (kind != ValueKind::List && kind != ValueKind::Tuple && kind != ValueKind::Dict)) return {};
  if (written_object(f.t, f.v)) return {};
  ValueRef text = container_text(f.t, f.v);
  return text ? f.done(std::move(text)) : ValueRef();
}

constexpr FormatRow kFormatRows[] = {
    deferred_texts,    enumeration_members, made_classes, formatted_objects, objects,
    instances_below_c, polyfilled_objects,  exceptions,   containers,        constants};

}  // namespace

ValueRef Tracer::format_value(const ValueRef& raw, int conversion, const ValueRef& spec) {
  Formatting f{*this, realize(raw), conversion, spec};
  for (FormatRow row : kFormatRows)
    if (ValueRef r = row(f)) return r;
  throw InternalError("no row writes " + f.v->print());
}

}  // namespace md
