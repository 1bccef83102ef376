// Elements of any dtype: written from a double, compared as bits (any NaN equals any NaN), shown.
#pragma once

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "ir/core/scalar_builder.h"
#include "ir/tensor/strided.h"

namespace md {

// Those that engines compute in: of complex tensors they see the parts, and the dtypes that are only stored are moved
// and converted (tests/tensor/test_stored_dtypes.py).
inline std::vector<DType> every_dtype() {
  std::vector<DType> all;
  for (const DTypeInfo& row : kDTypes)
    if (!is_complex(row.dtype) && !is_storage_only(row.dtype)) all.push_back(row.dtype);
  return all;
}

inline const char* element_at(const TensorImpl& t, std::int64_t at) {
  return static_cast<const char*>(t.data()) + at * static_cast<std::int64_t>(item_size(t.dtype));
}

inline void put_element(DType t, void* at, double v) {
  visit_dtype(t, [&](auto e) {
    e = convert_value<decltype(e)>(v);
    std::memcpy(at, &e, sizeof e);
  });
}
inline void put_element(DType t, void* at, std::int64_t v) {
  visit_dtype(t, [&](auto e) {
    e = convert_value<decltype(e)>(v);
    std::memcpy(at, &e, sizeof e);
  });
}

// As a double: exact but for the largest int64.
inline double get_element(DType t, const char* at) {
  return visit_dtype(t, [&](auto e) {
    std::memcpy(&e, at, sizeof e);
    return static_cast<double>(widen(e));
  });
}

// Bits as an integer; every NaN has the same.
inline std::uint64_t element_bits(DType t, const char* at) {
  if (is_floating(t) && std::isnan(get_element(t, at))) return ~std::uint64_t{0};
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, item_size(t));
  return bits;
}

}  // namespace md
