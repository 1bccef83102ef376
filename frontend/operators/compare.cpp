// Comparisons: one row per pair of kinds, asked in order. The first that knows both operands answers.
#include <algorithm>

#include "frontend/cpython/type_dict.h"
#include "frontend/operators/object_operators.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/array.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/deque.h"
#include "frontend/values/instance_calls.h"
#include "frontend/values/iterators.h"
#include "frontend/values/number_functions.h"
#include "frontend/values/polyfilled.h"
#include "frontend/values/refusals.h"
#include "frontend/values/size_value.h"
#include "frontend/values/tensor.h"
#include "frontend/values/tensor_subclass.h"
#include "frontend/values/type_expressions.h"

namespace md {

namespace {

constexpr const char* kNames[] = {"lt", "le", "eq", "ne", "gt", "ge"};  // Py_LT ... Py_GE
constexpr const char* kSymbols[] = {"<", "<=", "==", "!=", ">", ">="};

// One comparison on its way through the rows.
struct Comparison {
  Tracer& t;
  ValueRef a, b;
  int op;
  const Value* declined[2] = {nullptr, nullptr};  // library objects whose own method gave NotImplemented

  bool is_equality() const { return op == Py_EQ || op == Py_NE; }
  bool either(ValueKind k) const { return a->kind == k || b->kind == k; }
  bool both(ValueKind k) const { return a->kind == k && b->kind == k; }
};

// A row answers, or gives null: the next one is asked.
using ComparisonRow = ValueRef (*)(Comparison& c);

ValueRef arrays(Comparison& c) {
  if (!c.either(ValueKind::Array)) return {};
  if (ValueRef tensor = number_beside(c.b, c.a)) return c.b = std::move(tensor), ValueRef();
  return array_compare(c.t, c.a, c.b, c.op);
}

// By a library object's own method.
ValueRef library_objects(Comparison& c) {
  static const int mirrored[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};
  for (int side = 0; side < 2; ++side) {
    auto* library = as<PolyfilledValue>(side == 0 ? c.a : c.b);
    const std::string name = "__" + std::string(kNames[side == 0 ? c.op : mirrored[c.op]]) + "__";
    ValueRef m = library ? library->method(c.t, name.c_str()) : ValueRef();
    if (!m) continue;
    ValueRef r = c.t.call(m, CallArgs{{side == 0 ? c.b : c.a}, {}});
    if (!is_true_constant(r, Py_NotImplemented)) return r;
    c.declined[side] = library;
  }
  return {};
}

// list[int] and the like, with each other and with classes.
ValueRef type_expressions(Comparison& c) {
  if (!c.is_equality() || (!is_type_of_c(*c.a) && !is_type_of_c(*c.b))) return {};
  for (const ValueRef* side : {&c.a, &c.b})  // a metaclass may compare its classes
    if ((*side)->kind == ValueKind::Class && (*side)->python_type()->tp_richcompare != PyBaseObject_Type.tp_richcompare)
      return {};
  const PyRef x = type_expression(c.t, c.a), y = x ? type_expression(c.t, c.b) : PyRef();
  const PyRef r = y ? PyRef::steal(PyObject_RichCompare(x.get(), y.get(), c.op)) : PyRef();
  if (y && !r) c.t.raise_current();
  return r ? from_result(c.t, r.get()) : ValueRef();
}

// Instances of classes of the program.
ValueRef objects(Comparison& c) {
  if (tensor_instance(c.a) || tensor_instance(c.b)) {
    if (ValueRef r = object_compare(c.t, c.a, c.b, c.op)) return r;
    return c.is_equality() ? identity_compare(c.t, c.a, c.b, c.op) : ValueRef();
  }
  if (c.a->kind == ValueKind::Tensor) c.b = data_of(c.b);
  if (!c.either(ValueKind::Object)) return {};
  if (ValueRef r = object_compare(c.t, c.a, c.b, c.op)) return r;
  if (c.b->kind == ValueKind::Tensor) c.a = data_of(c.a);
  return c.is_equality() && !c.either(ValueKind::Tensor) ? identity_compare(c.t, c.a, c.b, c.op) : ValueRef();
}

// None, a text, ...: tensors leave the answer to it, and it knows none of them.
bool is_no_number(const ValueRef& v) {
  if (v->kind != ValueKind::Constant) return false;
  PyObject* const o = v->real.get();
  return !PyLong_Check(o) && !PyFloat_Check(o) && !PyComplex_Check(o);
}

ValueRef tensors(Comparison& c) {
  if (!c.either(ValueKind::Tensor)) return {};
  const ValueKind other = (c.a->kind == ValueKind::Tensor ? c.b : c.a)->kind;
  const bool has_elements = other == ValueKind::Tensor || other == ValueKind::Constant || other == ValueKind::Size ||
                            other == ValueKind::Number;
  if (!has_elements || is_no_number(c.a) || is_no_number(c.b))
    if (c.is_equality()) return c.t.boolean(c.op == Py_NE);
  return c.t.call_operator(kNames[c.op], CallArgs{{c.a, c.b}, {}});
}

ValueRef numbers(Comparison& c) { return number_compare(c.t, c.a, c.b, c.op); }

ValueRef sizes(Comparison& c) { return size_compare(c.t, c.a, c.b, c.op); }

// Folded, except sequences of sizes, whose symbols are to stay.
ValueRef constants(Comparison& c) {
  const bool sequences = c.both(ValueKind::List) || c.both(ValueKind::Tuple);
  if (sequences && (holds_size(c.a) || holds_size(c.b))) return {};
  PyRef x = c.a->as_constant(), y = x ? c.b->as_constant() : PyRef();
  if (!y) return {};
  PyRef r = PyRef::steal(PyObject_RichCompare(x.get(), y.get(), c.op));
  if (!r) c.t.raise_current();
  return from_result(c.t, r.get());
}

// As their bounds in a tuple.
ValueRef slices(Comparison& c) {
  auto *p = as<SliceValue>(c.a), *q = as<SliceValue>(c.b);
  if (!p || !q || p == q) return {};
  const auto bounds = [](const SliceValue& s) {
    return make_ref<TupleValue>(std::vector<ValueRef>{s.start, s.stop, s.step});
  };
  return c.t.compare(bounds(*p), bounds(*q), c.op);
}

// Every element of `part` is in `whole`.
bool contains_all(Tracer& t, const ValueRef& whole, const ValueRef& part) {
  for (auto& x : collect(t, part))
    if (!whole->contains(t, x)) return false;
  return true;
}

// Keys and items of dicts, with each other and with sets.
ValueRef views(Comparison& c) {
  const auto is_set = [](const ValueRef& v) { return v->kind == ValueKind::Set || is_set_view(v); };
  if ((!is_set_view(c.a) && !is_set_view(c.b)) || !is_set(c.a) || !is_set(c.b)) return {};
  const std::int64_t m = *c.a->length(c.t), n = *c.b->length(c.t);
  const auto a_in_b = [&] { return contains_all(c.t, c.b, c.a); };
  const auto b_in_a = [&] { return contains_all(c.t, c.a, c.b); };
  switch (c.op) {
    case Py_EQ:
      return c.t.boolean(m == n && a_in_b());
    case Py_NE:
      return c.t.boolean(m != n || !a_in_b());
    case Py_LT:
      return c.t.boolean(m < n && a_in_b());
    case Py_LE:
      return c.t.boolean(m <= n && a_in_b());
    case Py_GT:
      return c.t.boolean(m > n && b_in_a());
    default:
      return c.t.boolean(m >= n && b_in_a());
  }
}

ValueRef sets(Comparison& c) {
  auto *p = as<SetValue>(c.a), *q = as<SetValue>(c.b);
  if (!p || !q) return {};
  PyRef r = checked(PyObject_RichCompare(p->members.get(), q->members.get(), c.op));
  return from_folded(c.t, r.get());
}

// The class of an instance below one in C compares by a function of its own, or as object does.
bool compares_in_python(const ValueRef& v, int op) {
  static constexpr const char* names[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};
  if (!is_below_c(*v)) return false;
  const PyRef name = checked(PyUnicode_InternFromString(names[op]));
  PyObject* const found = type_find(v->python_type(), name.get());
  return found && (PyFunction_Check(found) || found == type_find(&PyBaseObject_Type, name.get()));
}

// An object nobody looks into, whose type compares in a way of its own.
ValueRef opaque_objects(Comparison& c) {
  static constexpr int mirrored[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};
  if (compares_in_python(c.a, c.op) || compares_in_python(c.b, mirrored[c.op])) {
    if (ValueRef r = object_compare(c.t, c.a, c.b, c.op)) return r;
    return c.is_equality() ? identity_compare(c.t, c.a, c.b, c.op) : ValueRef();
  }
  const auto compares_by_identity = [](PyTypeObject* type) {
    return !type->tp_richcompare || type->tp_richcompare == PyBaseObject_Type.tp_richcompare;
  };
  for (const ValueRef* side : {&c.a, &c.b}) {
    const Value* v = side->get();
    if (v->kind != ValueKind::Opaque && v->kind != ValueKind::Polyfilled) continue;
    if (v == c.declined[0] || v == c.declined[1] || compares_by_identity(v->python_type())) continue;
    if (v->kind == ValueKind::Opaque && is_c_type(v->python_type()))  // only its C code knows
      graph_break<GB0059>(std::string("operator.") + kNames[c.op], listed_types(c.t, {c.a, c.b}), std::string("False"));
    not_modelled<GB0059>(std::string("operator.") + kNames[c.op], listed_types(c.t, {c.a, c.b}), std::string("False"));
  }
  return {};
}

// == and != of what is left: containers by their elements, everything else by identity.
ValueRef equality(Comparison& c) {
  if (!c.is_equality()) return {};
  const bool same_kind = c.a->kind == c.b->kind;
  PyTypeObject* type = c.a->python_type();
  const bool containers =
      c.both(ValueKind::List) || c.both(ValueKind::Tuple) || c.both(ValueKind::Dict) || c.both(ValueKind::Deque);
  if (!containers && same_kind && type && type->tp_iternext && !is_below_c(*c.a) && !c.t.config.trace_more)
    listed_break<GB0023>(c.a->print(), std::string(kNames[c.op]), print_list({c.b}), std::string("{}"));
  if (!containers) return identity_compare(c.t, c.a, c.b, c.op);
  return c.t.boolean(values_equal(c.t, c.a, c.b) == (c.op == Py_EQ));
}

// < and its kin of sequences: the first elements that differ decide, else the lengths.
ValueRef ordered_sequences(Comparison& c) {
  const auto items = [](const ValueRef& v) -> const std::vector<ValueRef>* {
    if (auto* l = as<ListValue>(v)) return &l->items;
    if (auto* tup = as<TupleValue>(v)) return &tup->items;
    if (auto* d = as<DequeValue>(v)) return &d->items;
    return nullptr;
  };
  auto *p = items(c.a), *q = items(c.b);
  if (!p || !q || c.a->kind != c.b->kind) return {};
  for (std::size_t k = 0; k < std::min(p->size(), q->size()); ++k) {
    const ValueRef v = (*p)[k], w = (*q)[k];
    // A method of the program may shorten both meanwhile.
    if (!values_equal(c.t, v, w) && k < std::min(p->size(), q->size())) return c.t.compare((*p)[k], (*q)[k], c.op);
  }
  const auto length = [&](const auto& list) { return c.t.integer(static_cast<std::int64_t>(list.size())); };
  return c.t.compare(length(*p), length(*q), c.op);
}

constexpr ComparisonRow kComparisonRows[] = {arrays,  library_objects, type_expressions, objects,          tensors,
                                             numbers, sizes,           constants,        slices,           views,
                                             sets,    opaque_objects,  equality,         ordered_sequences};

}  // namespace

ValueRef Tracer::compare(const ValueRef& ra, const ValueRef& rb, int op) {
  Comparison c{*this, shown_mapping(realize(ra)), shown_mapping(realize(rb)), op};
  if (ValueRef answer = ask_modes_about_compare(*this, c.a, c.b, op)) return answer;
  if (c.a->kind == ValueKind::Tensor) c.b = scalar_as_number(*this, c.b);
  if (c.b->kind == ValueKind::Tensor) c.a = scalar_as_number(*this, c.a);
  for (ComparisonRow row : kComparisonRows)
    if (ValueRef r = row(c)) return r;
  raise(PyExc_TypeError, std::string("'") + kSymbols[op] + "' not supported between instances of '" +
                             operand_type(c.a) + "' and '" + operand_type(c.b) + "'");
}

}  // namespace md
