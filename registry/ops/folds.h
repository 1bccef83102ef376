// Reductions written in terms of other ops by ir/composites/composite_folds.cpp: softmax and its kin, norms, counts,
// order statistics.
#pragma once

#include "registry/ops/activations.h"

namespace md::ops {

// --- Exponentials --------------------------------------------------------------------------------------------------

struct LogSumExp {
  static constexpr OpDecl decl =
      own_gradient(also(composite("logsumexp", "logsumexp(Tensor self, int[] dim, bool keepdim=False) -> Tensor",
                                  "log(sum(exp(x))) over `dim` without overflow on the way."),
                        "special.logsumexp"));
};

struct Softmax {
  static constexpr OpDecl decl =
      own_gradient(also(composite("softmax", "softmax(Tensor self, int dim, dtype? dtype=None) -> Tensor",
                                  "exp(x - max) divided by its sum along `dim`."),
                        "special.softmax nn.functional.softmax"));
};

struct SafeSoftmax {
  static constexpr OpDecl decl = own_gradient(
      function_only(composite("_safe_softmax", "_safe_softmax(Tensor self, int dim, dtype? dtype=None) -> Tensor",
                              "softmax, but 0 instead of NaN where everything along `dim` is -inf.")));
};

struct LogSoftmax {
  static constexpr OpDecl decl =
      own_gradient(also(composite("log_softmax", "log_softmax(Tensor self, int dim, dtype? dtype=None) -> Tensor",
                                  "x - max - log(sum(exp(x - max))) along `dim`."),
                        "special.log_softmax nn.functional.log_softmax"));
};

// --- Sums, counts, moments -----------------------------------------------------------------------------------------

struct CountNonzero {
  static constexpr OpDecl decl = composite("count_nonzero", "count_nonzero(Tensor self, int[]? dim=None) -> Tensor",
                                           "How many values over `dim` differ from 0.");
};

struct NanSum {
  static constexpr OpDecl decl =
      composite("nansum", "nansum(Tensor self, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
                "Sum over `dim` with NaN as 0.");
};

struct NanMean {
  static constexpr OpDecl decl =
      composite("nanmean", "nanmean(Tensor self, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
                "Mean over `dim` of the values that are not NaN.");
};

struct VarMean {
  static constexpr OpDecl decl = function_only(composite(
      "var_mean", "var_mean(Tensor self, int[]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor[]",
      "Variance and mean."));
};

struct VarMeanUnbiased {
  static constexpr OpDecl decl =
      function_only(composite("var_mean.unbiased", "var_mean(Tensor self, bool unbiased) -> Tensor[]",
                              "Variance, with correction 1 (True) or 0, and mean."));
};

struct VarMeanUnbiasedDim {
  static constexpr OpDecl decl = function_only(composite(
      "var_mean.unbiased_dim", "var_mean(Tensor self, int[]? dim, bool unbiased=True, bool keepdim=False) -> Tensor[]",
      "Variance, with correction 1 (True) or 0, and mean."));
};

struct StdMean {
  static constexpr OpDecl decl = function_only(composite(
      "std_mean", "std_mean(Tensor self, int[]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor[]",
      "Standard deviation and mean."));
};

struct StdMeanUnbiased {
  static constexpr OpDecl decl =
      function_only(composite("std_mean.unbiased", "std_mean(Tensor self, bool unbiased) -> Tensor[]",
                              "Standard deviation, with correction 1 (True) or 0, and mean."));
};

struct StdMeanUnbiasedDim {
  static constexpr OpDecl decl = function_only(composite(
      "std_mean.unbiased_dim", "std_mean(Tensor self, int[]? dim, bool unbiased=True, bool keepdim=False) -> Tensor[]",
      "Standard deviation, with correction 1 (True) or 0, and mean."));
};

struct AMinMax {
  static constexpr OpDecl decl =
      composite("aminmax", "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
                "Smallest and largest value, over all or along `dim`.");
};

// --- Normalization --------------------------------------------------------------------------------------------------

struct LayerNorm {
  static constexpr OpDecl decl = rounds_once(
      also(function_only(composite("layer_norm",
                                   "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? "
                                   "bias=None, Scalar eps=1e-05, bool cudnn_enable=True) -> Tensor",
                                   "Mean 0 and variance 1 over the last dimensions, times weight, plus bias.")),
           "nn.functional.layer_norm"));
};

struct RmsNorm {
  static constexpr OpDecl decl =
      rounds_once(also(function_only(composite("rms_norm",
                                               "rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, "
                                               "Scalar? eps=None) -> Tensor",
                                               "Mean square 1 over the last dimensions, times weight; eps is the "
                                               "dtype's own unless given.")),
                       "nn.functional.rms_norm"));
};

// --- Norms, distances ----------------------------------------------------------------------------------------------

struct VectorNorm {
  static constexpr OpDecl decl = own_gradient(functional(
      "vector_norm",
      "vector_norm(Tensor x, Scalar ord=2, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
      "linalg.vector_norm",
      "sum(|x|^ord)^(1/ord) over `dim`; the largest and smallest for infinities, a count for 0."));
};

struct Norm {
  static constexpr OpDecl decl = composite(
      "norm", "norm(Tensor self, str? p='fro', int[]? dim=None, bool keepdim=False, dtype? dtype=None) -> Tensor",
      "The square root of the sum of squares over `dim`; the nuclear norm is not there.");
};

struct NormScalar {
  static constexpr OpDecl decl = composite(
      "norm.scalar", "norm(Tensor self, Scalar p, int[]? dim=None, bool keepdim=False, dtype? dtype=None) -> Tensor",
      "vector_norm of order p.");
};

struct LinalgNorm {
  static constexpr OpDecl decl = functional(
      "linalg_norm",
      "linalg_norm(Tensor self, Scalar? ord=None, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) "
      "-> Tensor",
      "linalg.norm", "Norm of a vector, or of a matrix by orders 1 and infinity (largest sum of sizes).");
};

struct LinalgNormName {
  static constexpr OpDecl decl =
      operator_only(composite("linalg_norm.name",
                              "linalg_norm(Tensor self, str ord, int[]? dim=None, bool keepdim=False, *, dtype? "
                              "dtype=None) -> Tensor",
                              "Norm of a matrix by name: 'fro'."));
};

struct Dist {
  static constexpr OpDecl decl =
      composite("dist", "dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", "Norm of order p of self - other.");
};

struct CDist {
  static constexpr OpDecl decl = function_only(composite(
      "cdist", "cdist(Tensor x1, Tensor x2, float p=2.0, str? compute_mode=None) -> Tensor",
      "Distance of order p between every row of x1 and every row of x2, of differences whatever the compute mode."));
};

struct Cross {
  static constexpr OpDecl decl = composite("cross", "cross(Tensor self, Tensor other, int? dim=None) -> Tensor",
                                           "Vector product along `dim`, by default the first of size 3.");
};

struct LinalgCross {
  static constexpr OpDecl decl =
      functional("linalg_cross", "linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor", "linalg.cross",
                 "Vector product along `dim`.");
};

// --- Differences, integrals ----------------------------------------------------------------------------------------

struct Diff {
  static constexpr OpDecl decl =
      composite("diff", "diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor",
                "Differences of neighbours along `dim`, n times over; of bools whether they differ.");
};

struct Trapezoid {
  static constexpr OpDecl decl =
      also(function_only(composite("trapezoid", "trapezoid(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
                                   "Integral along `dim` by the trapezoid rule, points dx apart.")),
           "trapz");
};

struct TrapezoidPoints {
  static constexpr OpDecl decl =
      function_only(composite("trapezoid.x", "trapezoid(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
                              "Integral along `dim` by the trapezoid rule over the points x."));
};

// --- Order ---------------------------------------------------------------------------------------------------------

struct SortStable {
  static constexpr OpDecl decl = composite(
      "sort.stable",
      "sort(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
      "As sort, which is always stable.");
};

struct ArgSort {
  static constexpr OpDecl decl =
      composite("argsort", "argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
                "The positions that sort the values along `dim`.");
};

struct ArgSortStable {
  static constexpr OpDecl decl =
      composite("argsort.stable", "argsort(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
                "As argsort, which is always stable.");
};

struct MSort {
  static constexpr OpDecl decl =
      composite("msort", "msort(Tensor self) -> Tensor", "Values in order along the first dimension.");
};

struct TopK {
  static constexpr OpDecl decl =
      composite("topk",
                "topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor "
                "indices)",
                "The k largest (or smallest) values along `dim`, in order, and their positions.");
};

struct KthValue {
  static constexpr OpDecl decl = composite(
      "kthvalue", "kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
      "The k-th smallest value along `dim`, counted from 1, and its position.");
};

struct Median {
  static constexpr OpDecl decl = composite("median", "median(Tensor self) -> Tensor",
                                           "The middle value, of two the smaller; NaN if there is one.");
};

struct MedianDim {
  static constexpr OpDecl decl =
      composite("median.dim", "median(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
                "Middle values along `dim`, of two the smaller, and their positions; NaN where there is one.");
};

struct NanMedian {
  static constexpr OpDecl decl = composite("nanmedian", "nanmedian(Tensor self) -> Tensor",
                                           "The middle value of those that are not NaN, of two the smaller.");
};

struct NanMedianDim {
  static constexpr OpDecl decl = composite(
      "nanmedian.dim", "nanmedian(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
      "Middle values along `dim` of those that are not NaN, of two the smaller, and their positions.");
};

struct Quantile {
  static constexpr OpDecl decl =
      composite("quantile",
                "quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> "
                "Tensor",
                "Values below which the shares q of the values lie; a new first dimension if q has one.");
};

struct QuantileScalar {
  static constexpr OpDecl decl =
      composite("quantile.scalar",
                "quantile(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> "
                "Tensor",
                "The value below which the share q of the values lies.");
};

struct NanQuantile {
  static constexpr OpDecl decl = composite(
      "nanquantile",
      "nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> "
      "Tensor",
      "quantile of the values that are not NaN.");
};

struct NanQuantileScalar {
  static constexpr OpDecl decl = composite(
      "nanquantile.scalar",
      "nanquantile(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> "
      "Tensor",
      "quantile of the values that are not NaN.");
};

struct TakeAlongDim {
  static constexpr OpDecl decl =
      composite("take_along_dim", "take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
                "gather, with the other dimensions broadcast; over the flattened tensor without `dim`.");
};

}  // namespace md::ops
