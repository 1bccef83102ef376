// Elements of the dtypes that are only stored (is_storage_only): what number one is, and a number as such an element.
#pragma once

#include <cstdint>
#include <type_traits>

#include "registry/dtype.h"
#include "registry/half.h"

namespace md {

float float8_value(DType t, std::uint8_t bits);
// Rounded to nearest even. What is too large is infinite in float8_e5m2, the largest number in float8_e4m3fn, and NaN
// in the others.
std::uint8_t float8_bits(DType t, float v);

// f(number) for the element at `at`: an unsigned integer or a float.
template <class F>
decltype(auto) visit_stored(DType t, const void* at, F&& f) {
  switch (t) {
    case DType::UInt16:
      return f(*static_cast<const std::uint16_t*>(at));
    case DType::UInt32:
      return f(*static_cast<const std::uint32_t*>(at));
    case DType::UInt64:
      return f(*static_cast<const std::uint64_t*>(at));
    default:
      return f(float8_value(t, *static_cast<const std::uint8_t*>(at)));
  }
}

template <class V>
std::uint64_t wrapped_bits(V v) {
  if constexpr (std::is_floating_point_v<V>) {
    if (v >= static_cast<V>(0x1p63) && v < static_cast<V>(0x1p64)) return static_cast<std::uint64_t>(v);
    const bool fits = v >= static_cast<V>(-0x1p63) && v < static_cast<V>(0x1p63);
    return fits ? static_cast<std::uint64_t>(static_cast<std::int64_t>(v)) : 0;
  } else {
    return static_cast<std::uint64_t>(v);
  }
}

// Integers wrap; fractions are cut off.
template <class V>
void store_number(DType t, void* at, V v) {
  if constexpr (std::is_class_v<V>) {
    store_number(t, at, widened(v));
  } else if (is_float8(t)) {
    *static_cast<std::uint8_t*>(at) = float8_bits(t, static_cast<float>(v));
  } else {
    const std::uint64_t bits = wrapped_bits(v);
    if (t == DType::UInt16) *static_cast<std::uint16_t*>(at) = static_cast<std::uint16_t>(bits);
    if (t == DType::UInt32) *static_cast<std::uint32_t*>(at) = static_cast<std::uint32_t>(bits);
    if (t == DType::UInt64) *static_cast<std::uint64_t*>(at) = bits;
  }
}

}  // namespace md
