// Traces a function into a graph of its own and checks what every operator over regions asks of it.
#include "frontend/marked_callables/regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "frontend/marked_callables/reachable.h"
#include "frontend/marked_callables/shaped_values.h"
#include "frontend/plan/result_shape.h"
#include "frontend/report/events.h"
#include "frontend/trace/append_item.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/frame_places.h"
#include "frontend/trace/logs.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/scalar_outputs.h"
#include "frontend/values/size_value.h"
#include "frontend/values/tensor.h"
#include "ir/graph/callee.h"
#include "ir/graph/region_call.h"
#include "ir/infer/infer.h"

namespace md {

void uncaptured(const PlacedFrames& frames, const std::string& op, const GraphBreak* inner, const std::string& text) {
  PyRef cause = inner ? break_parts_call("raised", *inner, frames) : PyRef();
  PyRef error = report("uncaptured", {py_str(op), cause, py_str(text), frames_list(frames)});
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  throw PythonError{};
}

namespace {

// Where the traced function first changes something that is recorded, for as long as this lives.
class FirstEffect {
 public:
  explicit FirstEffect(Tracer& t) : t_(t), outer_(std::move(t.effects.noticed)) {
    t.effects.noticed = [this] {
      if (outer_) outer_();
      if (at_) return;
      at_ = std::make_shared<PlacedFrames>(placed_frames(t_));
      target_ = t_.effects.list().back().target;
    };
  }
  ~FirstEffect() { t_.effects.noticed = std::move(outer_); }
  FirstEffect(const FirstEffect&) = delete;
  FirstEffect& operator=(const FirstEffect&) = delete;

  [[noreturn]] void refuse(const char* otherwise) const {
    GraphBreak b = make_break<GB0067>(target_ ? target_->print() : std::string(at_ ? "a variable" : otherwise));
    b.happened_at = at_;
    throw b;
  }

 private:
  Tracer& t_;
  std::function<void()> outer_;
  std::shared_ptr<PlacedFrames> at_;
  ValueRef target_;
};

// One region while its graph takes the place of the trace's.
class RegionTrace {
 public:
  explicit RegionTrace(Tracer& t)
      : t_(t), depth_(t.stack.frames.size()), grad_(t.grad_enabled), effects_(t.effects.list().size()) {
    t.graphs.outer.push_back(std::move(t.graphs.current));
    t.graphs.current = std::make_unique<Graph>();
  }
  ~RegionTrace() {
    if (!done_) take();
    t_.stack.frames.resize(std::min(t_.stack.frames.size(), depth_));
    t_.grad_enabled = grad_;
  }
  RegionTrace(const RegionTrace&) = delete;
  RegionTrace& operator=(const RegionTrace&) = delete;

  std::unique_ptr<Graph> take() {
    done_ = true;
    std::unique_ptr<Graph> made = std::move(t_.graphs.current);
    t_.graphs.current = std::move(t_.graphs.outer.back());
    t_.graphs.outer.pop_back();
    made->shapes = t_.sizes.env;
    return made;
  }
  bool has_switched_grad() const { return t_.grad_enabled != grad_; }
  bool has_effects() const { return t_.effects.list().size() != effects_; }

 private:
  Tracer& t_;
  std::size_t depth_;
  bool grad_;
  std::size_t effects_;
  bool done_ = false;
};

template <class F>
void for_each_operand(Node& n, F&& f) {
  for (Arg& a : n.args) for_each_node(a, f);
  for (auto& [key, a] : n.kwargs) for_each_node(a, f);
}

// Memory the region has made itself: neither its inputs' nor that of captured tensors.
class Ownership {
 public:
  explicit Ownership(const Graph& g) {
    for (auto& n : g.nodes) inside_.insert(n.get());
    for (auto& n : g.nodes) {
      if (n->kind == NodeKind::Placeholder) note_outer(n.get());
      for_each_operand(*n, [&](Node*& in) {
        if (!inside_.contains(in)) note_outer(in);
      });
    }
  }
  void note_outer(const Node* n) {
    for (const TensorType& type : n->types) outer_.insert(type.storage);
  }
  bool is_inside(const Node* n) const { return inside_.contains(n); }
  bool is_outer(int storage) const { return outer_.contains(storage); }

 private:
  std::set<const Node*> inside_;
  std::set<int> outer_;
};

void check_writes(const Graph& g, const Ownership& memory) {
  for (auto& n : g.nodes) {
    if (is_inplace(*n) && memory.is_outer(n->args[0].get<Node*>()->type().storage))
      graph_break<GB0041>(fmt::format("{} writes to an operand or a captured tensor", n->name));
    if (!n->callee) continue;
    int position = 0;
    for_each_operand(*n, [&](Node*& in) {
      const bool written = std::ranges::find(n->callee->writes, position++) != n->callee->writes.end();
      if (written && memory.is_outer(in->type().storage))
        graph_break<GB0041>(fmt::format("{} writes to an operand or a captured tensor", n->name));
    });
  }
}

void check_results(Region& r, const Ownership& memory, Graph& g, SharedResults shared) {
  std::set<int> seen;
  for (Leaf& leaf : r.results) {
    Node* n = leaf.node;
    if (!n) continue;
    if (shared == SharedResults::Copied) {
      leaf.node = append_call(g, "clone", {n}, n);
      continue;
    }
    if (!memory.is_inside(n) || memory.is_outer(n->type().storage))
      graph_break<GB0040>(fmt::format("{} is an operand, a captured tensor or a view of one", n->name));
    if (!seen.insert(n->type().storage).second)
      graph_break<GB0040>(fmt::format("{} shares memory with another result", n->name));
  }
}

bool is_int(const ValueRef& v) {
  if (v->kind == ValueKind::Size) return true;
  PyRef c = v->kind == ValueKind::Constant ? v->as_constant() : PyRef();
  return c && PyLong_CheckExact(c.get());
}

Leaf leaf_of(const ValueRef& v) {
  if (auto* x = as<TensorValue>(v)) return {x->node};
  Leaf leaf;
  leaf.is_constant = v->kind == ValueKind::Constant;
  if (!as_size(v, leaf.number)) unmodelled(v->print(), "int of more than 64 bits as a result of a region");
  return leaf;
}

}  // namespace

ValueRef test_as_tensor(Tracer& t, const ValueRef& raw) {
  ValueRef v = t.realize(raw);
  if (auto* number = as<NumberValue>(v)) return t.tensor_value(graph_number(t, *number));
  auto* test = as<SizeTestValue>(v);
  return test ? test_in_graph(t, *test) : v;
}

namespace {

Node* append_input(Tracer& t, TensorType type) {
  Node p{NodeKind::Placeholder};
  p.target = p.name = "child";
  type.storage = t.graphs.next_storage++;
  p.types = {std::move(type)};
  Node* made = t.graphs.current->append(std::move(p));
  made->target = made->name;
  return made;
}

// Breaks are converted by the caller; `where` is then the innermost place.
Region trace_in(Tracer& t, const std::string& op, const ValueRef& function, const std::vector<TensorType>& types,
                const std::vector<ValueRef>& operands, const RegionArgs& arguments, SharedResults shared,
                PlacedFrames& where) {
  std::vector<ValueRef> reached = operands;
  reached.push_back(function);
  const ReachableState before(t, std::move(reached));
  RegionTrace trace(t);
  Region r;
  std::vector<ValueRef> inputs;
  for (const TensorType& type : types) {
    r.inputs.push_back(append_input(t, type));
    inputs.push_back(t.tensor_value(r.inputs.back()));
  }
  ValueRef value;
  const FirstEffect effect(t);
  try {
    value = t.call(function, arguments(inputs));
  } catch (const GraphBreak& b) {
    where = b.happened_at ? *b.happened_at : placed_frames(t);
    throw;
  }
  if (trace.has_effects() || trace.has_switched_grad() || before.has_changed())
    effect.refuse(trace.has_switched_grad() ? "the gradient mode" : "an object or a variable");
  std::vector<ValueRef> leaves;
  r.shape = leaves_of(t, op, test_as_tensor(t, value), leaves);
  for (auto& v : leaves) r.results.push_back(leaf_of(v));
  Ownership memory(*t.graphs.current);
  for (auto& v : operands)
    if (auto* x = as<TensorValue>(t.realize(v))) memory.note_outer(x->node);
  check_writes(*t.graphs.current, memory);
  check_results(r, memory, *t.graphs.current, shared);
  r.graph = trace.take();
  return r;
}

}  // namespace

void expect(Tracer& t, bool holds, const std::string& op, const std::string& text) {
  if (!holds) uncaptured(placed_frames(t), op, nullptr, text);
}

PyRef leaves_of(Tracer& t, const std::string& op, const ValueRef& v, std::vector<ValueRef>& leaves) {
  std::string offender;
  PyRef shape = result_shape(t, v, leaves, offender, is_int);
  expect(t, bool(shape), op, "a function gives a result of type " + offender + ", where tensors and ints are allowed");
  return shape;
}

Region trace_region(Tracer& t, const std::string& op, const ValueRef& function, const std::vector<TensorType>& inputs,
                    const std::vector<ValueRef>& operands, const RegionArgs& arguments, SharedResults shared) {
  PlacedFrames where = placed_frames(t);
  try {
    return trace_in(t, op, function, inputs, operands, arguments, shared, where);
  } catch (const GraphBreak& b) {
    uncaptured(b.happened_at ? *b.happened_at : where, op, &b, "");
  } catch (const TracedRaise& e) {
    GraphBreak b = make_break<GB0088>(e.exception->print());
    uncaptured(placed_frames(t), op, &b, "");
  }
}

ValueRef call_without_effects(Tracer& t, const ValueRef& function, CallArgs args) {
  std::vector<ValueRef> reached = args.positional;
  for (auto& [name, v] : args.keywords) reached.push_back(v);
  reached.push_back(function);
  const ReachableState before(t, std::move(reached));
  const std::size_t effects = t.effects.list().size();
  const FirstEffect effect(t);
  ValueRef result = t.call(function, std::move(args));
  if (t.effects.list().size() != effects || before.has_changed()) effect.refuse("an object or a variable");
  return result;
}

namespace {

// What the results may not share: memory known before, and that of inputs first met inside.
ValueRef call_with_own_results(Tracer& t, const ValueRef& function, CallArgs args) {
  const int before = t.graphs.next_storage;
  ValueRef result = t.call(function, std::move(args));
  std::vector<ValueRef> tensors;
  std::string offender;
  (void)result_shape(t, result, tensors, offender);
  for (auto& v : tensors) {
    const TensorType& type = as<TensorValue>(v)->type;
    const bool of_input = std::ranges::any_of(t.graphs.root().nodes, [&](const auto& n) {
      return n->kind == NodeKind::Placeholder && n->type().storage == type.storage;
    });
    if (type.storage < before || of_input)
      graph_break<GB0040>(as<TensorValue>(v)->node->name + " is an operand, a captured tensor or a view of one");
  }
  return result;
}

}  // namespace

ValueRef trace_inlined(Tracer& t, const std::string& op, const ValueRef& function, CallArgs args, InlineRule rule) {
  PlacedFrames where = placed_frames(t);
  const std::size_t depth = t.stack.frames.size();
  try {
    try {
      return rule == InlineRule::OwnResults ? call_with_own_results(t, function, std::move(args))
                                            : call_without_effects(t, function, std::move(args));
    } catch (const GraphBreak&) {
      if (t.stack.frames.size() > depth) where = placed_frames(t);
      throw;
    }
  } catch (const GraphBreak& b) {
    uncaptured(b.happened_at ? *b.happened_at : where, op, &b, "");
  } catch (const TracedRaise& e) {
    GraphBreak b = make_break<GB0088>(e.exception->print());
    uncaptured(where, op, &b, "");
  }
}

Node* append_call(Graph& g, const std::string& name, std::vector<Arg> args, const Node* like) {
  Node n{NodeKind::Op};
  n.spelling = like ? Spelling::Method : Spelling::Function;
  n.target = n.name = name;
  n.args = std::move(args);
  const BoundCall call = md::bind(name, std::span<const Arg>(n.args), {});
  n.op = call.op;
  n.types = infer(op(call.op), call.args);
  if (like) n.stack = like->stack;
  return g.append(std::move(n));
}

std::vector<Node*> result_nodes(Region& r) {
  std::vector<Node*> nodes;
  for (Leaf& leaf : r.results) {
    if (!leaf.node) leaf.node = append_call(*r.graph, "full", {ListArg{{}, true}, leaf.number});
    nodes.push_back(leaf.node);
  }
  return nodes;
}

Node* made_contiguous(Region& r, Node* x) {
  const SizeVec want = row_major_strides(x->type().sizes);
  bool is = true;
  for (std::size_t d = 0; d < want.size(); ++d) is &= guard_eq(x->type().strides[d], want[d]);
  return is ? x : append_call(*r.graph, "contiguous", {x}, x);
}

TensorType own_type(Tracer& t, TensorType type) {
  type.strides = row_major_strides(type.sizes);
  type.offset = 0;
  type.storage = t.graphs.next_storage++;
  type.history = type.requires_grad ? GradHistory::Computed : GradHistory::Leaf;
  type.wrapped_number = false;
  return type;
}

namespace {

void find_captured(const Graph& g, std::vector<Node*>& captured) {
  std::set<const Node*> inside;
  for (auto& n : g.nodes) inside.insert(n.get());
  for (auto& n : g.nodes)
    for_each_operand(*n, [&](Node*& in) {
      if (!inside.contains(in) && std::ranges::find(captured, in) == captured.end()) captured.push_back(in);
    });
}

void close_region(Region& r, const std::vector<Node*>& captured, const std::vector<Node*>& results,
                  const std::string& name) {
  Graph& g = *r.graph;
  std::map<Node*, Node*> inputs;
  for (std::size_t k = 0; k < captured.size(); ++k) {
    Node p{NodeKind::Placeholder};
    p.target = p.name = captured[k]->name;
    p.types = {captured[k]->type()};
    Node* made = inputs[captured[k]] = g.append(std::move(p));
    made->target = made->name;
    auto own = std::move(g.nodes.back());
    g.nodes.pop_back();
    g.nodes.insert(g.nodes.begin() + static_cast<std::ptrdiff_t>(r.inputs.size() + k), std::move(own));
  }
  for (auto& n : g.nodes)
    for_each_operand(*n, [&](Node*& in) {
      if (const auto at = inputs.find(in); at != inputs.end()) in = at->second;
    });
  Node out{NodeKind::Output};
  out.name = "output";
  out.args = {tensor_list(results, true)};
  g.append(std::move(out));
  g.name = name;
}

}  // namespace

std::vector<Node*> close_regions(std::span<Region* const> regions, std::span<const std::vector<Node*>> results,
                                 std::span<const std::string> names) {
  std::vector<Node*> captured;
  for (const Region* r : regions) find_captured(*r->graph, captured);
  for (std::size_t k = 0; k < regions.size(); ++k) close_region(*regions[k], captured, results[k], names[k]);
  return captured;
}

std::string region_name(const Tracer& t, const std::string& base) {
  const auto has_such = [&](const auto& n) {
    return std::ranges::any_of(n->regions, [&](const auto& region) { return region->name.starts_with(base + "_"); });
  };
  return fmt::format("{}_{}", base, std::ranges::count_if(t.graphs.current->nodes, has_such));
}

Arg tensor_list(const std::vector<Node*>& nodes, bool tuple) {
  return ListArg{std::vector<Arg>(nodes.begin(), nodes.end()), tuple};
}

std::vector<ValueRef> append_regions(Tracer& t, Node n, std::span<Region* const> regions) {
  for (Region* r : regions) n.regions.push_back(std::move(r->graph));
  n.multi = true;
  n.stack = t.user_stack();
  ++t.graphs.calls_captured;
  Node* made = t.graphs.current->append(std::move(n));
  if (t.log_traces) log_graph_call(t, *made);
  std::vector<ValueRef> items;
  for (std::size_t k = 0; k < made->types.size(); ++k) {
    Node* item = append_item(*t.graphs.current, made, k);
    if (!made->unbacked.empty()) note_unbacked(t, item);
    items.push_back(t.tensor_value(item));
  }
  return items;
}

bool can_call(const ValueRef& v) {
  switch (v->kind) {
    case ValueKind::Function:
    case ValueKind::Method:
    case ValueKind::Builtin:
    case ValueKind::OpFunction:
    case ValueKind::Marked:
    case ValueKind::Object:
    case ValueKind::Partial:
    case ValueKind::BoundAttr:
      return true;
    default:
      return false;
  }
}

}  // namespace md
