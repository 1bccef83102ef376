// Ops with a kernel of their own: creation, random numbers, matrix products, joining. Their rules are in
// ir/infer/infer_kernels.cpp, their reference kernels in ir/reference/reference_kernels.cpp.
#pragma once

#include "registry/op.h"

namespace md::ops {

constexpr OpDecl function_of(OpKind kind, std::string_view name, std::string_view signature, std::string_view doc) {
  return {.name = name, .signature = signature, .kind = kind, .method = false, .row_major = true, .doc = doc};
}

// --- Creation
// ------------------------------------------------------------------------------------------------------------

struct Empty {
  static constexpr OpDecl decl = function_of(OpKind::Create, "empty",
                                             "empty(int[] size, *, dtype? dtype=None, device? device=None, bool "
                                             "requires_grad=False, memory_format? memory_format=None) -> Tensor",
                                             "A tensor whose values mean nothing yet.");
};

struct Full {
  static constexpr OpDecl decl =
      function_of(OpKind::Create, "full",
                  "full(int[] size, Scalar fill_value, *, dtype? dtype=None, device? device=None, bool "
                  "requires_grad=False) -> Tensor",
                  "The same number everywhere; without `dtype` the number's own: bool, int64 or the default float.");
};

struct Zeros {
  static constexpr OpDecl decl =
      function_of(OpKind::Create, "zeros",
                  "zeros(int[] size, *, dtype? dtype=None, device? device=None, bool requires_grad=False) -> Tensor",
                  "Zeros in the default float dtype unless told.");
};

struct Ones {
  static constexpr OpDecl decl =
      function_of(OpKind::Create, "ones",
                  "ones(int[] size, *, dtype? dtype=None, device? device=None, bool requires_grad=False) -> Tensor",
                  "Ones in the default float dtype unless told.");
};

struct FullLike {
  static constexpr OpDecl decl =
      function_of(OpKind::Create, "full_like",
                  "full_like(Tensor self, Scalar fill_value, *, dtype? dtype=None, device? device=None, bool "
                  "requires_grad=False, memory_format? memory_format=None) -> Tensor",
                  "The same number everywhere, with the sizes (and dtype) of `self`.");
};

struct EmptyLike {
  static constexpr OpDecl decl = function_of(OpKind::Create, "empty_like",
                                             "empty_like(Tensor self, *, dtype? dtype=None, device? device=None, bool "
                                             "requires_grad=False, memory_format? memory_format=None) -> Tensor",
                                             "As empty, with the sizes (and dtype) of `self`.");
};

struct Arange {
  static constexpr OpDecl decl = function_of(OpKind::Create, "arange.step",
                                             "arange(Scalar start, Scalar end, Scalar step, *, dtype? dtype=None, "
                                             "device? device=None, bool requires_grad=False) -> Tensor",
                                             "start + i * step below `end`; int64 if all three are ints.");
};

struct Linspace {
  static constexpr OpDecl decl = function_of(OpKind::Create, "linspace",
                                             "linspace(Scalar start, Scalar end, int steps, *, dtype? dtype=None, "
                                             "device? device=None, bool requires_grad=False) -> Tensor",
                                             "`steps` evenly spaced values, both ends included.");
};

struct Eye {
  static constexpr OpDecl decl = function_of(
      OpKind::Create, "eye",
      "eye(int n, int? m=None, *, dtype? dtype=None, device? device=None, bool requires_grad=False) -> Tensor",
      "Ones on the diagonal of an n by m matrix, zeros elsewhere.");
};

// --- Random numbers
// --------------------------------------------------------------------------------------------------------

struct Rand {
  static constexpr OpDecl decl =
      function_of(OpKind::Random, "rand",
                  "rand(int[] size, *, dtype? dtype=None, device? device=None, bool requires_grad=False, Generator? "
                  "generator=None) -> Tensor",
                  "Uniform on [0, 1) from the Philox generator.");
};

struct Randn {
  static constexpr OpDecl decl =
      function_of(OpKind::Random, "randn",
                  "randn(int[] size, *, dtype? dtype=None, device? device=None, bool requires_grad=False, Generator? "
                  "generator=None) -> Tensor",
                  "Standard normal by Box and Muller's transform of Philox numbers.");
};

struct Randint {
  static constexpr OpDecl decl = function_of(OpKind::Random, "randint.low",
                                             "randint(int low, int high, int[] size, *, dtype? dtype=None, device? "
                                             "device=None, bool requires_grad=False, Generator? generator=None) -> "
                                             "Tensor",
                                             "Uniform integers of low <= i < high, int64 unless told.");
};

// --- Matrix products, joining
// ------------------------------------------------------------------------------------------------

struct Mm {
  static constexpr OpDecl decl{.name = "mm",
                               .signature = "mm(Tensor self, Tensor mat2) -> Tensor",
                               .kind = OpKind::Kernel,
                               .row_major = true,
                               .doc = "Product of two matrices of one dtype."};
};

struct Bmm {
  static constexpr OpDecl decl{.name = "bmm",
                               .signature = "bmm(Tensor self, Tensor mat2) -> Tensor",
                               .kind = OpKind::Kernel,
                               .row_major = true,
                               .doc = "Products of two batches of matrices of one dtype."};
};

// What `matmul` makes of batches whose dimensions do not join to one without a copy.
struct BatchedMm {
  static constexpr OpDecl decl{
      .name = "batched_mm",
      .signature = "batched_mm(Tensor self, Tensor mat2) -> Tensor",
      .kind = OpKind::Kernel,
      .function = false,
      .method = false,
      .row_major = true,
      .doc = "Products of the matrices in the last two dimensions; all others are equal, of any number and strides."};
};

struct Cat {
  static constexpr OpDecl decl = also(function_of(OpKind::Kernel, "cat", "cat(Tensor[] tensors, int dim=0) -> Tensor",
                                                  "Tensors joined along `dim`; dtypes promote."),
                                      "concat concatenate");
};

// What `functionalize` makes of an in-place op on a view.
struct WriteView {
  static constexpr OpDecl decl{
      .name = "write_view",
      .signature = "write_view(Tensor self, Tensor src, int[] stride, int offset) -> Tensor",
      .kind = OpKind::Kernel,
      .function = false,
      .method = false,
      .row_major = true,
      .doc = "A contiguous copy of `self` with the elements at offset + i * stride replaced by those of `src`."};
};

}  // namespace md::ops
