// add, sub, full and their kin with a number that is no constant of the trace.
#include "frontend/values/number_formulas.h"

#include <algorithm>

#include "frontend/cpython/import_module.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/tensors/tensor_parts.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/tensor.h"

namespace md {
namespace {

constexpr int kTimes = 5;  // of BINARY_OP

ValueRef known_form(const ValueRef& v) {
  const ValueRef known = v->realized_as();
  return known ? known : v;
}

bool is_open_number(const ValueRef& v) {
  const ValueKind kind = known_form(v)->kind;
  return kind == ValueKind::Number || kind == ValueKind::Size;
}

bool is_false(const ValueRef& v) { return v->kind == ValueKind::Constant && v->real.get() == Py_False; }

// Of a float of the graph and a tensor of this dtype the product is of that dtype.
bool keeps_dtype(DType dtype, const ValueRef& number) {
  return is_floating(dtype) || (is_integral(dtype) && known_form(number)->kind == ValueKind::Size);
}

// add(x, y, alpha=a): x + a * y
ValueRef with_alpha(Tracer& t, const std::string& name, Spelling spelling, const CallArgs& args) {
  if (args.positional.size() != 2 || args.keywords.size() != 1 || text_of(args.keywords[0].first.get()) != "alpha")
    return {};
  const ValueRef alpha = args.keywords[0].second;
  auto* x = as<TensorValue>(known_form(args.positional[0]));
  const ValueRef y = known_form(args.positional[1]);
  auto* tensor = as<TensorValue>(y);
  if (!x || !is_open_number(alpha)) return {};
  const bool alike = tensor ? tensor->type.dtype == x->type.dtype : y->kind == ValueKind::Constant;
  if (!alike || !keeps_dtype(x->type.dtype, alpha)) return {};
  if (!tensor && !PyLong_CheckExact(y->real.get()) && !PyFloat_CheckExact(y->real.get())) return {};
  const ValueRef scaled = t.binary_op(y, alpha, kTimes);
  return t.call_op(name, spelling, CallArgs{{args.positional[0], scaled}, {}});
}

// full(sizes, n): full(sizes, 1) * n
ValueRef filled_with(Tracer& t, const std::string& name, Spelling spelling, CallArgs args) {
  const std::size_t at = name == "new_full" ? 2 : 1;
  ValueRef number = args.take_keyword("fill_value");
  const bool by_keyword = static_cast<bool>(number);
  if (!number && args.positional.size() == at + 1) number = args.positional[at];
  if (!number || !is_open_number(number) || args.positional.size() > at + 1) return {};
  for (auto& [key, value] : args.keywords) {
    const std::string keyword = text_of(key.get());
    const PyRef given = keyword == "dtype" ? value->as_constant() : PyRef();
    DType dtype;
    const bool chosen = given && as_dtype(given.get(), dtype) && keeps_dtype(dtype, number);
    if (keyword != "device" && !(keyword == "requires_grad" && is_false(known_form(value))) && !chosen) return {};
  }
  auto* like = name == "full" ? nullptr : as<TensorValue>(known_form(args.positional.at(0)));
  if (name != "full" && (!like || !keeps_dtype(like->type.dtype, number))) return {};
  const bool of_int = known_form(number)->kind == ValueKind::Size;
  const ValueRef one = of_int ? t.integer(1) : t.constant(checked(PyFloat_FromDouble(1)));
  if (by_keyword)
    args.positional.push_back(one);
  else
    args.positional[at] = one;
  return t.binary_op(t.call_op(name, spelling, args), number, kTimes);
}

// Those whose formulas are Python code, minidynamo/polyfills/number_formulas.py.
constexpr std::string_view kInPython[] = {"addbmm",     "addcdiv",  "addcmul",    "addmm",     "addmv",      "addr",
                                          "baddbmm",    "celu",     "dist",       "elu",       "hardshrink", "hardtanh",
                                          "leaky_relu", "lerp",     "linspace",   "logspace",  "norm",       "pow",
                                          "scatter",    "softplus", "softshrink", "threshold", "vector_norm"};

constexpr std::string_view kNamespaces[] = {"nn.functional.", "linalg."};

bool is_number_for(std::string_view name, const ValueRef& v) {
  const ValueKind kind = known_form(v)->kind;
  if (name == "pow") return kind == ValueKind::Size;  // floats are operands of the op
  const bool of_order = name == "norm" || name == "vector_norm" || name == "dist";
  return kind == ValueKind::Number || (of_order && kind == ValueKind::Size);
}

ValueRef by_python_formula(Tracer& t, const std::string& name, const CallArgs& args, bool inplace) {
  const auto fits = [&](const ValueRef& v) { return is_number_for(name, t.realize(v)); };
  const bool any = std::ranges::any_of(args.positional, fits) ||
                   std::ranges::any_of(args.keywords, [&](const auto& k) { return fits(k.second); });
  if (!any || args.positional.empty()) return {};
  if (name != "linspace" && name != "logspace" && !as<TensorValue>(known_form(args.positional[0]))) return {};
  const PyRef module = checked(import_module("minidynamo.polyfills.number_formulas"));
  const PyRef formula = checked(PyObject_GetAttrString(module.get(), name.c_str()));
  const ValueRef made = t.realize(t.call(t.from_object(formula.get(), nullptr), args));
  if (made->kind != ValueKind::Tensor) return {};
  return inplace ? t.call_op("copy_", Spelling::Method, CallArgs{{args.positional[0], made}, {}}) : made;
}

}  // namespace

ValueRef by_number_formula(Tracer& t, const std::string& name, Spelling spelling, const CallArgs& args) {
  const bool inplace = name.ends_with('_') && !name.ends_with("__");
  std::string base = inplace ? name.substr(0, name.size() - 1) : name;
  for (const std::string_view space : kNamespaces)
    if (base.starts_with(space)) base.erase(0, space.size());
  if (std::ranges::binary_search(kInPython, std::string_view(base))) return by_python_formula(t, base, args, inplace);
  const bool sums = name == "add" || name == "sub" || name == "add_" || name == "sub_";
  if (!sums && name != "full" && name != "full_like" && name != "new_full") return {};
  for (auto& v : args.positional) (void)t.realize(v);
  for (auto& k : args.keywords) (void)t.realize(k.second);
  return sums ? with_alpha(t, name, spelling, args) : filled_with(t, name, spelling, args);
}

}  // namespace md
