// Which functions are computed by the plan, and the types of what they give.
#include "frontend/values/number_functions.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "frontend/cpython/import_module.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/item_numbers.h"
#include "frontend/values/size_value.h"
#include "ir/sizes/shape_env.h"

namespace md {

PyRef operator_function(const std::string& name) {
  return checked(PyObject_GetAttrString(checked(import_module("operator")).get(), name.c_str()));
}

std::string name_of_function(PyObject* function) {
  const PyRef name = PyRef::steal(PyObject_GetAttrString(function, "__name__"));
  if (!name) clear_answer();
  return name && PyUnicode_Check(name.get()) ? text_of(name.get()) : "";
}

namespace {

bool is_among(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

constexpr std::string_view kComparing[] = {"lt", "le", "eq", "ne", "gt", "ge"};
constexpr std::string_view kSameType[] = {"add", "sub", "mul", "floordiv", "mod", "neg", "pos", "abs"};
constexpr std::string_view kBitwise[] = {"and_", "or_", "xor", "lshift", "rshift", "invert"};
// Drawn numbers go through these; everything else breaks the graph, as the registry has it.
constexpr std::string_view kKept[] = {"abs", "max", "min", "float", "int", "bool"};
// Of module math; those that give floats for all numbers, ints, bools.
constexpr std::string_view kFloatFunctions[] = {
    "sqrt", "cbrt",  "exp",  "exp2", "expm1", "log",    "log2", "log10", "log1p",   "sin",     "cos",
    "tan",  "asin",  "acos", "atan", "atan2", "sinh",   "cosh", "tanh",  "asinh",   "acosh",   "atanh",
    "fabs", "hypot", "erf",  "erfc", "gamma", "lgamma", "pow",  "fmod",  "degrees", "radians", "copysign"};
constexpr std::string_view kIntFunctions[] = {"floor", "ceil", "trunc"};
constexpr std::string_view kTestFunctions[] = {"isnan", "isinf", "isfinite"};

bool is_drawn(const ValueRef& v) { return plan_number(v) && plan_number(v)->drawn; }

// A size whose value is known before the graph runs.
bool is_known_size(const ValueRef& v) {
  auto* s = as<SizeValue>(v);
  if (!s) return false;
  bool known = true;
  for_each_symbol(s->size,
                  [&](int i) { known = known && s->size.expr()->env->symbols()[static_cast<std::size_t>(i)].hint; });
  return known;
}

bool is_open_size(const ValueRef& v) { return v->kind == ValueKind::Size && !is_known_size(v); }

PyTypeObject* number_type(const ValueRef& v) {
  PyTypeObject* type = v->python_type();
  return type == &PyFloat_Type || type == &PyLong_Type || type == &PyBool_Type ? type : nullptr;
}

// The exact type of what a function of module math gives.
PyTypeObject* type_by_math(std::string_view name) {
  return is_among(kFloatFunctions, name)  ? &PyFloat_Type
         : is_among(kIntFunctions, name)  ? &PyLong_Type
         : is_among(kTestFunctions, name) ? &PyBool_Type
                                          : nullptr;
}

// A power whose type follows from those of its operands.
PyTypeObject* type_of_power(const std::vector<ValueRef>& operands) {
  const bool known_exponent = operands[1]->kind == ValueKind::Constant;
  if (!known_exponent) return nullptr;
  PyObject* const exponent = operands[1]->real.get();
  if (PyLong_Check(exponent)) {
    int overflow = 0;
    const bool negative = PyLong_AsLongAndOverflow(exponent, &overflow) < 0 || overflow < 0;
    return number_type(operands[0]) == &PyFloat_Type || negative ? &PyFloat_Type : &PyLong_Type;
  }
  if (operands[0]->kind == ValueKind::Size) return &PyFloat_Type;  // none is negative, or it fails
  const double power = PyFloat_AS_DOUBLE(exponent);
  return power == static_cast<double>(static_cast<std::int64_t>(power)) ? &PyFloat_Type : nullptr;
}

// The exact type of what the function gives for numbers of these types; null: that depends on their values.
PyTypeObject* type_of_result(std::string_view name, const std::vector<ValueRef>& operands) {
  bool floats = false, all_alike = true;
  for (auto& v : operands) {
    PyTypeObject* const type = number_type(v);
    if (!type) return nullptr;
    floats = floats || type == &PyFloat_Type;
    all_alike = all_alike && type == number_type(operands[0]);
  }
  const std::size_t n = operands.size();
  if (is_among(kComparing, name)) return n == 2 ? &PyBool_Type : nullptr;
  if (name == "float") return n == 1 ? &PyFloat_Type : nullptr;
  if (name == "int") return n == 1 ? &PyLong_Type : nullptr;
  if (name == "round") return n == 1 || number_type(operands[0]) != &PyFloat_Type ? &PyLong_Type : &PyFloat_Type;
  if (name == "bool" || name == "truth") return n == 1 ? &PyBool_Type : nullptr;
  if (name == "truediv") return n == 2 ? &PyFloat_Type : nullptr;
  if (name == "pow") return n == 2 ? type_of_power(operands) : nullptr;
  if (name == "max" || name == "min") return n >= 2 && all_alike ? number_type(operands[0]) : nullptr;
  if (is_among(kSameType, name)) return floats ? &PyFloat_Type : &PyLong_Type;
  if (is_among(kBitwise, name)) return floats || number_type(operands[0]) == &PyBool_Type ? nullptr : &PyLong_Type;
  return nullptr;
}

// The number the function gives now; null: it fails, or gives something else than was expected.
PyRef value_now(PyObject* function, const std::vector<ValueRef>& operands, PyTypeObject* type) {
  std::vector<PyRef> held;
  std::vector<PyObject*> given;
  for (auto& v : operands) {
    auto* n = as<NumberValue>(v);
    auto* s = as<SizeValue>(v);
    held.push_back(n ? n->hint : s ? checked(PyLong_FromLongLong(hint(s->size))) : v->real);
    given.push_back(held.back().get());
  }
  PyRef made = PyRef::steal(PyObject_Vectorcall(function, given.data(), given.size(), nullptr));
  clear_answer();
  if (!made || Py_TYPE(made.get()) != type) return {};
  int overflow = 0;
  if (PyLong_Check(made.get())) (void)PyLong_AsLongLongAndOverflow(made.get(), &overflow);
  return overflow ? PyRef() : made;
}

bool is_known_operand(const ValueRef& v) {
  if (v->kind == ValueKind::Constant) return number_type(v) != nullptr;
  auto* n = as<NumberValue>(v);
  return n ? n->of_plan && n->hint : is_known_size(v);
}

// A number of known ones; null: the function goes by constants.
ValueRef known_number(Tracer& t, PyObject* function, const std::vector<ValueRef>& operands, PyTypeObject* type) {
  if (!type || t.config.specialize_float || operands.size() > 4) return {};
  if (!std::ranges::all_of(operands, is_known_operand)) return {};
  PyRef now = value_now(function, operands, type);
  if (!now) return {};
  t.sizes.has_numbers = true;
  auto made = make_ref<NumberValue>(type, PyRef::borrow(function), operands);
  made->hint = std::move(now);
  made->tracer = &t;
  return made;
}

// int(n / 2), floor(n * 0.5) and ceil(n / 2) of a size are sizes.
ValueRef size_of_quotient(Tracer& t, std::string_view name, const ValueRef& v) {
  auto* n = as<NumberValue>(v);
  if (!n || !n->hint || !n->function || n->operands.size() != 2) return {};
  const std::string by = name_of_function(n->function.get());
  auto* size = as<SizeValue>(n->operands[0]);
  PyObject* const c = n->operands[1]->real.get();
  if (!size || n->operands[1]->kind != ValueKind::Constant || guard_lt(size->size, Size(0))) return {};
  std::int64_t divisor = 0;
  if (by == "truediv" && (PyLong_CheckExact(c) || PyFloat_CheckExact(c))) {
    const double d = PyFloat_CheckExact(c) ? PyFloat_AS_DOUBLE(c) : PyLong_AsDouble(c);
    if (d >= 1 && d < 0x1p31 && d == static_cast<double>(static_cast<std::int64_t>(d)))
      divisor = static_cast<std::int64_t>(d);
  } else if (by == "mul" && PyFloat_CheckExact(c)) {  // by a half, a quarter, ...: exact
    for (std::int64_t power = 2; power <= 1 << 20; power *= 2)
      if (PyFloat_AS_DOUBLE(c) == 1.0 / static_cast<double>(power)) divisor = power;
  }
  clear_answer();
  if (divisor == 0) return {};
  const Size d(divisor);
  return size_value(t, name == "ceil" ? floordiv(size->size + Size(divisor - 1), d) : floordiv(size->size, d));
}

bool is_of_module(PyObject* function, const char* module) {
  const PyRef owner = PyRef::steal(PyObject_GetAttrString(function, "__module__"));
  if (!owner) clear_answer();
  return owner && PyUnicode_Check(owner.get()) && PyUnicode_CompareWithASCIIString(owner.get(), module) == 0;
}

bool is_math_function(PyObject* function) {
  return PyCFunction_Check(function) && PyCFunction_GET_SELF(function) &&
         PyModule_Check(PyCFunction_GET_SELF(function)) && is_of_module(function, "math");
}

// What looks at a value's type or hands it on has rules of its own.
bool only_looks(std::string_view name) {
  static constexpr std::string_view kLook[] = {
      "isinstance", "type",      "id",  "print", "callable", "hasattr",   "getattr",    "tuple", "list",
      "iter",       "len",       "sum", "any",   "all",      "sorted",    "zip",        "map",   "filter",
      "super",      "enumerate", "set", "dict",  "slice",    "frozenset", "issubclass", "vars",  "dir"};
  return is_among(kLook, name);
}

ValueRef call_on_drawn(Tracer& t, PyObject* function, const std::string& name, const CallArgs& args,
                       std::vector<ValueRef> operands) {
  const bool in_operator = is_of_module(function, "_operator");
  const bool operates = is_among(kComparing, name) || is_among(kSameType, name) || is_among(kBitwise, name) ||
                        name == "truediv" || name == "pow";
  if (in_operator && args.keywords.empty() && operates) return number_operator(t, name, operands);
  const bool of_math = is_math_function(function);
  if ((!in_operator && !of_math && !is_of_module(function, "builtins")) || only_looks(name)) return {};
  PyTypeObject* type = args.keywords.empty() ? type_of_result(name, operands) : nullptr;
  if (!type && of_math && args.keywords.empty()) type = type_by_math(name);
  if (!type || !(t.config.trace_more || is_among(kKept, name))) {
    if (name == "max" || name == "min") return {};
    graph_break<GB0178>(repr_of(function), print_list(operands));
  }
  auto made = make_ref<NumberValue>(type, PyRef::borrow(function), std::move(operands));
  made->drawn = true;
  return made;
}

}  // namespace

void break_on_drawn(const std::string& name, const std::vector<ValueRef>& operands) {
  graph_break<GB0213>("BuiltinVariable(" + name + ")", print_list(operands), std::string("{}"));
}

ValueRef number_operator(Tracer& t, const std::string& name, const std::vector<ValueRef>& operands) {
  const bool in_place = name.size() > 3 && name[0] == 'i' && name != "invert";
  const std::string plain = in_place ? name.substr(1) : name;
  if (std::ranges::any_of(operands, is_item_number)) return item_operator(t, plain, operands);
  PyTypeObject* const type = type_of_result(plain, operands);
  if (type && type != &PyLong_Type && std::ranges::any_of(operands, is_open_size))
    return item_operator(t, plain, operands);
  if (std::ranges::none_of(operands, is_drawn)) {
    const PyRef function = type ? operator_function(plain) : PyRef();
    return known_number(t, function.get(), operands, type);
  }
  const bool compares = is_among(kComparing, name);
  if (compares && !type) return {};
  if (!compares && !t.config.trace_more) break_on_drawn(name, operands);
  if (!type) return {};
  auto made = make_ref<NumberValue>(type, operator_function(plain), operands);
  made->drawn = true;
  return made;
}

ValueRef number_compare(Tracer& t, const ValueRef& a, const ValueRef& b, int op) {
  const auto is_float = [](const ValueRef& v) {
    return v->kind == ValueKind::Constant && PyFloat_CheckExact(v->real.get());
  };
  const bool of_size = (a->kind == ValueKind::Size && is_float(b)) || (is_float(a) && b->kind == ValueKind::Size);
  if (!of_size && a->kind != ValueKind::Number && b->kind != ValueKind::Number) return {};
  return number_operator(t, std::string(kComparing[op]), {a, b});
}

ValueRef call_on_numbers(Tracer& t, PyObject* function, const CallArgs& args) {
  const bool of_math = is_math_function(function), converts = function == reinterpret_cast<PyObject*>(&PyFloat_Type);
  const auto is_number = [](const ValueRef& v) { return plan_number(v) || is_item_number(v); };
  if (!of_math && !converts && std::ranges::none_of(args.positional, is_number)) return {};
  std::vector<ValueRef> operands;
  for (auto& a : args.positional) operands.push_back(t.realize(a));
  const auto is_size = [](const ValueRef& v) { return v->kind == ValueKind::Size; };
  const bool of_sizes = (of_math || converts) && std::ranges::any_of(operands, is_size);
  if (!of_sizes && std::ranges::none_of(operands, is_number)) return {};
  const std::string name = name_of_function(function);
  if (std::ranges::any_of(operands, is_drawn)) return call_on_drawn(t, function, name, args, std::move(operands));
  if (!args.keywords.empty() || only_looks(name)) return {};
  const bool by_graph = std::ranges::any_of(operands, is_item_number) || std::ranges::any_of(operands, is_open_size);
  if (by_graph) {
    if (is_of_module(function, "_operator")) return item_operator(t, name, operands);
    return of_math || is_of_module(function, "builtins") ? item_function(t, name, operands) : ValueRef();
  }
  const bool cuts = name == "int" || name == "floor" || name == "trunc" || name == "ceil";
  if (cuts && operands.size() == 1)
    if (ValueRef size = size_of_quotient(t, name, operands[0])) return size;
  if (of_math) return known_number(t, function, operands, type_by_math(name));
  if (is_of_module(function, "_operator")) return number_operator(t, name, operands);
  if (!is_of_module(function, "builtins")) return {};
  return known_number(t, function, operands, type_of_result(name, operands));
}

}  // namespace md
