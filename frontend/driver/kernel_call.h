// The call of a plan's kernel: its inputs, its outputs, and which Python objects they are.
#pragma once

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontend/driver/graph_module.h"
#include "frontend/entries/code_cache.h"
#include "frontend/plan/plan.h"
#include "ir/core/error.h"
#include "ir/core/small_vector.h"
#include "ir/run/graph_history.h"

namespace md {

[[gnu::always_inline]] inline void run_kernel(Kernel& kernel, std::span<TensorImpl* const> inputs,
                                              std::span<TensorRef> outputs, bool& committed) {
  try {
    kernel.run(inputs, outputs);
  } catch (const BackendFailed&) {
    committed = true;
    throw;
  } catch (const FailedAfterWrite&) {
    committed = true;
    throw;
  }
  committed = true;
}

// Of an input that is no parameter; `found`: by the guards, or null.
PyRef input_elsewhere(const EntryPlan& plan, std::size_t k, const FrameArgs& args, PyObject* const* found);
// Of an input whose guard has passed.
std::int64_t number_at(const SizePlace& p, const FrameArgs& args);

class KernelCall {
 public:
  KernelCall(const EntryPlan& plan, const FrameArgs& args, PyObject* const* found)
      : plan_(plan), args_(args), found_(found) {}

  // As the frame and the guards have them; numbers are in registers.
  void take_inputs(const std::vector<PyRef>& registers);
  void run(bool& committed);
  bool has_same_inputs(const LoadedValues& now) const;

  // An input that comes back (x.float() of a float32 tensor) is the object that went in, and a tensor that two nodes
  // give is one object.
  PyRef output(std::size_t k);
  const TensorImpl& output_tensor(std::size_t k) const { return *outputs_[k]; }
  void require_grads();  // what requires grad, which kernels know nothing of

 private:
  void set_states(const std::vector<GradState>& states);  // of the outputs
  PyObject* input_object(const TensorImpl* t);            // null: it is none
  PyRef input_of_call(std::size_t k, const std::vector<PyRef>& registers) const;

  const EntryPlan& plan_;
  const FrameArgs& args_;
  PyObject* const* found_;
  SmallVector<TensorImpl*, 8> inputs_;
  SmallVector<PyObject*, 8> objects_;
  std::vector<TensorRef> carriers_;        // ints as kernel inputs
  std::vector<TensorRef> outputs_, kept_;  // kept_: for the way back
  std::optional<GraphHistory> history_;
  using Wrapped = std::pair<const TensorImpl*, PyRef>;
  std::vector<Wrapped> wrapped_;                                // outputs that several hold
  std::unordered_map<const TensorImpl*, PyObject*> object_of_;  // the inputs, where there are many
  std::vector<PyRef> held_;                                     // inputs the frame does not hold; dropped first
};

}  // namespace md
