// The record of eager calls that gradients flow back through. A tensor that requires grad has a GradRecord; what
// computed it is a GradNode, whose edges lead to the nodes of the operands. Nothing here knows Python.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/gradients/derivation.h"

namespace md {

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
};
using GradHooks = std::vector<Ref<GradHook>>;

class GradNode : public RefCounted {
 public:
  GradNode();
  virtual std::string name() const = 0;  // "AddBackward0"
  // Gradients for the edges from those of the results; null where nothing flows, in and out. Keeps what it saved only
  // if `keep`.
  virtual std::vector<TensorRef> backward(std::span<const TensorRef> grads, bool keep) = 0;
  // Its results may depend on each other: who watches a result's gradient (a hook, an input of backward()) is told in
  // backward(), by the node, when all of that gradient is there.
  virtual bool runs_hooks() const { return false; }
  bool is_watched() const {
    return std::ranges::any_of(hooks, [](const GradHooks& h) { return !h.empty(); });
  }
  // What was saved is gone: an earlier backward() has used it.
  virtual bool is_spent() const { return false; }

  std::vector<GradEdge> edges;
  int results = 1;
  std::uint64_t order;           // of creation in this thread: later calls are gone back through first
  std::vector<GradHooks> hooks;  // for each result, if there are any

 protected:
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
  TensorRef base;                   // of a recorded view: the tensor it shows a part of, no view itself
  std::uint32_t version = 0;        // of the storage when `node` was right: a later write makes it wrong
  GradNode* accumulator = nullptr;  // the node that adds to `grad`, while it lives
};

inline GradRecord* grad_record(const TensorImpl& t) { return static_cast<GradRecord*>(t.autograd.get()); }
GradRecord& make_grad_record(TensorImpl& t);
// Where the gradient of `t` goes; no node if it requires none. A computed tensor whose call was not recorded has a node
// that raises.
GradEdge grad_edge(const TensorRef& t);
// `t` is result number `result` of `node` from here on.
void set_history(TensorImpl& t, Ref<GradNode> node, int result);

// Gradients that reach `t` raise from here on: nobody recorded how it was computed.
void forget_history(TensorImpl& t);
// t.grad += g, where backward() is not recorded in place.
void add_to_grad(TensorImpl& t, TensorRef g);

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

// A write in place to args[0], which is `target` or shows a part of it: made before, finished after the write. The
// history of `target`, and of the tensor it is a view of, goes through the write from then on.
class RecordedWrite {
 public:
  RecordedWrite(const Op& op, OpCaller& caller, std::span<const Arg> args, TensorRef target);
  ~RecordedWrite();
  void finish();

 private:
  OpCaller& caller_;
  TensorRef target_, written_;
  Ref<GradNode> node_;
};

// What runs ops for the tape: calls of their own, and writes in place.
struct TapeRunner {
  OpCaller* caller = nullptr;
  void (*inplace)(const Op& op, std::span<const Arg> bound) = nullptr;
};
TapeRunner& tape_runner();  // set once, when eager calls are there

// --- backward() --------------------------------------------------------------------------------------------------

struct BackwardCall {
  std::vector<TensorRef> roots, grads;  // grads: null for the 1 of a root of one element
  bool keep_graph = false, create_graph = false;
  // Gradients of these are returned and nothing is accumulated; empty: of every leaf, into its `grad`.
  std::vector<TensorRef> inputs;
  bool accumulate_into_inputs = false;  // backward(inputs=...)
};
// Null for an input that the roots do not depend on. Throws OpError(Runtime).
std::vector<TensorRef> run_backward(const BackwardCall& call);

}  // namespace md
