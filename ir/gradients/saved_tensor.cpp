// Saved tensors: versions, hooks, and tensors that are only a type.
#include "ir/gradients/saved_tensor.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "ir/core/error.h"
#include "ir/gradients/tape.h"
#include "ir/tensor/handled.h"

namespace md {

namespace {

struct ThreadHooks {
  std::vector<Ref<SavedTensorHooks>> stack;
  std::optional<std::string> refusal;
};
ThreadHooks& thread_hooks() {
  thread_local ThreadHooks hooks;
  return hooks;
}
constinit thread_local SavedTensorHooks* innermost = nullptr;

void find_innermost() {
  const auto& stack = thread_hooks().stack;
  innermost = stack.empty() ? nullptr : stack.back().get();
}

const Ref<Storage>& no_elements() {
  static const Ref<Storage> none = make_ref<Storage>(nullptr, 0, nullptr, nullptr);
  return none;
}

const Ref<Storage>& no_elements(Device d) {
  if (d.is_cpu()) return no_elements();
  static std::mutex mutex;
  static auto& known = *new std::map<std::pair<DeviceType, int>, Ref<Storage>>;
  const std::scoped_lock lock(mutex);
  Ref<Storage>& none = known[{d.type, d.index}];
  if (!none) none = make_ref<Storage>(nullptr, 0, nullptr, nullptr, d);
  return none;
}

}  // namespace

void push_saved_tensor_hooks(Ref<SavedTensorHooks> hooks) {
  if (const auto& text = thread_hooks().refusal) throw OpError(ErrorKind::Runtime, *text);
  thread_hooks().stack.push_back(std::move(hooks));
  find_innermost();
}
void pop_saved_tensor_hooks() {
  if (!thread_hooks().stack.empty()) thread_hooks().stack.pop_back();
  find_innermost();
}
SavedTensorHooks* saved_tensor_hooks() { return innermost; }

void refuse_saved_tensor_hooks(std::optional<std::string> text) {
  if (text && innermost) throw OpError(ErrorKind::Runtime, *text);
  thread_hooks().refusal = std::move(text);
}
const std::optional<std::string>& saved_tensor_hooks_refusal() { return thread_hooks().refusal; }

TensorRef alias_of(const TensorImpl& t) {
  if (const Batch* b = batch_of(t)) return batched_tensor(alias_of(*b->all), b->levels);
  TensorRef a = make_ref<TensorImpl>(t.storage, t.dtype, t.sizes, t.strides, t.offset);
  a->wrapped_number = t.wrapped_number;
  a->batch = t.batch;  // a handler's, or what is pending
  return a;
}

// Devices without memory have nothing to spare.
TensorRef type_only(const TensorImpl& t) {
  TensorRef a = alias_of(t);
  if (!batch_of(t)) a->batch = nullptr;
  if (t.has_memory()) a->storage = no_elements(t.device());
  return a;
}
bool is_type_only(const TensorImpl& t) {
  return t.storage->bytes() == 0 && t.has_memory() && t.storage == no_elements(t.device());
}

SavedTensor::SavedTensor(TensorRef t, const TensorRef& shown)
    : tensor(std::move(t)), version(tensor->storage->version) {
  if (tensor->storage->inference) {
    throw OpError(ErrorKind::Runtime,
                  "an inference tensor cannot be kept for backward(): clone() it outside of inference mode first");
  }
  if (innermost) pack(*innermost, shown);
}

void SavedTensor::pack(SavedTensorHooks& hooks, const TensorRef& shown) {
  const GradMode off(false);
  const Ref<SavedTensorHooks> held(&hooks);
  const Ref<Storage> storage = tensor->storage;
  const std::uint32_t before = storage->version;
  packed = hooks.pack(shown);
  if (storage->version != before) {
    throw OpError(ErrorKind::Runtime,
                  "A saved tensor pack hook is modifying its input in place: the tensor it is given is the program's. "
                  "Change a clone() of it.");
  }
  if (tensor->has_memory()) tensor->storage = no_elements(tensor->device());
}

TensorRef SavedTensor::unpack() const {
  if (packed) {
    const Ref<PackedTensor> held = packed;
    return held->unpack();
  }
  if (tensor->storage->version == version) return tensor;
  throw OpError(ErrorKind::Runtime,
                fmt::format("one of the variables needed for gradient computation has been modified by an inplace "
                            "operation: [{} of {}] is at version {}; expected version {} instead. clone() it before it "
                            "is written to, or write to a copy.",
                            info(tensor->dtype).guard_name, sizes_text(type_of(Arg(tensor)).sizes),
                            tensor->storage->version, version));
}

}  // namespace md
