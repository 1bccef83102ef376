// Function transforms: what minidynamo/_transforms asks of the levels becomes marks in the graph (ir/run/transforms.h).
// In between, tensors have the sizes of one example.
#include <algorithm>
#include <unordered_set>

#include "frontend/builtins/families.h"
#include "frontend/cpython/frame_access.h"
#include "frontend/trace/append_item.h"
#include "frontend/trace/breaks.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/size_value.h"
#include "frontend/values/tensor.h"
#include "ir/infer/infer.h"
#include "ir/run/transforms.h"

namespace md {

namespace {

constexpr const char* kNative = "minidynamo._C";

// --- Nodes -----------------------------------------------------------------------------------------------------------

Node* append_call(Tracer& t, const char* name, std::vector<Arg> args, std::vector<TensorType> types, bool multi) {
  Node n{NodeKind::Call};
  n.target = std::string("_C.") + name;
  n.name = name;
  n.args = std::move(args);
  for (TensorType& type : types)
    if (type.storage < 0) type.storage = t.graphs.next_storage++;
  n.types = std::move(types);
  n.multi = multi;
  n.stack = t.user_stack();
  n.callee = transform_callee(name);
  ++t.graphs.calls_captured;
  return t.graphs.current->append(std::move(n));
}

ValueRef item_of(Tracer& t, Node* made, std::size_t i) {
  return t.tensor_value(append_item(*t.graphs.current, made, i));
}

// Functions under transforms see tensors, whatever the class of what is given.
TensorValue* tensor_of(Tracer& t, const ValueRef& v) { return as<TensorValue>(data_of(t.realize(v))); }

std::int64_t int_of(Tracer& t, const ValueRef& v) {
  const Arg a = t.to_arg(v);
  if (a.is<bool>()) return a.get<bool>();
  if (!a.is<Size>() || !a.get<Size>().is_const()) unmodelled("transform", v->print());
  return a.get<Size>().value();
}

std::vector<int> numbers_of(Tracer& t, const ValueRef& v) {
  std::vector<int> out;
  auto* tuple = as<TupleValue>(t.realize(v));
  if (!tuple) unmodelled("transform", v->print());
  for (const ValueRef& item : tuple->items) out.push_back(static_cast<int>(int_of(t, item)));
  return out;
}

Arg numbers_arg(const std::vector<int>& numbers) {
  ListArg out{{}, true};
  for (const int n : numbers) out.items.emplace_back(n);
  return out;
}

const TracedTransform& level_of(Tracer& t, int number) {
  const auto at = std::ranges::find(t.graphs.transforms, number, &TracedTransform::number);
  if (at == t.graphs.transforms.end()) unmodelled("vmap", "a tensor outside of the call of vmap it was an example of");
  return *at;
}

bool are_gradients_asked(const Tracer& t) {
  return std::ranges::any_of(t.graphs.transforms, &TracedTransform::asks_gradients);
}

// --- What depends on what
// ----------------------------------------------------------------------------------------------

// A walk from a node to what it was computed from: f(node) says whether to go on behind it. Writes in place belong to
// all that shows the memory.
class Dependencies {
 public:
  explicit Dependencies(Tracer& t) {
    for (const auto& n : t.graphs.current->nodes)
      if (is_inplace(*n) && n->args[0].is<Node*>()) writes_[n->args[0].get<Node*>()->type().storage].push_back(n.get());
  }

  template <class F>
  void walk(Node* from, F&& f) {
    std::vector<Node*> open{from};
    std::unordered_set<Node*> seen{from};
    const auto add = [&](Node* n) {
      if (seen.insert(n).second) open.push_back(n);
    };
    while (!open.empty()) {
      Node* n = open.back();
      open.pop_back();
      if (!f(*n)) continue;
      for (Arg a : n->args) for_each_node(a, add);
      for (auto& [key, value] : n->kwargs) {
        Arg a = value;
        for_each_node(a, add);
      }
      for (const TensorType& type : n->types)
        if (const auto at = writes_.find(type.storage); at != writes_.end()) std::ranges::for_each(at->second, add);
    }
  }

 private:
  std::unordered_map<int, std::vector<Node*>> writes_;
};

bool is_call(const Node& n, std::string_view name) { return n.kind == NodeKind::Call && n.name.starts_with(name); }

bool flows_through(const Node& n) {
  return is_inplace(n) || std::ranges::any_of(n.types, [](const TensorType& type) { return type.requires_grad; });
}

bool comes_from_outside(const Node& n) { return n.kind == NodeKind::Placeholder || n.kind == NodeKind::GetAttr; }

// Gradients reach an input of the graph, or a tensor it holds, that requires grad.
bool reaches_inputs(Tracer& t, Node* from) {
  bool found = false;
  Dependencies(t).walk(from, [&](const Node& n) {
    found |= comes_from_outside(n) && !n.types.empty() && n.type().requires_grad;
    return !found && flows_through(n);
  });
  return found;
}

// What was computed before the graph goes on to tensors which the graph does not show.
bool goes_on_outside(const Node& n) {
  return comes_from_outside(n) && !n.types.empty() && n.type().requires_grad && n.type().history != GradHistory::Leaf;
}

std::unordered_set<const Node*> reached_from(Tracer& t, const std::vector<Node*>& from) {
  std::unordered_set<const Node*> out;
  Dependencies ways(t);
  for (Node* start : from)
    ways.walk(start, [&](const Node& n) {
      if (!flows_through(n)) return false;
      out.insert(&n);
      return true;
    });
  return out;
}

// Whether it differs from example to example of this call of vmap.
bool is_batched(Tracer& t, Node* from, int number) {
  bool found = false;
  Dependencies(t).walk(from, [&](const Node& n) {
    if (is_call(n, "_with_levels") || is_call(n, "_without_levels")) {
      const auto& levels = n.args[1].get<ListArg>().items;
      const bool named = std::ranges::find(levels, Arg(number)) != levels.end();
      found |= named && is_call(n, "_with_levels");
      return !named;
    }
    return !found;
  });
  return found;
}

// --- Levels ----------------------------------------------------------------------------------------------------------

ValueRef begin(Tracer& t, const char* name, TracedTransform level, std::vector<Arg> args) {
  level.number = ++t.graphs.transforms_begun;
  args.insert(args.begin(), Arg(level.number));
  append_call(t, name, std::move(args), {}, false);
  t.graphs.transforms.push_back(level);
  return t.integer(level.number);
}

ValueRef rule_begin_vmap(Tracer& t, CallArgs& args) {
  expect_args(t, "_begin_vmap", args, 2, 2);
  const Arg size = t.to_arg(args[0]);
  if (!size.is<Size>()) return {};
  TracedTransform level;
  level.is_vmap = true, level.size = size.get<Size>();
  return begin(t, "_begin_vmap", level, {size, Arg(int_of(t, args[1]))});
}

ValueRef rule_begin_draws(Tracer& t, CallArgs& args) {
  expect_args(t, "_begin_draws", args, 1, 1);
  return begin(t, "_begin_draws", {}, {Arg(int_of(t, args[0]))});
}

ValueRef rule_begin_grad(Tracer& t, CallArgs& args) {
  expect_args(t, "_begin_grad", args, 0, 0);
  TracedTransform level;
  level.asks_gradients = true;
  return begin(t, "_begin_grad", level, {});
}

ValueRef rule_end(Tracer& t, CallArgs& args) {
  expect_args(t, "_end_transform", args, 1, 1);
  const int number = static_cast<int>(int_of(t, args[0]));
  level_of(t, number);
  while (t.graphs.transforms.back().number >= number) {
    append_call(t, "_end_transform", {Arg(t.graphs.transforms.back().number)}, {}, false);
    t.graphs.transforms.pop_back();
    if (t.graphs.transforms.empty()) break;
  }
  return t.none();
}

ValueRef rule_vmap_levels(Tracer& t, CallArgs& args) {
  expect_args(t, "_vmap_levels", args, 0, 0);
  std::vector<ValueRef> out;
  for (const TracedTransform& l : t.graphs.transforms)
    if (l.is_vmap) out.push_back(t.integer(l.number));
  return make_ref<TupleValue>(std::move(out));
}

ValueRef rule_levels_count(Tracer& t, CallArgs& args) {
  expect_args(t, "_transforms", args, 0, 0);
  return t.integer(static_cast<std::int64_t>(t.graphs.transforms.size()));
}

ValueRef rule_batch_levels(Tracer& t, CallArgs& args) {
  expect_args(t, "_batch_levels", args, 1, 1);
  auto* x = tensor_of(t, args[0]);
  if (!x) return {};
  std::vector<ValueRef> out;
  for (const TracedTransform& l : t.graphs.transforms)
    if (l.is_vmap && is_batched(t, x->node, l.number)) out.push_back(t.integer(l.number));
  return make_ref<TupleValue>(std::move(out));
}

// --- Tensors between levels ------------------------------------------------------------------------------------------

ValueRef rule_with_levels(Tracer& t, CallArgs& args) {
  expect_args(t, "_with_levels", args, 2, 2);
  auto* x = tensor_of(t, args[0]);
  const std::vector<int> levels = numbers_of(t, args[1]);
  if (!x) return {};
  if (levels.empty()) return ValueRef(x);
  TensorType type = x->type;
  type.sizes = SizeVec(x->type.sizes.begin() + static_cast<std::ptrdiff_t>(levels.size()), x->type.sizes.end());
  type.strides = SizeVec(x->type.strides.begin() + static_cast<std::ptrdiff_t>(levels.size()), x->type.strides.end());
  return t.tensor_value(append_call(t, "_with_levels", {Arg(x->node), numbers_arg(levels)}, {type}, false));
}

TensorType whole_type(Tracer& t, const TensorType& one, const std::vector<int>& levels) {
  TensorType type = one;
  SizeVec sizes;
  for (const int l : levels) sizes.push_back(level_of(t, l).size);
  for (const Size s : one.sizes) sizes.push_back(s);
  type.strides = row_major_strides(sizes);
  type.sizes = std::move(sizes);
  return type;
}

ValueRef rule_without_levels(Tracer& t, CallArgs& args) {
  expect_args(t, "_without_levels", args, 2, 2);
  auto* x = tensor_of(t, args[0]);
  const std::vector<int> levels = numbers_of(t, args[1]);
  if (!x) return {};
  if (levels.empty()) return ValueRef(x);
  const TensorType type = whole_type(t, x->type, levels);
  return t.tensor_value(append_call(t, "_without_levels", {Arg(x->node), numbers_arg(levels)}, {type}, false));
}

ValueRef rule_input_of_level(Tracer& t, CallArgs& args) {
  expect_args(t, "_input_of_level", args, 2, 2);
  auto* x = tensor_of(t, args[0]);
  if (!x) return {};
  if (!is_differentiable(x->type.dtype))
    t.raise(PyExc_RuntimeError, "only Tensors of floating point dtype can require gradients");
  std::vector<int> levels;
  for (const TracedTransform& l : t.graphs.transforms)
    if (l.is_vmap) levels.push_back(l.number);
  TensorType seen = x->type;
  const bool connected = x->type.requires_grad && t.grad_enabled;
  seen.requires_grad = true;
  seen.history = connected ? GradHistory::Computed : GradHistory::Leaf;
  const TensorType reached = whole_type(t, seen, levels);
  Node* made = append_call(t, "_input_of_level", {Arg(x->node), Arg(int_of(t, args[1]))}, {seen, reached}, true);
  const ValueRef first = item_of(t, made, 0);
  return make_ref<TupleValue>(std::vector<ValueRef>{first, levels.empty() ? first : item_of(t, made, 1)});
}

bool may_be_differentiated(Tracer& t, const TensorValue& x) {
  return t.grad_enabled && (are_gradients_asked(t) || (x.type.requires_grad && reaches_inputs(t, x.node)));
}

ValueRef rule_outside(Tracer& t, CallArgs& args) {
  expect_args(t, "_outside", args, 1, 1);
  auto* x = tensor_of(t, args[0]);
  if (!x) return {};
  if (!x->type.requires_grad || may_be_differentiated(t, *x)) return ValueRef(x);
  TensorType type = x->type;
  type.requires_grad = false, type.history = GradHistory::Leaf;
  return t.tensor_value(append_call(t, "_outside", {Arg(x->node)}, {type}, false));
}

ValueRef rule_is_differentiated(Tracer& t, CallArgs& args) {
  bool found = false;
  for (const ValueRef& v : args.positional) {
    auto* x = tensor_of(t, v);
    if (!x) return {};
    found = found || may_be_differentiated(t, *x);
  }
  return t.boolean(found);
}

// --- Gradients -------------------------------------------------------------------------------------------------------

std::vector<ValueRef> items_of(Tracer& t, const ValueRef& raw) {
  const ValueRef v = t.realize(raw);
  if (auto* list = as<ListValue>(v)) return list->items;
  if (auto* tuple = as<TupleValue>(v)) return tuple->items;
  unmodelled("run_pass", v->print());
}

// Null where one is None.
std::vector<TensorValue*> tensors_in(Tracer& t, const ValueRef& raw) {
  std::vector<TensorValue*> out;
  for (const ValueRef& item : items_of(t, raw)) {
    auto* x = tensor_of(t, item);
    if (!x && !is_true_constant(t.realize(item), Py_None)) unmodelled("run_pass", item->print());
    out.push_back(x);
  }
  return out;
}

Arg nodes_arg(const std::vector<TensorValue*>& tensors) {
  ListArg out;
  for (const TensorValue* x : tensors) out.items.push_back(x ? Arg(x->node) : Arg());
  return out;
}

ValueRef rule_run_pass(Tracer& t, CallArgs& args) {
  if (args.positional.size() != 6 || !args.keywords.empty()) return {};
  if (int_of(t, args[5])) unmodelled("backward", "gradients that are added to `grad`");
  const auto outputs = tensors_in(t, args[0]), grads = tensors_in(t, args[1]), inputs = tensors_in(t, args[4]);
  const bool create = int_of(t, args[3]) != 0;
  std::vector<Node*> from;
  for (const TensorValue* y : outputs) {
    if (!y || !y->type.requires_grad)
      t.raise(PyExc_RuntimeError, "an output of tensors does not require grad and does not have a grad_fn");
    from.push_back(y->node);
  }
  if (std::ranges::any_of(inputs, [](const TensorValue* x) { return !x || !x->type.requires_grad; }))
    t.raise(PyExc_RuntimeError, "One of the differentiated Tensors does not require grad");
  const auto nodes = reached_from(t, from);
  const auto asks_of_outside = [](const TensorValue* x) { return comes_from_outside(*x->node); };
  if (std::ranges::any_of(nodes, [](const Node* n) { return goes_on_outside(*n); }) &&
      std::ranges::any_of(inputs, asks_of_outside))
    unmodelled("backward", "gradients through operations that were recorded before the call");
  // An input of a level is two results: the function's tensor, and what gradients reach behind it.
  const auto is_reached = [&](const Node* n) {
    const bool item = n->kind == NodeKind::GetItem && is_call(*n->args[0].get<Node*>(), "_input_of_level");
    return nodes.contains(item ? n->args[0].get<Node*>() : n);
  };
  std::vector<TensorValue*> asked;
  std::vector<TensorType> types;
  for (TensorValue* x : inputs) {
    if (!is_reached(x->node)) continue;
    asked.push_back(x);
    TensorType type = x->type;
    type.strides = row_major_strides(type.sizes);
    type.offset = 0, type.storage = -1;
    type.requires_grad = create;
    type.history = create ? GradHistory::Computed : GradHistory::Leaf;
    types.push_back(std::move(type));
  }
  Node* made = nullptr;
  if (!asked.empty()) {
    const std::vector<Arg> given{nodes_arg(outputs), nodes_arg(grads), Arg(true), Arg(create), nodes_arg(asked)};
    made = append_call(t, "run_pass", given, std::move(types), true);
  }
  std::vector<ValueRef> out;
  std::size_t next = 0;
  for (TensorValue* x : inputs) out.push_back(is_reached(x->node) ? item_of(t, made, next++) : t.none());
  return make_ref<TupleValue>(std::move(out));
}

constexpr BuiltinRow kTransformRules[] = {{kNative, "_begin_vmap", rule_begin_vmap},
                                          {kNative, "_begin_draws", rule_begin_draws},
                                          {kNative, "_begin_grad", rule_begin_grad},
                                          {kNative, "_end_transform", rule_end},
                                          {kNative, "_vmap_levels", rule_vmap_levels},
                                          {kNative, "_transforms", rule_levels_count},
                                          {kNative, "_batch_levels", rule_batch_levels},
                                          {kNative, "_with_levels", rule_with_levels},
                                          {kNative, "_without_levels", rule_without_levels},
                                          {kNative, "_input_of_level", rule_input_of_level},
                                          {kNative, "_outside", rule_outside},
                                          {kNative, "_is_differentiated", rule_is_differentiated},
                                          {"minidynamo.autograd.backward", "run_pass", rule_run_pass}};

}  // namespace

std::span<const BuiltinRow> transform_rules() { return kTransformRules; }

}  // namespace md
