// Special functions of one or two values, each element by itself: what their rules, kernels and batching share is made
// from this list (ir/infer/infer_special_functions.cpp, ir/reference/reference_special_functions.cpp). Formulas:
// ir/reference/*_formulas.h.
#pragma once

#include "registry/ops/special.h"

namespace md::ops {

// Of special only, floats from anything.
constexpr OpDecl special_function(std::string_view name, std::string_view signature, std::string_view where,
                                  std::string_view doc) {
  OpDecl d = also(kernel_op(name, signature, doc), where);
  d.function = d.method = false;
  return d;
}

constexpr OpDecl function_off(OpDecl d) {
  d.function = false;
  return d;
}

// --- With gradients
// ----------------------------------------------------------------------------------------------------

struct I0 {
  static constexpr OpDecl decl =
      also(with_inplace(kernel_op("i0", "i0(Tensor self) -> Tensor",
                                  "The modified Bessel function of the first kind of order 0.")),
           "special.i0");
};

struct Erfcx {
  static constexpr OpDecl decl = special_function("erfcx", "erfcx(Tensor self) -> Tensor", "special.erfcx",
                                                  "exp(x^2) * erfc(x), which does not underflow.");
};

struct I0e {
  static constexpr OpDecl decl =
      special_function("i0e", "i0e(Tensor self) -> Tensor", "special.i0e", "exp(-|x|) * i0(x).");
};

struct I1 {
  static constexpr OpDecl decl = special_function("i1", "i1(Tensor self) -> Tensor", "special.i1",
                                                  "The modified Bessel function of the first kind of order 1.");
};

struct I1e {
  static constexpr OpDecl decl =
      special_function("i1e", "i1e(Tensor self) -> Tensor", "special.i1e", "exp(-|x|) * i1(x).");
};

struct LogNdtr {
  static constexpr OpDecl decl = special_function("log_ndtr", "log_ndtr(Tensor self) -> Tensor", "special.log_ndtr",
                                                  "The logarithm of ndtr(x), accurate where that is tiny.");
};

struct Ndtri {
  static constexpr OpDecl decl =
      special_function("ndtri", "ndtri(Tensor self) -> Tensor", "special.ndtri",
                       "The x whose ndtr is the value: -inf at 0, inf at 1, NaN outside of them.");
};

struct Igamma {
  static constexpr OpDecl decl = also(
      with_inplace(kernel_op("igamma", "igamma(Tensor self, Tensor other) -> Tensor",
                             "The lower incomplete gamma function of `self` > 0 up to `other` >= 0, over gamma(self); "
                             "floats only, with a gradient of `other`.")),
      "special.gammainc");
};

struct Igammac {
  static constexpr OpDecl decl = also(with_inplace(kernel_op("igammac", "igammac(Tensor self, Tensor other) -> Tensor",
                                                             "1 - igamma(self, other), accurate where that is tiny.")),
                                      "special.gammaincc");
};

struct Zeta {
  static constexpr OpDecl decl =
      special_function("zeta", "zeta(Operand self, Operand other) -> Tensor", "special.zeta",
                       "Hurwitz' zeta function, the sum of (other + k)^-self over k >= 0, with a gradient of `other`.");
};

struct Polygamma {
  static constexpr OpDecl decl =
      with_inplace(function_off(kernel_op("polygamma", "polygamma(Tensor self, int n) -> Tensor",
                                          "The n-th derivative of digamma. RuntimeError for n < 0.")));
};

// --- Without gradients
// -------------------------------------------------------------------------------------------------

struct AiryAi {
  static constexpr OpDecl decl = no_gradient(special_function(
      "airy_ai", "airy_ai(Tensor self) -> Tensor", "special.airy_ai", "Airy's function Ai; NaN at both infinities."));
};

struct BesselJ0 {
  static constexpr OpDecl decl =
      no_gradient(special_function("bessel_j0", "bessel_j0(Tensor self) -> Tensor", "special.bessel_j0",
                                   "The Bessel function of the first kind of order 0."));
};

struct BesselJ1 {
  static constexpr OpDecl decl =
      no_gradient(special_function("bessel_j1", "bessel_j1(Tensor self) -> Tensor", "special.bessel_j1",
                                   "The Bessel function of the first kind of order 1."));
};

struct BesselY0 {
  static constexpr OpDecl decl =
      no_gradient(special_function("bessel_y0", "bessel_y0(Tensor self) -> Tensor", "special.bessel_y0",
                                   "The Bessel function of the second kind of order 0; -inf at 0, NaN below."));
};

struct BesselY1 {
  static constexpr OpDecl decl =
      no_gradient(special_function("bessel_y1", "bessel_y1(Tensor self) -> Tensor", "special.bessel_y1",
                                   "The Bessel function of the second kind of order 1; -inf at 0, NaN below."));
};

struct ModifiedBesselI0 {
  static constexpr OpDecl decl =
      no_gradient(special_function("modified_bessel_i0", "modified_bessel_i0(Tensor self) -> Tensor",
                                   "special.modified_bessel_i0", "As i0, without a gradient."));
};

struct ModifiedBesselI1 {
  static constexpr OpDecl decl =
      no_gradient(special_function("modified_bessel_i1", "modified_bessel_i1(Tensor self) -> Tensor",
                                   "special.modified_bessel_i1", "As special.i1, without a gradient."));
};

struct ModifiedBesselK0 {
  static constexpr OpDecl decl = no_gradient(
      special_function("modified_bessel_k0", "modified_bessel_k0(Tensor self) -> Tensor", "special.modified_bessel_k0",
                       "The modified Bessel function of the second kind of order 0; inf at 0, NaN below."));
};

struct ModifiedBesselK1 {
  static constexpr OpDecl decl = no_gradient(
      special_function("modified_bessel_k1", "modified_bessel_k1(Tensor self) -> Tensor", "special.modified_bessel_k1",
                       "The modified Bessel function of the second kind of order 1; inf at 0, NaN below."));
};

struct ScaledModifiedBesselK0 {
  static constexpr OpDecl decl = no_gradient(special_function(
      "scaled_modified_bessel_k0", "scaled_modified_bessel_k0(Tensor self) -> Tensor",
      "special.scaled_modified_bessel_k0", "exp(x) * modified_bessel_k0(x), which does not underflow."));
};

struct ScaledModifiedBesselK1 {
  static constexpr OpDecl decl = no_gradient(special_function(
      "scaled_modified_bessel_k1", "scaled_modified_bessel_k1(Tensor self) -> Tensor",
      "special.scaled_modified_bessel_k1", "exp(x) * modified_bessel_k1(x), which does not underflow."));
};

struct SphericalBesselJ0 {
  static constexpr OpDecl decl =
      no_gradient(special_function("spherical_bessel_j0", "spherical_bessel_j0(Tensor self) -> Tensor",
                                   "special.spherical_bessel_j0", "sin(x) / x, 1 at 0."));
};

struct ChebyshevPolynomialT {
  static constexpr OpDecl decl = no_gradient(
      special_function("chebyshev_polynomial_t", "chebyshev_polynomial_t(Operand self, Operand n) -> Tensor",
                       "special.chebyshev_polynomial_t",
                       "Chebyshev's polynomial of the first kind of degree n, cut to a whole number; 0 for n < 0."));
};

struct ShiftedChebyshevPolynomialT {
  static constexpr OpDecl decl = no_gradient(special_function(
      "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_t(Operand self, Operand n) -> Tensor",
      "special.shifted_chebyshev_polynomial_t", "chebyshev_polynomial_t at 2 * x - 1."));
};

struct ChebyshevPolynomialU {
  static constexpr OpDecl decl = no_gradient(
      special_function("chebyshev_polynomial_u", "chebyshev_polynomial_u(Operand self, Operand n) -> Tensor",
                       "special.chebyshev_polynomial_u",
                       "Chebyshev's polynomial of the second kind of degree n, cut to a whole number; 0 for n < 0."));
};

struct ShiftedChebyshevPolynomialU {
  static constexpr OpDecl decl = no_gradient(special_function(
      "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_u(Operand self, Operand n) -> Tensor",
      "special.shifted_chebyshev_polynomial_u", "chebyshev_polynomial_u at 2 * x - 1."));
};

struct ChebyshevPolynomialV {
  static constexpr OpDecl decl = no_gradient(
      special_function("chebyshev_polynomial_v", "chebyshev_polynomial_v(Operand self, Operand n) -> Tensor",
                       "special.chebyshev_polynomial_v",
                       "Chebyshev's polynomial of the third kind of degree n, cut to a whole number; 0 for n < 0."));
};

struct ShiftedChebyshevPolynomialV {
  static constexpr OpDecl decl = no_gradient(special_function(
      "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_v(Operand self, Operand n) -> Tensor",
      "special.shifted_chebyshev_polynomial_v", "chebyshev_polynomial_v at 2 * x - 1."));
};

struct ChebyshevPolynomialW {
  static constexpr OpDecl decl = no_gradient(
      special_function("chebyshev_polynomial_w", "chebyshev_polynomial_w(Operand self, Operand n) -> Tensor",
                       "special.chebyshev_polynomial_w",
                       "Chebyshev's polynomial of the fourth kind of degree n, cut to a whole number; 0 for n < 0."));
};

struct ShiftedChebyshevPolynomialW {
  static constexpr OpDecl decl = no_gradient(special_function(
      "shifted_chebyshev_polynomial_w", "shifted_chebyshev_polynomial_w(Operand self, Operand n) -> Tensor",
      "special.shifted_chebyshev_polynomial_w", "chebyshev_polynomial_w at 2 * x - 1."));
};

struct HermitePolynomialH {
  static constexpr OpDecl decl =
      no_gradient(special_function("hermite_polynomial_h", "hermite_polynomial_h(Operand self, Operand n) -> Tensor",
                                   "special.hermite_polynomial_h", "The physicists' Hermite polynomial of degree n."));
};

struct HermitePolynomialHe {
  static constexpr OpDecl decl = no_gradient(
      special_function("hermite_polynomial_he", "hermite_polynomial_he(Operand self, Operand n) -> Tensor",
                       "special.hermite_polynomial_he", "The probabilists' Hermite polynomial of degree n."));
};

struct LaguerrePolynomialL {
  static constexpr OpDecl decl =
      no_gradient(special_function("laguerre_polynomial_l", "laguerre_polynomial_l(Operand self, Operand n) -> Tensor",
                                   "special.laguerre_polynomial_l", "Laguerre's polynomial of degree n."));
};

struct LegendrePolynomialP {
  static constexpr OpDecl decl =
      no_gradient(special_function("legendre_polynomial_p", "legendre_polynomial_p(Operand self, Operand n) -> Tensor",
                                   "special.legendre_polynomial_p", "Legendre's polynomial of degree n."));
};

}  // namespace md::ops
