// Tensors kept for backward(): as they were, or as hooks of the program keep them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ir/tensor/tensor.h"

namespace md {

// What a hook made of a tensor that was to be kept.
class PackedTensor : public RefCounted {
 public:
  virtual TensorRef unpack() = 0;
};

class SavedTensorHooks : public RefCounted {
 public:
  virtual Ref<PackedTensor> pack(const TensorRef& t) = 0;
};

// Of this thread. The innermost ones keep every tensor that is saved from here on.
void push_saved_tensor_hooks(Ref<SavedTensorHooks> hooks);  // throws OpError(Runtime) where they are refused
void pop_saved_tensor_hooks();
// Null without any.
SavedTensorHooks* saved_tensor_hooks();
// With a text, push_saved_tensor_hooks() refuses and says it. Throws OpError(Runtime) if there are hooks already.
void refuse_saved_tensor_hooks(std::optional<std::string> text);
const std::optional<std::string>& saved_tensor_hooks_refusal();

struct SavedTensor {
  TensorRef tensor;           // without elements if they are packed
  std::uint32_t version = 0;  // of its storage when it was saved
  Ref<PackedTensor> packed;

  SavedTensor() = default;
  // `tensor` belongs to who saves it; hooks are given `shown`.
  SavedTensor(TensorRef tensor, const TensorRef& shown);
  void pack(SavedTensorHooks& hooks, const TensorRef& shown);
  // What was saved. Throws OpError(Runtime) if it has been written to since.
  TensorRef unpack() const;
};

// Another tensor over the same elements, without a history.
TensorRef alias_of(const TensorImpl& t);
// A tensor of that type that has no elements to read.
TensorRef type_only(const TensorImpl& t);
bool is_type_only(const TensorImpl& t);

}  // namespace md
