// Complex numbers: how their parts are seen and put together, what there is only of them, and the Fourier transform.
// Rules: ir/infer/infer_complex.cpp, ir/composites/composite_complex.cpp; how all other ops take complex operands:
// ir/infer/complex_calls.h.
#pragma once

#include "registry/ops/activations.h"
#include "registry/ops/convolution.h"
#include "registry/ops/views.h"

namespace md::ops {

struct ViewAsReal {
  static constexpr OpDecl decl = [] {
    OpDecl d = view_op("view_as_real", "view_as_real(Tensor self) -> Tensor",
                       "The real and the imaginary parts in a last dimension of size 2.");
    d.method = false;
    return d;
  }();
};

struct ViewAsComplex {
  static constexpr OpDecl decl = [] {
    OpDecl d = view_op("view_as_complex", "view_as_complex(Tensor self) -> Tensor",
                       "Complex numbers whose parts lie in the last dimension, of size 2 and stride 1.");
    d.method = false;
    return d;
  }();
};

struct ViewDType {
  static constexpr OpDecl decl =
      no_gradient(view_method("view.dtype", "view(Tensor self, dtype dtype) -> Tensor",
                              "The same bytes as elements of another dtype; the last dimension grows or shrinks."));
};

struct ComplexOf {
  static constexpr OpDecl decl = function_only(composite("complex", "complex(Tensor real, Tensor imag) -> Tensor",
                                                         "real + i imag, of float32 or float64 parts."));
};

struct Polar {
  static constexpr OpDecl decl = function_only(
      composite("polar", "polar(Tensor abs, Tensor angle) -> Tensor", "abs (cos(angle) + i sin(angle))."));
};

struct RealPart {
  static constexpr OpDecl decl = function_only(
      composite("real", "real(Tensor self) -> Tensor", "The real parts, a view; a tensor that is not complex itself."));
};

struct ImagPart {
  static constexpr OpDecl decl = function_only(
      composite("imag", "imag(Tensor self) -> Tensor", "The imaginary parts of a complex tensor, a view."));
};

struct Conj {
  static constexpr OpDecl decl =
      composite("conj", "conj(Tensor self) -> Tensor", "a - ib for a + ib; a tensor that is not complex itself.");
};

// What conj() of a complex tensor is, and what its imaginary parts are: views of which the memory holds the conjugates
// or the negatives (ir/tensor/lazy_view.h).
struct ConjView {
  static constexpr OpDecl decl =
      internal_view("_conj", "_conj(Tensor self) -> Tensor", "a - ib for a + ib over the same memory.");
};

struct NegView {
  static constexpr OpDecl decl =
      internal_view("_neg_view", "_neg_view(Tensor self) -> Tensor", "The negative elements over the same memory.");
};

struct ConjPhysical {
  static constexpr OpDecl decl =
      inplace_too(composite("conj_physical", "conj_physical(Tensor self) -> Tensor",
                            "a - ib for a + ib in a tensor of its own; a tensor that is not complex itself."));
};

struct Angle {
  static constexpr OpDecl decl = composite("angle", "angle(Tensor self) -> Tensor",
                                           "atan2(b, a) for a + ib; of reals pi below 0, else 0, NaN for NaN.");
};

// One dimension of a tensor whose last one has the real and the imaginary parts.
struct FourierPairs {
  static constexpr OpDecl decl =
      inner_kernel("fourier_pairs", "fourier_pairs(Tensor self, int dim, bool inverse, float scale) -> Tensor",
                   "scale * sum of x[j] exp(-2 pi i j k / n) over j; with `inverse` the exponent has the other sign.");
};

// What minidynamo.fft calls.
struct FourierTransform {
  static constexpr OpDecl decl = function_only(
      composite("_fourier", "_fourier(Tensor self, int[] dim, bool inverse, float scale) -> Tensor",
                "The discrete Fourier transform of a complex tensor along each of the dimensions, times `scale`."));
};

}  // namespace md::ops
