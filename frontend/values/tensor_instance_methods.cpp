// Operators and special methods of instances of classes below Tensor: whom they ask, and what plain tensors answer.
#include <algorithm>
#include <iterator>

#include "frontend/cpython/type_dict.h"
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

// An operator: CPython's number, and what overrides are asked about with the tensor on the left and on the right.
struct OperatorRow {
  const char* dunder;
  int number;
  const char *method, *reflected;
};
constexpr OperatorRow kOperators[] = {{"add", 0, "add", "add"},
                                      {"and", 1, "__and__", "__rand__"},
                                      {"floordiv", 2, "__floordiv__", "__rfloordiv__"},
                                      {"lshift", 3, "__lshift__", "__rlshift__"},
                                      {"matmul", 4, "matmul", "__rmatmul__"},
                                      {"mul", 5, "mul", "mul"},
                                      {"mod", 6, "remainder", "__rmod__"},
                                      {"or", 7, "__or__", "__ror__"},
                                      {"pow", 8, "pow", "__rpow__"},
                                      {"rshift", 9, "__rshift__", "__rrshift__"},
                                      {"sub", 10, "sub", "__rsub__"},
                                      {"truediv", 11, "div", "__rdiv__"},
                                      {"xor", 12, "__xor__", "__rxor__"}};
constexpr int kInplace = 13;
constexpr const char* kInplaceMethods[] = {
    "add_",        "bitwise_and_", "floor_divide_", "bitwise_left_shift_",  "",     "mul_",
    "remainder_",  "bitwise_or_",  "pow_",          "bitwise_right_shift_", "sub_", "div_",
    "bitwise_xor_"};
constexpr std::pair<const char*, const char*> kComparisons[] = {
    {"__lt__", "lt"}, {"__le__", "le"}, {"__eq__", "__eq__"}, {"__ne__", "ne"}, {"__gt__", "gt"}, {"__ge__", "ge"}};

struct Parsed {
  const OperatorRow* row = nullptr;  // null: a comparison, or none of these
  bool reflected = false, inplace = false;
};
Parsed parse(const std::string& name) {
  for (const OperatorRow& row : kOperators) {
    const std::string rest = std::string(row.dunder) + "__";
    if (name == "__" + rest) return {&row};
    if (name == "__r" + rest) return {&row, true, false};
    if (name == "__i" + rest) return {&row, false, true};
  }
  return {};
}
int comparison(const std::string& name) {
  const auto* found = std::ranges::find_if(kComparisons, [&](auto& c) { return name == c.first; });
  return found == std::end(kComparisons) ? -1 : static_cast<int>(found - std::begin(kComparisons));
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
  if ((!p.row && compared < 0) || !is_operand(t, other)) return t.constant(Py_NotImplemented);
  const char* const method = !p.row        ? kComparisons[compared].second
                             : p.inplace   ? kInplaceMethods[p.row->number]
                             : p.reflected ? p.row->reflected
                                           : p.row->method;
  if (p.inplace && !*method) return t.constant(Py_NotImplemented);
  if (ValueRef answer = ask_tensor_method(t, method, CallArgs{{self, other}, {}})) return answer;
  const ValueRef a = plain(self), b = plain(other);
  if (!p.row) return t.compare(a, b, compared);
  if (p.reflected) return t.binary_op(b, a, p.row->number);
  const ValueRef result = t.binary_op(a, b, p.row->number + (p.inplace ? kInplace : 0));
  return p.inplace && result == a ? self : result;
}

ValueRef ask_modes_about_binary(Tracer& t, const ValueRef& a, const ValueRef& b, int number) {
  if (!t.overrides.asks_modes()) return {};
  const bool inplace = number >= kInplace, left = a->kind == ValueKind::Tensor;
  if ((!left && b->kind != ValueKind::Tensor) || a->kind == ValueKind::Object || b->kind == ValueKind::Object)
    return {};
  const OperatorRow& row = kOperators[inplace ? number - kInplace : number];
  const char* const method = !left ? row.reflected : inplace ? kInplaceMethods[row.number] : row.method;
  if (!*method) return {};
  return ask_tensor_method(t, method, CallArgs{left ? std::vector{a, b} : std::vector{b, a}, {}});
}

ValueRef ask_modes_about_compare(Tracer& t, const ValueRef& a, const ValueRef& b, int op) {
  if (!t.overrides.asks_modes()) return {};
  const bool left = a->kind == ValueKind::Tensor;
  if ((!left && b->kind != ValueKind::Tensor) || a->kind == ValueKind::Object || b->kind == ValueKind::Object)
    return {};
  static constexpr int kMirrored[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};
  return ask_tensor_method(t, kComparisons[left ? op : kMirrored[op]].second,
                           CallArgs{left ? std::vector{a, b} : std::vector{b, a}, {}});
}

ValueRef tensor_instance_unary(Tracer& t, const ValueRef& self, int op) {
  static constexpr const char* kMethods[] = {"positive", "neg", "__invert__"};
  if (ValueRef answer = ask_tensor_method(t, kMethods[op], CallArgs{{self}, {}})) return answer;
  return t.unary_op(plain(self), op);
}

ValueRef call_plain_special(Tracer& t, const ValueRef& self, const std::string& name, const CallArgs& args) {
  const ValueRef other = args.size() == 1 ? t.realize(args[0]) : ValueRef();
  if (other && (parse(name).row || comparison(name) >= 0)) return tensor_instance_operator(t, self, name, other);
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

}  // namespace md
