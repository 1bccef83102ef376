// Looks up and calls special methods of both operands in Python's order, and judges what NotImplemented means.
#include "frontend/operators/object_operators.h"

#include "frontend/cpython/object_attr.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/array.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/instance_calls.h"
#include "frontend/values/iterators.h"
#include "frontend/values/methods.h"
#include "frontend/values/tensor.h"
#include "frontend/values/tensor_subclass.h"

namespace md {

namespace {

constexpr const char* kSpecialNames[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};
constexpr int kMirrored[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};

bool is_subtype(const ValueRef& a, const ValueRef& of) {
  return a->python_type() && of->python_type() && PyType_IsSubtype(a->python_type(), of->python_type());
}

// Numbers and None give NotImplemented for every object that is none of their kind.
bool knows_no_objects(const ValueRef& v) {
  if (v->kind == ValueKind::Object || v->kind == ValueKind::Size || v->kind == ValueKind::Number) return true;
  if (is_below_c(*v)) return true;  // both sides were asked
  PyObject* o = v->kind == ValueKind::Constant ? v->real.get() : nullptr;
  return o &&
         (o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyComplex_CheckExact(o));
}

ValueRef unless_not_implemented(Tracer& t, const ValueRef& r) {
  return is_true_constant(t.realize(r), Py_NotImplemented) ? ValueRef() : r;
}

// A class below another one is asked first only where it has a method of its own.
bool overrides(Tracer& t, ObjectValue& below, const ValueRef& of, const std::string& method) {
  PyRef name = checked(PyUnicode_InternFromString(method.c_str()));
  auto* above = as<ObjectValue>(of);
  return t.on_class(below.type, name.get(), below.source).found !=
         (above ? t.on_class(above->type, name.get(), above->source).found : type_find(of->python_type(), name.get()));
}

// The same of instances below a class in C, whose classes attempt() guards.
bool finds_another(const ValueRef& below, const ValueRef& of, const std::string& method) {
  const PyRef name = checked(PyUnicode_InternFromString(method.c_str()));
  return type_find(below->python_type(), name.get()) != type_find(of->python_type(), name.get());
}

// A slot of another builtin type, put into the class by name, refuses the instance.
void expect_own_slot(Tracer& t, ObjectValue& o, const std::string& method) {
  PyObject* found = t.on_class(o.type, checked(PyUnicode_InternFromString(method.c_str())).get(), o.source).found;
  if (Py_TYPE(found) == &PyWrapperDescr_Type &&
      !PyType_IsSubtype(o.type, reinterpret_cast<PyDescrObject*>(found)->d_type))
    unmodelled_method(o, method);
}

// One side's method; null: it has none, or it does not know the other.
ValueRef attempt(Tracer& t, const ValueRef& self, const std::string& name, const ValueRef& other) {
  auto* o = as<ObjectValue>(self);
  auto* instance = as<ObjectValue>(other);
  if (self->kind == ValueKind::Opaque) {
    if (ValueRef r = asked_instance(t, *self, name.c_str(), {other})) return unless_not_implemented(t, r);
    PyRef key = checked(PyUnicode_InternFromString(name.c_str()));
    PyObject* found = t.on_class(self->python_type(), key.get()).found;
    if (found != type_find(&PyBaseObject_Type, key.get())) unmodelled_method(*self, name, CallArgs{{other}, {}});
    return {};
  }
  if (!o && instance && instance->payload) return unless_not_implemented(t, data_operator(t, self, name, other));
  if (!o) {
    if (is_subtype(other, self)) unmodelled_method(*self, name, CallArgs{{other}, {}});
    return {};
  }
  if (ValueRef m = o->special(t, name.c_str())) return unless_not_implemented(t, t.call(m, CallArgs{{other}, {}}));
  if (o->payload && o->has_native(t, name.c_str())) expect_own_slot(t, *o, name);
  if (o->payload && o->has_native(t, name.c_str())) return unless_not_implemented(t, base_operator(t, *o, name, other));
  if (o->has_native(t, name.c_str())) unmodelled_method(*self, name, CallArgs{{other}, {}});
  return {};
}

// An instance below a class in C.
bool inherits_ne(Tracer& t, const Value& self) {
  const PyRef name = checked(PyUnicode_InternFromString("__ne__"));
  return is_below_c(self) &&
         t.on_class(self.python_type(), name.get()).found == type_find(&PyBaseObject_Type, name.get());
}

// object.__ne__ turns around what __eq__ gives; the other defaults know nothing but identity.
ValueRef attempt_compare(Tracer& t, const ValueRef& self, int op, const ValueRef& other) {
  auto* o = as<ObjectValue>(self);
  const bool inverts =
      op == Py_NE && (o ? !o->special(t, "__ne__") && !o->has_native(t, "__ne__") : inherits_ne(t, *self));
  if (inverts) {
    ValueRef equal = attempt(t, self, "__eq__", other);
    return equal ? t.boolean(!t.realize(equal)->truth(t)) : ValueRef();
  }
  return attempt(t, self, kSpecialNames[op], other);
}

bool compares_by_identity(PyTypeObject* type) {
  return !type->tp_richcompare || type->tp_richcompare == PyBaseObject_Type.tp_richcompare;
}

// Values of a builtin type, which gives NotImplemented for whatever is of another type.
bool is_builtin_kind(const ValueRef& v) {
  return v->kind != ValueKind::Object && v->kind != ValueKind::Opaque && v->kind != ValueKind::Exception;
}

// + and * of sequences are no slots of numbers: the right side's method comes before them, whatever its class. Classes
// below list have its += as one of numbers.
bool yields_to_the_right(Tracer& t, const ValueRef& a, const std::string& dunder, bool inplace) {
  PyTypeObject* type = data_of(a)->python_type();
  const bool joins = type && type->tp_as_sequence && type->tp_as_sequence->sq_concat;
  if (!joins || (type->tp_as_number && type->tp_as_number->nb_add) || (dunder != "add" && dunder != "mul"))
    return false;
  auto* x = as<ObjectValue>(a);
  if (x && x->special(t, ("__" + dunder + "__").c_str())) return false;
  const std::string changing = "__i" + dunder + "__";
  return !x || !inplace ||
         !(x->special(t, changing.c_str()) || (dunder == "add" && x->has_native(t, changing.c_str())));
}

}  // namespace

ValueRef object_op(Tracer& t, const ValueRef& a, const ValueRef& b, const std::string& dunder, bool inplace) {
  auto *x = as<ObjectValue>(a), *y = as<ObjectValue>(b);
  const std::string reflected = "__r" + dunder + "__";
  const bool yields = y && yields_to_the_right(t, a, dunder, inplace);
  const ValueRef asked = yields ? y->special(t, reflected.c_str()) : ValueRef();
  if (asked)
    if (ValueRef r = unless_not_implemented(t, t.call(asked, CallArgs{{a}, {}}))) return r;
  // += and the like of a builtin container change it, also by an instance of a class below its own.
  if (auto* dict = as<DictValue>(a); dict && y && inplace && dunder == "or") {
    fill_dict(t, *dict, b);
    return a;
  }
  if (inplace && !x && y && y->payload && (a->kind == ValueKind::List || a->kind == ValueKind::Set))
    if (ValueRef r = attempt(t, a, "__i" + dunder + "__", b)) return r;
  if (tensor_instance(b) && !x && !is_subtype(b, a)) return attempt(t, b, reflected, a);
  // A builtin operand on the left answers first, unless the other's class is below its own.
  if (y && y->payload && !x && !is_subtype(b, a)) return {};
  if (inplace)
    if (ValueRef r = x || is_below_c(*a) ? attempt(t, a, "__i" + dunder + "__", b) : ValueRef()) return r;
  const bool other_type = a->python_type() != b->python_type();
  const auto is_new_on_right = [&] {
    return y ? !asked && overrides(t, *y, a, reflected) : is_below_c(*b) && finds_another(b, a, reflected);
  };
  const bool right_first = other_type && is_subtype(b, a) && is_new_on_right();
  if (right_first)
    if (ValueRef r = attempt(t, b, reflected, a)) return r;
  if (ValueRef r = attempt(t, a, "__" + dunder + "__", b)) return r;
  if (!right_first && !asked && other_type)
    if (ValueRef r = attempt(t, b, reflected, a)) return r;
  if (!t.config.trace_more && (a->kind == ValueKind::Tensor || b->kind == ValueKind::Tensor))
    graph_break<GB0055>(print_list({a, b}));
  // [1] * index, "%s" % object
  for (const ValueRef& side : {a, b})
    if (!knows_no_objects(data_of(side)))
      unmodelled_method(*side, "__" + dunder + "__", CallArgs{{side == a ? b : a}, {}});
  return {};
}

ValueRef object_compare(Tracer& t, const ValueRef& a, const ValueRef& b, int op) {
  const bool right_first = a->python_type() != b->python_type() && is_subtype(b, a);
  // Two of one builtin type: it answers for the left one before the right one is asked.
  auto* x = as<ObjectValue>(a);
  const bool native = x && x->payload && !tensor_instance(a) && x->has_native(t, kSpecialNames[op]) &&
                      data_of(a)->kind == data_of(b)->kind;
  if (native && !right_first) expect_own_slot(t, *x, kSpecialNames[op]);
  if (native && !right_first) return t.compare(data_of(a), data_of(b), op);
  if (right_first)
    if (ValueRef r = attempt_compare(t, b, kMirrored[op], a)) return r;
  if (ValueRef r = attempt_compare(t, a, op, b)) return r;
  if (!right_first)
    if (ValueRef r = attempt_compare(t, b, kMirrored[op], a)) return r;
  return {};
}

ValueRef identity_compare(Tracer& t, const ValueRef& a, const ValueRef& b, int op) {
  const auto by_identity = [](const ValueRef& v) { return v->python_type() && compares_by_identity(v->python_type()); };
  const bool known = a->kind == ValueKind::Object || b->kind == ValueKind::Object || by_identity(a) || by_identity(b);
  const bool unlike = a->python_type() && b->python_type() && a->python_type() != b->python_type();
  if (!known && !(unlike && is_builtin_kind(a) && is_builtin_kind(b)) && a.get() != b.get())
    unmodelled_method(*a, kSpecialNames[op], CallArgs{{b}, {}});
  return t.boolean(same_object(t, a, b) == (op == Py_EQ));
}

bool is_set_view(const ValueRef& v) {
  auto* view = as<DictViewValue>(v);
  return view && view->is_set_like();
}

ValueRef number_beside(const ValueRef& number, const ValueRef& tensor) {
  const auto* x = as<ArrayValue>(number);
  const auto* beside = as<TensorValue>(tensor);
  if (!x || !x->scalar || !beside || !is_floating(beside->type.dtype)) return {};
  const DType dtype = x->tensor->type.dtype;
  return is_complex(dtype) || dtype == DType::Bool ? ValueRef() : ValueRef(x->tensor);
}

std::string operand_type(const ValueRef& v) { return v->python_type() ? type_name(v->python_type()) : "object"; }

}  // namespace md
