// Operators and special methods of instances of classes below Tensor: whom they ask, and what plain tensors answer.
#include <algorithm>
#include <iterator>

#include "frontend/cpython/made_once.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/tensors/asked_operators.h"
#include "frontend/tensors/subclass.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/iterators.h"
#include "frontend/values/tensor.h"
#include "frontend/values/tensor_subclass.h"

namespace md {

namespace {

constexpr int kInplace = 13;  // added to the number of an operator

struct Parsed {
  int number = -1;  // -1: a comparison, or none of these
  bool reflected = false, inplace = false;
};
Parsed parse(const std::string& name) {
  for (int number = 0; number < kInplace; ++number) {
    const std::string rest = std::string(kAskedOperators[number].dunder) + "__";
    if (name == "__" + rest) return {number};
    if (name == "__r" + rest) return {number, true, false};
    if (name == "__i" + rest) return {number, false, true};
  }
  return {};
}
int comparison(const std::string& name) {
  static constexpr const char* kNames[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};
  const auto* found = std::ranges::find(kNames, name);
  return found == std::end(kNames) ? -1 : static_cast<int>(found - std::begin(kNames));
}

// What Tensor's operators take beside the tensor.
bool is_operand(Tracer& t, const ValueRef& v) {
  switch (v->kind) {
    case ValueKind::Tensor:
    case ValueKind::Size:
    case ValueKind::Number:
    case ValueKind::Array:
      return true;
    case ValueKind::Constant:
      return PyLong_Check(v->real.get()) || PyFloat_Check(v->real.get());
    case ValueKind::Object: {
      const PyRef name = checked(PyUnicode_InternFromString("__torch_function__"));
      return tensor_instance(v) || t.on_class(v->python_type(), name.get()).found;
    }
    default:
      return false;
  }
}

ValueRef plain(const ValueRef& v) {
  ObjectValue* const o = tensor_instance(v);
  return o ? o->payload : v;
}

}  // namespace

ValueRef tensor_instance_operator(Tracer& t, const ValueRef& self, const std::string& name, const ValueRef& raw) {
  const ValueRef other = t.realize(raw);
  const Parsed p = parse(name);
  const int compared = comparison(name);
  if ((p.number < 0 && compared < 0) || !is_operand(t, other)) return t.constant(Py_NotImplemented);
  const AskedOperator& row = kAskedOperators[std::max(p.number, 0)];
  const char* const method = p.number < 0  ? kAskedComparisons[compared]
                             : p.inplace   ? row.inplace
                             : p.reflected ? row.reflected
                                           : row.method;
  if (!*method) return t.constant(Py_NotImplemented);
  if (ValueRef answer = ask_tensor_method(t, method, CallArgs{{self, other}, {}})) return answer;
  const ValueRef a = plain(self), b = plain(other);
  if (p.number < 0) return t.compare(a, b, compared);
  if (p.reflected) return t.binary_op(b, a, p.number);
  const ValueRef result = t.binary_op(a, b, p.number + (p.inplace ? kInplace : 0));
  return p.inplace && result == a ? self : result;
}

// The object beside a tensor answers for tensor operators without being one. On the left its own operator comes first.
static bool answers_beside(Tracer& t, const ValueRef& a, const ValueRef& b, const std::string& own) {
  if (!t.overrides.asks_subclasses()) return false;
  const ValueRef& other = a->kind == ValueKind::Tensor ? b : a;
  if (other->kind != ValueKind::Object || !has_answering_argument(t, CallArgs{{other}, {}})) return false;
  return other == b || !static_cast<ObjectValue&>(*other).special(t, own.c_str());
}

ValueRef ask_modes_about_binary(Tracer& t, const ValueRef& a, const ValueRef& b, int number) {
  if (!t.overrides.asks_modes() && a->kind != ValueKind::Object && b->kind != ValueKind::Object) return {};
  const bool inplace = number >= kInplace, left = a->kind == ValueKind::Tensor;
  if (!left && b->kind != ValueKind::Tensor) return {};
  const AskedOperator& row = kAskedOperators[inplace ? number - kInplace : number];
  const bool beside_object = a->kind == ValueKind::Object || b->kind == ValueKind::Object;
  if (beside_object && !answers_beside(t, a, b, "__" + std::string(row.dunder) + "__")) return {};
  const char* const method = !left ? row.reflected : inplace ? row.inplace : row.method;
  if (!*method) return {};
  return ask_tensor_method(t, method, CallArgs{left ? std::vector{a, b} : std::vector{b, a}, {}});
}

ValueRef ask_modes_about_compare(Tracer& t, const ValueRef& a, const ValueRef& b, int op) {
  const bool beside_object = a->kind == ValueKind::Object || b->kind == ValueKind::Object;
  if (!t.overrides.asks_modes() && !beside_object) return {};
  const bool left = a->kind == ValueKind::Tensor;
  if (!left && b->kind != ValueKind::Tensor) return {};
  static constexpr const char* kOwn[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};
  if (beside_object && !answers_beside(t, a, b, kOwn[op])) return {};
  static constexpr int kMirrored[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};
  return ask_tensor_method(t, kAskedComparisons[left ? op : kMirrored[op]],
                           CallArgs{left ? std::vector{a, b} : std::vector{b, a}, {}});
}

ValueRef tensor_instance_unary(Tracer& t, const ValueRef& self, int op) {
  static constexpr const char* kMethods[] = {"positive", "neg", "__invert__"};
  if (ValueRef answer = ask_tensor_method(t, kMethods[op], CallArgs{{self}, {}})) return answer;
  return t.unary_op(plain(self), op);
}

ValueRef call_plain_special(Tracer& t, const ValueRef& self, const std::string& name, const CallArgs& args) {
  const ValueRef other = args.size() == 1 ? t.realize(args[0]) : ValueRef();
  if (other && (parse(name).number >= 0 || comparison(name) >= 0))
    return tensor_instance_operator(t, self, name, other);
  if (args.size() == 0) {
    static constexpr const char* kUnary[] = {"__pos__", "__neg__", "__invert__"};
    for (int op = 0; op < 3; ++op)
      if (name == kUnary[op]) return t.unary_op(self, op);
    if (name == "__bool__") return t.boolean(self->truth(t));
    static constexpr std::pair<const char*, PyTypeObject*> kNumbers[] = {
        {"__float__", &PyFloat_Type}, {"__int__", &PyLong_Type}, {"__index__", &PyLong_Type}};
    for (const auto& [method, type] : kNumbers)
      if (name == method)
        return t.call(t.from_object(reinterpret_cast<PyObject*>(type), nullptr), CallArgs{{self}, {}});
    if (name == "__repr__") return t.format_value(self, 2, {});
    if (name == "__abs__") return self->call_method(t, checked(PyUnicode_InternFromString("abs")).get(), {});
  }
  if (name == "__contains__" && other) return t.boolean(self->contains(t, other));
  return self->call_method(t, checked(PyUnicode_InternFromString(name.c_str())).get(), args);
}

ValueRef call_tensor_method(Tracer& t, ObjectValue& self, PyObject* name, CallArgs& args) {
  const std::string n = text_of(name);
  if (n == "__init__") return t.none();
  PyObject* const of_tensor = own_attribute(tensor_type, name);
  if (!of_tensor) return {};
  CallArgs given = args;
  given.positional.insert(given.positional.begin(), ValueRef(&self));
  return t.call(t.from_object(of_tensor, nullptr), std::move(given));
}

ValueRef iterate_tensor_instance(Tracer& t, ObjectValue& self) {
  const auto call = [&](const char* name, CallArgs args) {
    return t.realize(t.call(self.get_attr(t, checked(PyUnicode_InternFromString(name)).get()), std::move(args)));
  };
  const PyRef dim = call("dim", {})->as_constant();
  if (dim && !checked(PyObject_IsTrue(dim.get()))) t.raise(PyExc_TypeError, "iteration over a 0-d tensor");
  return call("unbind", CallArgs{{t.integer(0)}, {}})->iter(t);
}

bool has_answering_argument(Tracer& t, const CallArgs& args) {
  const auto answers = [&](const ValueRef& raw) {
    const ValueRef v = t.realize(raw);
    return v->kind == ValueKind::Object && !tensor_instance(v) &&
           type_find(v->python_type(),
                     made_once([] { return checked(PyUnicode_InternFromString("__torch_function__")).release(); }));
  };
  return std::ranges::any_of(args.positional, answers) ||
         std::ranges::any_of(args.keywords, [&](const auto& k) { return answers(k.second); });
}

}  // namespace md
