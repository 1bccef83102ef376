// The record of eager calls that gradients flow back through. A tensor that requires grad has a GradRecord; what
// computed it is a GradNode, whose edges lead to the nodes of the operands. Nothing here knows Python.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/gradients/derivation.h"

namespace md {

class BackwardRecorder;
class GradNode;

// Where a gradient goes on to: the `result`-th result of a call. Without a node it ends here.
struct GradEdge {
  Ref<GradNode> node;
  int result = 0;
};

// Called with a gradient on its way; what it returns, if anything, goes on in its place.
class GradHook : public RefCounted {
 public:
  virtual TensorRef call(const TensorRef& gradient) = 0;
  // Where backward() is recorded (ir/gradients/backward_recorder.h): it calls ops and no other code, or it can be
  // called later, as a step. Before others run, all that is recorded is executed.
  virtual bool only_calls_ops() const { return false; }
  virtual bool is_a_step() const { return false; }
  // It is about what `t` is in the end: after a write in place it waits for the gradient of what was written.
  virtual bool follows(const TensorImpl&) const { return false; }
};
using GradHooks = std::vector<Ref<GradHook>>;

// Called before a node's backward() with the gradients of its results, or after it with those of its operands, and may
// put others in their place. `of_results` is empty before.
class NodeHook : public RefCounted {
 public:
  virtual void call(std::vector<TensorRef>& gradients, std::span<const TensorRef> of_results) = 0;
};

// What programs have attached to a node. Most have nothing.
struct NodeExtras {
  std::vector<GradHooks> of_results;  // hooks of tensors, for each result
  Ref<NodeHook> before, after;
  Ref<RefCounted> metadata;
  std::shared_ptr<GradNode*> self;  // says where the node is, and null once it is gone
};

// How a node's backward() is asked.
struct BackwardStep {
  bool keep = false;                          // what was saved is needed again
  const std::vector<bool>* needed = nullptr;  // edges that want a gradient; null: all
  bool wants(std::size_t i) const { return !needed || (*needed)[i]; }
};

std::uint64_t next_order();  // what the next node made exceeds

// Of a node that is the last of several made for one call of the program: the call, in the place of its parts.
struct NodeLabel {
  const std::string* name = nullptr;  // kept for good
  std::uint64_t first = 0;            // the parts have a higher `order`
  std::uint8_t operands = 0;          // so many edges are shown
  std::uint64_t flows = 0;            // to which of them gradients go
};

class GradNode : public RefCounted {
 public:
  GradNode();
  std::string name() const { return label.name ? *label.name : own_name(); }  // "AddBackward0"
  // Where the gradients of the operands go on to: of this node, or out of the call of `label`.
  std::vector<GradEdge> operand_edges() const;
  // Gradients for the edges from those of the results; null where nothing flows, in and out.
  virtual std::vector<TensorRef> backward(std::span<const TensorRef> grads, const BackwardStep& step) = 0;
  // Its results may depend on each other: who watches a result's gradient (a hook, an input of backward()) is told in
  // backward(), by the node, when all of that gradient is there.
  virtual bool runs_hooks() const { return false; }
  bool is_watched() const {
    return extras && std::ranges::any_of(extras->of_results, [](const GradHooks& h) { return !h.empty(); });
  }
  // What was saved is gone: an earlier backward() has used it.
  virtual bool is_spent() const { return false; }
  // backward() only calls ops, by backward_caller(): it can be recorded. What it saved it keeps until forget_saved().
  virtual bool only_calls_ops() const { return false; }
  virtual void forget_saved() {}
  // Of a result, if it is known.
  virtual std::optional<TensorType> result_type(int) const { return std::nullopt; }
  // Of the tensor that is the result, in the order in which they run.
  virtual GradHooks tensor_hooks(int result) const;
  // Calls f for everything that may hold objects of the program: what belongs to the node, or the node itself.
  virtual void for_each_held(const std::function<void(RefCounted&)>& f) const;

  NodeExtras& make_extras() {
    if (!extras) extras = std::make_unique<NodeExtras>();
    return *extras;
  }
  std::shared_ptr<GradNode*> self_token();
  GradHooks& hooks_of_result(int i) {
    std::vector<GradHooks>& all = make_extras().of_results;
    all.resize(static_cast<std::size_t>(results));
    return all[static_cast<std::size_t>(i)];
  }

  std::vector<GradEdge> edges;
  int results = 1;
  std::uint64_t order;  // of creation: later calls are gone back through first
  NodeLabel label;
  std::unique_ptr<NodeExtras> extras;
  void* face = nullptr;  // the program's object for the node while there is one: it holds this node, not the reverse

 protected:
  virtual std::string own_name() const = 0;
  // `edges` as torch counts operands.
  virtual std::vector<GradEdge> own_operand_edges() const { return edges; }
  ~GradNode() override;  // frees a chain of nodes of any length without recursion
};

// What autograd keeps of a tensor.
class GradRecord final : public RefCounted {
 public:
  ~GradRecord() override {
    if (token) *token = nullptr;
  }
  // Says where the tensor is, and null once it is gone.
  std::shared_ptr<TensorImpl*> self_token(TensorImpl& t) {
    if (!token) token = std::make_shared<TensorImpl*>(&t);
    return token;
  }
  std::shared_ptr<TensorImpl*> token;
  Ref<GradNode> node;  // what computed the tensor; null for a leaf
  int result = 0;
  TensorRef grad;                   // of a leaf, or retained
  Ref<RefCounted> grad_face;        // its Python object, once there is one
  GradHooks hooks;                  // of a leaf, before its gradient is added
  GradHooks accumulated;            // of a leaf, after it was added
  std::uint32_t version = 0;        // of the storage when `node` was right: a later write makes it wrong
  GradNode* accumulator = nullptr;  // the node that adds to `grad`, while it lives
};

inline GradRecord* grad_record(const TensorImpl& t) { return static_cast<GradRecord*>(t.autograd.get()); }
GradRecord& make_grad_record(TensorImpl& t);
// A view that was taken before its base required grad requires it from here on, if the base does now.
void follow_base(const TensorRef& t);
// Where the gradient of `t` goes; no node if it requires none. A computed tensor whose call was not recorded has a node
// that raises.
GradEdge grad_edge(const TensorRef& t);
// `t` is result number `result` of `node` from here on.
void set_history(TensorImpl& t, Ref<GradNode> node, int result);

// Gradients that reach `t` raise from here on: nobody recorded how it was computed.
void forget_history(TensorImpl& t);
// The leaf whose `grad` the node adds to; null for other nodes.
TensorRef accumulated_leaf(const GradNode& node);
// t.grad += g, where backward() is not recorded in place.
void add_to_grad(TensorImpl& t, const TensorRef& g);
// The same at once. `ours`: nobody else has the memory of `g`, which may become the gradient.
void add_to_grad_now(TensorImpl& t, const TensorRef& g, bool ours);

// Sets grad mode, and the old one back.
class GradMode {
 public:
  explicit GradMode(bool on) : before_(grad_enabled()) { set_grad_enabled(on); }
  ~GradMode() { set_grad_enabled(before_); }
  GradMode(const GradMode&) = delete;

 private:
  bool before_;
};

// Whether a call of these arguments is to be recorded: grad mode is on and one of them requires grad.
bool needs_record(std::span<const Arg> args);
// After call_op(): its results, which require grad, know the call. `result` as call_op() returns it.
void record_call(const Op& op, OpCaller& caller, std::span<const Arg> args, const Arg& result);
// Results of a call whose parts were recorded since next_order() gave `first` are shown as that of one call, `name`.
void label_nodes(const Arg& result, const NodeLabel& label);
// The nodes of results that were recorded since then.
void for_each_node_since(std::uint64_t first, const Arg& result, const std::function<void(GradNode&)>& f);

class CallNode;

// A write in place to args[0], which is `target` or shows a part of it: made before, finished after the write. The
// history of `target`, and of the tensor it is a view of, goes through the write from then on.
class RecordedWrite {
 public:
  RecordedWrite(const Op& op, OpCaller& caller, std::span<const Arg> args, TensorRef target);
  ~RecordedWrite();
  void finish();

 private:
  TensorRef target_, written_;
  Ref<CallNode> call_;
};
// `node`, one of whose operands was `written`, with edge number `operand`, wrote to it, and this is its only result.
void record_write(Ref<GradNode> node, std::size_t operand, const TensorRef& written, const TensorRef& target);

// What runs ops for the tape: calls of their own, and writes in place.
struct TapeRunner {
  OpCaller* caller = nullptr;
  void (*inplace)(const Op& op, std::span<const Arg> bound) = nullptr;
};
TapeRunner& tape_runner();  // set once, when eager calls are there

// --- backward() --------------------------------------------------------------------------------------------------

// A tensor, or only where its gradient goes.
struct GradTarget {
  TensorRef tensor;
  GradEdge edge;
};

struct BackwardCall {
  std::vector<GradTarget> roots;
  std::vector<TensorRef> grads;  // of the roots: null for the 1 of a root of one element
  bool keep_graph = false, create_graph = false;
  // Gradients of these are returned and nothing is accumulated; empty: of every leaf, into its `grad`.
  std::vector<GradTarget> inputs;
  bool accumulate_into_inputs = false;   // backward(inputs=...)
  BackwardRecorder* recorder = nullptr;  // not where the gradients are differentiable themselves
};
// A gradient where its tensor is: a number goes there, all else that is elsewhere is refused, as number `i` of what
// `giver` names. Tensors without memory may stand for others, which say themselves where they are.
TensorRef beside(const TensorRef& gradient, Device want, std::string_view giver, std::size_t i);
// Null for an input that the roots do not depend on. Throws OpError(Runtime).
std::vector<TensorRef> run_backward(const BackwardCall& call);
// The node whose backward() is under way in this thread, or null.
GradNode* node_under_way();

}  // namespace md
