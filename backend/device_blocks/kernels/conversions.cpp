// Elements brought from any dtype into any other.
#include "backend/device_blocks/kernels/device.h"
#include "registry/dtype.h"

namespace md::device_blocks {
namespace {

template <class To, class From>
[[gnu::always_inline]] inline void convert_elements(const ConvertParams& p) {
  for_each_point(p.space.total, [&](Word i) {
    Word to = 0, from = 0;
    for_each_coordinate(p.space, i, [&](Word d, Word at) {
      to += at * p.to.strides.of[d];
      from += at * p.from.strides.of[d];
    });
    at_address<To>(p.to.data)[to] = convert_value<To>(at_address<const From>(p.from.data)[from]);
  });
}

template <class To>
[[gnu::always_inline]] inline void convert_to(const ConvertParams& p) {
  switch (static_cast<DType>(p.from_dtype)) {
    case DType::Bool:
      return convert_elements<To, bool>(p);
    case DType::UInt8:
      return convert_elements<To, std::uint8_t>(p);
    case DType::Int8:
      return convert_elements<To, std::int8_t>(p);
    case DType::Int16:
      return convert_elements<To, std::int16_t>(p);
    case DType::Int32:
      return convert_elements<To, std::int32_t>(p);
    case DType::Int64:
      return convert_elements<To, std::int64_t>(p);
    case DType::Float16:
      return convert_elements<To, Float16>(p);
    case DType::BFloat16:
      return convert_elements<To, BFloat16>(p);
    case DType::Float32:
      return convert_elements<To, float>(p);
    default:
      return convert_elements<To, double>(p);
  }
}

}  // namespace

#define MD_CONVERT(N, T) \
  MD_KERNEL void convert_to_##N(ConvertParams p) { convert_to<T>(p); }
MD_FOR_DTYPES(MD_CONVERT)

}  // namespace md::device_blocks
