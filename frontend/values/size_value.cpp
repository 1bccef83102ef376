// Arithmetic and comparisons of symbolic ints, and symbols for int inputs.
#include "frontend/values/size_value.h"

#include "frontend/cpython/import_module.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/plan/plan.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/dynamic_sizes.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/element_walk.h"
#include "frontend/values/scalar_outputs.h"
#include "ir/core/error.h"
#include "ir/sizes/assumptions.h"
#include "ir/sizes/shape_env.h"

namespace md {

PyTypeObject* SizeValue::python_type() const { return &PyLong_Type; }

PyRef SizeValue::as_constant() const {
  const std::int64_t value = hint(size);
  if (!guard_eq(size, Size(value))) throw InternalError("a size differs from its own value");
  return checked(PyLong_FromLongLong(value));
}

ValueRef SizeValue::get_attr(Tracer& t, PyObject* name) {
  const std::string n = text_of(name);
  if (n == "real" || n == "numerator") return ValueRef(this);
  if (n == "imag") return t.integer(0);
  if (n == "denominator") return t.integer(1);
  if (n == "__class__") return t.from_object(reinterpret_cast<PyObject*>(&PyLong_Type), nullptr);
  if (!has_attr(t, name)) t.raise(PyExc_AttributeError, "'int' object has no attribute '" + n + "'");
  return make_ref<BoundAttrValue>(ValueRef(this), PyRef::borrow(name));
}

bool SizeValue::has_attr(Tracer&, PyObject* name) { return type_find(&PyLong_Type, name) != nullptr; }

ValueRef SizeValue::call_method(Tracer& t, PyObject* name, CallArgs args) {
  const std::string n = text_of(name);
  if ((n == "__int__" || n == "__index__" || n == "conjugate") && args.size() == 0) return ValueRef(this);
  if (n == "__bool__" && args.size() == 0) return t.boolean(truth(t));
  if (n.starts_with("__")) return t.constant(as_constant())->call_method(t, name, std::move(args));
  if (n == "as_integer_ratio" && args.size() == 0)
    return make_ref<TupleValue>(std::vector<ValueRef>{ValueRef(this), t.integer(1)});
  get_attr(t, name);  // AttributeError
  if (!t.config.trace_more) listed_break<GB0081>(n, std::string("SymInt"));
  return t.constant(as_constant())->call_method(t, name, std::move(args));
}

bool SizeValue::truth(Tracer&) { return !guard_eq(size, Size(0)); }

Reg SizeValue::rebuild(PlanBuilder& b) {
  if (source) return b.load_source(source);
  return b.evaluate_size(size);
}

// --- comparisons ------------------------------------------------------------------------------------------------

PyTypeObject* SizeTestValue::python_type() const { return &PyBool_Type; }

PyRef SizeTestValue::as_constant() const {
  throw DataDependent(DataDependent::What::Size, "a comparison of sizes is not known while tracing");
}

bool SizeTestValue::truth(Tracer&) { graph_break<GB0170>(print()); }

Reg SizeTestValue::rebuild(PlanBuilder& b) {
  static constexpr const char* kNames[] = {"lt", "le", "eq", "ne", "gt", "ge"};  // by Py_LT ... Py_GE
  PyRef module = checked(import_module("operator"));
  PlanStep call{StepOp::Call};
  call.a = b.load_constant(checked(PyObject_GetAttrString(module.get(), kNames[op])));
  call.regs = {b.evaluate_size(lhs), b.evaluate_size(rhs)};
  return b.step(std::move(call));
}

ValueRef size_value(Tracer& t, Size s) {
  if (s.is_const()) return t.integer(s.value());
  s = s.expr()->env->simplify(s);
  return s.is_const() ? t.integer(s.value()) : ValueRef(make_ref<SizeValue>(s));
}

bool as_size(const ValueRef& v, Size& out) {
  if (auto* s = as<SizeValue>(v)) {
    out = s->size;
    return true;
  }
  std::int64_t value;
  if (v->kind != ValueKind::Constant || !constant_int(v, value)) return false;
  out = Size(value);
  return true;
}

bool holds_size(const ValueRef& raw) {
  ValueRef v = raw;
  if (auto* lazy = as<LazyValue>(v); lazy && lazy->realized) v = lazy->realized;
  if (v->kind == ValueKind::Size) return true;
  if (auto* s = as<SliceValue>(v)) return holds_size(s->start) || holds_size(s->stop) || holds_size(s->step);
  const std::vector<ValueRef>* items = nullptr;
  if (auto* l = as<ListValue>(v)) items = &l->items;
  if (auto* tuple = as<TupleValue>(v)) items = &tuple->items;
  if (!items) return false;
  const ElementWalk walk(v.get());
  if (walk.ends()) return false;
  for (auto& x : *items)
    if (holds_size(x)) return true;
  return false;
}

namespace {

constexpr std::int64_t kLargestPower = 8;

// n ** 2 as n * n; larger or symbolic exponents are not size arithmetic.
bool size_power(Size base, Size exponent, Size& out) {
  if (!exponent.is_const() || exponent.value() < 0 || exponent.value() > kLargestPower) return false;
  out = 1;
  for (std::int64_t k = 0; k < exponent.value(); ++k) out = out * base;
  return true;
}

}  // namespace

ValueRef size_binary(Tracer& t, const ValueRef& a, const ValueRef& b, const std::string& name) {
  if (a->kind != ValueKind::Size && b->kind != ValueKind::Size) return {};
  Size x, y, out;
  if (!as_size(a, x) || !as_size(b, y)) return {};
  const bool divides = name == "floordiv" || name == "mod";
  if (divides && guard_eq(y, Size(0))) return {};  // the constants raise
  if (name == "add")
    out = x + y;
  else if (name == "sub")
    out = x - y;
  else if (name == "mul")
    out = x * y;
  else if (name == "floordiv")
    out = floordiv(x, y);
  else if (name == "mod")
    out = mod(x, y);
  else if (name != "pow" || !size_power(x, y, out))
    return {};
  return size_value(t, out);
}

static bool holds_under_hints(Size x, Size y, int op) {
  switch (op) {
    case Py_LT:
      return guard_lt(x, y);
    case Py_LE:
      return !guard_lt(y, x);
    case Py_EQ:
      return guard_eq(x, y);
    case Py_NE:
      return !guard_eq(x, y);
    case Py_GT:
      return guard_lt(y, x);
    default:
      return !guard_lt(x, y);
  }
}

std::string TracedSizes::Test::text() const {
  static const char* const signs[] = {"<", "<=", "==", "!=", ">", ">="};
  return to_string(lhs) + " " + signs[op] + " " + to_string(rhs);
}

// Functions of nn and the like, whose branches on sizes the program does not see.
static bool is_code_of_package(const SymbolicFrame& f) {
  PyObject* const module = PyDict_GetItemString(f.globals.get(), "__name__");
  return module && PyUnicode_Check(module) && text_of(module).starts_with("minidynamo.");
}

ValueRef size_compare(Tracer& t, const ValueRef& a, const ValueRef& b, int op) {
  if (a->kind != ValueKind::Size && b->kind != ValueKind::Size) return {};
  Size x, y;
  if (!as_size(a, x) || !as_size(b, y)) return {};
  const SymbolicFrame& f = t.frame();
  t.sizes.test = {f.body.get(), f.instruction().pos.line, x, y, op};
  try {
    return t.boolean(holds_under_hints(x, y, op));
  } catch (const DataDependent&) {
    if (!is_code_of_package(f)) return make_ref<SizeTestValue>(x, y, op);
    SizeAssumptions assumed;  // which the graph checks
    const bool holds = holds_under_hints(x, y, op);
    check_assumed(t, assumed.made());
    return t.boolean(holds);
  }
}

ValueRef dynamic_int(Tracer& t, PyObject* value, SourceRef source) {
  const std::optional<Size> symbol = int_symbol(t, value, source);
  if (!symbol) return {};
  auto v = make_ref<SizeValue>(*symbol);
  v->source = source;
  v->real = PyRef::borrow(value);
  return v;
}

}  // namespace md
