#include "frontend/guards/state.h"

#include "frontend/tensors/tensor_object.h"
#include "ir/threads.h"

namespace md {
namespace {

// A field of the word: width and the name the log gives it.
struct Field {
  int shift, bits;
  const char* name;
  std::int64_t of(std::int64_t word) const { return word >> shift & ((std::int64_t{1} << bits) - 1); }
};
constexpr Field kGradMode{0, 1, "grad_mode"};
constexpr Field kInferenceMode{1, 1, "inference_mode"};
constexpr Field kDefaultDType{8, 8, "default_dtype"};
constexpr Field kThreads{16, 32, "num_threads"};

}  // namespace

std::int64_t ambient_state() {
  const TensorState& s = tensor_state();
  return std::int64_t{s.grad_enabled} << kGradMode.shift | std::int64_t{s.inference_mode} << kInferenceMode.shift |
         static_cast<std::int64_t>(default_dtype()) << kDefaultDType.shift |
         static_cast<std::int64_t>(num_threads()) << kThreads.shift;
}

std::int64_t abc_token(PyObject* get_cache_token) {
  const PyRef token = PyRef::steal(PyCFunction_Check(get_cache_token) ? PyObject_CallNoArgs(get_cache_token) : nullptr);
  const std::int64_t value = token ? PyLong_AsLongLong(token.get()) : -1;
  PyErr_Clear();
  return value;
}

bool is_handling() { return bool(PyRef::steal(PyErr_GetHandledException())); }

std::string guards::GlobalState::changed(std::int64_t before, std::int64_t now) {
  std::string names;
  for (const Field& f : {kGradMode, kInferenceMode, kDefaultDType, kThreads}) {
    if (f.of(before) != f.of(now)) names += std::string(f.name) + " ";
  }
  return names;
}

}  // namespace md
