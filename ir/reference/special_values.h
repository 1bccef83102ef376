// Which formula is whose: the ops of registry/ops/special_functions.h and special.h that are functions of floats.
#pragma once

#include "ir/reference/bessel_formulas.h"
#include "ir/reference/gamma_formulas.h"
#include "ir/reference/normal_formulas.h"
#include "ir/reference/polynomial_formulas.h"
#include "registry/ops/special_functions.h"

namespace md {
namespace formulas {

template <class W>
W value_of(ops::ErfInv, W x) {
  return erfinv(x);
}
// Where a formula in float64 is good to two units in the last place, or four, wide numbers would only take longer.
template <class W>
W value_of(ops::LGamma, W x) {
  if (x > 1.5 || (x > 0 && x < 0.5)) return log_gamma(leading(x));
  return log_gamma(x);
}
template <class W>
W value_of(ops::Digamma, W x) {
  if (x > 20) return digamma(leading(x));
  return digamma(x);
}
template <class W>
W value_of(ops::AiryAi, W x) {
  return airy(x);
}
template <class W>
W value_of(ops::BesselJ0, W x) {
  return bessel_j(0, x);
}
template <class W>
W value_of(ops::BesselJ1, W x) {
  return bessel_j(1, x);
}
template <class W>
W value_of(ops::BesselY0, W x) {
  return bessel_y(0, x);
}
template <class W>
W value_of(ops::BesselY1, W x) {
  return bessel_y(1, x);
}
template <class W>
W value_of(ops::ModifiedBesselI0, W x) {
  return modified_i(0, x);
}
template <class W>
W value_of(ops::ModifiedBesselI1, W x) {
  return modified_i(1, x);
}
template <class W>
W value_of(ops::I0, W x) {
  return modified_i(0, x);
}
template <class W>
W value_of(ops::I1, W x) {
  return modified_i(1, x);
}
template <class W>
W value_of(ops::I0e, W x) {
  return scaled_i(0, x);
}
template <class W>
W value_of(ops::I1e, W x) {
  return scaled_i(1, x);
}
template <class W>
W value_of(ops::ModifiedBesselK0, W x) {
  return modified_k(0, x, false);
}
template <class W>
W value_of(ops::ModifiedBesselK1, W x) {
  return modified_k(1, x, false);
}
template <class W>
W value_of(ops::ScaledModifiedBesselK0, W x) {
  return modified_k(0, x, true);
}
template <class W>
W value_of(ops::ScaledModifiedBesselK1, W x) {
  return modified_k(1, x, true);
}
template <class W>
W value_of(ops::SphericalBesselJ0, W x) {
  return spherical_j0(x);
}
template <class W>
W value_of(ops::Erfcx, W x) {
  return erfcx(leading(x));
}
template <class W>
W value_of(ops::LogNdtr, W x) {
  return log_ndtr(x);
}
template <class W>
W value_of(ops::Ndtri, W x) {
  return ndtri(x);
}

template <class W>
W value_of(ops::Igamma, W x, W y) {
  return igamma(x, y);
}
template <class W>
W value_of(ops::Igammac, W x, W y) {
  return igammac(x, y);
}
template <class W>
W value_of(ops::Zeta, W x, W y) {
  if (y > 0) return zeta(leading(x), leading(y));
  return zeta(x, y);
}
template <class W>
W value_of(ops::HermitePolynomialH, W x, W y) {
  return hermite_h(x, degree_of(y));
}
template <class W>
W value_of(ops::HermitePolynomialHe, W x, W y) {
  return hermite_he(x, degree_of(y));
}
template <class W>
W value_of(ops::LaguerrePolynomialL, W x, W y) {
  return laguerre(x, degree_of(y));
}
template <class W>
W value_of(ops::LegendrePolynomialP, W x, W y) {
  return legendre(x, degree_of(y));
}
template <class W>
W value_of(ops::ChebyshevPolynomialT, W x, W y) {
  return chebyshev(Chebyshev::T, x, degree_of(y));
}
template <class W>
W value_of(ops::ShiftedChebyshevPolynomialT, W x, W y) {
  return chebyshev(Chebyshev::T, W(2 * x - 1), degree_of(y));
}
template <class W>
W value_of(ops::ChebyshevPolynomialU, W x, W y) {
  return chebyshev(Chebyshev::U, x, degree_of(y));
}
template <class W>
W value_of(ops::ShiftedChebyshevPolynomialU, W x, W y) {
  return chebyshev(Chebyshev::U, W(2 * x - 1), degree_of(y));
}
template <class W>
W value_of(ops::ChebyshevPolynomialV, W x, W y) {
  return chebyshev(Chebyshev::V, x, degree_of(y));
}
template <class W>
W value_of(ops::ShiftedChebyshevPolynomialV, W x, W y) {
  return chebyshev(Chebyshev::V, W(2 * x - 1), degree_of(y));
}
template <class W>
W value_of(ops::ChebyshevPolynomialW, W x, W y) {
  return chebyshev(Chebyshev::W, x, degree_of(y));
}
template <class W>
W value_of(ops::ShiftedChebyshevPolynomialW, W x, W y) {
  return chebyshev(Chebyshev::W, W(2 * x - 1), degree_of(y));
}

}  // namespace formulas

}  // namespace md
