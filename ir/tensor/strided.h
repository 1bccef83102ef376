// Walking a tensor's elements in row-major order of some index space, whatever its strides.
#pragma once

#include <cstdint>

#include "ir/tensor/tensor.h"
#include "registry/half.h"

namespace md {

// The element offsets of `t`, broadcast to `sizes`, in row-major order.
class ElementCursor {
 public:
  ElementCursor(const TensorImpl& t, const DimVec& sizes)
      : sizes_(sizes), strides_(sizes.size()), index_(sizes.size()) {
    const std::size_t added = sizes.size() - t.sizes.size();
    for (std::size_t i = added; i < sizes.size(); ++i) {
      strides_[i] = t.sizes[i - added] == 1 ? 0 : t.strides[i - added];
    }
  }
  std::int64_t offset() const { return offset_; }
  void next() {
    for (std::size_t i = sizes_.size(); i-- > 0;) {
      offset_ += strides_[i];
      if (++index_[i] < sizes_[i]) return;
      offset_ -= strides_[i] * sizes_[i];
      index_[i] = 0;
    }
  }

 private:
  DimVec sizes_, strides_, index_;
  std::int64_t offset_ = 0;
};

// f(T{}) for the C++ type of a stored element of a dtype that is not complex. Of the dtypes that are only stored it is
// an integer with their bits: for moving elements; what they mean is said by stored_numbers.h.
template <class F>
decltype(auto) visit_dtype(DType t, F&& f) {
  switch (t) {
    case DType::Bool:
      return f(bool{});
    case DType::UInt8:
    case DType::Float8E4M3FN:
    case DType::Float8E5M2:
    case DType::Float8E4M3FNUZ:
    case DType::Float8E5M2FNUZ:
      return f(std::uint8_t{});
    case DType::Int8:
      return f(std::int8_t{});
    case DType::Int16:
    case DType::UInt16:
      return f(std::int16_t{});
    case DType::Int32:
    case DType::UInt32:
      return f(std::int32_t{});
    case DType::Int64:
    case DType::UInt64:
      return f(std::int64_t{});
    case DType::Float16:
      return f(Float16{});
    case DType::BFloat16:
      return f(BFloat16{});
    case DType::Float32:
      return f(float{});
    case DType::Float64:
    case DType::Complex64:  // engines see the parts of complex tensors
    case DType::Complex128:
      break;
  }
  return f(double{});
}

}  // namespace md
