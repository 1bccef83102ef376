// Instructions of match statements.
#include "frontend/cpython/object_attr.h"
#include "frontend/opcodes/family.h"
#include "frontend/values/functions.h"
#include "frontend/values/objects.h"

namespace md {

// Of the subject's class, as mappings and sequences declare themselves.
static ValueRef has_flag(Tracer& t, SymbolicFrame& f, unsigned long flag) {
  ValueRef subject = t.realize(f.top());
  PyTypeObject* type = subject->python_type();
  if (!type) unmodelled(subject->print(), "subject of a match statement");
  if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) t.expect_no_registration();  // ABCs give classes the flag
  return t.boolean((type->tp_flags & flag) != 0);
}

OPCODE(GET_LEN) {
  ValueRef v = t.realize(f.top());
  ValueRef n = v->length_value(t);
  if (!n)
    t.raise(PyExc_TypeError,
            "object of type '" + (v->python_type() ? type_name(v->python_type()) : "object") + "' has no len()");
  f.push(std::move(n));
}

OPCODE(MATCH_MAPPING) { f.push(has_flag(t, f, Py_TPFLAGS_MAPPING)); }
OPCODE(MATCH_SEQUENCE) { f.push(has_flag(t, f, Py_TPFLAGS_SEQUENCE)); }

// subject, keys → subject, keys, values or None
OPCODE(MATCH_KEYS) {
  ValueRef keys = t.realize(f.top()), subject = t.realize(f.top(2));
  const std::vector<ValueRef> wanted = collect(t, keys);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (values_equal(t, wanted[i], wanted[k])) {
        PyRef key = t.realize(wanted[i])->as_constant();
        t.raise(PyExc_ValueError,
                "mapping pattern checks duplicate key (" + (key ? repr_of(key.get()) : wanted[i]->print()) + ")");
      }
  const ValueRef absent = make_ref<ObjectValue>(&PyBaseObject_Type);
  PyRef get = checked(PyUnicode_InternFromString("get"));
  std::vector<ValueRef> values;
  for (const ValueRef& key : wanted) {
    ValueRef v = subject->call_method(t, get.get(), CallArgs{{key, absent}, {}});
    if (v.get() == absent.get()) return f.push(t.none());
    values.push_back(std::move(v));
  }
  f.push(make_ref<TupleValue>(std::move(values)));
}

static ValueRef call_of_builtins(Tracer& t, const char* name, CallArgs args) {
  PyObject* builtin = find_item(PyEval_GetBuiltins(), name);
  return t.realize(t.call(t.from_object(builtin, nullptr), std::move(args)));
}

namespace {

struct ClassPattern {
  Tracer& t;
  ValueRef subject;
  Ref<ClassValue> cls;
  std::vector<PyRef> seen;
  std::vector<ValueRef> found;

  // False: the subject has no such attribute.
  bool take(PyObject* name) {
    for (const PyRef& s : seen)
      if (PyUnicode_Compare(s.get(), name) == 0)
        t.raise(PyExc_TypeError,
                type_name(cls->type()) + "() got multiple sub-patterns for attribute " + repr_of(name));
    seen.push_back(PyRef::borrow(name));
    try {
      found.push_back(subject->get_attr(t, name));
      return true;
    } catch (const TracedRaise& e) {
      if (!PyType_IsSubtype(e.exception->python_type(), reinterpret_cast<PyTypeObject*>(PyExc_AttributeError))) throw;
      return false;
    }
  }

  // The names that stand for positional sub-patterns; none where the class lists none.
  ValueRef match_args() {
    try {
      return t.realize(cls->get_attr(t, checked(PyUnicode_InternFromString("__match_args__")).get()));
    } catch (const TracedRaise& e) {
      if (!PyType_IsSubtype(e.exception->python_type(), reinterpret_cast<PyTypeObject*>(PyExc_AttributeError))) throw;
      return {};
    }
  }

  bool positional(int count) {
    ValueRef names = match_args();
    auto* tuple = as<TupleValue>(names);
    PyRef constant = names && !tuple ? names->as_constant() : PyRef();
    const bool is_tuple = tuple || (constant && PyTuple_Check(constant.get()));
    if (names && !is_tuple)
      t.raise(PyExc_TypeError,
              type_name(cls->type()) + ".__match_args__ must be a tuple (got " + type_name(names->python_type()) + ")");
    const bool itself = !names && (cls->type()->tp_flags & _Py_TPFLAGS_MATCH_SELF);
    const std::vector<ValueRef> list = names ? collect(t, names) : std::vector<ValueRef>{};
    const int allowed = names ? static_cast<int>(list.size()) : itself ? 1 : 0;
    if (allowed < count)
      t.raise(PyExc_TypeError, type_name(cls->type()) + "() accepts " + std::to_string(allowed) +
                                   " positional sub-pattern" + (allowed == 1 ? "" : "s") + " (" +
                                   std::to_string(count) + " given)");
    if (itself) {
      found.push_back(subject);
      return true;
    }
    for (int k = 0; k < count; ++k) {
      ValueRef name = t.realize(list[static_cast<std::size_t>(k)]);
      PyRef text = name->as_constant();
      if (!text || !PyUnicode_CheckExact(text.get()))
        t.raise(PyExc_TypeError,
                "__match_args__ elements must be strings (got " + type_name(name->python_type()) + ")");
      if (!take(text.get())) return false;
    }
    return true;
  }
};

}  // namespace

// subject, class, names → attributes or None
OPCODE(MATCH_CLASS) {
  const std::vector<ValueRef> names = collect(t, f.pop());
  ValueRef type = t.realize(f.pop()), subject = t.realize(f.pop());
  auto* cls = as<ClassValue>(type);
  Ref<ClassValue> made;
  if (PyRef c = cls ? PyRef() : type->as_constant(); c && PyType_Check(c.get())) {  // int, list, ...
    made = make_ref<ClassValue>(c);
    cls = made.get();
  }
  if (!cls) {
    if (type->python_type() && type->kind <= ValueKind::Range)
      t.raise(PyExc_TypeError, "called match pattern must be a class");
    unmodelled(type->print(), "class of a pattern");
  }
  if (!call_of_builtins(t, "isinstance", CallArgs{{subject, type}, {}})->truth(t)) return f.push(t.none());
  ClassPattern pattern{t, subject, Ref<ClassValue>(cls), {}, {}};
  if (i.a > 0 && !pattern.positional(i.a)) return f.push(t.none());
  for (const ValueRef& name : names)
    if (!pattern.take(t.realize(name)->as_constant().get())) return f.push(t.none());
  f.push(make_ref<TupleValue>(std::move(pattern.found)));
}

}  // namespace md
