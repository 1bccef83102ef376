// Asks minidynamo/_aten/gradients.py for the gradients of calls while handlers are asked about calls.
#include "frontend/tensors/shown_gradients.h"

#include <string>
#include <utility>
#include <vector>

#include "frontend/cpython/frame_access.h"
#include "frontend/cpython/import_module.h"
#include "frontend/tensors/function_modes.h"
#include "frontend/tensors/tensor_object.h"
#include "ir/gradients/saved_tensor.h"
#include "ir/gradients/shown_gradients.h"
#include "ir/run/handled_calls.h"
#include "ir/tensor/extent.h"

namespace md {

namespace {

struct BackwardLock {
  BackwardLock() : state(PyGILState_Ensure()) {}
  ~BackwardLock() { PyGILState_Release(state); }
  BackwardLock(const BackwardLock&) = delete;
  BackwardLock& operator=(const BackwardLock&) = delete;
  PyGILState_STATE state;
};

template <class... Given>
PyRef call_of_rules(const char* function, const Given&... given) {
  const PyRef module = checked(import_module("minidynamo._aten.gradients"));
  const PyRef callee = checked(PyObject_GetAttrString(module.get(), function));
  const Disarmed below;  // handlers are no program to be compiled by themselves
  return checked(PyObject_CallFunctionObjArgs(callee.get(), given.get()..., nullptr));
}

// Of what was not kept only sizes and dtype are known: a tensor on meta, alone in a tuple.
PyRef kept_or_type(const Arg& a) {
  if (const auto* t = a.get_if<TensorRef>(); t && *t && is_type_only(**t)) {
    const TensorImpl& x = **t;
    Ref<Storage> nothing = allocate_storage(checked_bytes(x.sizes, x.strides, 0, x.dtype), kMeta);
    const PyRef type = wrap_tensor(make_ref<TensorImpl>(std::move(nothing), x.dtype, x.sizes, x.strides, 0));
    return checked(PyTuple_Pack(1, type.get()));
  }
  const auto* l = a.get_if<ListArg>();
  if (!l) return from_arg(a);
  PyRef list = checked(PyList_New(static_cast<Py_ssize_t>(l->items.size())));
  for (std::size_t i = 0; i < l->items.size(); ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), kept_or_type(l->items[i]).release());
  return list;
}

PyRef all_of(std::span<const Arg> args) {
  PyRef list = checked(PyList_New(static_cast<Py_ssize_t>(args.size())));
  for (std::size_t i = 0; i < args.size(); ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), kept_or_type(args[i]).release());
  return list;
}

PyRef name_of(const Op& op) { return checked(PyUnicode_FromString(std::string(op.name()).c_str())); }

// A gradient is a tensor, a list of them for a list of tensors, or None.
std::optional<Gradients> gradients_of_rules(const Op& op, std::span<const Arg> args, std::span<const Arg> results,
                                            std::span<const Arg> grads, std::uint64_t wanted) {
  if (!is_for_handlers(args) && !is_for_handlers(grads)) return std::nullopt;
  const BackwardLock lock;
  PyRef marks = checked(PyList_New(static_cast<Py_ssize_t>(args.size())));
  for (std::size_t i = 0; i < args.size(); ++i)
    PyList_SET_ITEM(marks.get(), static_cast<Py_ssize_t>(i), PyBool_FromLong(wanted >> i & 1));
  const PyRef answer = call_of_rules("answer", name_of(op), all_of(args), all_of(results), all_of(grads), marks);
  if (answer.get() == Py_NotImplemented) return std::nullopt;
  const PyRef all = checked(PySequence_Tuple(answer.get()));
  Gradients found(args.size());
  for (std::size_t i = 0; i < args.size() && i < static_cast<std::size_t>(PyTuple_GET_SIZE(all.get())); ++i)
    if (wanted >> i & 1) found[i] = to_arg(PyTuple_GET_ITEM(all.get(), static_cast<Py_ssize_t>(i)));
  return found;
}

std::uint64_t number_of(PyObject* o) {
  const std::uint64_t n = PyLong_AsUnsignedLongLong(o);
  if (PyErr_Occurred()) throw PythonError{};
  return n;
}

RuleReads reads_of_rules(const Op& op, std::span<const Arg> args, std::span<const TensorRef> made,
                         std::uint64_t wanted) {
  std::vector<Arg> results;
  for (const TensorRef& t : made) results.emplace_back(t);
  if (!is_for_handlers(args) && !is_for_handlers(results)) return {0, 0};
  const BackwardLock lock;
  const PyRef answer = call_of_rules("reads", name_of(op), checked(PyLong_FromUnsignedLongLong(wanted)));
  return {number_of(PyTuple_GET_ITEM(answer.get(), 0)), number_of(PyTuple_GET_ITEM(answer.get(), 1))};
}

TensorRef first_by_rules(const TensorRef& gradient, const TensorRef& leaf, bool ours) {
  const Arg both[] = {gradient, leaf};
  if (!is_for_handlers(both)) return nullptr;
  const BackwardLock lock;
  const PyRef mine = PyRef::borrow(ours ? Py_True : Py_False);
  const PyRef answer = call_of_rules("first_gradient", from_arg(both[0]), from_arg(both[1]), mine);
  return to_arg(answer.get()).get<TensorRef>();
}

}  // namespace

void init_shown_gradients() { shown_gradients() = {gradients_of_rules, reads_of_rules, first_by_rules}; }

}  // namespace md
