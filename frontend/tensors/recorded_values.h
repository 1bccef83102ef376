// What a recorded backward() reads and makes, by number, and its text: two with one text do the same.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontend/cpython/py_ref.h"
#include "ir/gradients/backward_recorder.h"

namespace md {

class RecordedValues {
 public:
  using Step = BackwardRecorder::Step;
  using StepKind = BackwardRecorder::StepKind;

  RecordedValues(std::span<const Step> steps, std::span<const TensorRef> asked);

  const std::string& text() const { return text_; }
  // Lists: the tensors that are read, and the tables of hooks.
  PyRef input_objects() const;
  PyRef hook_objects() const;
  std::size_t input_count() const { return inputs_.size(); }
  std::size_t hook_count() const { return hooks_.size(); }

  // Results have the numbers from 0 in their order, inputs -1, -2, ...
  long number_of(const TensorRef& t);
  // Of a tensor whose grad is added to: the object that the program has of it is the input.
  long number_of_target(const TensorRef& t);
  std::size_t number_of_hook(const GradHook& hook);
  // Nobody else will have the memory of the gradient that this step adds: it may become `grad`.
  bool gives_away(const Step& accumulate) const;

 private:
  struct Input {
    TensorRef tensor;
    bool itself;  // not another tensor over the same elements
  };

  // A result with memory of its own, which one step reads and nobody else.
  bool is_used_up(const TensorImpl& t) const;
  long added(const TensorRef& t, bool itself);
  void describe(const Step& step);
  void describe(const Arg& a);

  std::string text_;
  std::vector<Input> inputs_;
  std::vector<const GradHook*> hooks_;
  std::unordered_map<const TensorImpl*, long> numbers_, target_numbers_;
  std::unordered_map<std::string, long> by_elements_;              // inputs
  std::unordered_map<std::string, TensorRef> target_by_elements_;  // that may be read as well
  std::unordered_map<const TensorImpl*, int> uses_;                // of results
  std::unordered_set<const TensorImpl*> fresh_;  // results, and views of results that nobody else reads
};

}  // namespace md
