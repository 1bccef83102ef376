// Records opaque calls of a running graph per thread, and replays them in the plain run after a failure.
#include "frontend/plan/opaque_calls.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "frontend/cpython/frame_access.h"
#include "frontend/cpython/import_module.h"
#include "frontend/plan/result_shape.h"
#include "frontend/tensors/tensor_object.h"
#include "ir/graph/op_ids.h"
#include "ir/reference/engine.h"
#include "ir/tensor/device_generators.h"

namespace md {

namespace {

struct ThreadCalls {
  OpaqueCalls* recording = nullptr;
  OpaqueCalls handed_over;
  bool failed = false;
  PyObject* failed_function = nullptr;  // borrowed; its frame is entered next
  OpaqueCalls pending;                  // the next one is the last
  bool compiling = true;
};
ThreadCalls& here() {
  thread_local ThreadCalls calls;
  return calls;
}

bool fits(const OpaqueCall& call, std::span<const TensorRef> tensors) {
  if (call.given.empty()) return true;
  const auto alike = [](const TensorRef& a, const TensorRef& b) {
    return a->dtype == b->dtype && a->device() == b->device() && a->sizes == b->sizes;
  };
  return std::ranges::equal(call.given, tensors, alike);
}

// Memory that several arguments share has been written once.
void write_again(const OpaqueCall& call, std::span<const TensorRef> tensors) {
  std::vector<const Storage*> written;
  for (std::size_t k = 0; k < call.left.size(); ++k) {
    if (!call.left[k]) continue;
    const TensorRef& to = tensors[k];
    engine(to->device()).run(op(id::Copy), std::vector<Arg>{to, call.left[k]}, std::span(&to, 1));
    if (std::ranges::find(written, to->storage.get()) != written.end()) continue;
    written.push_back(to->storage.get());
    to->storage->version += call.versions[k];
  }
}

// A tensor of the first run's argument memory is the same part of this run's argument.
TensorRef carried_over(const TensorRef& result, const OpaqueCall& call, std::span<const TensorRef> tensors) {
  for (std::size_t k = 0; k < call.given.size(); ++k)
    if (call.given[k] == result) return tensors[k];
  for (std::size_t k = 0; k < call.given.size(); ++k) {
    const TensorImpl &old = *call.given[k], &now = *tensors[k];
    if (old.storage != result->storage || old.storage == now.storage) continue;
    return make_ref<TensorImpl>(now.storage, result->dtype, result->sizes, result->strides,
                                result->offset - old.offset + now.offset);
  }
  return result;
}

PyRef filled(PyObject* shape, const std::vector<TensorRef>& tensors) {
  PyRef list = checked(PyList_New(0));
  for (const TensorRef& t : tensors) checked(PyList_Append(list.get(), wrap_tensor(t).get()));
  PyRef module = checked(import_module("minidynamo._dynamo.marked_callables"));
  return checked(PyObject_CallMethod(module.get(), "_filled", "OOO", shape, shape_hole(),
                                     checked(PyObject_GetIter(list.get())).get()));
}

PyRef repeated_result(const OpaqueCall& call, std::span<const TensorRef> tensors) {
  std::vector<TensorRef> results;
  std::string offender;
  PyRef shape = result_shape(call.result.get(), results, offender);
  if (!shape) return call.result;
  bool moved = false;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TensorRef now = carried_over(results[i], call, tensors);
    moved |= now != results[i];
    results[i] = now;
    const bool argument = std::ranges::find(tensors, now) != tensors.end();
    if (!argument && i < call.grads.size()) now->set_grad_state(call.grads[i]);
  }
  return moved ? filled(shape.get(), results) : call.result;
}

[[noreturn]] void raise_again(const OpaqueCall& call) {
  PyObject* error = call.error.get();
  PyRef context = PyRef::steal(PyException_GetContext(error));
  if (context)
    PyErr_Restore(Py_NewRef(Py_TYPE(error)), Py_NewRef(error), nullptr);
  else  // what is being handled now is its context
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Py_XDECREF(traceback);
  if (call.traceback) PyException_SetTraceback(value, call.traceback.get());
  PyErr_Restore(type, value, Py_XNewRef(call.traceback.get()));
  throw PythonError{};
}

}  // namespace

Recording::Recording(OpaqueCalls& into) : before_(std::exchange(here().recording, &into)) {}
Recording::~Recording() { here().recording = before_; }
bool is_recording() { return here().recording != nullptr; }
void record(OpaqueCall call) {
  if (here().recording) here().recording->push_back(std::move(call));
}

InsideOpaque::InsideOpaque()
    : pending_(std::exchange(here().pending, {})), recording_(std::exchange(here().recording, nullptr)) {}
InsideOpaque::~InsideOpaque() {
  here().pending = std::move(pending_);
  here().recording = recording_;
}

void hand_over(OpaqueCalls calls) {
  here().handed_over = std::move(calls);
  here().failed = true;
}

Replaying::Replaying(PyObject* function, bool compiling)
    : below_(here().pending.size()), armed_(false), compiling_(here().compiling) {
  if (!std::exchange(here().failed, false)) return;
  here().failed_function = function;
  OpaqueCalls mine = std::exchange(here().handed_over, {});
  std::ranges::move(mine.rbegin(), mine.rend(), std::back_inserter(here().pending));
  if (mine.empty() || compiling) return;
  here().compiling = false;
  armed_ = true;
  arm();
}

Replaying::~Replaying() {
  OpaqueCalls& pending = here().pending;
  if (pending.size() > below_) pending.resize(below_);
  here().failed_function = nullptr;
  if (!armed_) return;
  here().compiling = compiling_;
  disarm();
}

bool is_failed_frame(PyObject* function) {
  if (here().failed_function != function) return false;
  here().failed_function = nullptr;
  return true;
}

bool replays() { return !here().pending.empty(); }
const OpaqueCall& next_call() { return here().pending.back(); }
PyObject* next_replayed() { return replays() ? next_call().key.get() : nullptr; }
bool compiles_in_replay() { return here().compiling; }

PyRef replay(std::span<const TensorRef> tensors) {
  const OpaqueCall call = std::move(here().pending.back());
  here().pending.pop_back();
  if (!fits(call, tensors)) {  // another path through the program: nothing is known of the rest
    here().pending.clear();
    return {};
  }
  write_again(call, tensors);
  if (!(call.before == call.after)) call.after.put_back();
  record(call);
  if (!call.result) raise_again(call);
  return repeated_result(call, tensors);
}

PyRef replay_arguments(std::span<PyObject* const> arguments) {
  std::vector<TensorRef> tensors;
  for (PyObject* a : arguments) collect_tensors(a, tensors);
  return replay(tensors);
}

void collect_tensors(PyObject* o, std::vector<TensorRef>& out) {
  if (is_tensor(o)) out.emplace_back(tensor_impl(o));
  if (PyList_Check(o) || PyTuple_Check(o))
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o); ++k) collect_tensors(PySequence_Fast_GET_ITEM(o, k), out);
  if (PyDict_Check(o)) {
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(o, &at, &key, &value);) collect_tensors(value, out);
  }
}

}  // namespace md
