// Levels of function transforms for minidynamo/_transforms: vmap, grad and their kin.
#include <algorithm>
#include <unordered_set>

#include "frontend/tensors/tensor_parts.h"
#include "ir/batching/levels.h"
#include "ir/gradients/tape.h"
#include "ir/run/batched_call.h"
#include "ir/run/eager.h"
#include "ir/tensor/batched.h"

namespace md {

namespace {

TensorRef tensor_of(PyObject* o, const char* function) {
  if (!is_tensor(o)) throw_type_error("%s() takes tensors, not %.200s", function, Py_TYPE(o)->tp_name);
  return tensor_impl(o);
}

std::int64_t int_of(PyObject* o) {
  const long long v = PyLong_AsLongLong(o);
  if (v == -1 && PyErr_Occurred()) throw PythonError{};
  return v;
}

std::vector<std::uint32_t> numbers_of(PyObject* sequence) {
  const PyRef items = checked(PySequence_Tuple(sequence));
  std::vector<std::uint32_t> out;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
    out.push_back(static_cast<std::uint32_t>(int_of(PyTuple_GET_ITEM(items.get(), i))));
  return out;
}

PyRef tuple_of(std::span<const std::uint32_t> numbers) {
  PyRef made = checked(PyTuple_New(static_cast<Py_ssize_t>(numbers.size())));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    PyTuple_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i), checked(PyLong_FromUnsignedLong(numbers[i])).release());
  return made;
}

bool is_grad_under_way() {
  return std::ranges::any_of(transform_levels(), [](const TransformLevel& l) { return l.asks_gradients(); });
}

// _begin_vmap(size, randomness): its number. 0 of `randomness` raises, 1 draws for each example, 2 for all.
PyRef begin_vmap(const PassedArgs& call) {
  static const char* const names[] = {"size", "randomness"};
  PyObject* out[2];
  parse_native({"_begin_vmap", names, 2}, call, out);
  const auto randomness = static_cast<Randomness>(int_of(out[1]));
  return checked(PyLong_FromUnsignedLong(begin_transform({0, true, false, int_of(out[0]), randomness})));
}

PyRef begin_draws(const PassedArgs& call) {
  static const char* const names[] = {"randomness"};
  PyObject* out[1];
  parse_native({"_begin_draws", names, 1}, call, out);
  const auto randomness = static_cast<Randomness>(int_of(out[0]));
  return checked(PyLong_FromUnsignedLong(begin_transform({0, false, true, 0, randomness})));
}

PyRef begin_grad(const PassedArgs& call) {
  no_arguments("_begin_grad", call, 0);
  return checked(PyLong_FromUnsignedLong(begin_transform({})));
}

PyRef end_transform_function(const PassedArgs& call) {
  static const char* const names[] = {"number"};
  PyObject* out[1];
  parse_native({"_end_transform", names, 1}, call, out);
  end_transform(static_cast<std::uint32_t>(int_of(out[0])));
  return PyRef::borrow(Py_None);
}

PyRef with_levels_function(const PassedArgs& call) {
  static const char* const names[] = {"tensor", "levels"};
  PyObject* out[2];
  parse_native({"_with_levels", names, 2}, call, out);
  const TensorRef x = tensor_of(out[0], "_with_levels");
  const TensorRef made = with_levels(x, numbers_of(out[1]));
  made->made_after = std::max(made->made_after, x->made_after);
  return made == x ? PyRef::borrow(out[0]) : wrap_tensor(made);
}

PyRef without_levels_function(const PassedArgs& call) {
  static const char* const names[] = {"tensor", "levels"};
  PyObject* out[2];
  parse_native({"_without_levels", names, 2}, call, out);
  const TensorRef x = tensor_of(out[0], "_without_levels");
  const TensorRef made = without_levels(x, numbers_of(out[1]));
  return made == x ? PyRef::borrow(out[0]) : wrap_tensor(made);
}

PyRef vmap_levels_function(const PassedArgs& call) {
  no_arguments("_vmap_levels", call, 0);
  return tuple_of(vmap_levels());
}

PyRef count_transforms(const PassedArgs& call) {
  no_arguments("_transforms", call, 0);
  return checked(PyLong_FromSize_t(transform_levels().size()));
}

PyRef batch_levels(const PassedArgs& call) {
  static const char* const names[] = {"tensor"};
  PyObject* out[1];
  parse_native({"_batch_levels", names, 1}, call, out);
  const Batch* b = batch_of(*tensor_of(out[0], "_batch_levels"));
  return tuple_of(b ? std::span<const std::uint32_t>(b->levels) : std::span<const std::uint32_t>());
}

// _input_of_level(tensor, number): the tensor that a function sees whose gradients are asked for, and the one gradients
// reach, which has the examples of every vmap around it in front. Gradients go on to `tensor` if it requires grad.
PyRef input_of_level(const PassedArgs& call) {
  static const char* const names[] = {"tensor", "number"};
  PyObject* out[2];
  parse_native({"_input_of_level", names, 2}, call, out);
  const TensorRef x = tensor_of(out[0], "_input_of_level");
  if (!is_floating(x->dtype))
    throw OpError(ErrorKind::Runtime, "only Tensors of floating point dtype can require gradients");
  const std::vector<std::uint32_t> levels = vmap_levels();
  const TensorRef all = without_levels(x, levels);
  TensorRef reached;
  if (all->requires_grad && grad_enabled()) {
    ListArg sizes;
    for (const std::int64_t s : all->sizes) sizes.items.emplace_back(s);
    reached = call_table("view", {Arg(all), Arg(sizes)}).get<TensorRef>();
  } else {
    reached = call_table("detach", {Arg(all)}).get<TensorRef>();
    reached->set_grad_state({true, GradHistory::Leaf});
  }
  const auto number = static_cast<std::uint32_t>(int_of(out[1]));
  reached->made_after = number;
  const TensorRef seen = with_levels(reached, levels);
  seen->made_after = number;
  const PyRef reached_object = wrap_tensor(reached);
  const PyRef seen_object = seen == reached ? reached_object : wrap_tensor(seen);
  return checked(PyTuple_Pack(2, seen_object.get(), reached_object.get()));
}

// Whether gradients of `t` reach anything but inputs that a transform has made for a function.
bool reaches_others(const TensorRef& t) {
  const GradEdge e = grad_edge(t);
  std::vector<GradNode*> open;
  std::unordered_set<GradNode*> seen;
  const auto add = [&](GradNode* n) {
    if (n && seen.insert(n).second) open.push_back(n);
  };
  add(e.node.get());
  while (!open.empty()) {
    GradNode* n = open.back();
    open.pop_back();
    if (const TensorRef leaf = accumulated_leaf(*n)) {
      if (leaf->made_after == 0) return true;
      continue;
    }
    for (const GradEdge& next : n->edges) add(next.node.get());
  }
  return false;
}

// _outside(tensor): a result as it leaves a transform: detached where its gradients would reach none but the inputs of
// transforms that have ended, or where gradients are off.
PyRef outside(const PassedArgs& call) {
  static const char* const names[] = {"tensor"};
  PyObject* out[1];
  parse_native({"_outside", names, 1}, call, out);
  const TensorRef t = tensor_of(out[0], "_outside");
  const Batch* b = batch_of(*t);
  const TensorRef all = b ? b->all : t;
  if (!all->requires_grad) return PyRef::borrow(out[0]);
  if (grad_enabled() && (is_grad_under_way() || reaches_others(all))) return PyRef::borrow(out[0]);
  return wrap_tensor(call_table("detach", {Arg(t)}).get<TensorRef>());
}

// _is_differentiated(*tensors): whether somebody may ask for gradients of what is computed from their gradients.
PyRef is_differentiated(const PassedArgs& call) {
  if (!grad_enabled()) return PyRef::borrow(Py_False);
  bool found = is_grad_under_way();
  for (Py_ssize_t i = 0; i < call.nargs && !found; ++i) {
    const TensorRef t = tensor_of(call.args[i], "_is_differentiated");
    const Batch* b = batch_of(*t);
    const TensorRef all = b ? b->all : t;
    found = all->requires_grad && reaches_others(all);
  }
  return PyRef::borrow(found ? Py_True : Py_False);
}

constexpr NativeRow kFunctions[] = {
    {"_begin_vmap", begin_vmap, "A call of vmap begins in this thread; its number."},
    {"_begin_draws", begin_draws, "Random numbers are from here on as inside such a call of vmap."},
    {"_begin_grad", begin_grad, "A transform that asks for gradients begins in this thread; its number."},
    {"_end_transform", end_transform_function, "The transform of this number, and those inside it, end."},
    {"_with_levels", with_levels_function, "The first dimensions become examples of these calls of vmap."},
    {"_without_levels", without_levels_function, "Examples of these calls of vmap as the first dimensions."},
    {"_vmap_levels", vmap_levels_function, "The calls of vmap under way in this thread, outermost first."},
    {"_transforms", count_transforms, "How many transforms are under way in this thread."},
    {"_batch_levels", batch_levels, "The calls of vmap whose examples differ in a tensor."},
    {"_input_of_level", input_of_level, "A tensor as an argument of a function whose gradients are asked for."},
    {"_outside", outside, "A result as it leaves a transform that asks for gradients."},
    {"_is_differentiated", is_differentiated, "Whether gradients of gradients of these tensors may be asked for."},
};

}  // namespace

std::span<const NativeRow> transform_functions() { return kFunctions; }

}  // namespace md
