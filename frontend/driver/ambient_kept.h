// Settings of the process and the thread that a trace may change, as they were.
#pragma once

#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/patched_config.h"
#include "ir/core/threads.h"
#include "ir/reference/product_order.h"
#include "ir/reference/uninitialised.h"

namespace md {

// Puts back what the calls of a trace have set (frontend/builtins/setting_rules.cpp).
class AmbientKept {
 public:
  AmbientKept()
      : dtype_(default_dtype()),
        device_(thread_modes.default_device),
        threads_(num_threads()),
        fill_(fills_uninitialised),
        products_(product_freedom) {}
  ~AmbientKept() {
    if (default_dtype() != dtype_) set_default_dtype(dtype_);
    if (thread_modes.default_device != device_) thread_modes.default_device = device_;
    if (num_threads() != threads_) set_num_threads(threads_);
    if (fills_uninitialised != fill_) fills_uninitialised = fill_;
    if (product_freedom != products_) product_freedom = products_;
    patched_config.put_back();
  }
  AmbientKept(const AmbientKept&) = delete;
  AmbientKept& operator=(const AmbientKept&) = delete;

 private:
  DType dtype_;
  Device device_;
  int threads_;
  bool fill_;
  unsigned products_;
};

}  // namespace md
