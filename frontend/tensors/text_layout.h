// How a tensor prints: numbers of equal width in rows of at most `line_width` characters, large tensors summarised.
#pragma once

#include <string>

#include "ir/tensor/tensor.h"

namespace md {

struct PrintOptions {
  int precision = 4;
  std::int64_t threshold = 1000;  // more elements than this: summarise
  std::int64_t edge_items = 3;    // kept at each end of a summarised dimension
  int line_width = 80;
  enum class Scientific { Auto, Always, Never } scientific = Scientific::Auto;
};

// "[1., 2.]", continuation lines indented by `indent`.
std::string values_text(const TensorImpl& t, int indent, const PrintOptions& options);
// The whole: prefix, values, size=, dtype= and requires_grad= where they do not go without saying, ")".
std::string tensor_text(const TensorImpl& t, const std::string& prefix, const PrintOptions& options);

}  // namespace md
