// Functions of one or two values that are no straight line of arithmetic: kernels that take one element after another.
// Rules and kernels: ir/infer/infer_special.cpp, ir/reference/reference_special.cpp.
#pragma once

#include "registry/ops/scans.h"

namespace md::ops {

struct ErfInv {
  static constexpr OpDecl decl = also(with_inplace(kernel_op("erfinv", "erfinv(Tensor self) -> Tensor",
                                                             "The x whose erf is the value, infinite at -1 and 1.")),
                                      "special.erfinv");
};

struct LGamma {
  static constexpr OpDecl decl =
      also(with_inplace(kernel_op("lgamma", "lgamma(Tensor self) -> Tensor", "log |gamma(x)|.")), "special.gammaln");
};

struct Digamma {
  static constexpr OpDecl decl =
      also(with_inplace(kernel_op("digamma", "digamma(Tensor self) -> Tensor", "The derivative of log gamma(x).")),
           "special.digamma special.psi");
};

struct Gcd {
  static constexpr OpDecl decl = no_gradient(with_inplace(
      kernel_op("gcd", "gcd(Tensor self, Tensor other) -> Tensor", "The greatest common divisor; integers only.")));
};

struct Lcm {
  static constexpr OpDecl decl = no_gradient(with_inplace(
      kernel_op("lcm", "lcm(Tensor self, Tensor other) -> Tensor", "The least common multiple; integers only.")));
};

struct NextAfter {
  static constexpr OpDecl decl =
      with_inplace(kernel_op("nextafter", "nextafter(Tensor self, Tensor other) -> Tensor",
                             "The next value of the dtype from `self` towards `other`; floats only."));
};

struct Mode {
  static constexpr OpDecl decl =
      kernel_op("mode", "mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
                "The most frequent value along `dim`, of several the smallest, and the last position that has it.");
};

}  // namespace md::ops
