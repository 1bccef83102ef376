// Python's arithmetic on floats a graph reads from tensors, as float64 operations of the graph.
#include "frontend/values/item_numbers.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "frontend/cpython/import_module.h"
#include "frontend/tensors/tensor_parts.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/scalar_outputs.h"
#include "frontend/values/size_value.h"

namespace md {

bool is_item_number(const ValueRef& raw) {
  const ValueRef seen = raw ? raw->realized_as() : ValueRef();
  auto* n = as<NumberValue>(seen ? seen : raw);
  return n && !n->of_plan;
}

namespace {

ValueRef graph_call(Tracer& t, const char* op, std::vector<ValueRef> args) {
  return t.realize(t.call_op(op, Spelling::Function, CallArgs{std::move(args), {}}));
}

ValueRef graph_operator(Tracer& t, const std::string& name, std::vector<ValueRef> args) {
  return t.realize(t.call_operator(name, CallArgs{std::move(args), {}}));
}

ValueRef constant_in_graph(Tracer& t, const ValueRef& v) {
  const auto dtype = std::pair{checked(PyUnicode_InternFromString("dtype")), t.constant(dtype_object(DType::Float64))};
  const ValueRef scalar = make_ref<TupleValue>(std::vector<ValueRef>{});
  return t.realize(t.call_op("full", Spelling::Function, CallArgs{{scalar, v}, {dtype}}));
}

ValueRef real_number(Tracer& t, double value) { return t.constant(checked(PyFloat_FromDouble(value))); }

// The operand as a 0-d tensor of float64, or as a constant; null: it is neither float nor int.
ValueRef operand_in_graph(Tracer& t, const ValueRef& v) {
  if (auto* n = as<NumberValue>(v)) {
    // A number of the graph promotes as Python's numbers do; times a tensor it is one.
    const ValueRef number = t.tensor_value(n->of_plan ? graph_number(t, *n) : n->node);
    return graph_operator(t, "mul", {number, constant_in_graph(t, real_number(t, 1))});
  }
  if (v->kind == ValueKind::Size) return constant_in_graph(t, v);
  if (v->kind != ValueKind::Constant) return {};
  std::int64_t as_int;
  return PyFloat_CheckExact(v->real.get()) || constant_int(v, as_int) ? v : ValueRef();
}

ValueRef number_read(Tracer& t, const ValueRef& tensor) { return number_in(t, *as<TensorValue>(tensor)); }

void need_true(Tracer& t, const ValueRef& holds) { require_true(t, *as<TensorValue>(holds)); }

void need_finite(Tracer& t, const ValueRef& x) { need_true(t, graph_call(t, "isfinite", {x})); }

// Known while tracing; NaN: it is not.
double known_double(const ValueRef& v) {
  if (v->kind != ValueKind::Constant) return std::nan("");
  const double d = PyFloat_AsDouble(v->real.get());
  clear_answer();
  return d;
}

ValueRef quotient(Tracer& t, const std::string& name, const ValueRef& x, const ValueRef& by) {
  if (known_double(by) == 0) return {};
  if (by->kind != ValueKind::Constant) need_true(t, graph_operator(t, "ne", {by, real_number(t, 0)}));
  return number_read(t, graph_operator(t, name, {x, by}));
}

// Of a negative number a power may be complex, of zero it may not exist, and what is too large raises.
ValueRef power(Tracer& t, const ValueRef& x, const ValueRef& exponent) {
  const double e = known_double(exponent);
  if (std::isnan(e)) return {};
  const bool whole = e == std::floor(e);
  if (!whole || e < 0) need_true(t, graph_operator(t, "gt", {x, real_number(t, 0)}));
  const ValueRef made = graph_operator(t, "pow", {x, real_number(t, e)});
  need_finite(t, made);
  return number_read(t, made);
}

ValueRef whole_number(Tracer& t, const ValueRef& x) {
  need_true(t, graph_operator(t, "lt", {graph_call(t, "abs", {x}), real_number(t, 0x1p63)}));
  const ValueRef dtype = t.constant(dtype_object(DType::Int64));
  const ValueRef cut = t.realize(t.call_op("to", Spelling::Method, CallArgs{{x, dtype}, {}}));
  return item_of(t, *as<TensorValue>(cut));
}

// Python keeps the first of equal ones, and all of them have to be floats for the result to be one for sure.
ValueRef extremum_of_items(Tracer& t, const std::vector<ValueRef>& operands, bool largest) {
  if (operands.size() < 2) return {};
  ValueRef best;
  for (const ValueRef& v : operands) {
    if (v->python_type() != &PyFloat_Type) return {};
    ValueRef x = operand_in_graph(t, v);
    if (!x) return {};
    if (x->kind == ValueKind::Constant) x = constant_in_graph(t, x);
    best = best ? graph_call(t, "where", {graph_operator(t, largest ? "gt" : "lt", {x, best}), x, best}) : x;
  }
  return number_read(t, best);
}

// Functions of math and the op of the graph; what has to hold so that Python does not raise.
enum class Domain { All, NotNegative, Positive, Finite };
struct MathRow {
  std::string_view name;
  Domain domain;
};
constexpr MathRow kMathRows[] = {
    {"sqrt", Domain::NotNegative}, {"log", Domain::Positive}, {"log2", Domain::Positive}, {"log10", Domain::Positive},
    {"exp", Domain::Finite},       {"exp2", Domain::Finite},  {"expm1", Domain::Finite},  {"sin", Domain::Finite},
    {"cos", Domain::Finite},       {"tan", Domain::Finite},   {"tanh", Domain::All},      {"atan", Domain::All},
    {"sinh", Domain::Finite},      {"cosh", Domain::Finite},  {"asinh", Domain::All},     {"erf", Domain::All}};

ValueRef by_math_row(Tracer& t, const MathRow& row, const ValueRef& x) {
  if (row.domain == Domain::NotNegative) need_true(t, graph_operator(t, "ge", {x, real_number(t, 0)}));
  if (row.domain == Domain::Positive) need_true(t, graph_operator(t, "gt", {x, real_number(t, 0)}));
  const ValueRef made = graph_call(t, std::string(row.name).c_str(), {x});
  if (row.domain == Domain::Finite) need_finite(t, made);
  return number_read(t, made);
}

bool is_named(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

ValueRef item_operator(Tracer& t, const std::string& name, const std::vector<ValueRef>& operands) {
  std::vector<ValueRef> given;
  for (auto& v : operands) {
    given.push_back(operand_in_graph(t, v));
    if (!given.back()) return {};
  }
  if (given.size() == 1) {
    if (name == "pos") return operands[0];
    if (name == "neg") return number_read(t, graph_operator(t, "neg", {given[0]}));
    return name == "abs" ? number_read(t, graph_call(t, "abs", {given[0]})) : ValueRef();
  }
  if (given.size() != 2) return {};
  if (is_named(name, {"add", "sub", "mul"})) return number_read(t, graph_operator(t, name, given));
  if (is_named(name, {"truediv", "floordiv", "mod"})) return quotient(t, name, given[0], given[1]);
  if (name == "pow") return power(t, given[0], given[1]);
  if (is_named(name, {"lt", "le", "eq", "ne", "gt", "ge"}))
    return test_in(t, *as<TensorValue>(graph_operator(t, name, given)));
  return {};
}

ValueRef item_function(Tracer& t, const std::string& name, const std::vector<ValueRef>& operands) {
  if (name == "max" || name == "min") return extremum_of_items(t, operands, name == "max");
  if (operands.size() == 2 && name == "pow") return item_operator(t, name, operands);
  if (operands.size() != 1) return {};
  const bool of_int = operands[0]->kind == ValueKind::Size;
  if (name == "float" && !of_int) return operands[0];
  if (of_int && is_named(name, {"int", "trunc", "round", "floor", "ceil"})) return operands[0];
  const ValueRef x = operand_in_graph(t, operands[0]);
  if (name == "float") return number_read(t, x);
  if (name == "abs" || name == "fabs") return number_read(t, graph_call(t, "abs", {x}));
  if (name == "int" || name == "trunc") return whole_number(t, x);
  if (is_named(name, {"round", "floor", "ceil"})) return whole_number(t, graph_call(t, name.c_str(), {x}));
  if (is_named(name, {"isnan", "isinf", "isfinite"}))
    return test_in(t, *as<TensorValue>(graph_call(t, name.c_str(), {x})));
  for (const MathRow& row : kMathRows)
    if (row.name == name) return by_math_row(t, row, x);
  return {};
}

}  // namespace md
