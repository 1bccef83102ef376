// Conversions between any two dtypes, put together from the kernels of one CPU level.
#pragma once

#include "backend/blocks/kernel_table.h"

namespace md::blocks {

// Up to kBlock elements at a time.
class Conversion {
 public:
  Conversion() = default;
  // Elements of `from` become elements of `to`.
  static Conversion copy(const KernelTable& kernels, DType from, DType to);
  // ... become values of the working dtype of `to`, by way of `to`.
  static Conversion load(const KernelTable& kernels, DType from, DType to);
  // Values of the working dtype of `from` become elements of `to`, by way of `from`.
  static Conversion store(const KernelTable& kernels, DType from, DType to);

  // Whether there is anything to do.
  explicit operator bool() const { return count_ > 0; }
  // `out` does not overlap `in`.
  void operator()(const void* in, void* out, std::int64_t n) const;

 private:
  static constexpr int kMostSteps = 4;
  void add(ConvertKernel step) {
    if (step) steps_[count_++] = step;
  }

  ConvertKernel steps_[kMostSteps];
  int count_ = 0;
};

}  // namespace md::blocks
