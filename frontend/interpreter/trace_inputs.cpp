// Tracer: tensors from outside become placeholders of the graph, with guards on what the graph assumes of them.
#include <algorithm>
#include <cctype>

#include "frontend/guards/attributes.h"
#include "frontend/report/events.h"
#include "frontend/tensors/array_view.h"
#include "frontend/tensors/gradients.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/dynamic_sizes.h"
#include "frontend/trace/logs.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/tensor.h"
#include "ir/tensor/lazy_view.h"
#include "ir/tensor/shared_memory.h"

namespace md {

std::string placeholder_target(const Source& source) {
  if (source.kind == SourceKind::ArrayTensor) return placeholder_target(*source.base);
  std::string out;
  for (char c : source.name) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  // Runs of separators print as one underscore, the closing bracket's stays.
  std::string squeezed;
  for (char c : out)
    if (c != '_' || squeezed.empty() || squeezed.back() != '_') squeezed += c;
  return squeezed;
}

// What the graph assumes of an input, and that nobody marks dimensions of it which are not marked now.
static void guard_input(Tracer& t, const TensorValue& v, PyObject* object) {
  Guard g{GuardKind::TensorMatch, v.source, PyRef::borrow(reinterpret_cast<PyObject*>(Py_TYPE(object)))};
  const Pending pending = pending_of(*tensor_impl(object));
  g.value = (pending.conjugate ? 1 : 0) | (pending.negative ? 2 : 0);
  g.tensor = v.type;
  g.where = t.user_frame();
  t.recorder.guards.add(std::move(g));
  PyRef mark = checked(PyUnicode_InternFromString(kDynamicMarks));
  if (PyRef dims = PyRef::steal(PyObject_GetAttr(object, mark.get())); dims && PySet_Check(dims.get())) {
    t.guard(GuardKind::DimensionMarks, v.source, checked(PyFrozenSet_New(dims.get())));
  } else {
    clear_answer();
    t.guard(GuardKind::NoHasattr, v.source, mark);
  }
  // Where every size is a constant a static mark changes nothing.
  if (std::ranges::all_of(v.type.sizes, [](Size s) { return s.is_const(); })) return;
  PyRef constants = checked(PyFrozenSet_New(nullptr));
  for (std::size_t d = 0; d < v.type.sizes.size(); ++d)
    if (v.type.sizes[d].is_const()) checked(PySet_Add(constants.get(), py_int(static_cast<long>(d)).get()));
  Guard fixed{GuardKind::DimensionMarks, v.source, std::move(constants), 1};
  fixed.where = t.user_frame();
  t.recorder.guards.add(std::move(fixed));
}

static void check_gradient_dtype(PyObject* object, const TensorType& type) {
  if (!type.requires_grad || !type.is_leaf()) return;
  const PyRef grad = checked(tensor_grad(object, nullptr));
  if (!is_tensor(grad.get()) || tensor_impl(grad.get())->dtype == type.dtype) return;
  graph_break<GB0181>(std::string(info(type.dtype).name), std::string(info(tensor_impl(grad.get())->dtype).name));
}

// Memory that others own may overlap any other; the library's own is apart from all but itself.
int Tracer::storage_of_input(const Ref<Storage>& memory) {
  if (const auto known = graphs.input_memory.find(memory.get()); known != graphs.input_memory.end())
    return known->second.number;
  int number = -1;
  const auto look_at = [&](const GraphBuilder::InputMemory& other) {
    if (share_memory(*other.storage, *memory)) number = std::max(number, other.number);
  };
  if (memory->foreign)
    for (const auto& [storage, other] : graphs.input_memory) look_at(other);
  else
    for (const GraphBuilder::InputMemory& other : graphs.foreign_memory) look_at(other);
  if (number < 0) number = graphs.next_storage++;
  const GraphBuilder::InputMemory own{memory, number};
  graphs.input_memory.emplace(memory.get(), own);
  if (memory->foreign) graphs.foreign_memory.push_back(own);
  return number;
}

// The graph is given the memory, and shows it as the tensor does.
static ValueRef input_pending(Tracer& t, PyObject* object, SourceRef source, Pending p) {
  const PyRef memory = array_tensor(object);
  ValueRef shown = t.input_tensor(memory.get(), t.recorder.sources.child(source, SourceKind::ArrayTensor));
  if (p.conjugate) shown = t.call_op("conj", Spelling::Method, CallArgs{{shown}, {}});
  if (p.negative) shown = t.call_op("_neg_view", Spelling::Function, CallArgs{{shown}, {}});
  auto* const v = as<TensorValue>(shown);
  v->source = source;
  v->real = PyRef::borrow(object);
  v->type.requires_grad = tensor_impl(object)->requires_grad;
  v->type.history = tensor_impl(object)->history;
  guard_input(t, *v, object);
  return shown;
}

ValueRef Tracer::input_tensor(PyObject* object, SourceRef source) {
  if (graphs.on_fakes) unmodelled(source->name, "tensor from outside in a function that computes shapes");
  TensorImpl* impl = tensor_impl(object);
  if (const Pending p = pending_of(*impl)) return input_pending(*this, object, source, p);
  const bool of_array = source->kind == SourceKind::ArrayTensor;  // guarded as what it is
  TensorType type = input_type(*this, object, of_array ? source->base : source);
  type.storage = storage_of_input(impl->storage);
  if (!of_array) check_gradient_dtype(object, type);

  Node n{NodeKind::Placeholder};
  n.target = placeholder_target(*source);
  n.name = n.target;
  for (char& c : n.name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  n.types = {type};
  // Placeholders stand before everything else.
  Node* node = graphs.root().append(std::move(n));
  auto& nodes = graphs.root().nodes;
  auto own = std::move(nodes.back());
  nodes.pop_back();
  nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(graphs.inputs.size()), std::move(own));

  auto v = make_ref<TensorValue>(node, type);
  v->source = source;
  v->real = PyRef::borrow(object);
  if (log_traces) log_graph_input(*node, source);
  graphs.inputs.push_back(v);
  if (!of_array) guard_input(*this, *v, object);
  return v;
}

}  // namespace md
