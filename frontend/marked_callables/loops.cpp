// while_loop, scan and map: the state of a loop and rows of tensors are inputs of its regions.
#include "frontend/marked_callables/loops.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontend/marked_callables/regions.h"
#include "frontend/marked_callables/shaped_values.h"
#include "frontend/plan/result_shape.h"
#include "frontend/values/containers.h"
#include "frontend/values/scalar_outputs.h"
#include "frontend/values/size_value.h"
#include "frontend/values/tensor.h"
#include "ir/graph/region_call.h"
#include "ir/infer/infer.h"
#include "ir/infer/unbacked.h"

namespace md {

namespace {

// What goes into a loop: containers with tensors, or for a state with ints, inside.
struct Given {
  PyRef shape;
  std::vector<ValueRef> leaves;
  std::vector<Node*> nodes;  // ints as 0-d tensors
  std::vector<TensorType> types() const {
    std::vector<TensorType> out;
    for (const Node* n : nodes) out.push_back(n->type());
    return out;
  }
};

Node* node_of(Tracer& t, const ValueRef& v) {
  if (auto* x = as<TensorValue>(v)) return x->node;
  CallArgs args{{make_ref<TupleValue>(std::vector<ValueRef>{}), v}, {}};
  return as<TensorValue>(t.call_op("full", Spelling::Function, args))->node;
}

Given taken(Tracer& t, const std::string& op, const ValueRef& v) {
  Given g;
  g.shape = leaves_of(t, op, v, g.leaves);
  for (const ValueRef& leaf : g.leaves) g.nodes.push_back(node_of(t, leaf));
  return g;
}

// The same structure around inputs of a region; where an int was, an int again.
ValueRef with_inputs(Tracer& t, const Given& g, const std::vector<ValueRef>& inputs, std::size_t& next) {
  std::size_t k = 0;
  return shaped_value(t, g.shape.get(), [&]() -> ValueRef {
    const bool tensor = g.leaves[k++]->kind == ValueKind::Tensor;
    const ValueRef& input = inputs.at(next++);
    return tensor ? input : item_of(t, *as<TensorValue>(input));
  });
}

std::string type_text(const TensorType& x) {
  return fmt::format("{}{} on {}", info(x.dtype).name, sizes_text(x.sizes), to_string(x.device));
}

bool same_state(const TensorType& a, const TensorType& b) {
  if (a.dtype != b.dtype || !(a.device == b.device) || a.dim() != b.dim()) return false;
  for (std::size_t d = 0; d < a.sizes.size(); ++d)
    if (!(a.sizes[d] == b.sizes[d]) &&
        (is_unbacked(a.sizes[d]) || is_unbacked(b.sizes[d]) || !guard_eq(a.sizes[d], b.sizes[d])))
      return false;
  return true;
}

// A step has to hand on what it was given.
void check_state(Tracer& t, const std::string& op, const Given& given, const std::vector<Node*>& next) {
  expect(t, next.size() == given.nodes.size(), op,
         fmt::format("the function was given a state of {} tensors and hands on {}", given.nodes.size(), next.size()));
  for (std::size_t k = 0; k < next.size(); ++k)
    expect(t, same_state(given.nodes[k]->type(), next[k]->type()), op,
           fmt::format("tensor {} of the state is {} before a step and {} after it", k,
                       type_text(given.nodes[k]->type()), type_text(next[k]->type())));
}

// Types of a state as the loop keeps it. If a step makes one require grad, the next is traced with it.
std::vector<TensorType> state_types(Tracer& t, const Given& given) {
  std::vector<TensorType> types;
  for (const TensorType& type : given.types()) types.push_back(own_type(t, type));
  return types;
}

bool joins_gradients(std::vector<TensorType>& types, const std::vector<Node*>& next) {
  bool more = false;
  for (std::size_t k = 0; k < next.size(); ++k) {
    if (!next[k]->type().requires_grad || types[k].requires_grad) continue;
    types[k].requires_grad = more = true;
    types[k].history = GradHistory::Computed;
  }
  return more;
}

std::vector<TensorType> row_types(Tracer& t, const Given& xs) {
  std::vector<TensorType> types;
  for (TensorType type : xs.types()) {
    type.sizes = row_sizes(type.sizes);
    types.push_back(own_type(t, type));
  }
  return types;
}

TensorType stacked_type(Tracer& t, TensorType row, Size rows) {
  SizeVec sizes;
  sizes.push_back(rows);
  for (Size s : row.sizes) sizes.push_back(s);
  row.sizes = sizes;
  return own_type(t, row);
}

bool holds_constant(PyObject* shape) {
  if (shape == shape_hole()) return false;
  bool found = false;
  return !for_each_part(shape, [&](PyObject* part) { found |= holds_constant(part); }) || found;
}

// Of the condition: one bool, or a constant that ends the loop before its first step.
bool is_endless(Tracer& t, const Region& test) {
  const std::string op = "while_loop";
  if (!test.results.empty()) {
    const bool one = is_one_tensor(test.shape.get());
    if (one && !test.results[0].node && test.results[0].is_constant) return !(test.results[0].number == Size(0));
    const Node* n = one ? test.results[0].node : nullptr;
    expect(t, n && n->type().dtype == DType::Bool && n->type().dim() == 0, op,
           "cond_fn should return a bool or a bool tensor without dimensions, but it returns " +
               (n ? type_text(n->type()) : shape_text(test.shape.get())));
    return false;
  }
  return checked(PyObject_IsTrue(test.shape.get())) != 0;
}

}  // namespace

ValueRef trace_while_loop(Tracer& t, const ValueRef& cond_fn, const ValueRef& body_fn, const ValueRef& carried) {
  const std::string op = "while_loop";
  expect(t, can_call(cond_fn) && can_call(body_fn), op, "cond_fn and body_fn should be functions");
  if (carried->kind != ValueKind::List && carried->kind != ValueKind::Tuple)
    t.raise(PyExc_AssertionError, "while_loop(): carried_inputs should be a list or tuple, not " + carried->print());
  const Given state = taken(t, op, carried);
  if (holds_constant(state.shape.get()))
    t.raise(PyExc_AssertionError, "while_loop(): carried_inputs may hold tensors and ints, not " + carried->print());
  const RegionArgs arguments = [&](const std::vector<ValueRef>& inputs) {
    std::size_t next = 0;
    return CallArgs{collect(t, with_inputs(t, state, inputs, next)), {}};
  };
  std::vector<TensorType> types = state_types(t, state);
  Region test = trace_region(t, op, cond_fn, types, {carried}, arguments);
  const bool endless = is_endless(t, test);
  expect(t, !endless, op, "cond_fn always returns " + shape_text(test.shape.get()) + ", so that the loop never ends");
  if (test.results.empty() || !test.results[0].node) return carried;
  Region step;
  std::vector<Node*> next;
  do {
    step = trace_region(t, op, body_fn, types, {carried}, arguments);
    expect(t, !holds_constant(step.shape.get()), op,
           "body_fn should return tensors and ints, but it returns " + shape_text(step.shape.get()));
    next = result_nodes(step);
    check_state(t, op, state, next);
  } while (joins_gradients(types, next));
  Node n{NodeKind::Call};
  n.target = "ops.higher_order.while_loop";
  n.name = op;
  for (Node*& x : next) x = made_contiguous(step, x);
  for (const TensorType& type : types) n.types.push_back(own_type(t, type));
  Region* const regions[] = {&test, &step};
  const std::vector<Node*> results[] = {result_nodes(test), next};
  const std::string names[] = {region_name(t, "cond_fn"), region_name(t, "body_fn")};
  const std::vector<Node*> captured = close_regions(regions, results, names);
  n.args = {tensor_list(state.nodes, true), tensor_list(captured, true)};
  std::vector<bool> ints;
  for (const ValueRef& leaf : state.leaves) ints.push_back(leaf->kind != ValueKind::Tensor);
  const std::vector<ValueRef> made = append_regions(t, std::move(n), regions);
  std::size_t k = 0;
  return shaped_value(t, step.shape.get(), [&]() -> ValueRef {
    const ValueRef& item = made.at(k);
    return ints[k++] ? item_of(t, *as<TensorValue>(item)) : item;
  });
}

namespace {

std::size_t count_leaves(PyObject* shape) {
  if (shape == shape_hole()) return 1;
  std::size_t n = 0;
  for_each_part(shape, [&](PyObject* part) { n += count_leaves(part); });
  return n;
}

// What is stacked: tensors alone.
void check_rows(const std::string& op, const Region& step, std::size_t first, PyObject* shape) {
  bool tensors = !holds_constant(shape);
  for (std::size_t k = first; k < step.results.size(); ++k) tensors &= step.results[k].node != nullptr;
  if (!tensors)
    throw FailedCall(
        OpError(ErrorKind::Runtime,
                fmt::format("{}(): only tensors can be stacked, but the function gives {}", op, shape_text(shape))),
        "call_function torch.ops.higher_order." + op);
}

Size length_of(const Given& xs) { return xs.nodes.empty() ? Size(0) : xs.nodes[0]->type().sizes[0]; }

// Appends the call of a loop over rows; the types of `results` but the first, which are a state, are those of rows.
std::vector<ValueRef> append_row_loop(Tracer& t, const std::string& target, const std::string& name, Region& step,
                                      std::vector<Node*> results, const std::vector<TensorType>& state,
                                      const std::vector<const Given*>& given) {
  Node n{NodeKind::Call};
  n.target = "ops.higher_order." + target;
  n.name = target;
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (k < state.size()) results[k] = made_contiguous(step, results[k]);
    n.types.push_back(k < state.size() ? own_type(t, state[k])
                                       : stacked_type(t, results[k]->type(), length_of(*given.back())));
  }
  Region* const regions[] = {&step};
  const std::vector<Node*> all[] = {std::move(results)};
  const std::string names[] = {region_name(t, name)};
  const std::vector<Node*> captured = close_regions(regions, all, names);
  for (const Given* g : given) n.args.push_back(tensor_list(g->nodes, false));
  n.args.push_back(tensor_list(captured, false));
  return append_regions(t, std::move(n), regions);
}

}  // namespace

ValueRef trace_scan(Tracer& t, const ValueRef& combine_fn, const ValueRef& init, const ValueRef& xs) {
  const std::string op = "scan";
  const Given state = taken(t, op, init), given = taken(t, op, xs);
  const RegionArgs arguments = [&](const std::vector<ValueRef>& inputs) {
    std::size_t next = 0;
    ValueRef before = with_inputs(t, state, inputs, next);
    return CallArgs{{before, with_inputs(t, given, inputs, next)}, {}};
  };
  std::vector<TensorType> types = state_types(t, state);
  const std::vector<TensorType> rows = row_types(t, given);
  Region step;
  std::vector<Node*> results, next;
  PyRef after, rest;
  do {
    std::vector<TensorType> inputs = types;
    inputs.insert(inputs.end(), rows.begin(), rows.end());
    step = trace_region(t, op, combine_fn, inputs, {init, xs}, arguments);
    PyObject* shape = step.shape.get();
    const bool pair = (PyTuple_CheckExact(shape) || PyList_CheckExact(shape)) && PySequence_Fast_GET_SIZE(shape) == 2;
    expect(t, pair, op, "combine_fn should return a state and a result, but it returns " + shape_text(shape));
    after = PyRef::borrow(PySequence_Fast_GET_ITEM(shape, 0));
    rest = PyRef::borrow(PySequence_Fast_GET_ITEM(shape, 1));
    const std::size_t carried = count_leaves(after.get());
    expect(t, !holds_constant(after.get()), op, "the state should hold tensors, but it is " + shape_text(after.get()));
    check_rows(op, step, carried, rest.get());
    results = result_nodes(step);
    next.assign(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(carried));
    check_state(t, op, state, next);
  } while (joins_gradients(types, next));
  const std::vector<ValueRef> made =
      append_row_loop(t, "scan", "scan_combine_fn", step, std::move(results), types, {&state, &given});
  std::size_t at = 0;
  const auto item = [&] { return made.at(at++); };
  ValueRef last = shaped_value(t, after.get(), item);
  return make_ref<TupleValue>(std::vector<ValueRef>{last, shaped_value(t, rest.get(), item)});
}

ValueRef trace_map(Tracer& t, const ValueRef& f, const ValueRef& xs, const std::vector<ValueRef>& args,
                   SharedResults shared) {
  const std::string op = "map_impl";
  const Given given = taken(t, op, xs);
  const RegionArgs arguments = [&](const std::vector<ValueRef>& inputs) {
    std::size_t next = 0;
    CallArgs call{{with_inputs(t, given, inputs, next)}, {}};
    call.positional.insert(call.positional.end(), args.begin(), args.end());
    return call;
  };
  std::vector<ValueRef> operands = args;
  operands.push_back(xs);
  Region step = trace_region(t, op, f, row_types(t, given), operands, arguments, shared);
  if (step.shape.get() == Py_None) return t.none();
  for (const Leaf& leaf : step.results)
    expect(t, leaf.node, op, "the function should return tensors, but it returns a number");
  check_rows(op, step, 0, step.shape.get());
  std::vector<Node*> results = result_nodes(step);
  const std::vector<ValueRef> made = append_row_loop(t, "map_impl", "map_body", step, std::move(results), {}, {&given});
  std::size_t at = 0;
  return shaped_value(t, step.shape.get(), [&] { return made.at(at++); });
}

}  // namespace md
