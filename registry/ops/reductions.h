// Reductions: an axis set folded with `combine`, in the order the architecture defines (64 lanes, halving, binary tree
// of 1,024-element chunks). Empty lanes hold `identity`. Reductions that find a position instead say which value
// `wins`; of equals the lower position wins.
#pragma once

#include "registry/ops/pointwise.h"

namespace md::ops {

constexpr OpDecl reduction(std::string_view name, std::string_view signature, Promote promote, std::string_view doc) {
  return {.name = name, .signature = signature, .kind = OpKind::Reduction, .promote = promote, .doc = doc};
}

struct Sum {
  static constexpr OpDecl decl =
      reduction("sum", "sum(Tensor self, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
                Promote::Accumulate, "Sum over `dim` (all by default). Bool and integers give int64.");
  template <class B>
  static auto identity(B& b) {
    return b.constant(-0.0);
  }
  template <class B>
  static auto combine(B& b, V<B> x, V<B> y) {
    return b.add(x, y);
  }
};

struct Prod {
  static constexpr OpDecl decl =
      reduction("prod", "prod(Tensor self, int? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
                Promote::Accumulate, "Product over `dim` (all by default). Bool and integers give int64.");
  template <class B>
  static auto identity(B& b) {
    return b.constant(1);
  }
  template <class B>
  static auto combine(B& b, V<B> x, V<B> y) {
    return b.mul(x, y);
  }
};

struct AMax {
  static constexpr OpDecl decl = reduction("amax", "amax(Tensor self, int[] dim=[], bool keepdim=False) -> Tensor",
                                           Promote::KeepFirst, "Largest value over `dim`; NaN if there is one.");
  static constexpr bool needs_elements = true;
  template <class B>
  static auto identity(B& b) {
    return b.lowest();
  }
  template <class B>
  static auto identity_bool(B& b) {
    return b.mconst(false);
  }
  template <class B>
  static auto combine(B& b, V<B> x, V<B> y) {
    return Larger::body(b, x, y);
  }
  template <class B>
  static auto combine_bool(B& b, M<B> x, M<B> y) {
    return b.mor(x, y);
  }
};

struct AMin {
  static constexpr OpDecl decl = reduction("amin", "amin(Tensor self, int[] dim=[], bool keepdim=False) -> Tensor",
                                           Promote::KeepFirst, "Smallest value over `dim`; NaN if there is one.");
  static constexpr bool needs_elements = true;
  template <class B>
  static auto identity(B& b) {
    return b.highest();
  }
  template <class B>
  static auto identity_bool(B& b) {
    return b.mconst(true);
  }
  template <class B>
  static auto combine(B& b, V<B> x, V<B> y) {
    return Smaller::body(b, x, y);
  }
  template <class B>
  static auto combine_bool(B& b, M<B> x, M<B> y) {
    return b.mand(x, y);
  }
};

struct Any {
  static constexpr OpDecl decl = reduction("any", "any(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
                                           Promote::Logical, "Whether any element over `dim` is nonzero.");
  template <class B>
  static auto identity_bool(B& b) {
    return b.mconst(false);
  }
  template <class B>
  static auto combine_bool(B& b, M<B> x, M<B> y) {
    return b.mor(x, y);
  }
};

struct All {
  static constexpr OpDecl decl = reduction("all", "all(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
                                           Promote::Logical, "Whether every element over `dim` is nonzero.");
  template <class B>
  static auto identity_bool(B& b) {
    return b.mconst(true);
  }
  template <class B>
  static auto combine_bool(B& b, M<B> x, M<B> y) {
    return b.mand(x, y);
  }
};

// Finding a position: `wins(x, y)` says whether x strictly beats y. NaN beats everything else.
struct LargestWins {
  static constexpr bool needs_elements = true;
  template <class B>
  static auto wins(B& b, V<B> x, V<B> y) {
    return b.mor(b.gt(x, y), b.mand(b.ne(x, x), b.eq(y, y)));
  }
};

struct SmallestWins {
  static constexpr bool needs_elements = true;
  template <class B>
  static auto wins(B& b, V<B> x, V<B> y) {
    return b.mor(b.lt(x, y), b.mand(b.ne(x, x), b.eq(y, y)));
  }
};

struct ArgMax : LargestWins {
  static constexpr OpDecl decl =
      reduction("argmax", "argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", Promote::KeepFirst,
                "Index (int64) of the largest value, the first of equals.");
};

struct ArgMin : SmallestWins {
  static constexpr OpDecl decl =
      reduction("argmin", "argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", Promote::KeepFirst,
                "Index (int64) of the smallest value, the first of equals.");
};

struct MaxDim : LargestWins {
  static constexpr OpDecl decl =
      reduction("max.dim", "max(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
                Promote::KeepFirst, "Largest values along `dim` and their positions.");
  template <class B>
  static auto wins_bool(B& b, M<B> x, M<B> y) {
    return b.mand(x, b.mnot(y));
  }
};

struct MinDim : SmallestWins {
  static constexpr OpDecl decl =
      reduction("min.dim", "min(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
                Promote::KeepFirst, "Smallest values along `dim` and their positions.");
  template <class B>
  static auto wins_bool(B& b, M<B> x, M<B> y) {
    return b.mand(b.mnot(x), y);
  }
};

}  // namespace md::ops
