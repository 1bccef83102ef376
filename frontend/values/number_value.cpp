// Numbers the plan computes: how they become inputs of the graph, steps of the plan, and assumptions.
#include "frontend/values/number_value.h"

#include <algorithm>
#include <optional>

#include "frontend/cpython/frame_access.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/plan/plan.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/tensors/tensor_parts.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/number_functions.h"
#include "frontend/values/scalar_outputs.h"
#include "frontend/values/size_value.h"
#include "frontend/values/tensor.h"
#include "ir/core/error.h"

namespace md {

namespace {

// Turns a value into an expression of inputs, and its text.
struct ExprBuilder {
  NumberTest& test;

  std::string float_at(NumberExpr& e, const NumberValue& n) {
    const SourceRef source = n.source;
    const auto at = std::ranges::find(test.floats, source);
    e.place = static_cast<int>(at - test.floats.begin());
    if (at == test.floats.end()) test.floats.push_back(source);
    return source->name + (n.of_element ? ".item()" : "");
  }

  std::string build(NumberExpr& e, const ValueRef& v) {
    if (auto* size = as<SizeValue>(v)) {
      e.size = size->size;
      test.sizes.push_back(size->size);
      return to_string(size->size);
    }
    auto* n = as<NumberValue>(v);
    if (!n) {
      e.constant = v->real;
      return constant_repr(v->real.get());
    }
    if (n->source) return float_at(e, *n);
    e.function = n->function;
    std::string text;
    for (auto& operand : n->operands) {
      auto part = std::make_shared<NumberExpr>();
      text += (text.empty() ? "" : ", ") + build(*part, operand);
      e.operands.push_back(std::move(part));
    }
    return name_of_function(n->function.get()) + "(" + text + ")";
  }
};

// From here on the number is `expected`, in this trace and by a guard.
void assume(const NumberValue& n, const PyRef& expected) {
  Tracer& t = *n.tracer;
  if (n.source && !n.of_element) return t.guard(GuardKind::EqualsMatch, n.source, expected);
  auto test = std::make_shared<NumberTest>();
  auto expression = std::make_shared<NumberExpr>();
  ExprBuilder builder{*test};
  test->text =
      builder.build(*expression, ValueRef(const_cast<NumberValue*>(&n))) + " == " + constant_repr(expected.get());
  test->expression = std::move(expression);
  test->expected = expected;
  if (test->floats.empty() && test->sizes.empty()) return;
  assume_number(t, std::move(test));
}

}  // namespace

std::string NumberValue::print() const { return drawn ? "UnspecializedPythonVariable()" : "SymNodeVariable()"; }

PyRef NumberValue::as_constant() const {
  if (drawn) graph_break<GB0178>(std::string("<built-in function index>"), "[" + print() + "]");
  if (!hint) throw DataDependent(DataDependent::What::Element, "arithmetic on a float that is read from a tensor");
  assume(*this, hint);
  return hint;
}

bool NumberValue::truth(Tracer&) {
  if (!hint) graph_break<GB0170>(print());
  const int truth = PyObject_IsTrue(hint.get());
  if (truth < 0) throw PythonError{};
  if (type == &PyBool_Type) {
    assume(*this, hint);
  } else {
    const PyRef answer = PyRef::borrow(truth ? Py_True : Py_False);
    const auto asked =
        make_ref<NumberValue>(&PyBool_Type, operator_function("truth"), std::vector<ValueRef>{ValueRef(this)});
    asked->tracer = tracer;
    assume(*asked, answer);
  }
  return truth != 0;
}

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
  if (source && !of_element) return b.load_source(source);
  b.plan.calls_first = true;  // it may fail, or be another one once the graph has run
  PlanStep s{StepOp::Call};
  s.a = b.load_constant(of_element ? PyRef::borrow(own_attribute(tensor_type, "item")) : function);
  if (of_element) s.regs.push_back(b.load_source(source));
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

namespace {

DType dtype_of_number(const NumberValue& n) {
  return n.type == &PyFloat_Type ? DType::Float64 : n.type == &PyLong_Type ? DType::Int64 : DType::Bool;
}

}  // namespace

// One input for all values of one place.
static NumberValue* same_input(const Tracer& t, const NumberValue& n) {
  for (auto& v : t.effects.deferred)
    if (auto* other = as<NumberValue>(v); other && n.source && other->source == n.source) return other;
  return nullptr;
}

Node* graph_number(Tracer& t, NumberValue& n) {
  if (n.node) return n.node;
  if (NumberValue* known = same_input(t, n)) return n.node = known->node;
  // No guard looks at its place, which is there for its name. A float is no memory that others could share.
  PyRef token = checked(PyFloat_FromDouble(1.0));
  const auto numbers = std::ranges::count_if(t.effects.deferred, [](auto& v) { return v->kind == ValueKind::Number; });
  const std::string kind = n.call ? "random_value_" : "number_";
  const SourceRef place =
      t.recorder.sources.constant(token.get(), n.source ? n.source->name : kind + std::to_string(numbers));
  const DType dtype = dtype_of_number(n);
  TensorRef example = tensor_from_data(n.hint ? n.hint.get() : token.get(), &dtype);
  example->wrapped_number = true;
  n.input = t.recorder.sources.child(place, SourceKind::ArrayTensor);
  const ValueRef input = t.input_tensor(wrap_tensor(std::move(example)).get(), n.input);
  t.effects.deferred.push_back(ValueRef(&n));
  return n.node = as<TensorValue>(input)->node;
}

ValueRef dynamic_float(Tracer& t, PyObject* value, SourceRef source) {
  if (!is_dynamic_float(t, PyFloat_AS_DOUBLE(value), source)) return {};
  t.sizes.has_numbers = true;
  t.guard(GuardKind::TypeMatch, source, PyRef::borrow(reinterpret_cast<PyObject*>(&PyFloat_Type)));
  auto made = make_ref<NumberValue>(t, source, PyRef::borrow(value));
  made->real = made->hint;
  return made;
}

void plan_graph_numbers(PlanBuilder& b) {
  for (auto& v : b.tracer.effects.deferred)
    if (auto* n = as<NumberValue>(v)) {
      b.plan.numbers.emplace_back(n->input, b.rebuild(v));
      b.plan.calls_first = b.plan.calls_first || !n->source || n->of_element;
    }
}

namespace {

NumberValue* number_of_node(const Tracer& t, const Node* node) {
  for (auto& v : t.effects.deferred)
    if (auto* n = as<NumberValue>(v); n && n->node == node) return n;
  return nullptr;
}

bool settle_number(Tracer& t, Arg& a) {
  if (auto* l = std::get_if<ListArg>(&a.v)) {
    bool any = false;
    for (Arg& x : l->items) any |= settle_number(t, x);
    return any;
  }
  if (auto* s = std::get_if<SliceArg>(&a.v)) {
    auto parts = std::make_shared<std::vector<Arg>>(*s->parts);
    bool any = false;
    for (Arg& x : *parts) any |= settle_number(t, x);
    s->parts = std::move(parts);
    return any;
  }
  Node* const* n = std::get_if<Node*>(&a.v);
  if (!n || (*n)->kind != NodeKind::Placeholder || !(*n)->type().wrapped_number) return false;
  if (NumberValue* known = number_of_node(t, *n); known && known->hint) {
    a = to_arg(known->as_constant().get());
    return true;
  }
  const ValueRef number = t.tensor_value(*n);
  Size read;
  if ((*n)->type().dtype != DType::Int64 || !as_size(item_of(t, *as<TensorValue>(number)), read)) return false;
  a = read;
  return true;
}

}  // namespace

bool settle_numbers(Tracer& t, std::vector<Arg>& args, KwArgs& kwargs) {
  bool any = false;
  for (Arg& a : args) any |= settle_number(t, a);
  for (auto& [name, a] : kwargs) any |= settle_number(t, a);
  return any;
}

namespace {

// What the numbers of nested lists are together.
struct CommonType {
  std::optional<DType> dtype;
  bool traced = false;  // some are numbers of the plan, or tensors
};

bool takes_number(const Value& v, DType& dtype) {
  if (v.kind == ValueKind::Tensor) {
    const TensorType& type = static_cast<const TensorValue&>(v).type;
    dtype = type.dtype;
    return type.sizes.empty();
  }
  if (v.kind != ValueKind::Number && v.kind != ValueKind::Size && v.kind != ValueKind::Constant) return false;
  PyTypeObject* const type = v.python_type();
  dtype = type == &PyFloat_Type ? default_dtype() : type == &PyLong_Type ? DType::Int64 : DType::Bool;
  return type == &PyFloat_Type || type == &PyLong_Type || type == &PyBool_Type;
}

// False: something is no number.
bool add_types(Tracer& t, const ValueRef& raw, CommonType& common) {
  if (is_stack_short()) return false;  // nested too deep, or in itself
  const ValueRef v = t.realize(raw);
  auto* list = as<ListValue>(v);
  auto* tuple = as<TupleValue>(v);
  if (list || tuple)
    return std::ranges::all_of(list ? list->items : tuple->items,
                               [&](const ValueRef& item) { return add_types(t, item, common); });
  DType dtype;
  if (!takes_number(*v, dtype)) return false;
  common.traced = common.traced || plan_number(v) || v->kind == ValueKind::Tensor || v->kind == ValueKind::Size;
  common.dtype = common.dtype ? promote(*common.dtype, dtype) : dtype;
  return true;
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
  if (v->kind == ValueKind::Tensor) {
    const ValueRef apart = t.call_op("detach", Spelling::Method, CallArgs{{v}, {}});
    return t.call_op("to", Spelling::Method, CallArgs{{apart, dtype}, {}});
  }
  auto* n = as<NumberValue>(v);
  if (!n) {
    const ValueRef shape = make_ref<TupleValue>(std::vector<ValueRef>{});
    return t.call_op("full", Spelling::Function, CallArgs{{shape, v}, {named("dtype", dtype)}});
  }
  const ValueRef copy = t.call_op("clone", Spelling::Method, CallArgs{{v}, {}});
  return t.call_op("to", Spelling::Method, CallArgs{{copy, dtype}, {}});
}

// Whether no keyword but `dtype`, which goes to `given`, and a `device` that is the CPU.
bool reads_dtype(Tracer& t, const CallArgs& args, ValueRef& given) {
  for (const auto& [key, raw] : args.keywords) {
    const std::string name = text_of(key.get());
    const ValueRef v = t.realize(raw);
    const PyRef value = v->as_constant();
    DType dtype;
    if (!value) return false;
    if (value.get() == Py_None && (name == "dtype" || name == "device")) continue;
    if (name == "device" && text_of(value.get()) == "cpu") continue;
    if (name != "dtype" || !as_dtype(value.get(), dtype)) return false;
    given = v;
  }
  return true;
}

}  // namespace

ValueRef tensor_of_tensor(Tracer& t, const CallArgs& args, bool copy) {
  if (args.positional.size() != 1 || args.positional[0]->kind != ValueKind::Tensor) return {};
  ValueRef dtype;
  if (!reads_dtype(t, args, dtype)) return {};
  ValueRef made = args.positional[0];
  if (copy) made = t.call_op("clone", Spelling::Method, CallArgs{{made}, {}});
  if (copy) made = t.call_op("detach", Spelling::Method, CallArgs{{made}, {}});
  return dtype ? t.call_op("to", Spelling::Method, CallArgs{{made, dtype}, {}}) : made;
}

ValueRef tensor_of_numbers(Tracer& t, const CallArgs& args) {
  ValueRef given;
  if (args.positional.size() != 1 || !reads_dtype(t, args, given)) return {};
  CommonType common;
  if (!add_types(t, args.positional[0], common) || !common.traced || !common.dtype) return {};
  return stacked(t, args.positional[0], given ? given : t.constant(dtype_object(*common.dtype)));
}

}  // namespace md
