// Supplies symbols while a traced op's result is inferred, captures items, and puts assertions into the graph.
#include "frontend/values/scalar_outputs.h"

#include <cstdlib>

#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/containers.h"
#include "frontend/values/input_elements.h"
#include "frontend/values/item_numbers.h"
#include "frontend/values/number_functions.h"
#include "frontend/values/size_value.h"
#include "frontend/values/tensor.h"
#include "ir/graph/op_ids.h"
#include "ir/infer/indexing.h"
#include "ir/infer/infer.h"
#include "ir/infer/inplace.h"
#include "ir/infer/unbacked.h"
#include "ir/sizes/assumptions.h"

namespace md {

Size unknown_size(Tracer& t, Node& n, SizeRange range) {
  const Size s = t.shapes().unbacked(range);
  t.sizes.places.push_back({});
  n.unbacked.push_back(s);
  return s;
}

namespace {

class TracedSymbols final : public UnbackedSupply {
 public:
  TracedSymbols(Tracer& t, Node& n, bool allowed) : t_(t), n_(n), allowed_(allowed) {}

  Size next(const Op& op, SizeRange range) override {
    if (!allowed_ && op.id != id::Position) throw DataDependent(DataDependent::What::Shape, op.public_name);
    return unknown_size(t_, n_, range);
  }

 private:
  Tracer& t_;
  Node& n_;
  bool allowed_;
};

// As the reference names the op that finds out the size.
std::string dynamic_op_name(const std::string& op) {
  const std::string name = op == "index" ? "nonzero" : op == "unique_parts" ? "_unique2" : op;
  return "aten." + name + (op == "repeat_interleave" ? ".Tensor" : ".default");
}

}  // namespace

namespace {

void append_check(Tracer& t, Size lhs, Size rhs, const char* relation) {
  Node n{NodeKind::Op};
  n.op = id::AssertSizes;
  n.target = n.name = "_check";
  n.args = {lhs, rhs, std::string(relation)};
  n.stack = t.user_stack();
  n.types = infer(op(n.op), n.args);
  ++t.graphs.calls_captured;
  t.graphs.current->append(std::move(n))->types[0].storage = t.graphs.next_storage++;
}

void append_check(Tracer& t, const SizeGuard& g) {
  static constexpr const char* kNames[] = {"eq", "ne", "lt", "ge"};  // by SizeRelation
  append_check(t, g.lhs, g.rhs, kNames[static_cast<int>(g.relation)]);
}

// What does not need the sizes that the node finds out is checked before it.
std::vector<SizeGuard> check_before(Tracer& t, const Node& n, const std::vector<SizeGuard>& made) {
  const auto found_by_node = [&](Size s) {
    bool found = false;
    for_each_symbol(s, [&](int i) {
      found = found || std::ranges::any_of(n.unbacked, [&](Size u) { return symbol_index(u) == i; });
    });
    return found;
  };
  std::vector<SizeGuard> later;
  for (const SizeGuard& g : made) {
    if (found_by_node(g.lhs) || found_by_node(g.rhs))
      later.push_back(g);
    else
      append_check(t, g);
  }
  return later;
}

// What `infers` makes, with assumptions about sizes only a run knows. Under a wrong one a call may be refused that is
// right.
template <class Infer>
auto under_assumptions(Tracer& t, Node& n, std::vector<SizeGuard>& check_later, Infer&& infers) {
  TracedSymbols symbols(t, n, t.config.capture_dynamic_output_shape_ops);
  const SupplyScope scope(symbols);
  SizeAssumptions assumed;
  try {
    auto made = infers();
    if (!assumed.made().empty()) check_later = check_before(t, n, assumed.made());
    return made;
  } catch (const OpError& e) {
    if (assumed.made().empty()) throw;
    throw DataDependent(DataDependent::What::Size, e.what());
  }
}

}  // namespace

std::vector<TensorType> infer_traced(Tracer& t, Node& n, const BoundArgs& args, std::vector<Node*>& handed_back,
                                     std::vector<SizeGuard>& check_later) {
  return under_assumptions(t, n, check_later, [&] { return infer(op(n.op), args, handed_back); });
}

bool check_traced_assignment(Tracer& t, Node& n, std::vector<SizeGuard>& check_later) {
  return under_assumptions(t, n, check_later,
                           [&] { return check_item_assignment(n.args.at(0), n.args.at(1), n.args.at(2)); });
}

void check_assumed(Tracer& t, const std::vector<SizeGuard>& assumed) {
  for (const SizeGuard& g : assumed) append_check(t, g);
}

void note_unbacked(Tracer& t, Node* n) {
  if (!t.sizes.env) return;
  for (const TensorType& type : n->types) {
    for (int d = 0; d < type.dim(); ++d) {
      const Size s = type.sizes[static_cast<std::size_t>(d)];
      const auto symbol = symbol_index(s);
      if (symbol && !t.sizes.env->is_backed(s)) t.sizes.unbacked.try_emplace(*symbol, UnbackedPlace{n, d});
    }
  }
}

void report_data_dependent(Tracer& t, const DataDependent& e, const std::string& op, const CallArgs& args) {
  switch (e.what_kind) {
    case DataDependent::What::Shape:
      graph_break<GB0036>(dynamic_op_name(e.what()));
    case DataDependent::What::Element:
      t.item_break_seen = true;
      graph_break<GB0124>(std::string("TensorVariable()"), std::string("()"), std::string("{}"));
    case DataDependent::What::Size:
      break;
  }
  (void)args;
  graph_break<GB0033>(op);
}

namespace {

Node* append_item(Tracer& t, TensorValue& x, OpId id) {
  Node n{NodeKind::Op};
  n.op = id;
  n.spelling = Spelling::Method;
  n.target = n.name = "item";
  n.args = {x.node};
  n.stack = t.user_stack();
  TracedSymbols symbols(t, n, true);
  {
    const SupplyScope scope(symbols);
    const Arg args[] = {x.node, NoneArg{}};
    n.types = infer(op(id), args);
  }
  ++t.graphs.calls_captured;
  Node* made = t.graphs.current->append(std::move(n));
  made->types[0].storage = t.graphs.next_storage++;
  note_unbacked(t, made);
  return made;
}

}  // namespace

ValueRef item_of(Tracer& t, TensorValue& x) { return size_value(t, append_item(t, x, id::Item)->types[0].sizes[0]); }

ValueRef number_in(Tracer& t, TensorValue& x) { return make_ref<NumberValue>(append_item(t, x, id::ItemNumber)); }

ValueRef test_in(Tracer& t, TensorValue& x) {
  return make_ref<SizeTestValue>(append_item(t, x, id::Item)->types[0].sizes[0], Size(0), Py_NE);
}

ValueRef truth_in_graph(Tracer& t, TensorValue& x) {
  return x.type.dtype == DType::Bool ? ValueRef(&x) : t.realize(t.compare(ValueRef(&x), t.integer(0), Py_NE));
}

ValueRef captured_test(Tracer& t, TensorValue& x) {
  return t.config.capture_scalar_outputs ? test_in(t, *as<TensorValue>(truth_in_graph(t, x))) : ValueRef();
}

ValueRef test_in_graph(Tracer& t, const SizeTestValue& test) {
  const auto side = [&](Size s) {
    CallArgs args{{make_ref<TupleValue>(std::vector<ValueRef>{}), size_value(t, s)}, {}};
    return t.call_op("full", Spelling::Function, args);
  };
  return t.compare(side(test.lhs), side(test.rhs), test.op);
}

void require_true(Tracer& t, TensorValue& x) {
  append_check(t, append_item(t, x, id::Item)->types[0].sizes[0], Size(1), "eq");
}

ValueRef captured_int(Tracer& t, TensorValue& x) {
  if (!t.config.capture_scalar_outputs || is_complex(x.type.dtype)) return {};
  if (const ValueRef known = element_of_input(t, x))
    return known->kind == ValueKind::Number
               ? call_on_numbers(t, reinterpret_cast<PyObject*>(&PyLong_Type), CallArgs{{known}, {}})
               : known;
  if (is_floating(x.type.dtype)) return item_function(t, "int", {number_in(t, x)});
  const ValueRef read = item_of(t, x);
  Size value;
  // Larger ones are no sizes: there the frame runs as plain Python.
  if (x.type.dtype == DType::UInt64 && as_size(read, value)) append_check(t, value, Size(0), "ge");
  return read;
}

ValueRef captured_item(Tracer& t, TensorValue& x) {
  if (!t.config.capture_scalar_outputs || is_complex(x.type.dtype)) return {};
  if (ValueRef known = element_of_input(t, x)) return known;
  if (is_floating(x.type.dtype)) return number_in(t, x);
  if (x.type.dtype != DType::Bool) return captured_int(t, x);
  return test_in(t, x);
}

ValueRef captured_list(Tracer& t, TensorValue& x) {
  if (!t.config.capture_scalar_outputs || !is_integral(x.type.dtype) || x.type.dtype == DType::UInt8) return {};
  if (x.type.dim() == 0) return captured_item(t, x);
  const std::int64_t n = x.length(t).value_or(0);
  std::vector<ValueRef> items;
  for (std::int64_t i = 0; i < n; ++i) {
    ValueRef row = t.realize(x.get_item(t, t.integer(i)));
    items.push_back(captured_list(t, *as<TensorValue>(row)));
  }
  return make_ref<ListValue>(std::move(items));
}

namespace {

// What `lhs <op> rhs` says of a symbol that stands alone on the left.
SizeRange range_of(int op, std::int64_t rhs) {
  switch (op) {
    case Py_LT:
      return {SizeRange::kMin, rhs - 1};
    case Py_LE:
      return {SizeRange::kMin, rhs};
    case Py_EQ:
      return {rhs, rhs};
    case Py_GT:
      return {rhs + 1, SizeRange::kMax};
    case Py_GE:
      return {rhs, SizeRange::kMax};
    default:
      return {};
  }
}

constexpr int kMirrored[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};  // by Py_LT ... Py_GE

}  // namespace

void assert_sizes(Tracer& t, SizeTestValue& test) {
  static constexpr const char* kNames[] = {"lt", "le", "eq", "ne", "gt", "ge"};
  append_check(t, test.lhs, test.rhs, kNames[test.op]);
  constexpr std::int64_t kLimit = SizeRange::kMax - 1;
  if (test.rhs.is_const() && std::abs(test.rhs.value()) < kLimit)
    t.shapes().assume_range(test.lhs, range_of(test.op, test.rhs.value()));
  if (test.lhs.is_const() && std::abs(test.lhs.value()) < kLimit)
    t.shapes().assume_range(test.rhs, range_of(kMirrored[test.op], test.lhs.value()));
}

}  // namespace md
