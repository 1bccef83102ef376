// Numbers and texts of recorded steps.
#include "frontend/tensors/recorded_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/tensors/gradient_hooks.h"
#include "frontend/tensors/node_object.h"
#include "frontend/tensors/subclass.h"
#include "ir/gradients/saved_tensor.h"
#include "ir/graph/text.h"
#include "ir/infer/infer.h"

namespace md {

namespace {

std::string text_of_type(const TensorImpl& t) {
  const TensorType type = type_of(Arg(TensorRef(const_cast<TensorImpl*>(&t))));
  return fmt::format("{}{}{}{}{}", info(type.dtype).name, sizes_text(type.sizes), sizes_text(type.strides),
                     to_string(type.device), type.wrapped_number ? "n" : "");
}

std::string text_of_elements(const TensorImpl& t) {
  return fmt::format("{}{}+{}", text_of_type(t), static_cast<const void*>(t.storage.get()), t.offset);
}

// Calls of the table's functions with it are plain calls.
bool is_plain(const TensorImpl& t) {
  auto* object = static_cast<PyObject*>(t.face);
  return !object || is_tensor_exact(object) || is_parameter(object);
}

bool is_about_target(BackwardRecorder::StepKind kind) {
  return kind == BackwardRecorder::StepKind::Accumulate || kind == BackwardRecorder::StepKind::Accumulated;
}

}  // namespace

RecordedValues::RecordedValues(std::span<const Step> steps, std::span<const TensorRef> asked) {
  long next = 0;
  for (const Step& s : steps)
    for (const Arg& a : s.args) for_each_tensor_inside(a, [&](const TensorRef& t) { ++uses_[t.get()]; });
  for (const TensorRef& t : asked) ++uses_[t.get()];
  for (const Step& s : steps) {
    const bool own = s.op && (s.op->kind() != OpKind::View || is_used_up(*s.args[0].get<TensorRef>()));
    for (const TensorRef& t : s.results) {
      numbers_.emplace(t.get(), next++);
      if (own) fresh_.insert(t.get());
    }
    if (!is_about_target(s.kind)) continue;
    const TensorRef target = s.args[0].get<TensorRef>();
    if (is_plain(*target)) target_by_elements_.emplace(text_of_elements(*target), target);
  }
  for (const Step& s : steps) describe(s);
  for (const TensorRef& t : asked) text_ += fmt::format("return {}\n", number_of(t));
  for (const Input& i : inputs_) text_ += fmt::format("{}{}\n", text_of_type(*i.tensor), i.itself ? " itself" : "");
}

long RecordedValues::added(const TensorRef& t, bool itself) {
  inputs_.push_back({t, itself});
  return -static_cast<long>(inputs_.size());
}

long RecordedValues::number_of(const TensorRef& t) {
  if (const auto known = numbers_.find(t.get()); known != numbers_.end()) return known->second;
  const std::string elements = text_of_elements(*t);
  long number = 0;
  if (const auto target = target_by_elements_.find(elements); target != target_by_elements_.end())
    number = number_of_target(target->second);
  else if (const auto same = by_elements_.find(elements); same != by_elements_.end())
    number = same->second;
  else
    by_elements_.emplace(elements, number = added(t, false));
  numbers_.emplace(t.get(), number);
  return number;
}

long RecordedValues::number_of_target(const TensorRef& t) {
  const auto [at, fresh] = target_numbers_.emplace(t.get(), 0);
  if (fresh) at->second = added(t, true);
  return at->second;
}

std::size_t RecordedValues::number_of_hook(const GradHook& hook) {
  const auto at = std::ranges::find(hooks_, &hook);
  if (at != hooks_.end()) return static_cast<std::size_t>(at - hooks_.begin());
  hooks_.push_back(&hook);
  return hooks_.size() - 1;
}

bool RecordedValues::is_used_up(const TensorImpl& t) const { return fresh_.contains(&t) && uses_.at(&t) == 1; }

bool RecordedValues::gives_away(const Step& accumulate) const {
  return is_used_up(*accumulate.args[1].get<TensorRef>());
}

void RecordedValues::describe(const Arg& a) {
  if (const auto* t = a.get_if<TensorRef>()) {
    text_ += *t ? fmt::format("%{}", number_of(*t)) : "None";
  } else if (const auto* l = a.get_if<ListArg>()) {
    text_ += '[';
    for (const Arg& x : l->items) describe(x), text_ += ',';
    text_ += ']';
  } else if (const auto* s = a.get_if<SliceArg>()) {
    text_ += "slice(";
    for (const Arg& x : *s->parts) describe(x), text_ += ',';
    text_ += ')';
  } else {
    text_ += python_repr(a);
  }
}

void RecordedValues::describe(const Step& step) {
  const std::size_t first = is_about_target(step.kind) ? 1 : 0;
  if (step.op) text_ += step.op->name();
  if (step.hook) text_ += fmt::format("hook {}", number_of_hook(*step.hook));
  if (first) text_ += fmt::format(" of %{}", number_of_target(step.args[0].get<TensorRef>()));
  if (step.kind == StepKind::Accumulate) text_ += gives_away(step) ? " given" : " copied";
  for (std::size_t i = first; i < step.args.size(); ++i) text_ += ' ', describe(step.args[i]);
  text_ += '\n';
}

PyRef RecordedValues::input_objects() const {
  PyRef list = checked(PyList_New(0));
  for (const Input& i : inputs_) {
    const PyRef object = i.itself ? object_of_tensor(i.tensor) : wrap_tensor(alias_of(*i.tensor));
    checked(PyList_Append(list.get(), object.get()));
  }
  return list;
}

PyRef RecordedValues::hook_objects() const {
  PyRef list = checked(PyList_New(0));
  for (const GradHook* hook : hooks_) checked(PyList_Append(list.get(), hooks_in(*hook)));
  return list;
}

}  // namespace md
