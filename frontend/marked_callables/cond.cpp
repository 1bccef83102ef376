// Traces both branches of cond into graphs of their own and checks that their results and effects agree.
#include "frontend/marked_callables/cond.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "frontend/marked_callables/reachable.h"
#include "frontend/marked_callables/shaped_values.h"
#include "frontend/plan/result_shape.h"
#include "frontend/report/events.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/logs.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/tensor.h"
#include "ir/graph/callee.h"
#include "ir/infer/infer.h"

namespace md {

void uncaptured(const std::vector<UserFrame>& frames, const std::string& op, const GraphBreak* inner,
                const std::string& text) {
  PyRef cause = inner ? break_parts_call("unsupported", *inner, frames) : PyRef();
  PyRef error = report("uncaptured", {py_str(op), cause, py_str(text), frames_list(frames)});
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  throw PythonError{};
}

namespace {

struct Branch {
  std::unique_ptr<Graph> graph;
  PyRef shape;
  std::vector<Node*> results;
};

// One branch while its graph takes the place of the trace's.
class BranchTrace {
 public:
  explicit BranchTrace(Tracer& t)
      : t_(t), depth_(t.stack.frames.size()), grad_(t.grad_enabled), effects_(t.effects.list().size()) {
    t.graphs.outer.push_back(std::move(t.graphs.current));
    t.graphs.current = std::make_unique<Graph>();
  }
  ~BranchTrace() {
    if (!done_) take();
    t_.stack.frames.resize(std::min(t_.stack.frames.size(), depth_));
    t_.grad_enabled = grad_;
  }
  BranchTrace(const BranchTrace&) = delete;
  BranchTrace& operator=(const BranchTrace&) = delete;

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

// Memory the branch has made itself.
class Ownership {
 public:
  explicit Ownership(const Graph& g) {
    for (auto& n : g.nodes) inside_.insert(n.get());
    for (auto& n : g.nodes)
      for_each_operand(*n, [&](Node*& in) {
        if (!inside_.contains(in)) note_outer(in);
      });
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

void check_results(const Branch& r, Ownership& memory) {
  std::set<int> seen;
  for (Node* n : r.results) {
    if (!memory.is_inside(n) || memory.is_outer(n->type().storage))
      graph_break<GB0040>(fmt::format("{} is an operand, a captured tensor or a view of one", n->name));
    if (!seen.insert(n->type().storage).second)
      graph_break<GB0040>(fmt::format("{} shares memory with another result", n->name));
  }
}

// Breaks are converted by the caller; `where` is then the innermost place.
Branch trace_branch(Tracer& t, const ValueRef& function, const std::vector<ValueRef>& operands,
                    std::vector<UserFrame>& where) {
  std::vector<ValueRef> reached = operands;
  reached.push_back(function);
  const ReachableState before(t, std::move(reached));
  BranchTrace branch(t);
  ValueRef value;
  try {
    value = t.call(function, CallArgs{operands, {}});
  } catch (const GraphBreak&) {
    where = t.user_frames();
    throw;
  }
  if (branch.has_effects() || branch.has_switched_grad() || before.has_changed())
    graph_break<GB0067>(std::string("an object or a variable from outside of ") + function->print());
  Branch r;
  std::vector<ValueRef> tensors;
  std::string offender;
  r.shape = result_shape(t, value, tensors, offender);
  if (!r.shape) unmodelled("cond", "result of type " + offender);
  for (auto& v : tensors) r.results.push_back(static_cast<TensorValue*>(v.get())->node);
  Ownership memory(*t.graphs.current);
  for (auto& v : operands)
    if (auto* x = as<TensorValue>(t.realize(v))) memory.note_outer(x->node);
  check_writes(*t.graphs.current, memory);
  check_results(r, memory);
  r.graph = branch.take();
  return r;
}

Branch trace_branch_or_fail(Tracer& t, const ValueRef& function, const std::vector<ValueRef>& operands) {
  std::vector<UserFrame> where = t.user_frames();
  try {
    return trace_branch(t, function, operands, where);
  } catch (const GraphBreak& b) {
    uncaptured(where, "cond", &b, "");
  } catch (const TracedRaise& e) {
    GraphBreak b = make_break<GB0088>(e.exception->print());
    uncaptured(t.user_frames(), "cond", &b, "");
  }
}

// What the branch reads from outside, in the order of first use.
void find_captured(const Graph& g, std::vector<Node*>& captured) {
  std::set<const Node*> inside;
  for (auto& n : g.nodes) inside.insert(n.get());
  for (auto& n : g.nodes)
    for_each_operand(*n, [&](Node*& in) {
      if (!inside.contains(in) && std::ranges::find(captured, in) == captured.end()) captured.push_back(in);
    });
}

void close_region(Branch& r, const std::vector<Node*>& captured, const std::string& name) {
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
    g.nodes.insert(g.nodes.begin() + static_cast<std::ptrdiff_t>(k), std::move(own));
  }
  for (auto& n : g.nodes)
    for_each_operand(*n, [&](Node*& in) {
      if (const auto at = inputs.find(in); at != inputs.end()) in = at->second;
    });
  Node out{NodeKind::Output};
  out.name = "output";
  ListArg tuple{{}, true};
  for (Node* n : r.results) tuple.items.push_back(n);
  out.args = {Arg(tuple)};
  g.append(std::move(out));
  g.name = name;
}

[[noreturn]] void results_differ(const std::string& what, const std::string& a, const std::string& b) {
  throw FailedCall(OpError(ErrorKind::Runtime,
                           fmt::format("cond(): the branches have to give tensors of the same {}, but one gives {} "
                                       "and the other {}",
                                       what, a, b)),
                   "call_function torch.ops.higher_order.cond");
}

Node* made_contiguous(Branch& r, Node* x) {
  Node n{NodeKind::Op};
  n.spelling = Spelling::Method;
  n.target = n.name = "contiguous";
  n.args = {x};
  const BoundCall call = md::bind("contiguous", std::span<const Arg>(n.args), {});
  n.op = call.op;
  n.types = infer(op(call.op), call.args);
  n.stack = x->stack;
  return r.graph->append(std::move(n));
}

// Both branches have to give the same types; where only strides differ, both are made contiguous.
std::vector<TensorType> merged_types(Tracer& t, Branch& a, Branch& b) {
  if (!same_shape(a.shape.get(), b.shape.get()) || a.results.size() != b.results.size())
    results_differ("structure", repr_of(a.shape.get()), repr_of(b.shape.get()));
  std::vector<TensorType> out;
  for (std::size_t i = 0; i < a.results.size(); ++i) {
    Node *&x = a.results[i], *&y = b.results[i];
    if (x->type().dim() != y->type().dim())
      results_differ("dim", std::to_string(x->type().dim()), std::to_string(y->type().dim()));
    if (x->type().dtype != y->type().dtype)
      results_differ("dtype", std::string(info(x->type().dtype).name), std::string(info(y->type().dtype).name));
    if (!(x->type().device == y->type().device))
      results_differ("device", to_string(x->type().device), to_string(y->type().device));
    bool same_strides = true;
    for (std::size_t d = 0; d < x->type().sizes.size(); ++d) {
      if (!guard_eq(x->type().sizes[d], y->type().sizes[d]))
        results_differ("sizes", sizes_text(x->type().sizes), sizes_text(y->type().sizes));
      same_strides &= guard_eq(x->type().strides[d], y->type().strides[d]);
    }
    if (!same_strides) x = made_contiguous(a, x), y = made_contiguous(b, y);
    TensorType type = x->type();
    type.offset = 0;
    type.storage = t.graphs.next_storage++;
    type.requires_grad |= y->type().requires_grad;
    type.history = type.requires_grad ? GradHistory::Computed : GradHistory::Leaf;
    out.push_back(std::move(type));
  }
  return out;
}

ValueRef emit_cond(Tracer& t, Node* predicate, Branch yes, Branch no) {
  Node n{NodeKind::Call};
  n.target = "ops.higher_order.cond";
  n.name = "cond";
  n.multi = true;
  n.types = merged_types(t, yes, no);
  n.stack = t.user_stack();
  std::vector<Node*> captured;
  find_captured(*yes.graph, captured);
  find_captured(*no.graph, captured);
  const auto number =
      std::ranges::count_if(t.graphs.current->nodes, [](auto& known) { return !known->regions.empty(); });
  close_region(yes, captured, fmt::format("cond_true_{}", number));
  close_region(no, captured, fmt::format("cond_false_{}", number));
  ListArg operands{{}, true};
  for (Node* c : captured) operands.items.push_back(c);
  n.args = {Arg(predicate), Arg(operands)};
  n.regions = {std::shared_ptr<Graph>(std::move(yes.graph)), std::shared_ptr<Graph>(std::move(no.graph))};
  ++t.graphs.calls_captured;
  Node* made = t.graphs.current->append(std::move(n));
  if (t.log_traces) log_graph_call(t, *made);
  std::size_t next = 0;
  return shaped_value(t, yes.shape.get(), [&]() -> ValueRef {
    Node get{NodeKind::GetItem};
    get.target = get.name = "getitem";
    get.args = {made};
    get.index = static_cast<int>(next);
    get.types = {made->types[next++]};
    get.stack = made->stack;
    return t.tensor_value(t.graphs.current->append(std::move(get)));
  });
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

}  // namespace

ValueRef trace_cond(Tracer& t, const ValueRef& predicate, const ValueRef& true_fn, const ValueRef& false_fn,
                    const ValueRef& operands) {
  const auto check = [&](bool holds, const std::string& text) {
    if (!holds) uncaptured(t.user_frames(), "cond", nullptr, text);
  };
  check(can_call(true_fn), "true_fn should be a function, but it is " + true_fn->print());
  check(can_call(false_fn), "false_fn should be a function, but it is " + false_fn->print());
  check(operands->kind == ValueKind::List || operands->kind == ValueKind::Tuple,
        "operands should be a list or tuple, but they are " + operands->print());
  const std::vector<ValueRef> given = collect(t, operands);
  auto* x = as<TensorValue>(predicate);
  if (!x) {
    if (PyErr_WarnEx(PyExc_UserWarning,
                     "cond() was given a constant as its predicate: only the branch it picks is part of the program",
                     1) < 0)
      throw PythonError{};
    return t.call(predicate->truth(t) ? true_fn : false_fn, CallArgs{given, {}});
  }
  Node* node = x->node;
  Branch yes = trace_branch_or_fail(t, true_fn, given);
  Branch no = trace_branch_or_fail(t, false_fn, given);
  return emit_cond(t, node, std::move(yes), std::move(no));
}

}  // namespace md
