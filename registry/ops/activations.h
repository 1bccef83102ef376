// Pointwise functions written in terms of other ops by ir/composites/composite_activations.cpp: activations, weighted
// sums, limits.
#pragma once

#include "registry/ops/composites.h"

namespace md::ops {

// A function of minidynamo.nn.functional and of nothing else.
constexpr OpDecl functional(std::string_view name, std::string_view signature, std::string_view where,
                            std::string_view doc) {
  return also(operator_only(composite(name, signature, doc)), where);
}

// --- Activations ---------------------------------------------------------------------------------------------------

struct Gelu {
  static constexpr OpDecl decl =
      functional("gelu", "gelu(Tensor self, *, str approximate='none') -> Tensor", "nn.functional.gelu",
                 "x times the normal distribution's share below x: exactly, or by the 'tanh' formula.");
};

struct Softplus {
  static constexpr OpDecl decl =
      functional("softplus", "softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
                 "nn.functional.softplus", "log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold.");
};

struct LeakyRelu {
  static constexpr OpDecl decl =
      own_gradient(functional("leaky_relu", "leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
                              "nn.functional.leaky_relu", "x above 0, negative_slope * x below."));
};

struct Elu {
  static constexpr OpDecl decl = functional("elu", "elu(Tensor self, Scalar alpha=1.0) -> Tensor", "nn.functional.elu",
                                            "x above 0, alpha * (exp(x) - 1) below.");
};

struct Selu {
  static constexpr OpDecl decl =
      also(function_only(composite("selu", "selu(Tensor self) -> Tensor",
                                   "elu with the scale and alpha of self-normalizing networks (Klambauer et al.).")),
           "nn.functional.selu");
};

struct Celu {
  static constexpr OpDecl decl = also(function_only(composite("celu", "celu(Tensor self, Scalar alpha=1.0) -> Tensor",
                                                              "x above 0, alpha * (exp(x / alpha) - 1) below.")),
                                      "nn.functional.celu");
};

struct Hardtanh {
  static constexpr OpDecl decl =
      own_gradient(functional("hardtanh", "hardtanh(Tensor self, Scalar min_val=-1.0, Scalar max_val=1.0) -> Tensor",
                              "nn.functional.hardtanh", "x limited to [min_val, max_val]."));
};

struct Relu6 {
  static constexpr OpDecl decl =
      own_gradient(functional("relu6", "relu6(Tensor self) -> Tensor", "nn.functional.relu6", "x limited to [0, 6]."));
};

struct Threshold {
  static constexpr OpDecl decl =
      also(function_only(composite("threshold", "threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
                                   "x above `threshold`, else `value`.")),
           "nn.functional.threshold");
};

struct Prelu {
  static constexpr OpDecl decl =
      also(composite("prelu", "prelu(Tensor self, Tensor weight) -> Tensor",
                     "x above 0, weight * x below; one weight, or one for each position of dimension 1."),
           "nn.functional.prelu");
};

struct Softsign {
  static constexpr OpDecl decl =
      functional("softsign", "softsign(Tensor self) -> Tensor", "nn.functional.softsign", "x / (1 + |x|).");
};

struct Tanhshrink {
  static constexpr OpDecl decl =
      functional("tanhshrink", "tanhshrink(Tensor self) -> Tensor", "nn.functional.tanhshrink", "x - tanh(x).");
};

struct Softshrink {
  static constexpr OpDecl decl =
      functional("softshrink", "softshrink(Tensor self, Scalar lambd=0.5) -> Tensor", "nn.functional.softshrink",
                 "x moved toward 0 by lambd, 0 where it would pass it.");
};

struct Hardshrink {
  static constexpr OpDecl decl = also(composite("hardshrink", "hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
                                                "x, but 0 within [-lambd, lambd]."),
                                      "nn.functional.hardshrink");
};

struct Glu {
  static constexpr OpDecl decl = functional("glu", "glu(Tensor self, int dim=-1) -> Tensor", "nn.functional.glu",
                                            "The first half of `dim` times the sigmoid of the second.");
};

// --- Arithmetic ----------------------------------------------------------------------------------------------------

struct TrueDivide {
  static constexpr OpDecl decl =
      inplace_too(composite("true_divide", "true_divide(Operand self, Operand other) -> Tensor", "As div."));
};

struct Divide {
  static constexpr OpDecl decl =
      inplace_too(composite("divide", "divide(Operand self, Operand other, *, str? rounding_mode=None) -> Tensor",
                            "As div, rounded by `rounding_mode`: None, 'trunc' or 'floor'."));
};

struct Frac {
  static constexpr OpDecl decl =
      inplace_too(composite("frac", "frac(Tensor self) -> Tensor", "x - trunc(x), with the sign of x."));
};

struct Positive {
  static constexpr OpDecl decl =
      composite("positive", "positive(Tensor self) -> Tensor", "The tensor itself. A bool tensor is refused.");
};

struct Lerp {
  static constexpr OpDecl decl = inplace_too(composite("lerp", "lerp(Tensor self, Tensor end, Tensor weight) -> Tensor",
                                                       "self + weight * (end - self), counted from the nearer end."));
};

struct LerpScalar {
  static constexpr OpDecl decl =
      inplace_too(composite("lerp.scalar", "lerp(Tensor self, Tensor end, Scalar weight) -> Tensor",
                            "self + weight * (end - self), counted from the nearer end."));
};

struct LstmCell {
  static constexpr OpDecl decl = own_gradient(function_only(composite(
      "_lstm_cell", "_lstm_cell(Tensor gates, Tensor cell) -> (Tensor hidden, Tensor cell)",
      "The next states of an LSTM (Hochreiter & Schmidhuber 1997; Gers et al. 2000): `gates`, of four times the "
      "columns, are those of input, forgetting, candidates and output before their activations.")));
};

struct Addcmul {
  static constexpr OpDecl decl = rounds_once(inplace_too(
      composite("addcmul", "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
                "self + value * tensor1 * tensor2.")));
};

struct Addcdiv {
  static constexpr OpDecl decl = rounds_once(inplace_too(
      composite("addcdiv", "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
                "self + value * tensor1 / tensor2; floats only.")));
};

struct FloatPower {
  static constexpr OpDecl decl = inplace_too(
      composite("float_power", "float_power(Operand self, Operand exponent) -> Tensor", "Power computed in float64."));
};

struct Ldexp {
  static constexpr OpDecl decl = inplace_too(composite(
      "ldexp", "ldexp(Tensor self, Tensor other) -> Tensor",
      "self * 2**other; integers and bools are computed in the dtype of the other, or else the default one."));
};

struct Deg2Rad {
  static constexpr OpDecl decl =
      inplace_too(composite("deg2rad", "deg2rad(Tensor self) -> Tensor", "x * pi / 180: degrees in radians."));
};

struct Rad2Deg {
  static constexpr OpDecl decl =
      inplace_too(composite("rad2deg", "rad2deg(Tensor self) -> Tensor", "x * 180 / pi: radians in degrees."));
};

// --- Logarithms ----------------------------------------------------------------------------------------------------

struct LogAddExp {
  static constexpr OpDecl decl = composite("logaddexp", "logaddexp(Tensor self, Tensor other) -> Tensor",
                                           "log(exp(self) + exp(other)) without overflow on the way.");
};

struct LogAddExp2 {
  static constexpr OpDecl decl = composite("logaddexp2", "logaddexp2(Tensor self, Tensor other) -> Tensor",
                                           "log2(2^self + 2^other) without overflow on the way.");
};

struct Logit {
  static constexpr OpDecl decl =
      also(inplace_too(composite("logit", "logit(Tensor self, float? eps=None) -> Tensor",
                                 "log(x / (1 - x)); with `eps`, x is limited to [eps, 1 - eps] first.")),
           "special.logit");
};

struct Ndtr {
  static constexpr OpDecl decl =
      rounds_once(also(operator_only(composite("ndtr", "ndtr(Tensor self) -> Tensor",
                                               "The distribution function of the standard normal distribution.")),
                       "special.ndtr"));
};

struct Mvlgamma {
  static constexpr OpDecl decl =
      rounds_once(also(inplace_too(composite(
                           "mvlgamma", "mvlgamma(Tensor self, int p) -> Tensor",
                           "The logarithm of the multivariate gamma function of dimension p; RuntimeError for p < 1.")),
                       "special.multigammaln"));
};

struct Xlogy {
  static constexpr OpDecl decl =
      own_gradient(also(inplace_too(composite("xlogy", "xlogy(Operand self, Operand other) -> Tensor",
                                              "self * log(other); 0 where self is 0, NaN where other is NaN.")),
                        "special.xlogy"));
};

struct Xlog1py {
  static constexpr OpDecl decl =
      own_gradient(also(operator_only(composite("xlog1py", "xlog1py(Operand self, Operand other) -> Tensor",
                                                "self * log(1 + other); 0 where self is 0, NaN where other is NaN.")),
                        "special.xlog1py"));
};

struct Entr {
  static constexpr OpDecl decl =
      also(operator_only(composite("entr", "entr(Tensor self) -> Tensor", "-x * log(x); 0 at 0, -inf below.")),
           "special.entr");
};

struct Sinc {
  static constexpr OpDecl decl = own_gradient(also(
      inplace_too(composite("sinc", "sinc(Tensor self) -> Tensor", "sin(pi x) / (pi x); 1 at 0.")), "special.sinc"));
};

// --- Replacing values ----------------------------------------------------------------------------------------------

struct NanToNum {
  static constexpr OpDecl decl = inplace_too(composite(
      "nan_to_num", "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
      "NaN replaced by `nan` (0), infinities by `posinf` and `neginf` (the largest and smallest numbers)."));
};

struct Heaviside {
  static constexpr OpDecl decl =
      inplace_too(composite("heaviside", "heaviside(Tensor self, Tensor values) -> Tensor",
                            "0 below 0 and for NaN, 1 above, `values` at 0; both of one dtype."));
};

struct IsReal {
  static constexpr OpDecl decl = composite("isreal", "isreal(Tensor self) -> Tensor", "Where the imaginary part is 0.");
};

struct WhereMethod {
  static constexpr OpDecl decl = also(
      operator_only(composite("where_method", "where_method(Tensor self, Tensor condition, Operand other) -> Tensor",
                              "`self` where the bool tensor `condition` holds, else `other`; all broadcast.")),
      "Tensor.where");
};

}  // namespace md::ops
