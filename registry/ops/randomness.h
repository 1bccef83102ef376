// Random numbers beyond rand, randn and randint (kernels.h): draws by probability, orders, distributions. All take
// their numbers from the Philox generator in row-major order, or from the one given (ir/tensor/generator.h). Rules and
// kernels: ir/infer/infer_randomness.cpp, ir/reference/reference_randomness.cpp; composites:
// ir/composites/composite_randomness.cpp.
#pragma once

#include "registry/ops/composites.h"
#include "registry/ops/kernels.h"

namespace md::ops {

constexpr OpDecl random_op(std::string_view name, std::string_view signature, std::string_view doc) {
  return {.name = name, .signature = signature, .kind = OpKind::Random, .row_major = true, .doc = doc};
}
constexpr OpDecl raises_on_values(OpDecl d) {
  d.can_fail = true;
  return d;
}

// --- By probability ------------------------------------------------------------------------------------------------

struct Bernoulli {
  static constexpr OpDecl decl =
      raises_on_values(random_op("bernoulli", "bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
                                 "1 with the probability the value is, else 0."));
};
struct BernoulliP {
  static constexpr OpDecl decl =
      random_op("bernoulli.p", "bernoulli(Tensor self, float p, *, Generator? generator=None) -> Tensor",
                "1 with probability p, else 0, with the sizes and dtype of `self`.");
};
struct BernoulliTensor {
  static constexpr OpDecl decl = only_in_place(raises_on_values(
      random_op("bernoulli.tensor", "bernoulli(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor",
                "1 with the probability the value of p is, else 0.")));
};
struct BernoulliFill {
  static constexpr OpDecl decl = only_in_place(
      composite("bernoulli.fill", "bernoulli(Tensor self, float p=0.5, *, Generator? generator=None) -> Tensor",
                "1 with probability p, else 0."));
};

struct Multinomial {
  static constexpr OpDecl decl = raises_on_values(random_op(
      "multinomial",
      "multinomial(Tensor self, int num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor",
      "Positions drawn with the weights of a vector or of every row, int64; without replacement all are different."));
};

// --- Integers, orders ----------------------------------------------------------------------------------------------

struct Randperm {
  static constexpr OpDecl decl =
      function_of(OpKind::Random, "randperm",
                  "randperm(int n, *, dtype? dtype=None, device? device=None, bool requires_grad=False, Generator? "
                  "generator=None) -> Tensor",
                  "0, 1, ... n - 1 in random order, int64 unless told.");
};

struct RandintLike {
  static constexpr OpDecl decl =
      function_only(composite("randint_like",
                              "randint_like(Tensor self, int high, *, dtype? dtype=None, device? device=None, bool "
                              "requires_grad=False, memory_format? memory_format=None) -> Tensor",
                              "Uniform integers of 0 <= i < high, with the sizes and dtype of `self`."));
};
struct RandintLikeLow {
  static constexpr OpDecl decl =
      function_only(composite("randint_like.low",
                              "randint_like(Tensor self, int low, int high, *, dtype? dtype=None, device? device=None, "
                              "bool requires_grad=False, memory_format? memory_format=None) -> Tensor",
                              "Uniform integers of low <= i < high, with the sizes and dtype of `self`."));
};

struct RandomFill {
  static constexpr OpDecl decl =
      only_in_place(composite("random", "random(Tensor self, *, Generator? generator=None) -> Tensor",
                              "Uniform integers from 0 up to the largest the dtype holds exactly."));
};
struct RandomTo {
  static constexpr OpDecl decl =
      only_in_place(composite("random.to", "random(Tensor self, int to, *, Generator? generator=None) -> Tensor",
                              "Uniform integers of 0 <= i < to."));
};
struct RandomFrom {
  static constexpr OpDecl decl = only_in_place(
      composite("random.from", "random(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor",
                "Uniform integers of from <= i < to, without `to` up to the largest the dtype holds exactly."));
};

// --- Distributions -------------------------------------------------------------------------------------------------

struct Normal {
  static constexpr OpDecl decl =
      function_only(composite("normal", "normal(Tensor mean, float std=1, *, Generator? generator=None) -> Tensor",
                              "Normally distributed numbers, a mean for each."));
};
struct NormalTensors {
  static constexpr OpDecl decl = function_only(
      composite("normal.tensors", "normal(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor",
                "Normally distributed numbers, a mean and a standard deviation for each."));
};
struct NormalSpread {
  static constexpr OpDecl decl =
      function_only(composite("normal.spread", "normal(float mean, Tensor std, *, Generator? generator=None) -> Tensor",
                              "Normally distributed numbers, a standard deviation for each."));
};
struct NormalSize {
  static constexpr OpDecl decl = [] {
    OpDecl d = function_only(
        composite("normal.size",
                  "normal(float mean, float std, int[] size, *, dtype? dtype=None, device? device=None, bool "
                  "requires_grad=False, Generator? generator=None) -> Tensor",
                  "Normally distributed numbers, on the CPU unless told a device: not on the default one."));
    d.default_device = false;
    return d;
  }();
};
struct NormalFill {
  static constexpr OpDecl decl = only_in_place(
      composite("normal.fill", "normal(Tensor self, float mean=0, float std=1, *, Generator? generator=None) -> Tensor",
                "Normally distributed numbers."));
};

struct Uniform {
  static constexpr OpDecl decl = only_in_place(
      composite("uniform", "uniform(Tensor self, float from=0, float to=1, *, Generator? generator=None) -> Tensor",
                "Numbers evenly distributed on [from, to)."));
};
struct Exponential {
  static constexpr OpDecl decl = only_in_place(
      composite("exponential", "exponential(Tensor self, float lambd=1, *, Generator? generator=None) -> Tensor",
                "Exponentially distributed numbers of rate lambd: -log(1 - u) / lambd."));
};
struct Cauchy {
  static constexpr OpDecl decl = only_in_place(
      composite("cauchy", "cauchy(Tensor self, float median=0, float sigma=1, *, Generator? generator=None) -> Tensor",
                "Cauchy distributed numbers: median + sigma * tan(pi * (u - 1/2))."));
};
struct LogNormal {
  static constexpr OpDecl decl = only_in_place(composite(
      "log_normal", "log_normal(Tensor self, float mean=1, float std=2, *, Generator? generator=None) -> Tensor",
      "Exponentials of normally distributed numbers."));
};
struct Geometric {
  static constexpr OpDecl decl =
      only_in_place(composite("geometric", "geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor",
                              "Trials up to the first success of probability p: ceil(log(1 - u) / log(1 - p))."));
};

}  // namespace md::ops
