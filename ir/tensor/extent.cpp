// Overflow-checked counts of elements and bytes.
#include "ir/tensor/extent.h"

#include <algorithm>
#include <string>

#include "ir/core/error.h"

namespace md {
namespace {

std::string text(const DimVec& dims) {
  std::string s = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) s += (i ? ", " : "") + std::to_string(dims[i]);
  return s + "]";
}

[[noreturn]] void too_large(const DimVec& sizes) {
  throw OpError(ErrorKind::Runtime, "Storage size calculation overflowed with sizes=" + text(sizes));
}

[[noreturn]] void too_large(const DimVec& sizes, const DimVec& strides) {
  throw OpError(ErrorKind::Runtime,
                "Storage size calculation overflowed with sizes=" + text(sizes) + " and strides=" + text(strides));
}

void need_sizes(const DimVec& sizes) {
  if (std::any_of(sizes.begin(), sizes.end(), [](std::int64_t s) { return s < 0; }))
    throw OpError(ErrorKind::Runtime, "a tensor cannot have a negative dimension: sizes=" + text(sizes));
}

bool is_empty(const DimVec& sizes) {
  return std::any_of(sizes.begin(), sizes.end(), [](std::int64_t s) { return s == 0; });
}

}  // namespace

std::int64_t checked_numel(const DimVec& sizes) {
  need_sizes(sizes);
  if (is_empty(sizes)) return 0;
  std::int64_t n = 1;
  for (const std::int64_t s : sizes)
    if (__builtin_mul_overflow(n, s, &n)) too_large(sizes);
  return n;
}

std::int64_t checked_reach(const DimVec& sizes, const DimVec& strides, std::int64_t offset) {
  if (strides.size() != sizes.size())
    throw OpError(ErrorKind::Runtime, "sizes=" + text(sizes) + " and strides=" + text(strides) + " differ in length");
  if (offset < 0) throw OpError(ErrorKind::Runtime, "invalid storage offset " + std::to_string(offset));
  checked_numel(sizes);
  if (is_empty(sizes)) return 0;
  std::int64_t end = 1;
  if (__builtin_add_overflow(end, offset, &end)) too_large(sizes, strides);
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;  // its stride is never taken
    if (strides[d] < 0)
      throw OpError(ErrorKind::Runtime, "negative strides are not supported, got strides=" + text(strides));
    std::int64_t span;
    if (__builtin_mul_overflow(sizes[d] - 1, strides[d], &span) || __builtin_add_overflow(end, span, &end))
      too_large(sizes, strides);
  }
  return end;
}

std::size_t checked_bytes(const DimVec& sizes, const DimVec& strides, std::int64_t offset, DType dtype) {
  std::int64_t bytes;
  if (__builtin_mul_overflow(checked_reach(sizes, strides, offset), static_cast<std::int64_t>(item_size(dtype)),
                             &bytes))
    too_large(sizes, strides);
  return static_cast<std::size_t>(bytes);
}

std::size_t checked_bytes(const DimVec& sizes, DType dtype) {
  std::int64_t bytes;
  if (__builtin_mul_overflow(checked_numel(sizes), static_cast<std::int64_t>(item_size(dtype)), &bytes))
    too_large(sizes);
  return static_cast<std::size_t>(bytes);
}

std::int64_t checked_shift(std::int64_t elements, DType dtype) {
  std::int64_t bytes;
  if (__builtin_mul_overflow(elements, static_cast<std::int64_t>(item_size(dtype)), &bytes))
    throw OpError(ErrorKind::Runtime, "an offset of " + std::to_string(elements) + " elements does not fit memory");
  return bytes;
}

}  // namespace md
