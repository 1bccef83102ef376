// backward() written down instead of run: what the rules of nodes call, hooks and what is added to leaves are steps,
// in the order of the tape, which somebody else executes together.
#pragma once

#include <span>
#include <vector>

#include "ir/gradients/tape.h"

namespace md {

// Results of a call have a type and no memory until run(): nobody may read them before.
class BackwardRecorder : public OpCaller {
 public:
  enum class StepKind : std::uint8_t {
    Op,           // args: as bound
    Hook,         // args: the gradient; its result goes on in its place
    Accumulate,   // args: a tensor, what is added to its grad
    Accumulated,  // args: the tensor; hooks that run after that
  };
  struct Step {
    StepKind kind;
    std::vector<Arg> args;
    const Op* op = nullptr;
    Ref<GradHook> hook;
    std::vector<TensorRef> results;
  };

  using OpCaller::call;
  Arg call(const Op& op, std::vector<Arg> bound) override;
  TensorRef hook(Ref<GradHook> hook, const TensorRef& gradient);
  void accumulate(const TensorRef& to, const TensorRef& gradient);
  void accumulated(Ref<GradHook> hook, const TensorRef& leaf);
  // Executes what is recorded: results that others hold are there from here on. If that throws, they never will be.
  void run();
  bool has_failed() const { return failed_; }

 protected:
  // The values of `asked`, which are results of the steps.
  virtual std::vector<TensorRef> execute(std::span<const Step> steps, std::span<const TensorRef> asked) = 0;

 private:
  Arg made(Step step, std::span<const TensorType> types);
  Arg filled_like(const Op& op, std::vector<Arg> bound);
  std::vector<TensorRef> asked() const;

  std::vector<Step> steps_;
  bool failed_ = false;
};

// Whether calls of the op can wait, and a program can write them as calls of a function.
bool can_be_a_step(const Op& op, std::span<const Arg> bound);

// Of the backward() that is under way in this thread, null where it runs op by op.
BackwardRecorder* backward_recorder();
// What runs, or records, the ops of backward().
OpCaller& backward_caller();

// backward() is recorded there, or with null runs op by op, until the end of this.
class RecordedBy {
 public:
  explicit RecordedBy(BackwardRecorder* recorder);
  ~RecordedBy();
  RecordedBy(const RecordedBy&) = delete;

 private:
  BackwardRecorder* before_;
};

// Calls f(TensorRef) for every tensor inside, however deep.
template <class F>
void for_each_tensor_inside(const Arg& a, F&& f) {
  if (const auto* t = a.get_if<TensorRef>()) {
    if (*t) f(*t);
  } else if (const auto* l = a.get_if<ListArg>()) {
    for (const Arg& x : l->items) for_each_tensor_inside(x, f);
  } else if (const auto* s = a.get_if<SliceArg>()) {
    for (const Arg& x : *s->parts) for_each_tensor_inside(x, f);
  }
}

}  // namespace md
