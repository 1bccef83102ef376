// Kernels along one dimension: running sums, sorting, gathering, counting. Their rules are in ir/infer/infer_scans.cpp,
// their reference kernels in ir/reference/reference_scans.cpp.
#pragma once

#include "registry/ops/kernels.h"

namespace md::ops {

constexpr OpDecl kernel_op(std::string_view name, std::string_view signature, std::string_view doc) {
  return {.name = name, .signature = signature, .kind = OpKind::Kernel, .row_major = true, .doc = doc};
}
constexpr OpDecl with_inplace(OpDecl d) {
  d.inplace = true;
  return d;
}
constexpr OpDecl may_fail(OpDecl d) {
  d.can_fail = true;
  return d;
}

// --- Running -------------------------------------------------------------------------------------------------------

struct CumSum {
  static constexpr OpDecl decl =
      with_inplace(kernel_op("cumsum", "cumsum(Tensor self, int dim, *, dtype? dtype=None) -> Tensor",
                             "Running sum along `dim`, in order. Bool and integers give int64."));
};

struct CumProd {
  static constexpr OpDecl decl =
      with_inplace(kernel_op("cumprod", "cumprod(Tensor self, int dim, *, dtype? dtype=None) -> Tensor",
                             "Running product along `dim`, in order. Bool and integers give int64."));
};

struct LogCumSumExp {
  static constexpr OpDecl decl = kernel_op("logcumsumexp", "logcumsumexp(Tensor self, int dim) -> Tensor",
                                           "Logarithm of the running sum of exp(x) along `dim`; floats only.");
};

struct CumMax {
  static constexpr OpDecl decl = kernel_op("cummax", "cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)",
                                           "Running maximum and the last position that has it; a NaN stays.");
};

struct CumMin {
  static constexpr OpDecl decl = kernel_op("cummin", "cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)",
                                           "Running minimum and the last position that has it; a NaN stays.");
};

// --- Order ---------------------------------------------------------------------------------------------------------

struct Sort {
  static constexpr OpDecl decl =
      kernel_op("sort", "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
                "Values in order along `dim` and where they were; equals keep their order, NaN counts as largest.");
};

struct Gather {
  static constexpr OpDecl decl =
      may_fail(kernel_op("gather", "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
                         "The elements of `self` at the positions `index` gives along `dim`; one outside raises."));
};

struct Flip {
  static constexpr OpDecl decl =
      kernel_op("flip", "flip(Tensor self, int[] dims) -> Tensor", "A copy with the given dimensions reversed.");
};

// --- Counting ------------------------------------------------------------------------------------------------------

struct Histc {
  static constexpr OpDecl decl = no_gradient(may_fail(kernel_op(
      "histc", "histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
      "How many values fall into each of `bins` equal parts of [min, max]; the range of the values if both are 0.")));
};

struct OneHot {
  static constexpr OpDecl decl = no_gradient([] {
    OpDecl d = may_fail(kernel_op("one_hot", "one_hot(Tensor self, int num_classes) -> Tensor",
                                  "A new last dimension that is 1 at the position the int64 value names, else 0."));
    d.function = d.method = false;
    d.also = "nn.functional.one_hot";
    return d;
  }());
};

// --- Index patterns ------------------------------------------------------------------------------------------------

struct TrilIndices {
  static constexpr OpDecl decl = function_of(OpKind::Create, "tril_indices",
                                             "tril_indices(int row, int col, int offset=0, *, dtype? dtype=None, "
                                             "device? device=None, bool requires_grad=False) -> Tensor",
                                             "Rows and columns of the lower triangle of a matrix, int64 unless told.");
};

struct TriuIndices {
  static constexpr OpDecl decl = function_of(OpKind::Create, "triu_indices",
                                             "triu_indices(int row, int col, int offset=0, *, dtype? dtype=None, "
                                             "device? device=None, bool requires_grad=False) -> Tensor",
                                             "Rows and columns of the upper triangle of a matrix, int64 unless told.");
};

}  // namespace md::ops
