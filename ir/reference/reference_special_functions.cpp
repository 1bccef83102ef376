// The kernels of registry/ops/special_functions.h: which formula is whose.
#include "ir/reference/bessel_formulas.h"
#include "ir/reference/elements.h"
#include "ir/reference/gamma_formulas.h"
#include "ir/reference/normal_formulas.h"
#include "ir/reference/polynomial_formulas.h"
#include "ir/reference/special_functions.h"

namespace md {
namespace formulas {
namespace {

template <class W>
W value_of(ops::AiryAi, W x) {
  return airy(x);
}
template <class W>
W value_of(ops::BesselJ0, W x) {
  return finite_only(x, libm_j0(x));
}
template <class W>
W value_of(ops::BesselJ1, W x) {
  return finite_only(x, libm_j1(x));
}
template <class W>
W value_of(ops::BesselY0, W x) {
  return right_of_zero(x, libm_y0(x));
}
template <class W>
W value_of(ops::BesselY1, W x) {
  return right_of_zero(x, libm_y1(x));
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
  return erfcx(x);
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
  return chebyshev(Chebyshev::T, 2 * x - 1, degree_of(y));
}
template <class W>
W value_of(ops::ChebyshevPolynomialU, W x, W y) {
  return chebyshev(Chebyshev::U, x, degree_of(y));
}
template <class W>
W value_of(ops::ShiftedChebyshevPolynomialU, W x, W y) {
  return chebyshev(Chebyshev::U, 2 * x - 1, degree_of(y));
}
template <class W>
W value_of(ops::ChebyshevPolynomialV, W x, W y) {
  return chebyshev(Chebyshev::V, x, degree_of(y));
}
template <class W>
W value_of(ops::ShiftedChebyshevPolynomialV, W x, W y) {
  return chebyshev(Chebyshev::V, 2 * x - 1, degree_of(y));
}
template <class W>
W value_of(ops::ChebyshevPolynomialW, W x, W y) {
  return chebyshev(Chebyshev::W, x, degree_of(y));
}
template <class W>
W value_of(ops::ShiftedChebyshevPolynomialW, W x, W y) {
  return chebyshev(Chebyshev::W, 2 * x - 1, degree_of(y));
}

}  // namespace
}  // namespace formulas

namespace {

template <class O>
void run_special(O o, const KernelCall& c, std::int64_t first, std::int64_t last) {
  if constexpr (std::is_same_v<O, ops::Polygamma>) {
    const std::int64_t n = c.args[1].get<Size>().value();
    map_floats(c, first, last, [n](auto x) { return formulas::polygamma(x, n); });
  } else if constexpr (requires { formulas::value_of(o, 0.0, 0.0); }) {
    map_float_pairs(c, first, last, [o](auto x, auto y) { return formulas::value_of(o, x, y); });
  } else {
    map_floats(c, first, last, [o](auto x) { return formulas::value_of(o, x); });
  }
}

}  // namespace

#define MD_OP(S)                                                                            \
  void run_elements(ops::S o, const KernelCall& c, std::int64_t first, std::int64_t last) { \
    run_special(o, c, first, last);                                                         \
  }                                                                                         \
  void reference_kernel(ops::S o, const KernelCall& c) { run_special(o, c, 0, c.out[0]->numel()); }
#include "registry/special_functions.inc"
#undef MD_OP

}  // namespace md
