// Runs traced graphs node by node on real tensors: backend "eager" and GraphModule.__call__.
#include <algorithm>
#include <unordered_map>

#include "ir/core/error.h"
#include "ir/core/thread_modes.h"
#include "ir/gradients/tape.h"
#include "ir/graph/callee.h"
#include "ir/graph/kept_dtype.h"
#include "ir/graph/op_ids.h"
#include "ir/infer/unbacked.h"
#include "ir/reference/product_order.h"
#include "ir/run/eager.h"
#include "ir/run/run_callee.h"
#include "ir/run/run_regions.h"
#include "ir/run/transforms.h"
#include "ir/run/undo_log.h"
#include "ir/run/untaken_branch.h"
#include "ir/sizes/shape_env.h"

namespace md {
namespace {

// Values by node; each is dropped after its last use, as the printed code's `x = None` does.
class Interpreter {
 public:
  Interpreter(const Graph& g, std::span<const TensorRef> inputs, UndoLog* undo)
      : graph_(g), inputs_(inputs), undo_(undo) {
    for (const auto& n : g.nodes) for_each_input(*n, [&](Node*& in) { last_use_[in] = n.get(); });
    // What a delegated call takes, the nodes in its place may use before, or not at all: it stays to the end.
    for (const DelegatedCall& call : g.delegated)
      for (Arg a : call.args) for_each_node(a, [&](Node* in) { last_use_[in] = nullptr; });
    if (g.shapes && inputs.size() == g.placeholders().size()) bind();
  }

  // A region: its symbols are those of the graph around it.
  Interpreter(const Graph& region, std::span<const TensorRef> inputs, const std::vector<std::int64_t>& symbols,
              UndoLog* undo)
      : Interpreter(region, inputs, undo) {
    symbols_ = symbols;
  }

  std::vector<TensorRef> run(const Node** failed) {
    if (inputs_.size() != graph_.placeholders().size()) throw InternalError("interpret: wrong number of inputs");
    std::size_t next_input = 0;
    auto delegated = graph_.delegated.begin();
    const Node* left_out_to = nullptr;  // nodes up to it have been replaced by a call
    for (const auto& n : graph_.nodes) {
      if (failed) *failed = n.get();
      if (n->kind == NodeKind::Output) return results(*n);
      if (delegated != graph_.delegated.end() && delegated->first == n.get()) {
        if (delegate(*delegated)) left_out_to = delegated->last;
        ++delegated;
      }
      if (left_out_to && n->kind != NodeKind::Placeholder && n->kind != NodeKind::GetAttr) {
        if (left_out_to == n.get()) left_out_to = nullptr;
        continue;
      }
      Arg& made = values_[n.get()] = n->kind == NodeKind::Placeholder ? Arg(inputs_[next_input++]) : evaluate(*n);
      bind_sizes(*n, made);
      for_each_input(*n, [&](Node*& in) {
        if (last_use_[in] == n.get()) values_.erase(in);
      });
      if (!last_use_.contains(n.get())) values_.erase(n.get());
    }
    throw InternalError("interpret: the graph has no output");
  }

 private:
  void bind() {
    std::vector<const SizeVec*> declared;
    std::vector<const DimVec*> actual;
    for (const Node* p : graph_.placeholders()) {
      declared.push_back(&p->type().sizes);
      actual.push_back(&inputs_[actual.size()]->sizes);
    }
    bind_symbols(*graph_.shapes, declared, actual, symbols_);
  }

  // Sizes nobody knew before.
  void bind_sizes(const Node& n, const Arg& made) {
    if (n.unbacked.empty()) return;
    const auto* list = made.get_if<ListArg>();
    for (std::size_t i = 0; i < n.types.size(); ++i) {
      const Arg& one = list ? list->items.at(i) : made;
      bind_unbacked(n.types[i], one.get<TensorRef>()->sizes, symbols_);
    }
  }

  template <class F>
  static void for_each_input(const Node& n, F&& f) {
    for (Arg a : n.args) for_each_node(a, f);
    for (auto [key, a] : n.kwargs) for_each_node(a, f);
  }

  Arg value(const Arg& a) const {
    if (const auto* n = a.get_if<Node*>()) return values_.at(*n);
    if (const auto* l = a.get_if<ListArg>()) {
      ListArg out{{}, l->tuple};
      for (const Arg& x : l->items) out.items.push_back(value(x));
      return out;
    }
    if (const auto* s = a.get_if<SliceArg>()) {
      return make_slice(value(s->parts->at(0)), value(s->parts->at(1)), value(s->parts->at(2)));
    }
    if (const auto* size = a.get_if<Size>(); size && !size->is_const()) return graph_.shapes->evaluate(*size, symbols_);
    return a;
  }

  Arg evaluate(const Node& n) {
    switch (n.kind) {
      case NodeKind::Op:
        return call(n);
      case NodeKind::Call:
        return call_out(n);
      case NodeKind::GetItem:
        return value(n.args.at(0)).get<ListArg>().items.at(static_cast<std::size_t>(n.index));
      case NodeKind::GetAttr:
        return n.constant;
      case NodeKind::State:
        if (n.target == "_C._set_grad_enabled") set_grad_enabled(n.args.at(0).get<bool>());
        default_dtype_.apply(n);
        if (n.target == kSetProductFreedom)
          set_product_freedom(n.args.at(0).get<bool>(), n.args.at(1).get<bool>(), n.args.at(2).get<bool>());
        if (n.target == "_C._switch_inference") {
          thread_modes.inference = n.args.at(0).get<bool>();
          set_grad_enabled(n.args.at(1).get<bool>());
        }
        return NoneArg{};
      default:
        throw InternalError("interpret: node " + n.name + " belongs to the functional dialect");
    }
  }

  Arg call(const Node& n) const {
    std::vector<Arg> args;
    for (const Arg& a : n.args) args.push_back(value(a));
    KwArgs kwargs;
    for (const auto& [key, a] : n.kwargs) kwargs.emplace_back(key, value(a));
    if (undo_ && is_inplace(n)) undo_->before_write(args.at(0).get<TensorRef>());
    if (is_setitem(n)) return assign(args);
    BoundArgs bound;
    if (n.op == kNoOp || !try_bind(op(n.op), args, kwargs, bound)) {
      throw InternalError("interpret: the arguments of " + n.name + " do not fit its op");
    }
    if (is_inplace(n)) return call_inplace(op(n.op), bound);
    Arg made = call_op(op(n.op), bound);
    if (undo_) note_results(args, made);
    return made;
  }

  // Results are the graph's own but for views and operands handed back.
  void note_results(std::vector<Arg>& operands, Arg& made) const {
    for_each_tensor(std::span(&made, 1), [&](TensorRef& result) {
      bool passed_on = false;
      for_each_tensor(operands, [&](TensorRef& t) { passed_on |= t->storage == result->storage; });
      if (!passed_on) undo_->made(result);
    });
  }

  Arg call_out(const Node& n) const {
    std::vector<Arg> args;
    for (const Arg& a : n.args) args.push_back(value(a));
    for (const auto& [key, a] : n.kwargs) args.push_back(value(a));
    std::vector<TensorRef> results;
    if (n.callee) {
      const auto number = [&](Size s) { return s.is_const() ? s.value() : graph_.shapes->evaluate(s, symbols_); };
      if (undo_) {
        int position = 0;
        for_each_tensor(args, [&](TensorRef& t) {
          undo_->shown(t);
          if (std::ranges::find(n.callee->writes, position++) != n.callee->writes.end()) undo_->before_write(t);
        });
      }
      results = n.callee->run_on_originals(args, expected_tensors(n.types, number));
      if (undo_) std::ranges::for_each(results, [&](const TensorRef& t) { undo_->shown(t); });
    } else {
      const RegionKind kind = region_kind(n.target);
      results = run_regions(kind, args, [&](std::size_t which, std::span<const TensorRef> inputs) {
        std::vector<TensorRef> made = Interpreter(*n.regions[which], inputs, symbols_, undo_).run(nullptr);
        if (kind == RegionKind::Cond) depend_on_untaken(*n.regions[1 - which], inputs, made);
        return made;
      });
    }
    if (n.multi) return ListArg{std::vector<Arg>(results.begin(), results.end()), true};
    return results.empty() ? Arg(NoneArg{}) : Arg(results[0]);
  }

  // Makes the call if its gradients are to be recorded.
  bool delegate(const DelegatedCall& call) {
    std::vector<Arg> args;
    for (const Arg& a : call.args) args.push_back(value(a));
    if (!needs_record(args)) return false;
    const std::vector<TensorRef> made = call.callee->run(args, {});
    for (const auto& [place, n] : call.results) values_[n] = made.at(static_cast<std::size_t>(place));
    return true;
  }

  // x[index] = value
  static Arg assign(const std::vector<Arg>& args) {
    assign_index(args.at(0).get<TensorRef>(), args.at(1), args.at(2));
    return args.at(0);
  }

  std::vector<TensorRef> results(const Node& output) const {
    std::vector<TensorRef> out;
    for (const Arg& a : output.args.at(0).get<ListArg>().items) out.push_back(value(a).get<TensorRef>());
    return out;
  }

  KeptDefaultDType default_dtype_;
  const Graph& graph_;
  std::span<const TensorRef> inputs_;
  UndoLog* undo_;  // may be null
  std::unordered_map<const Node*, const Node*> last_use_;
  std::unordered_map<const Node*, Arg> values_;
  std::vector<std::int64_t> symbols_;
};

}  // namespace

std::vector<TensorRef> interpret(const Graph& traced, std::span<const TensorRef> inputs, const Node** failed,
                                 UndoLog* undo) {
  const GradMode as_now(grad_enabled());  // nodes of the graph may change it
  struct InferenceAsNow {
    const bool before = thread_modes.inference;
    ~InferenceAsNow() { thread_modes.inference = before; }
  } const inference_as_now;
  const TransformsOfRun transforms;
  return Interpreter(traced, inputs, undo).run(failed);
}

}  // namespace md
