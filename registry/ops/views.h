// Views: other sizes, strides and offset over the same storage. Their rules are in ir/infer/infer_views.cpp.
#pragma once

#include "registry/op.h"

namespace md::ops {

constexpr OpDecl view_op(std::string_view name, std::string_view signature, std::string_view doc) {
  return {.name = name, .signature = signature, .kind = OpKind::View, .doc = doc};
}
constexpr OpDecl view_method(std::string_view name, std::string_view signature, std::string_view doc) {
  return {.name = name, .signature = signature, .kind = OpKind::View, .function = false, .doc = doc};
}
constexpr OpDecl view_property(std::string_view name, std::string_view signature, std::string_view doc) {
  return {.name = name,
          .signature = signature,
          .kind = OpKind::View,
          .function = false,
          .method = false,
          .property = true,
          .doc = doc};
}
// Primitive views that indexing and the multi-result composites are made of.
constexpr OpDecl internal_view(std::string_view name, std::string_view signature, std::string_view doc) {
  return {.name = name, .signature = signature, .kind = OpKind::View, .function = false, .method = false, .doc = doc};
}

struct View {
  static constexpr OpDecl decl = view_method("view", "view(Tensor self, int[] size) -> Tensor",
                                             "The elements in row-major order under other sizes; one size may be -1. "
                                             "Fails where the strides would need a copy: use reshape.");
};

struct Permute {
  static constexpr OpDecl decl =
      view_op("permute", "permute(Tensor self, int[] dims) -> Tensor", "Dimensions in another order.");
};

struct Transpose {
  static constexpr OpDecl decl =
      also(view_op("transpose", "transpose(Tensor self, int dim0, int dim1) -> Tensor", "Two dimensions swapped."),
           "swapaxes swapdims");
};

struct MatrixT {
  static constexpr OpDecl decl = view_op("t", "t(Tensor self) -> Tensor", "A matrix transposed; at most 2 dimensions.");
};

struct ReversedT {
  static constexpr OpDecl decl = view_property("T", "T(Tensor self) -> Tensor", "All dimensions reversed.");
};

struct LastTwoT {
  static constexpr OpDecl decl = view_property("mT", "mT(Tensor self) -> Tensor", "The last two dimensions swapped.");
};

struct Squeeze {
  static constexpr OpDecl decl =
      view_op("squeeze", "squeeze(Tensor self) -> Tensor", "Without the dimensions of size 1.");
};

struct SqueezeDim {
  static constexpr OpDecl decl = view_op("squeeze.dim", "squeeze(Tensor self, int[] dim) -> Tensor",
                                         "Without the given dimensions where their size is 1.");
};

struct Unsqueeze {
  static constexpr OpDecl decl = view_op("unsqueeze", "unsqueeze(Tensor self, int dim) -> Tensor",
                                         "With a dimension of size 1 inserted at `dim`.");
};

struct Expand {
  static constexpr OpDecl decl = view_method("expand", "expand(Tensor self, int[] size) -> Tensor",
                                             "Dimensions of size 1 repeated without copying; -1 keeps a size.");
};

struct Select {
  static constexpr OpDecl decl = view_op("select", "select(Tensor self, int dim, int index) -> Tensor",
                                         "One position of a dimension, which goes.");
};

struct Narrow {
  static constexpr OpDecl decl = view_op("narrow", "narrow(Tensor self, int dim, int start, int length) -> Tensor",
                                         "`length` positions of a dimension from `start` on.");
};

struct Slice {
  static constexpr OpDecl decl =
      internal_view("slice", "slice(Tensor self, int dim, int? start=None, int? stop=None, int step=1) -> Tensor",
                    "Python's slice of one dimension, clamped as Python's; the step is positive.");
};

struct Detach {
  static constexpr OpDecl decl =
      view_op("detach", "detach(Tensor self) -> Tensor", "The same values without gradient history.");
};

}  // namespace md::ops
