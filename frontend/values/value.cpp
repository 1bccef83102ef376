// The defaults of Value: what nothing models breaks with the registry's "no handler" codes.
#include "frontend/trace/value.h"

#include "frontend/cpython/method_wrapper.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/polyfills.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/class_stores.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/dict_attributes.h"
#include "frontend/values/instance_calls.h"
#include "frontend/values/let_go.h"
#include "frontend/values/methods.h"
#include "frontend/values/mode_decorators.h"
#include "frontend/values/objects.h"
#include "frontend/values/polyfilled.h"

namespace md {

// Parts of a value that end with it wait once so many end one inside the other. Without memory for the list they go on.
void Value::end(const Value* v) noexcept {
  constexpr int kNested = 32;
  thread_local int nested = 0;
  thread_local std::vector<const Value*> waiting;
  if (nested >= kNested) {
    try {
      waiting.push_back(v);
      return;
    } catch (const std::bad_alloc&) {
    }
  }
  ++nested;
  delete v;
  if (nested == 1) {
    while (!waiting.empty()) {
      const Value* next = waiting.back();
      waiting.pop_back();
      delete next;
    }
  }
  --nested;
}

std::string type_name(PyTypeObject* type) {
  const std::string full = type->tp_name;
  const auto dot = full.rfind('.');
  return dot == std::string::npos ? full : full.substr(dot + 1);
}

const ValueRef& CallArgs::missing(std::size_t i) {
  unmodelled("a builtin function", "argument " + std::to_string(i + 1) + ", given by keyword");
}

ValueRef CallArgs::take_keyword(const char* name) {
  for (auto it = keywords.begin(); it != keywords.end(); ++it) {
    if (PyUnicode_CompareWithASCIIString(it->first.get(), name) != 0) continue;
    ValueRef v = std::move(it->second);
    keywords.erase(it);
    return v;
  }
  return {};
}

ValueRef Value::get_attr(Tracer& t, PyObject* name) { return method_attr(t, this, name); }

bool Value::has_attr(Tracer& t, PyObject* name) {
  const bool unknown = kind == ValueKind::Slice || kind == ValueKind::Super || !python_type();
  if (unknown) graph_break<GB0150>(print(), text_of(name));
  return bool(attribute_or_null(t, ValueRef(this), name));
}

ValueRef attribute_or_null(Tracer& t, const ValueRef& v, PyObject* name) {
  try {
    return v->get_attr(t, name);
  } catch (const TracedRaise& e) {
    if (!PyType_IsSubtype(e.exception->python_type(), reinterpret_cast<PyTypeObject*>(PyExc_AttributeError))) throw;
    return {};
  }
}

void Value::set_attr(Tracer& t, PyObject* name, ValueRef v) {
  if (store_on_class(t, *this, name, v) || store_on_dict(t, *this, name, v)) return;
  CallArgs args;
  args.positional = {t.constant(PyRef::borrow(name))};
  if (v) args.positional.push_back(v);                                // null: it is deleted
  if (!v && (kind == ValueKind::Class || kind == ValueKind::Module))  // which has effects outside of the call
    graph_break<GB0156>(print(), std::string(python_type() ? python_type()->tp_name : "type"),
                        std::string("__delattr__"), print_list(args.positional), print_keywords(args));
  unmodelled_method(*this, v ? "__setattr__" : "__delattr__", args);
}

// What a weak reference from outside refers to now: found by way of it in every call to come.
static ValueRef referent_of(Tracer& t, const Value& self) {
  PyObject* const referent = reinterpret_cast<PyWeakReference*>(self.real.get())->wr_object;
  return t.wrap(PyRef::borrow(referent).get(),
                t.recorder.sources.child(self.source, SourceKind::Field, interned("__referent__").get()));
}

ValueRef Value::call(Tracer& t, CallArgs args) {
  if (source && real && PyWeakref_CheckRef(real.get()) && args.size() == 0) {
    if (may_let_go(t)) unmodelled("weakref.ref", "an object that the function may let go of");
    return referent_of(t, *this);
  }
  if (ValueRef decorated = decorated_in_mode(t, *this, args)) return decorated;
  if (ValueRef called = called_instance(t, *this, args)) return called;
  if (kind == ValueKind::Opaque && is_method_wrapper(real.get())) {
    const ValueRef self = t.realize(get_attr(t, interned("__self__").get()));
    const PyRef name = checked(PyObject_GetAttrString(real.get(), "__name__"));
    return self->call_method(t, name.get(), std::move(args));
  }
  PyTypeObject* type = python_type();
  if (type && !type->tp_call && !t.config.trace_more)
    listed_break<GB0147_uncallable>(print(), print_list(args.positional), print_keywords(args));
  if (type && !type->tp_call) t.raise(PyExc_TypeError, std::string("'") + type->tp_name + "' object is not callable");
  PyObject* const found = kind == ValueKind::Opaque ? type_find(type, interned("__call__").get()) : nullptr;
  if (found && Py_TYPE(found) == &PyWrapperDescr_Type)  // only its C code knows
    graph_break<GB0156>(print(), type_name(type), std::string("__call__"), print_list(args.positional),
                        print_keywords(args));
  not_modelled<GB0147>(print(), print_list(args.positional), print_keywords(args));
}

ValueRef BoundAttrValue::call(Tracer& t, CallArgs args) {
  if (self->kind == ValueKind::Function && text_of(name.get()) == "__call__") return t.call(self, std::move(args));
  return self->call_method(t, name.get(), std::move(args));
}

[[noreturn]] static ValueRef no_method(const Value& self, PyObject* name, const CallArgs& args) {
  unmodelled_method(self, text_of(name), args);
}

// Iterators have object's equality, by identity; null: another method.
static ValueRef iterator_equality(Tracer& t, Value& self, const std::string& method, const CallArgs& args) {
  const bool equality = method == "__eq__" || method == "__ne__";
  PyTypeObject* const type = self.python_type();
  if (!equality || args.size() != 1 || !type || !type->tp_iternext) return {};
  const ValueRef other = t.realize(args[0]);
  const bool listed = other->kind == self.kind && !t.config.trace_more;
  if (listed || other.get() == &self) return t.compare(ValueRef(&self), other, method == "__eq__" ? Py_EQ : Py_NE);
  return t.constant(Py_NotImplemented);
}

ValueRef Value::call_method(Tracer& t, PyObject* name, CallArgs args) {
  if (ValueRef v = iterator_equality(t, *this, text_of(name), args)) return v;
  if (PyTypeObject* type = python_type();
      type && type->tp_iternext && args.size() == 0 && text_of(name) == "__next__") {
    if (ValueRef v = next(t)) return v;
    throw TracedRaise{
        make_ref<ExceptionValue>(reinterpret_cast<PyTypeObject*>(PyExc_StopIteration), std::vector<ValueRef>{})};
  }
  if (PyTypeObject* type = python_type(); type && type->tp_iter && args.size() == 0 && text_of(name) == "__iter__")
    return iter(t);
  if (PyTypeObject* type = python_type(); type && type_find(type, name))
    if (PyObject* row = library_method(type, name)) {
      args.positional.insert(args.positional.begin(), ValueRef(this));
      return call_library(t, type_find(type, name), row, std::move(args));
    }
  ValueRef method = get_attr(t, name);
  if (auto* bound = as<BoundAttrValue>(method); bound && bound->self.get() == this)
    return kind == ValueKind::Slice || kind == ValueKind::DictView ? call_builtin_method(t, ValueRef(this), name, args)
                                                                   : no_method(*this, name, args);
  return t.call(method, std::move(args));
}

ValueRef Value::get_item(Tracer& t, const ValueRef& key) {
  PyTypeObject* type = python_type();
  if (real && PyType_Check(real.get()) && !(type->tp_as_mapping && type->tp_as_mapping->mp_subscript))
    t.raise(PyExc_TypeError,
            std::string("type '") + reinterpret_cast<PyTypeObject*>(real.get())->tp_name + "' is not subscriptable");
  if (type && !(type->tp_as_mapping && type->tp_as_mapping->mp_subscript) &&
      !(type->tp_as_sequence && type->tp_as_sequence->sq_item))
    t.raise(PyExc_TypeError, std::string("'") + type->tp_name + "' object is not subscriptable");
  if (ValueRef v = asked_instance(t, *this, "__getitem__", {key})) return v;
  unmodelled_method(*this, "__getitem__");
}

void Value::set_item(Tracer& t, const ValueRef& key, ValueRef v) {
  const auto refusal = [&](PyTypeObject* type) {
    if (v) return " object does not support item assignment";
    PyTypeObject* key_type = t.realize(key)->python_type();
    const bool index = key_type && key_type->tp_as_number && key_type->tp_as_number->nb_index;
    return type->tp_as_sequence && index ? " object doesn't support item deletion"
                                         : " object does not support item deletion";
  };
  PyTypeObject* type = python_type();
  if (type && !(type->tp_as_mapping && type->tp_as_mapping->mp_ass_subscript) &&
      !(type->tp_as_sequence && type->tp_as_sequence->sq_ass_item))
    t.raise(PyExc_TypeError, std::string("'") + type->tp_name + "'" + refusal(type));
  if (v ? asked_instance(t, *this, "__setitem__", {key, v}) : asked_instance(t, *this, "__delitem__", {key})) return;
  unmodelled_method(*this, v ? "__setitem__" : "__delitem__");
}

// As len() takes what __len__ gives.
static Py_ssize_t checked_length(Tracer& t, const ValueRef& given) {
  const Py_ssize_t n = PyNumber_AsSsize_t(given->real.get(), PyExc_OverflowError);
  if (n == -1 && PyErr_Occurred()) t.raise_current();
  if (n < 0) t.raise(PyExc_ValueError, "__len__() should return >= 0");
  return n;
}

std::optional<std::int64_t> Value::length(Tracer& t) {
  PyTypeObject* type = python_type();
  if (type && !(type->tp_as_sequence && type->tp_as_sequence->sq_length) &&
      !(type->tp_as_mapping && type->tp_as_mapping->mp_length))
    t.raise(PyExc_TypeError, std::string("object of type '") + type->tp_name + "' has no len()");
  if (ValueRef n = asked_instance(t, *this, "__len__"); n && n->kind == ValueKind::Constant)
    return static_cast<std::int64_t>(checked_length(t, n));
  unmodelled_method(*this, "__len__");
}

ValueRef Value::length_value(Tracer& t) {
  const auto n = length(t);
  return n ? t.integer(*n) : ValueRef();
}

bool Value::truth(Tracer& t) {
  PyTypeObject* type = python_type();
  if (type && !(type->tp_as_number && type->tp_as_number->nb_bool) &&
      !(type->tp_as_sequence && type->tp_as_sequence->sq_length) &&
      !(type->tp_as_mapping && type->tp_as_mapping->mp_length))
    return true;
  if (ValueRef v = asked_instance(t, *this, "__bool__")) {
    if (v->python_type() != &PyBool_Type)
      t.raise(PyExc_TypeError, "__bool__ should return bool, returned " + type_name(v->python_type()));
    return v->truth(t);
  }
  if (!(type && type->tp_as_number && type->tp_as_number->nb_bool)) return *length(t) != 0;
  unmodelled_method(*this, "__bool__");
}

ValueRef Value::iter(Tracer& t) {
  PyTypeObject* type = python_type();
  if (type && !type->tp_iter && !(type->tp_as_sequence && type->tp_as_sequence->sq_item))
    t.raise(PyExc_TypeError, std::string("'") + type->tp_name + "' object is not iterable");
  if (ValueRef it = asked_instance(t, *this, "__iter__")) {
    PyTypeObject* const made = it->python_type();
    if (!made || made->tp_iternext) return it;
    t.raise(PyExc_TypeError, "iter() returned non-iterator of type '" + type_name(made) + "'");
  }
  if (kind == ValueKind::Opaque && PyIter_Check(real.get()))  // the code of what next() would be
    return call_method(t, checked(PyUnicode_InternFromString("__next__")).get(), {});
  unmodelled_method(*this, "__iter__");
}

ValueRef Value::next(Tracer&) { graph_break<GB0160>(print()); }

// `item in generator`: it is asked for its items up to the one that is equal.
static bool found_by_next(Tracer& t, Value& in, const ValueRef& item) {
  constexpr int kMostAsked = 1 << 20;
  for (int asked = 0; asked < kMostAsked; ++asked) {
    const ValueRef x = in.next(t);
    if (!x) return false;
    if (values_equal(t, t.realize(x), item)) return true;
  }
  unmodelled(in.print(), "search through this many items");
}

bool Value::contains(Tracer& t, const ValueRef& item) {
  if (kind == ValueKind::Iterator || kind == ValueKind::FunctionIterator || kind == ValueKind::Generator)
    return found_by_next(t, *this, t.realize(item));
  PyTypeObject* type = python_type();
  if (type && !(type->tp_as_sequence && type->tp_as_sequence->sq_contains) && !type->tp_iter &&
      !(type->tp_as_sequence && type->tp_as_sequence->sq_item))
    t.raise(PyExc_TypeError, std::string("argument of type '") + type->tp_name + "' is not iterable");
  if (ValueRef found = asked_instance(t, *this, "__contains__", {item})) return found->truth(t);
  unmodelled_method(*this, "__contains__");
}

Reg Value::rebuild(PlanBuilder&) { graph_break<GB0092>(print()); }

}  // namespace md
