// Writing a tensor element by element, for kernels whose values follow a rule.
#pragma once

#include "ir/reference/reference.h"
#include "ir/tensor/stored_numbers.h"

namespace md {

// Writes value(i) to element i, in row-major order, converted to the tensor's dtype.
template <class F>
void fill_elements(const TensorImpl& out, F&& value) {
  if (is_storage_only(out.dtype)) {
    ElementCursor at(out, out.sizes);
    const auto item = static_cast<std::int64_t>(item_size(out.dtype));
    const std::int64_t n = out.numel();
    for (std::int64_t i = 0; i < n; ++i, at.next())
      store_number(out.dtype, static_cast<char*>(out.data()) + at.offset() * item, value(i));
    return;
  }
  visit_dtype(out.dtype, [&](auto to) {
    using To = decltype(to);
    ElementCursor at(out, out.sizes);
    const std::int64_t n = out.numel();
    for (std::int64_t i = 0; i < n; ++i, at.next()) out.as<To>()[at.offset()] = convert_value<To>(value(i));
  });
}

}  // namespace md
