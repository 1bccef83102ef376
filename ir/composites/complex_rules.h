// Rules for calls with complex operands: complex_arithmetic.cpp and complex_elements.cpp hold them, complex_rules.cpp
// says which op has which.
#pragma once

#include "ir/infer/expansion.h"

namespace md::complex_rule {

Arg add(const Expansion& e);
Arg sub(const Expansion& e);
Arg mul(const Expansion& e);
Arg div(const Expansion& e);
Arg neg(const Expansion& e);
Arg pow(const Expansion& e);
Arg pow_scalar(const Expansion& e);
Arg square(const Expansion& e);
Arg float_power(const Expansion& e);
Arg reciprocal(const Expansion& e);
Arg abs(const Expansion& e);
Arg sgn(const Expansion& e);
Arg exp(const Expansion& e);
Arg exp2(const Expansion& e);
Arg expm1(const Expansion& e);
Arg log(const Expansion& e);
Arg log2(const Expansion& e);
Arg log10(const Expansion& e);
Arg log1p(const Expansion& e);
Arg sqrt(const Expansion& e);
Arg rsqrt(const Expansion& e);
Arg sin(const Expansion& e);
Arg cos(const Expansion& e);
Arg sinh(const Expansion& e);
Arg cosh(const Expansion& e);
Arg tanh(const Expansion& e);
Arg tan(const Expansion& e);
Arg asin(const Expansion& e);
Arg acos(const Expansion& e);
Arg acosh(const Expansion& e);
Arg atanh(const Expansion& e);
Arg asinh(const Expansion& e);
Arg atan(const Expansion& e);
Arg sinc(const Expansion& e);
Arg lerp(const Expansion& e);
Arg sigmoid(const Expansion& e);
Arg silu(const Expansion& e);
Arg eq(const Expansion& e);
Arg ne(const Expansion& e);
Arg is_nan(const Expansion& e);
Arg is_inf(const Expansion& e);
Arg is_finite(const Expansion& e);
Arg is_real(const Expansion& e);
Arg by_masks(const Expansion& e);
Arg refuse_order(const Expansion& e);
Arg by_parts(const Expansion& e);
Arg clone(const Expansion& e);
Arg compact(const Expansion& e);
Arg copy_to_device(const Expansion& e);
Arg convert(const Expansion& e);
Arg copy(const Expansion& e);
Arg fill(const Expansion& e);
Arg zero(const Expansion& e);
Arg zeros(const Expansion& e);
Arg ones(const Expansion& e);
Arg full(const Expansion& e);
Arg full_like(const Expansion& e);
Arg eye(const Expansion& e);
Arg linspace(const Expansion& e);
Arg rand(const Expansion& e);
Arg randn(const Expansion& e);
Arg uniform(const Expansion& e);
Arg normal(const Expansion& e);
Arg sum(const Expansion& e);
Arg prod(const Expansion& e);
Arg cumprod(const Expansion& e);
Arg log_cumsum_exp(const Expansion& e);
Arg log_sum_exp(const Expansion& e);
Arg variance(const Expansion& e);
Arg spread(const Expansion& e);
Arg of_absolute(const Expansion& e);
Arg matrix_product(const Expansion& e);
Arg convolution(const Expansion& e);
Arg conjugate_first(const Expansion& e);
Arg vecdot(const Expansion& e);
Arg index(const Expansion& e);
Arg index_put(const Expansion& e);
Arg write_view(const Expansion& e);
Arg masked_fill(const Expansion& e);

}  // namespace md::complex_rule
