// Kernels of one function call per element: operands read in pieces, values computed wider than the dtype and rounded
// once.
#pragma once

#include <algorithm>
#include <optional>
#include <type_traits>

#include "ir/reference/reference.h"
#include "ir/reference/wide.h"

namespace md {

// The operand broadcast to the result's sizes, read in row-major order from some element on.
class ElementReader {
 public:
  ElementReader(const TensorImpl& t, const DimVec& sizes, std::int64_t first) : t_(t), at_(t, sizes), skipped_(first) {}

  // n values in the dtype `compute`.
  void read(std::int64_t n, DType compute, void* out) {
    for (; skipped_ > 0; --skipped_) at_.next();
    gather(t_, at_, n, compute, out);
  }

 private:
  const TensorImpl& t_;
  ElementCursor at_;
  std::int64_t skipped_;
};

inline constexpr std::int64_t kPiece = 256;

// out[i] = f(x[i]) for the elements [first, last); f is computed in double for floats of 32 bits and less, else in
// wide numbers.
template <class F>
void map_floats(const KernelCall& c, std::int64_t first, std::int64_t last, F&& f) {
  const TensorImpl& out = *c.out[0];
  ElementReader in(c.tensor(0), out.sizes, first);
  visit_dtype(out.dtype, [&](auto zero) {
    using T = decltype(zero);
    using W = WorkingOf<T>;
    if constexpr (std::is_floating_point_v<W>) {
      using Wide = std::conditional_t<std::is_same_v<W, double>, formulas::Wide, double>;
      W values[kPiece];
      for (std::int64_t at = first; at < last; at += kPiece) {
        const std::int64_t n = std::min(kPiece, last - at);
        in.read(n, out.dtype, values);
        for (std::int64_t i = 0; i < n; ++i) {
          out.as<T>()[at + i] = narrow<T>(static_cast<W>(f(static_cast<Wide>(values[i]))));
        }
      }
    }
  });
}

// The same of two operands, one of which may be a number.
template <class F>
void map_float_pairs(const KernelCall& c, std::int64_t first, std::int64_t last, F&& f) {
  const TensorImpl& out = *c.out[0];
  visit_dtype(out.dtype, [&](auto zero) {
    using T = decltype(zero);
    using W = WorkingOf<T>;
    if constexpr (std::is_floating_point_v<W>) {
      using Wide = std::conditional_t<std::is_same_v<W, double>, formulas::Wide, double>;
      W values[2][kPiece];
      std::optional<ElementReader> in[2];
      for (std::size_t i = 0; i < 2; ++i) {
        if (c.args[i].is<TensorRef>()) {
          in[i].emplace(c.tensor(static_cast<int>(i)), out.sizes, first);
        } else {
          number_element(c.args[i], out.dtype, &values[i][0]);
          std::fill_n(values[i] + 1, kPiece - 1, values[i][0]);
        }
      }
      for (std::int64_t at = first; at < last; at += kPiece) {
        const std::int64_t n = std::min(kPiece, last - at);
        for (std::size_t i = 0; i < 2; ++i)
          if (in[i]) in[i]->read(n, out.dtype, values[i]);
        for (std::int64_t i = 0; i < n; ++i)
          out.as<T>()[at + i] =
              narrow<T>(static_cast<W>(f(static_cast<Wide>(values[0][i]), static_cast<Wide>(values[1][i]))));
      }
    }
  });
}

}  // namespace md
