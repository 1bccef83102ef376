// Numbers and texts of recorded steps.
#include "frontend/tensors/recorded_values.h"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "frontend/tensors/gradient_hooks.h"
#include "frontend/tensors/node_object.h"
#include "frontend/tensors/subclass.h"
#include "ir/gradients/saved_tensor.h"
#include "ir/graph/text.h"

namespace md {

namespace {

// What it consists of, one thing after the other: every part says by itself where it ends.
template <class T>
void put(std::string& text, T value) {
  static_assert(std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>);
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_type(std::string& text, const TensorImpl& t) {
  put(text, t.dtype);
  put(text, t.device().type);
  put(text, static_cast<int>(t.device().index));
  put(text, static_cast<char>(t.wrapped_number));
  put(text, t.sizes.size());
  for (const std::int64_t n : t.sizes) put(text, n);
  for (const std::int64_t n : t.strides) put(text, n);
}

std::string text_of_elements(const TensorImpl& t) {
  std::string text;
  put_type(text, t);
  put(text, t.storage.get());
  put(text, t.offset);
  return text;
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
  numbers_.reserve(2 * steps.size());
  uses_.reserve(2 * steps.size());
  text_.reserve(128 * steps.size());
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
  put(text_, asked.size());
  for (const TensorRef& t : asked) put(text_, number_of(t));
  for (const Input& i : inputs_) {
    put_type(text_, *i.tensor);
    put(text_, static_cast<char>(i.itself));
  }
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
  const auto* const t = a.get_if<TensorRef>();
  put(text_, static_cast<char>(t && !*t ? 0 : a.v.index()));
  if (t) {
    if (*t) put(text_, number_of(*t));
  } else if (const auto* l = a.get_if<ListArg>()) {
    put(text_, l->items.size());
    for (const Arg& x : l->items) describe(x);
  } else if (const auto* s = a.get_if<SliceArg>()) {
    for (const Arg& x : *s->parts) describe(x);
  } else if (const auto* n = a.get_if<Size>(); n && n->is_const()) {
    put(text_, n->value());
  } else if (const auto* d = a.get_if<double>()) {
    put(text_, std::bit_cast<std::uint64_t>(*d));
  } else if (!a.is_none()) {
    const std::string rest = python_repr(a);
    put(text_, rest.size());
    text_ += rest;
  }
}

void RecordedValues::describe(const Step& step) {
  const bool about_target = is_about_target(step.kind);
  put(text_, static_cast<char>(step.kind));
  if (step.op) put(text_, step.op->id);
  if (step.hook) put(text_, number_of_hook(*step.hook));
  if (about_target) put(text_, number_of_target(step.args[0].get<TensorRef>()));
  if (step.kind == StepKind::Accumulate) put(text_, static_cast<char>(gives_away(step)));
  for (const Arg& a : std::span(step.args).subspan(about_target ? 1 : 0)) describe(a);
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
