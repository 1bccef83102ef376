// Sums of products written in terms of other ops by ir/composites/composite_products.cpp and
// ir/composites/composite_einsum.cpp. Products of matrices themselves are in kernels.h, their first composites in
// composites.h and arrangement.h.
#pragma once

#include "registry/ops/activations.h"

namespace md::ops {

// --- Weighted sums -------------------------------------------------------------------------------------------------

struct Addbmm {
  static constexpr OpDecl decl = inplace_too(composite(
      "addbmm", "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
      "beta * self + alpha * (batch1 @ batch2 summed over the batch)."));
};

struct Addr {
  static constexpr OpDecl decl = inplace_too(
      composite("addr", "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
                "beta * self + alpha * outer(vec1, vec2)."));
};

struct Linear {
  static constexpr OpDecl decl =
      functional("linear", "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", "nn.functional.linear",
                 "input @ weight.T + bias, for any number of leading dimensions.");
};

// --- Vectors, arrays -----------------------------------------------------------------------------------------------

struct Vdot {
  static constexpr OpDecl decl =
      composite("vdot", "vdot(Tensor self, Tensor other) -> Tensor", "Inner product of two vectors, as dot.");
};

struct LinalgVecdot {
  static constexpr OpDecl decl =
      functional("linalg_vecdot", "linalg_vecdot(Tensor self, Tensor other, *, int dim=-1) -> Tensor", "linalg.vecdot",
                 "Sums of products along `dim`; the other dimensions broadcast.");
};

struct Tensordot {
  static constexpr OpDecl decl = function_only(
      composite("tensordot", "tensordot(Tensor a, Tensor b, Index dims=2) -> Tensor",
                "Sums of products over the last `dims` dimensions of a and the first of b, or over pairs of them "
                "given as two lists."));
};

struct Kron {
  static constexpr OpDecl decl = composite("kron", "kron(Tensor self, Tensor other) -> Tensor",
                                           "Kronecker product: every element of `self` times the whole of `other`.");
};

struct Einsum {
  static constexpr OpDecl decl = function_only(composite(
      "einsum", "einsum(str equation, Tensor... operands) -> Tensor",
      "Sums of products by Einstein's notation: 'ij,jk->ik'. A repeated letter takes a diagonal, '...' stands "
      "for the dimensions without a letter, letters missing after '->' are summed over."));
};

// --- Chains of matrices --------------------------------------------------------------------------------------------

struct ChainMatmul {
  static constexpr OpDecl decl = function_only(composite("chain_matmul", "chain_matmul(Tensor... matrices) -> Tensor",
                                                         "Product of matrices in the order of least work."));
};

struct MultiDot {
  static constexpr OpDecl decl =
      functional("linalg_multi_dot", "linalg_multi_dot(Tensor[] tensors) -> Tensor", "linalg.multi_dot",
                 "Product of matrices in the order of least work; the first and last may be vectors.");
};

struct MatrixPower {
  static constexpr OpDecl decl =
      also(composite("matrix_power", "matrix_power(Tensor self, int n) -> Tensor",
                     "Square matrices multiplied n times; n = 0 gives the identity, negative n is not there."),
           "linalg.matrix_power");
};

// --- Norms ---------------------------------------------------------------------------------------------------------

struct MatrixNorm {
  static constexpr OpDecl decl = functional(
      "linalg_matrix_norm",
      "linalg_matrix_norm(Tensor self, Scalar ord, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> "
      "Tensor",
      "linalg.matrix_norm", "Norm of matrices in the last two or the given dimensions by order 1, -1 or an infinity.");
};

struct MatrixNormName {
  static constexpr OpDecl decl = operator_only(
      composite("linalg_matrix_norm.name",
                "linalg_matrix_norm(Tensor self, str ord='fro', int[]? dim=None, bool keepdim=False, *, dtype? "
                "dtype=None) -> Tensor",
                "Norm of matrices in the last two or the given dimensions by name: 'fro'."));
};

}  // namespace md::ops
