// Collects a kernel's inputs from the frame and from what guards found, runs it, and makes objects of its outputs.
#include "frontend/driver/kernel_call.h"

#include <algorithm>
#include <iterator>

#include "frontend/guards/guard.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/tensors/tensor_parts.h"
#include "ir/run/transforms.h"

namespace md {

PyRef input_elsewhere(const EntryPlan& plan, std::size_t k, const FrameArgs& args, PyObject* const* found) {
  return found && plan.input_places[k] >= 0 ? PyRef::borrow(found[plan.input_places[k]]) : load(plan.inputs[k], args);
}

std::int64_t number_at(const SizePlace& p, const FrameArgs& args) {
  PyRef o = load(p.source, args);
  std::int64_t value;
  if (!o || !read_size(o.get(), p.field, p.dim, value))
    throw InternalError("a size vanished after its guard passed: " + to_string(p));
  return value;
}

// A number that counts as a number in the graph.
static PyRef number_tensor(PyObject* number) {
  const DType dtype = PyFloat_Check(number) ? DType::Float64 : PyBool_Check(number) ? DType::Bool : DType::Int64;
  TensorRef made = tensor_from_data(number, &dtype);
  made->wrapped_number = true;
  return wrap_tensor(std::move(made));
}

PyRef KernelCall::input_of_call(std::size_t k, const std::vector<PyRef>& registers) const {
  const Reg number = plan_.number_regs.empty() ? -1 : plan_.number_regs[k];
  if (number >= 0) return number_tensor(registers[static_cast<std::size_t>(number)].get());
  return input_elsewhere(plan_, k, args_, found_);
}

void KernelCall::take_inputs(const std::vector<PyRef>& registers) {
  for (const SizePlace& p : plan_.size_inputs) {
    carriers_.push_back(size_carrier(number_at(p, args_)));
    inputs_.push_back(carriers_.back().get());
    objects_.push_back(nullptr);
  }
  for (std::size_t k = 0; k < plan_.inputs.size(); ++k) {
    PyObject* o = plan_.input_slots[k] >= 0 ? args_.localsplus[plan_.input_slots[k]] : nullptr;
    if (!o) {
      held_.push_back(input_of_call(k, registers));
      o = held_.back().get();
    }
    if (!o || !is_tensor(o)) throw InternalError("a graph input vanished after its guard passed");
    inputs_.push_back(tensor_impl(o));
    objects_.push_back(o);
  }
}

void KernelCall::run(bool& committed) {
  outputs_.resize(plan_.outputs + (plan_.backward ? plan_.backward->kept_values() : 0));
  const std::span<TensorImpl* const> inputs(inputs_.data(), inputs_.size());
  if (plan_.traced) history_.emplace(plan_.traced, plan_.backward, inputs);
  const GradMode mode(grad_enabled() && (!history_ || plan_.kernel->records_gradients()));
  run_kernel(*plan_.kernel, inputs, outputs_, committed);
  const auto first_kept = outputs_.begin() + static_cast<std::ptrdiff_t>(plan_.outputs);
  kept_.assign(std::make_move_iterator(first_kept), std::make_move_iterator(outputs_.end()));
  outputs_.erase(first_kept, outputs_.end());
}

bool KernelCall::has_same_inputs(const LoadedValues& now) const {
  const std::size_t sizes = plan_.size_inputs.size();
  for (std::size_t k = 0; k < sizes; ++k)
    if (number_at(plan_.size_inputs[k], args_) != inputs_[k]->sizes[0]) return false;
  for (std::size_t k = 0; k < plan_.inputs.size(); ++k) {
    if (plan_.input_slots[k] >= 0) continue;
    if (plan_.input_places[k] >= 0) {
      if (now[static_cast<std::size_t>(plan_.input_places[k])] != objects_[sizes + k]) return false;
    } else if (PyRef made = load(plan_.inputs[k], args_);
               tensor_impl(made.get())->data() != inputs_[sizes + k]->data()) {
      return false;
    }
  }
  return true;
}

PyRef KernelCall::output(std::size_t k) {
  if (PyObject* const input = input_object(outputs_[k].get())) return PyRef::borrow(input);
  if (outputs_[k]->use_count() == 1) return wrap_tensor(outputs_[k]);
  const auto made = std::ranges::find(wrapped_, outputs_[k].get(), &Wrapped::first);
  if (made != wrapped_.end()) return made->second;
  return wrapped_.emplace_back(outputs_[k].get(), wrap_tensor(outputs_[k])).second;
}

namespace {

// What gradients depend on is known when a graph that asks for some has worked them out.
[[gnu::noinline]] std::vector<GradState> as_recorded(const std::vector<GradState>& expected,
                                                     std::span<const TensorRef> outputs) {
  std::vector<GradState> states;
  for (std::size_t k = 0; k < expected.size(); ++k)
    states.push_back(outputs[k]->requires_grad ? expected[k] : GradState{});
  return states;
}

}  // namespace

void KernelCall::require_grads() {
  if (history_ && grad_enabled() && plan_.kernel->records_gradients() && holds_transforms(*plan_.traced))
    return set_states(as_recorded(plan_.output_grads, outputs_));
  set_states(plan_.output_grads);
}

void KernelCall::set_states(const std::vector<GradState>& states) {
  for (std::size_t k = 0; k < states.size(); ++k)
    if (!input_object(outputs_[k].get())) outputs_[k]->set_grad_state(states[k]);
  if (plan_.history_unknown)
    for (std::size_t k = 0; k < outputs_.size(); ++k)
      if (!input_object(outputs_[k].get()) && outputs_[k]->requires_grad) forget_history(*outputs_[k]);
  if (history_) history_->attach(outputs_, kept_, states);
  kept_.clear();
}

PyObject* KernelCall::input_object(const TensorImpl* t) {
  constexpr std::size_t kFew = 16;  // looked through one by one
  const std::size_t first = plan_.size_inputs.size();
  if (inputs_.size() <= first + kFew || outputs_.size() <= 4) {
    for (std::size_t i = first; i < inputs_.size(); ++i)
      if (inputs_[i] == t) return objects_[i];
    return nullptr;
  }
  if (object_of_.empty())
    for (std::size_t i = first; i < inputs_.size(); ++i) object_of_.emplace(inputs_[i], objects_[i]);
  const auto found = object_of_.find(t);
  return found == object_of_.end() ? nullptr : found->second;
}

}  // namespace md
