// Special functions: kernels of the formulas that the reference has, computed in float64 for results of 32 bits and
// less, else in wide numbers.
#pragma once

#include "backend/device_blocks/kernels/stored.h"
#include "ir/reference/special_values.h"

namespace md::device_blocks {

template <class W>
using FormulaOf = std::conditional_t<std::is_same_v<W, double>, formulas::Wide, double>;

template <class O>
constexpr int operands_of_formula() {
  if constexpr (requires { formulas::value_of(O{}, 0.0, 0.0); }) return 2;
  return 1;
}

template <class W>
[[gnu::always_inline]] inline FormulaOf<W> formula_operand(const PointwiseParams& p, int k, Word at) {
  return p.in_dtype[k] < 0 ? static_cast<W>(p.real[k]) : load_as<W>(p.in_dtype[k], p.in[k].data, at);
}

template <class O, class W>
[[gnu::always_inline]] inline void run_formula(const PointwiseParams& p) {
  for_each_point(p.space.total, [&](Word i) {
    Word out = 0, a = 0, b = 0;
    for_each_coordinate(p.space, i, [&](Word d, Word at) {
      out += at * p.out.strides.of[d];
      a += at * p.in[0].strides.of[d];
      b += at * p.in[1].strides.of[d];
    });
    const FormulaOf<W> x = formula_operand<W>(p, 0, a);
    FormulaOf<W> value;
    if constexpr (std::is_same_v<O, ops::Polygamma>) {
      value = formulas::polygamma(x, p.whole[1]);
    } else if constexpr (operands_of_formula<O>() == 2) {
      value = formulas::value_of(O{}, x, formula_operand<W>(p, 1, b));
    } else {
      value = formulas::value_of(O{}, x);
    }
    store_as<W>(p.out_dtype, p.out.data, out, static_cast<W>(static_cast<double>(value)));
  });
}

}  // namespace md::device_blocks

#define MD_SPECIAL_KERNELS(S, N, W) \
  MD_KERNEL void special_##S##_##N(PointwiseParams p) { run_formula<ops::S, W>(p); }
