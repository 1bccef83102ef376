// Elements in memory as values of the working dtype that bodies compute in, and back.
#pragma once

#include "backend/device_blocks/kernels/device.h"
#include "registry/dtype.h"

namespace md::device_blocks {

// The dtype of W itself.
template <class W>
constexpr DType dtype_of_working() {
  if constexpr (std::is_same_v<W, float>) return DType::Float32;
  if constexpr (std::is_same_v<W, double>) return DType::Float64;
  if constexpr (std::is_same_v<W, std::int32_t>) return DType::Int32;
  if constexpr (std::is_same_v<W, std::int64_t>) return DType::Int64;
  return DType::Bool;
}

// f(T{}) for the stored type of `dtype`, whose working type is W.
template <class W, class F>
[[gnu::always_inline]] inline decltype(auto) visit_stored_as(Word dtype, F&& f) {
  const auto t = static_cast<DType>(dtype);
  if constexpr (std::is_same_v<W, float>) {
    if (t == DType::Float16) return f(Float16{});
    if (t == DType::BFloat16) return f(BFloat16{});
  } else if constexpr (std::is_same_v<W, std::int32_t>) {
    if (t == DType::UInt8) return f(std::uint8_t{});
    if (t == DType::Int8) return f(std::int8_t{});
    if (t == DType::Int16) return f(std::int16_t{});
  }
  return f(W{});
}

template <class W>
[[gnu::always_inline]] inline W load_as(Word dtype, std::uint64_t data, Word at) {
  return visit_stored_as<W>(dtype, [&](auto t) -> W { return widen(at_address<const decltype(t)>(data)[at]); });
}
template <class W>
[[gnu::always_inline]] inline void store_as(Word dtype, std::uint64_t data, Word at, W value) {
  visit_stored_as<W>(dtype, [&](auto t) { at_address<decltype(t)>(data)[at] = narrow<decltype(t)>(value); });
}
// Brought into a dtype with this working type, as a single op does with its result.
template <class W>
[[gnu::always_inline]] inline W brought_into(Word dtype, W value) {
  return visit_stored_as<W>(dtype, [&](auto t) -> W { return widen(narrow<decltype(t)>(value)); });
}

}  // namespace md::device_blocks
