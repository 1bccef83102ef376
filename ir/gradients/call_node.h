// The node of a call of an op of the table.
#pragma once

#include "ir/gradients/rule_reads.h"
#include "ir/gradients/saved_tensor.h"
#include "ir/gradients/tape.h"

namespace md {

// Keeps the tensors of the call whose elements its derivative reads, and of the others the type.
class CallNode final : public GradNode {
 public:
  // `made` are the results, by which what is read is known; set_results() keeps them.
  CallNode(const Op& op, OpCaller& caller, std::span<const Arg> args, std::span<const TensorRef> made);
  // Of a write in place to args[0], before it happens: what was there is copied if it is read.
  CallNode(const Op& op, OpCaller& caller, std::span<const Arg> args);
  void set_results(std::span<const TensorRef> made);

  bool is_spent() const override { return spent_; }
  bool only_calls_ops() const override;
  void forget_saved() override;
  std::optional<TensorType> result_type(int i) const override;
  void for_each_held(const std::function<void(RefCounted&)>& f) const override;
  std::vector<TensorRef> backward(std::span<const TensorRef> grads, const BackwardStep& step) override;

  // A tensor kept for backward(), by the name of the parameter or "result", "result1", ...
  struct Kept {
    std::string name;
    std::size_t index;  // into `saved`
  };
  std::vector<Kept> kept() const;
  // As backward() has it, with its history. Throws OpError(Runtime) if it is gone or was written to.
  TensorRef kept_tensor(std::size_t index);
  SavedTensor& saved(std::size_t index) { return saved_[index].what; }
  // An argument that is no tensor, by the name of its parameter; null for others.
  const Arg* plain_argument(const std::string& name) const;

 private:
  void add_shown_reads(std::span<const TensorRef> made);
  TensorRef kept_result(const TensorRef& made);
  // Its place: operands are counted as edges are, results go on from there.
  struct Saved {
    std::size_t place;
    SavedTensor what;
  };

  std::string own_name() const override { return *name_; }
  std::vector<GradEdge> own_operand_edges() const override;
  void add_edges();
  void save_operands(const TensorRef& first_copy);
  TensorRef with_history(const SavedTensor& s, std::size_t place);
  bool is_as_saved() const;
  void depend_on_read(std::vector<TensorRef>& found, std::uint64_t first);
  TensorRef depending(const TensorRef& t, const RuleReads& reads, std::uint64_t first);
  std::size_t parameter_of(std::size_t place) const;
  void restore(std::vector<Arg>& args, std::vector<Arg>& made);
  std::uint64_t wanted_in(const BackwardStep& step) const;

  const Op& op_;
  const std::string* name_;
  OpCaller& caller_;
  std::vector<Arg> args_, results_;  // tensors are types, or those of `saved_`
  std::vector<Saved> saved_;
  RuleReads reads_;
  std::uint64_t wanted_ = 0;   // parameters
  std::uint64_t selects_ = 0;  // edges of operands that say which elements are meant
  bool takes_number_ = false;  // in the place of a tensor
  bool spent_ = false;
};

// Calls f for every tensor among arguments, in order.
template <class Args, class F>
void for_each_tensor(Args&& args, F&& f) {
  for (auto& a : args) {
    if (auto* t = std::get_if<TensorRef>(&a.v)) {
      f(*t);
    } else if (auto* l = std::get_if<ListArg>(&a.v)) {
      for (auto& x : l->items)
        if (auto* item = std::get_if<TensorRef>(&x.v)) f(*item);
    }
  }
}

}  // namespace md
