// Numbers the plan computes: what is known of their types, how they become inputs of the graph and steps of the plan.
#include "frontend/values/number_value.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "frontend/cpython/import_module.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/plan/plan.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/tensors/tensor_parts.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/scalar_outputs.h"
#include "frontend/values/size_value.h"
#include "frontend/values/tensor.h"
#include "ir/core/error.h"

namespace md {

std::string NumberValue::print() const { return drawn ? "UnspecializedPythonVariable()" : "SymNodeVariable()"; }

PyRef NumberValue::as_constant() const {
  if (drawn) graph_break<GB0178>(std::string("<built-in function index>"), "[" + print() + "]");
  throw DataDependent(DataDependent::What::Element, "arithmetic on a float that is read from a tensor");
}

bool NumberValue::truth(Tracer&) { graph_break<GB0170>(print()); }

Reg NumberValue::rebuild(PlanBuilder& b) {
  if (!of_plan) {
    PlanStep method{StepOp::GetAttr};
    method.a = b.graph_output(node);
    method.object = checked(PyUnicode_InternFromString("item"));
    PlanStep read{StepOp::Call};
    read.a = b.step(std::move(method));
    return b.step(std::move(read));
  }
  if (call) throw InternalError("a drawn number was not planned");
  PlanStep s{StepOp::Call};
  s.a = b.load_constant(function);
  for (auto& v : operands) s.regs.push_back(b.rebuild(v));
  s.out = b.plan.registers++;
  const Reg out = s.out;
  b.plan.calls.push_back(std::move(s));
  return out;
}

NumberValue* plan_number(const ValueRef& raw) {
  const ValueRef seen = raw ? raw->realized_as() : ValueRef();
  auto* n = as<NumberValue>(seen ? seen : raw);
  return n && n->of_plan ? n : nullptr;
}

// --- the graph
// --------------------------------------------------------------------------------------------------------

namespace {

DType dtype_of_number(const NumberValue& n) {
  return n.type == &PyFloat_Type ? DType::Float64 : n.type == &PyLong_Type ? DType::Int64 : DType::Bool;
}

}  // namespace

Node* graph_number(Tracer& t, NumberValue& n) {
  if (n.node) return n.node;
  // No guard looks at its place, which is there for its name. A float is no memory that others could share.
  PyRef token = checked(PyFloat_FromDouble(1.0));
  const auto numbers = std::ranges::count_if(t.effects.deferred, [](auto& v) { return v->kind == ValueKind::Number; });
  const std::string name = "random_value_" + std::to_string(numbers);
  const SourceRef place = t.recorder.sources.constant(token.get(), name);
  const DType dtype = dtype_of_number(n);
  TensorRef example = tensor_from_data(token.get(), &dtype);
  example->wrapped_number = true;
  n.input = t.recorder.sources.child(place, SourceKind::ArrayTensor);
  const ValueRef input = t.input_tensor(wrap_tensor(std::move(example)).get(), n.input);
  t.effects.deferred.push_back(ValueRef(&n));
  return n.node = as<TensorValue>(input)->node;
}

void plan_graph_numbers(PlanBuilder& b) {
  for (auto& v : b.tracer.effects.deferred)
    if (auto* n = as<NumberValue>(v)) b.plan.numbers.emplace_back(n->input, b.rebuild(v));
}

namespace {

bool is_int_input(const Node* n) {
  return n->kind == NodeKind::Placeholder && n->type().wrapped_number && n->type().dtype == DType::Int64;
}

bool read_as_size(Tracer& t, Arg& a) {
  if (auto* l = std::get_if<ListArg>(&a.v)) {
    bool any = false;
    for (Arg& x : l->items) any |= read_as_size(t, x);
    return any;
  }
  if (auto* s = std::get_if<SliceArg>(&a.v)) {
    auto parts = std::make_shared<std::vector<Arg>>(*s->parts);
    bool any = false;
    for (Arg& x : *parts) any |= read_as_size(t, x);
    s->parts = std::move(parts);
    return any;
  }
  Node* const* n = std::get_if<Node*>(&a.v);
  if (!n || !is_int_input(*n)) return false;
  const ValueRef number = t.tensor_value(*n);
  Size read;
  if (!as_size(item_of(t, *as<TensorValue>(number)), read)) return false;
  a = read;
  return true;
}

}  // namespace

bool numbers_as_sizes(Tracer& t, std::vector<Arg>& args, KwArgs& kwargs) {
  bool any = false;
  for (Arg& a : args) any |= read_as_size(t, a);
  for (auto& [name, a] : kwargs) any |= read_as_size(t, a);
  return any;
}

namespace {

// The type the numbers have together; null: one is no number. `any`: some are numbers of the plan.
PyTypeObject* common_type(Tracer& t, const ValueRef& raw, bool& any) {
  const ValueRef v = t.realize(raw);
  auto* list = as<ListValue>(v);
  auto* tuple = as<TupleValue>(v);
  any = any || plan_number(v);
  if (!list && !tuple)
    return v->kind == ValueKind::Number || v->kind == ValueKind::Constant ? v->python_type() : nullptr;
  PyTypeObject* common = nullptr;
  for (auto& item : list ? list->items : tuple->items) {
    PyTypeObject* const type = common_type(t, item, any);
    if (type != &PyFloat_Type && type != &PyLong_Type && type != &PyBool_Type) return nullptr;
    if (!common || common == &PyBool_Type || type == &PyFloat_Type) common = type;
  }
  return common;
}

ValueRef stacked(Tracer& t, const ValueRef& raw, const ValueRef& dtype) {
  const ValueRef v = t.realize(raw);
  auto* list = as<ListValue>(v);
  auto* tuple = as<TupleValue>(v);
  const auto named = [&](const char* name, const ValueRef& value) {
    return std::pair{checked(PyUnicode_InternFromString(name)), value};
  };
  if (list || tuple) {
    std::vector<ValueRef> parts;
    for (auto& item : list ? list->items : tuple->items) parts.push_back(stacked(t, item, dtype));
    return t.call_op("stack", Spelling::Function, CallArgs{{make_ref<ListValue>(std::move(parts))}, {}});
  }
  auto* n = as<NumberValue>(v);
  if (!n) {
    const ValueRef shape = make_ref<TupleValue>(std::vector<ValueRef>{});
    return t.call_op("full", Spelling::Function, CallArgs{{shape, v}, {named("dtype", dtype)}});
  }
  const ValueRef copy = t.call_op("clone", Spelling::Method, CallArgs{{v}, {}});
  return t.call_op("to", Spelling::Method, CallArgs{{copy, dtype}, {}});
}

}  // namespace

ValueRef tensor_of_numbers(Tracer& t, const CallArgs& args) {
  const auto is_dtype = [](const auto& k) { return text_of(k.first.get()) == "dtype"; };
  if (args.positional.size() != 1 || !std::ranges::all_of(args.keywords, is_dtype)) return {};
  bool any = false;
  PyTypeObject* const type = common_type(t, args.positional[0], any);
  if (!any || !type) return {};
  DType dtype = type == &PyFloat_Type ? default_dtype() : type == &PyLong_Type ? DType::Int64 : DType::Bool;
  if (!args.keywords.empty()) {
    const PyRef wanted = t.realize(args.keywords[0].second)->as_constant();
    if (!wanted || !as_dtype(wanted.get(), dtype)) return {};
  }
  return stacked(t, args.positional[0], t.constant(dtype_object(dtype)));
}

// --- functions
// --------------------------------------------------------------------------------------------------------

namespace {

bool is_one_of_names(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

constexpr std::string_view kTests[] = {"lt", "le", "eq", "ne", "gt", "ge"};
constexpr std::string_view kSameType[] = {"add", "sub", "mul", "floordiv", "mod", "neg", "pos", "abs", "max", "min"};
constexpr std::string_view kBits[] = {"and_", "or_", "xor", "lshift", "rshift", "invert"};
// Drawn numbers go through these; everything else breaks the graph, as the registry has it.
constexpr std::string_view kKept[] = {"abs", "max", "min", "float", "int", "bool"};

PyTypeObject* type_of_operand(const ValueRef& v) {
  PyTypeObject* type = v->python_type();
  return type == &PyFloat_Type || type == &PyLong_Type || type == &PyBool_Type ? type : nullptr;
}

// The exact type of what the function gives for numbers of these types; null: that depends on their values.
PyTypeObject* type_of_result(std::string_view name, const std::vector<ValueRef>& operands) {
  bool floats = false, all_alike = true;
  for (auto& v : operands) {
    PyTypeObject* const type = type_of_operand(v);
    if (!type) return nullptr;
    floats = floats || type == &PyFloat_Type;
    all_alike = all_alike && type == type_of_operand(operands[0]);
  }
  const std::size_t n = operands.size();
  if (is_one_of_names(kTests, name)) return n == 2 ? &PyBool_Type : nullptr;
  if (name == "float") return n == 1 ? &PyFloat_Type : nullptr;
  if (name == "int") return n == 1 ? &PyLong_Type : nullptr;
  if (name == "bool") return n == 1 ? &PyBool_Type : nullptr;
  if (name == "truediv") return n == 2 ? &PyFloat_Type : nullptr;
  if (name == "max" || name == "min") return n >= 2 && all_alike ? type_of_operand(operands[0]) : nullptr;
  if (is_one_of_names(kSameType, name)) return floats ? &PyFloat_Type : &PyLong_Type;
  if (is_one_of_names(kBits, name))
    return floats || type_of_operand(operands[0]) == &PyBool_Type ? nullptr : &PyLong_Type;
  return nullptr;
}

PyRef operator_function(const std::string& name) {
  return checked(PyObject_GetAttrString(checked(import_module("operator")).get(), name.c_str()));
}

}  // namespace

void break_on_drawn(const std::string& name, const std::vector<ValueRef>& operands) {
  graph_break<GB0213>("BuiltinVariable(" + name + ")", print_list(operands), std::string("{}"));
}

ValueRef number_operator(Tracer& t, const std::string& name, const std::vector<ValueRef>& operands) {
  const auto drawn = [](const ValueRef& v) { return plan_number(v) && plan_number(v)->drawn; };
  if (!std::ranges::any_of(operands, drawn)) return {};
  PyTypeObject* const type = type_of_result(name, operands);
  const bool compares = is_one_of_names(kTests, name);
  if (compares && !type) return {};
  if (!compares && !t.config.trace_more) break_on_drawn(name, operands);
  if (!type) return {};
  auto made = make_ref<NumberValue>(type, operator_function(name), operands);
  made->drawn = true;
  return made;
}

ValueRef call_on_numbers(Tracer& t, PyObject* function, const CallArgs& args) {
  if (std::ranges::none_of(args.positional, [](const ValueRef& v) { return plan_number(v); })) return {};
  std::vector<ValueRef> operands;
  for (auto& a : args.positional) operands.push_back(t.realize(a));
  const PyRef found = PyRef::steal(PyObject_GetAttrString(function, "__name__"));
  const PyRef owner = PyRef::steal(PyObject_GetAttrString(function, "__module__"));
  clear_answer();
  if (!found || !owner || !PyUnicode_Check(found.get()) || !PyUnicode_Check(owner.get())) return {};
  const std::string name = text_of(found.get()), module = text_of(owner.get());
  if (module == "_operator" && args.keywords.empty() && name != "truth") {
    static constexpr std::string_view kBinary[] = {"truediv", "pow"};
    if (is_one_of_names(kTests, name) || is_one_of_names(kSameType, name) || is_one_of_names(kBits, name) ||
        is_one_of_names(kBinary, name))
      return number_operator(t, name, operands);
  }
  if (module != "builtins" && module != "math" && module != "_operator") return {};
  static constexpr std::string_view kLook[] = {"isinstance", "type",  "id",     "print", "callable", "hasattr",
                                               "getattr",    "tuple", "list",   "iter",  "len",      "sum",
                                               "any",        "all",   "sorted", "zip",   "map",      "filter",
                                               "enumerate",  "super", "set",    "dict",  "slice"};
  if (is_one_of_names(kLook, name)) return {};
  PyTypeObject* const type = args.keywords.empty() ? type_of_result(name, operands) : nullptr;
  if (!type || !(t.config.trace_more || is_one_of_names(kKept, name))) {
    const bool mixed = (name == "max" || name == "min");
    if (mixed) return {};
    graph_break<GB0178>(repr_of(function), print_list(operands));
  }
  auto made = make_ref<NumberValue>(type, PyRef::borrow(function), std::move(operands));
  made->drawn = true;
  return made;
}

}  // namespace md
