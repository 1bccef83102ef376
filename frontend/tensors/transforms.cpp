// Levels of function transforms for minidynamo/_transforms: vmap, grad and their kin.
#include "ir/run/transforms.h"

#include <algorithm>

#include "frontend/tensors/tensor_parts.h"
#include "ir/batching/levels.h"
#include "ir/run/batched_call.h"
#include "ir/tensor/lazy_view.h"

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

// _input_of_level(tensor, number): what the function sees, and what gradients reach
PyRef input_of_level_function(const PassedArgs& call) {
  static const char* const names[] = {"tensor", "number"};
  PyObject* out[2];
  parse_native({"_input_of_level", names, 2}, call, out);
  const TensorRef x = tensor_of(out[0], "_input_of_level");
  const auto [seen, reached] = input_of_level(x, static_cast<std::uint32_t>(int_of(out[1])));
  const PyRef reached_object = wrap_tensor(reached);
  const PyRef seen_object = seen == reached ? reached_object : wrap_tensor(seen);
  return checked(PyTuple_Pack(2, seen_object.get(), reached_object.get()));
}

// _with_pending(tensor, conjugate, negative): a view that shows the memory so.
PyRef with_pending(const PassedArgs& call) {
  static const char* const names[] = {"tensor", "conjugate", "negative"};
  PyObject* out[3];
  parse_native({"_with_pending", names, 3}, call, out);
  Arg view = tensor_of(out[0], "_with_pending");
  if (out[1] == Py_True) view = call_table("_conj", {view});
  if (out[2] == Py_True) view = call_table("_neg_view", {view});
  return wrap_tensor(view.get<TensorRef>());
}

PyRef outside(const PassedArgs& call) {
  static const char* const names[] = {"tensor"};
  PyObject* out[1];
  parse_native({"_outside", names, 1}, call, out);
  const TensorRef t = tensor_of(out[0], "_outside");
  const TensorRef made = outside_transform(t);
  return made == t ? PyRef::borrow(out[0]) : wrap_tensor(made);
}

// _is_differentiated(*tensors)
PyRef is_differentiated_function(const PassedArgs& call) {
  bool found = false;
  for (Py_ssize_t i = 0; i < call.nargs; ++i)
    found = found || is_differentiated(tensor_of(call.args[i], "_is_differentiated"));
  return PyRef::borrow(found ? Py_True : Py_False);
}

// _vmap_of_level(number): (how many examples, randomness)
PyRef vmap_of_level(const PassedArgs& call) {
  static const char* const names[] = {"number"};
  PyObject* out[1];
  parse_native({"_vmap_of_level", names, 1}, call, out);
  const TransformLevel* l = find_level(static_cast<std::uint32_t>(int_of(out[0])));
  if (!l) throw OpError(ErrorKind::Runtime, "a tensor that was an example inside vmap is used outside of it");
  return checked(Py_BuildValue("(Li)", static_cast<long long>(l->size), static_cast<int>(l->randomness)));
}

constexpr NativeRow kFunctions[] = {
    {"_with_pending", with_pending, "A view that shows the conjugates or the negatives of the tensor's memory."},
    {"_begin_vmap", begin_vmap, "A call of vmap begins in this thread; its number.", true},
    {"_begin_draws", begin_draws, "Random numbers are from here on as inside such a call of vmap.", true},
    {"_begin_grad", begin_grad, "A transform that asks for gradients begins in this thread; its number.", true},
    {"_end_transform", end_transform_function, "The transform of this number, and those inside it, end.", true},
    {"_with_levels", with_levels_function, "The first dimensions become examples of these calls of vmap.", true},
    {"_without_levels", without_levels_function, "Examples of these calls of vmap as the first dimensions.", true},
    {"_vmap_levels", vmap_levels_function, "The calls of vmap under way in this thread, outermost first.", true},
    {"_transforms", count_transforms, "How many transforms are under way in this thread.", true},
    {"_vmap_of_level", vmap_of_level, "How many examples a call of vmap has, and what random numbers are there.", true},
    {"_batch_levels", batch_levels, "The calls of vmap whose examples differ in a tensor.", true},
    {"_input_of_level", input_of_level_function, "A tensor as an argument of a function whose gradients are asked for.",
     true},
    {"_outside", outside, "A result as it leaves a transform that asks for gradients.", true},
    {"_is_differentiated", is_differentiated_function,
     "Whether gradients of gradients of these tensors may be asked for.", true},
};

}  // namespace

std::span<const NativeRow> transform_functions() { return kFunctions; }

}  // namespace md
