// Rearranging: more views (rules in ir/infer_views_more.cpp) and composites (ir/composites/composite_arrangement.cpp):
// triangles, diagonals, repetition, rotation, joining and splitting by rank.
#pragma once

#include "registry/ops/activations.h"
#include "registry/ops/views.h"

namespace md::ops {

// --- Views ---------------------------------------------------------------------------------------------------------

struct Diagonal {
  static constexpr OpDecl decl =
      view_op("diagonal", "diagonal(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor",
              "The diagonal of two dimensions, `offset` right of the main one, as the last dimension.");
};

struct AsStrided {
  static constexpr OpDecl decl =
      view_op("as_strided", "as_strided(Tensor self, int[] size, int[] stride, int? storage_offset=None) -> Tensor",
              "Any sizes and strides over the storage, from `storage_offset` on (that of `self` by default).");
};

struct Unfold {
  static constexpr OpDecl decl =
      view_method("unfold", "unfold(Tensor self, int dimension, int size, int step) -> Tensor",
                  "Windows of `size` positions, `step` apart, as a new last dimension.");
};

struct MoveDim {
  static constexpr OpDecl decl =
      also(composite("movedim", "movedim(Tensor self, int[] source, int[] destination) -> Tensor",
                     "The source dimensions moved to the places `destination`, the others in order."),
           "moveaxis");
};

struct Unflatten {
  static constexpr OpDecl decl = composite("unflatten", "unflatten(Tensor self, int dim, int[] sizes) -> Tensor",
                                           "One dimension as several of the given sizes, one of which may be -1.");
};

struct Ravel {
  static constexpr OpDecl decl = composite("ravel", "ravel(Tensor self) -> Tensor",
                                           "One dimension, row-major; a view where the strides allow one.");
};

struct BroadcastTo {
  static constexpr OpDecl decl =
      composite("broadcast_to", "broadcast_to(Tensor self, int[] size) -> Tensor", "As expand.");
};

struct BroadcastTensors {
  static constexpr OpDecl decl =
      function_only(composite("broadcast_tensors", "broadcast_tensors(Tensor... tensors) -> Tensor[]",
                              "The tensors expanded to the sizes they broadcast to."));
};

struct ReshapeAs {
  static constexpr OpDecl decl = method_only(
      composite("reshape_as", "reshape_as(Tensor self, Tensor other) -> Tensor", "reshape to the sizes of `other`."));
};

struct AtLeast1d {
  static constexpr OpDecl decl = function_only(
      composite("atleast_1d", "atleast_1d(Tensor self) -> Tensor", "With a dimension of size 1 if there is none."));
};
struct AtLeast1dList {
  static constexpr OpDecl decl = function_only(composite("atleast_1d.list", "atleast_1d(Tensor... tensors) -> Tensor[]",
                                                         "Each with a dimension of size 1 if it has none."));
};
struct AtLeast2d {
  static constexpr OpDecl decl = function_only(
      composite("atleast_2d", "atleast_2d(Tensor self) -> Tensor", "With dimensions of size 1 in front up to two."));
};
struct AtLeast2dList {
  static constexpr OpDecl decl = function_only(composite("atleast_2d.list", "atleast_2d(Tensor... tensors) -> Tensor[]",
                                                         "Each with dimensions of size 1 in front up to two."));
};
struct AtLeast3d {
  static constexpr OpDecl decl =
      function_only(composite("atleast_3d", "atleast_3d(Tensor self) -> Tensor",
                              "With dimensions of size 1 up to three, the last of them behind."));
};
struct AtLeast3dList {
  static constexpr OpDecl decl =
      function_only(composite("atleast_3d.list", "atleast_3d(Tensor... tensors) -> Tensor[]",
                              "Each with dimensions of size 1 up to three, the last of them behind."));
};

// --- Triangles, diagonals ------------------------------------------------------------------------------------------

struct Tril {
  static constexpr OpDecl decl = inplace_too(composite("tril", "tril(Tensor self, int diagonal=0) -> Tensor",
                                                       "The last two dimensions with 0 above the given diagonal."));
};

struct Triu {
  static constexpr OpDecl decl = inplace_too(composite("triu", "triu(Tensor self, int diagonal=0) -> Tensor",
                                                       "The last two dimensions with 0 below the given diagonal."));
};

struct FillDiagonal {
  static constexpr OpDecl decl = only_in_place(
      composite("fill_diagonal", "fill_diagonal(Tensor self, Scalar fill_value, bool wrap=False) -> Tensor",
                "`fill_value` on the main diagonal of a matrix, where all indices are equal beyond two dimensions; "
                "`wrap` starts over below the last row of a tall matrix, one row further."));
};

struct Diag {
  static constexpr OpDecl decl = composite("diag", "diag(Tensor self, int diagonal=0) -> Tensor",
                                           "A matrix with the vector on a diagonal, or a copy of a matrix' diagonal.");
};

struct DiagEmbed {
  static constexpr OpDecl decl =
      composite("diag_embed", "diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
                "Matrices in two new dimensions with the last dimension on their diagonal.");
};

struct DiagFlat {
  static constexpr OpDecl decl = composite("diagflat", "diagflat(Tensor self, int offset=0) -> Tensor",
                                           "A matrix with all elements on a diagonal.");
};

struct BlockDiag {
  static constexpr OpDecl decl = function_only(composite("block_diag", "block_diag(Tensor... tensors) -> Tensor",
                                                         "Matrices along the diagonal of one, zeros elsewhere."));
};

struct Trace {
  static constexpr OpDecl decl =
      composite("trace", "trace(Tensor self) -> Tensor", "The sum of the main diagonal of a matrix.");
};

// --- Order of elements ---------------------------------------------------------------------------------------------

struct FlipLr {
  static constexpr OpDecl decl =
      composite("fliplr", "fliplr(Tensor self) -> Tensor", "A copy with the second dimension reversed.");
};

struct FlipUd {
  static constexpr OpDecl decl =
      composite("flipud", "flipud(Tensor self) -> Tensor", "A copy with the first dimension reversed.");
};

struct Roll {
  static constexpr OpDecl decl = composite(
      "roll", "roll(Tensor self, int[] shifts, int[] dims=[]) -> Tensor",
      "Positions moved up by `shifts`, those past the end to the start; of the flattened tensor without dims.");
};

struct Rot90 {
  static constexpr OpDecl decl =
      composite("rot90", "rot90(Tensor self, int k=1, int[]? dims=None) -> Tensor",
                "Turned k times by 90 degrees from the first to the second of `dims` (0, 1).");
};

// --- Repetition ----------------------------------------------------------------------------------------------------

struct Repeat {
  static constexpr OpDecl decl = method_only(composite("repeat", "repeat(Tensor self, int[] repeats) -> Tensor",
                                                       "Copies side by side along every dimension."));
};

struct Tile {
  static constexpr OpDecl decl =
      composite("tile", "tile(Tensor self, int[] dims) -> Tensor", "As repeat; missing counts in front are 1.");
};

struct RepeatInterleave {
  static constexpr OpDecl decl =
      composite("repeat_interleave", "repeat_interleave(Tensor self, int repeats, int? dim=None) -> Tensor",
                "Every position of `dim` repeated; of the flattened tensor without it.");
};

// --- Joining, splitting --------------------------------------------------------------------------------------------

struct HStack {
  static constexpr OpDecl decl = function_only(composite(
      "hstack", "hstack(Tensor[] tensors) -> Tensor", "Joined along the second dimension, vectors along the first."));
};

struct VStack {
  static constexpr OpDecl decl = also(function_only(composite("vstack", "vstack(Tensor[] tensors) -> Tensor",
                                                              "Joined along the first of two dimensions.")),
                                      "row_stack");
};

struct DStack {
  static constexpr OpDecl decl =
      function_only(composite("dstack", "dstack(Tensor[] tensors) -> Tensor", "Joined along the third dimension."));
};

struct ColumnStack {
  static constexpr OpDecl decl = function_only(composite("column_stack", "column_stack(Tensor[] tensors) -> Tensor",
                                                         "Joined along the second dimension, vectors as columns."));
};

struct TensorSplit {
  static constexpr OpDecl decl =
      composite("tensor_split", "tensor_split(Tensor self, int sections, int dim=0) -> Tensor[]",
                "So many views of nearly equal length, the longer ones first.");
};

struct TensorSplitAt {
  static constexpr OpDecl decl =
      composite("tensor_split.at", "tensor_split(Tensor self, int[] sections, int dim=0) -> Tensor[]",
                "Views between the given positions, as Python slices.");
};

struct HSplit {
  static constexpr OpDecl decl = composite("hsplit", "hsplit(Tensor self, int sections) -> Tensor[]",
                                           "Equal views along the second dimension, of a vector along the first.");
};
struct HSplitAt {
  static constexpr OpDecl decl =
      composite("hsplit.at", "hsplit(Tensor self, int[] sections) -> Tensor[]",
                "Views between positions of the second dimension, of a vector of the first.");
};
struct VSplit {
  static constexpr OpDecl decl = composite("vsplit", "vsplit(Tensor self, int sections) -> Tensor[]",
                                           "Equal views along the first of at least two dimensions.");
};
struct VSplitAt {
  static constexpr OpDecl decl = composite("vsplit.at", "vsplit(Tensor self, int[] sections) -> Tensor[]",
                                           "Views between positions of the first of at least two dimensions.");
};
struct DSplit {
  static constexpr OpDecl decl =
      composite("dsplit", "dsplit(Tensor self, int sections) -> Tensor[]", "Equal views along the third dimension.");
};
struct DSplitAt {
  static constexpr OpDecl decl = composite("dsplit.at", "dsplit(Tensor self, int[] sections) -> Tensor[]",
                                           "Views between positions of the third dimension.");
};

// --- Grids, products, patterns -------------------------------------------------------------------------------------

struct MeshGrid {
  static constexpr OpDecl decl = function_only(
      composite("meshgrid", "meshgrid(Tensor... tensors, *, str? indexing=None) -> Tensor[]",
                "Each vector along a dimension of its own, expanded over the others; 'xy' swaps the first "
                "two dimensions."));
};

struct CartesianProd {
  static constexpr OpDecl decl =
      function_only(composite("cartesian_prod", "cartesian_prod(Tensor... tensors) -> Tensor",
                              "All combinations of the elements of vectors, one a row."));
};

struct Outer {
  static constexpr OpDecl decl =
      also(composite("outer", "outer(Tensor self, Tensor vec2) -> Tensor", "Every product of two vectors' elements."),
           "ger");
};

struct Inner {
  static constexpr OpDecl decl = composite("inner", "inner(Tensor self, Tensor other) -> Tensor",
                                           "Sums of products along the last dimensions; a 0-d tensor multiplies.");
};

struct Addmm {
  static constexpr OpDecl decl = inplace_too(
      composite("addmm", "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
                "beta * self + alpha * (mat1 @ mat2)."));
};

struct Addmv {
  static constexpr OpDecl decl = inplace_too(
      composite("addmv", "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
                "beta * self + alpha * (mat @ vec)."));
};

struct Baddbmm {
  static constexpr OpDecl decl = inplace_too(composite(
      "baddbmm", "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
      "beta * self + alpha * (batch1 @ batch2)."));
};

struct LogSpace {
  static constexpr OpDecl decl =
      function_only(composite("logspace",
                              "logspace(Scalar start, Scalar end, int steps, float base=10.0, *, dtype? dtype=None, "
                              "device? device=None, bool requires_grad=False) -> Tensor",
                              "`base` to evenly spaced powers, computed in float64."));
};

struct EmptyStrided {
  static constexpr OpDecl decl =
      function_only(composite("empty_strided",
                              "empty_strided(int[] size, int[] stride, *, dtype? dtype=None, device? device=None, bool "
                              "requires_grad=False) -> Tensor",
                              "A tensor of the given strides whose values mean nothing yet."));
};

}  // namespace md::ops
