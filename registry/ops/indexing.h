// Ops that find, read and write elements by position. Their rules are in ir/infer/infer_indexing.cpp and
// ir/composites/composite_indexing.cpp, their reference kernels in ir/reference/reference_indexing.cpp and its
// neighbours.
#pragma once

#include "registry/ops/composites.h"
#include "registry/ops/scans.h"

namespace md::ops {

// A copy of the first operand with some elements replaced; in place it writes into it.
constexpr OpDecl writing_op(std::string_view name, std::string_view signature, std::string_view doc) {
  OpDecl d = may_fail(kernel_op(name, signature, doc));
  d.inplace = d.writes_self = true;
  return d;
}
// The sizes of the result depend on what the operands hold.
constexpr OpDecl dynamic_op(std::string_view name, std::string_view signature, std::string_view doc) {
  OpDecl d = may_fail(kernel_op(name, signature, doc));
  d.dynamic_sizes = true;
  return d;
}
constexpr OpDecl internal_op(OpDecl d) {
  d.function = d.method = false;
  return d;
}

// --- By tensors of positions ---------------------------------------------------------------------------------------

struct Index {
  static constexpr OpDecl decl =
      internal_op(dynamic_op("index", "index(Tensor self, Index indices, *, Count count=None) -> Tensor",
                             "x[i, j, ...] for tensors or lists of positions and bool masks, one for each dimension in "
                             "order, None for one that is kept whole. They broadcast; their dimensions stand where the "
                             "indexed ones stood, or first if a kept one comes between two of them."));
};

struct IndexPut {
  static constexpr OpDecl decl = writing_op(
      "index_put", "index_put(Tensor self, Index indices, Tensor values, bool accumulate=False) -> Tensor",
      "`values` at the positions x[indices] reads, or added to them; the last one wins where positions repeat.");
};

struct Take {
  static constexpr OpDecl decl =
      may_fail(kernel_op("take", "take(Tensor self, Tensor index) -> Tensor",
                         "The elements at positions of the flattened tensor; negative ones count from the end."));
};

struct Put {
  static constexpr OpDecl decl =
      writing_op("put", "put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
                 "`source` at positions of the flattened tensor, or added to them.");
};

// --- Along one dimension -------------------------------------------------------------------------------------------

struct IndexSelect {
  static constexpr OpDecl decl =
      may_fail(kernel_op("index_select", "index_select(Tensor self, int dim, Tensor index) -> Tensor",
                         "The slices of `dim` a vector of positions names, in its order."));
};

struct IndexAdd {
  static constexpr OpDecl decl = writing_op(
      "index_add", "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
      "`alpha` times the slices of `source` added to the slices of `dim` that `index` names.");
};

struct IndexCopy {
  static constexpr OpDecl decl =
      writing_op("index_copy", "index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
                 "The slices of `source` in place of the slices of `dim` that `index` names.");
};

struct IndexFill {
  static constexpr OpDecl decl =
      writing_op("index_fill", "index_fill(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
                 "`value` in the slices of `dim` that `index` names.");
};

struct IndexFillTensor {
  static constexpr OpDecl decl =
      writing_op("index_fill.tensor", "index_fill(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
                 "The value of a 0-d tensor in the slices of `dim` that `index` names.");
};

struct Scatter {
  static constexpr OpDecl decl =
      writing_op("scatter", "scatter(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
                 "The elements of `src` at the positions `index` gives along `dim`; the last one wins.");
};

struct ScatterValue {
  static constexpr OpDecl decl =
      writing_op("scatter.value", "scatter(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
                 "A number at the positions `index` gives along `dim`.");
};

struct ScatterReduceSource {
  static constexpr OpDecl decl =
      writing_op("scatter.reduce", "scatter(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
                 "The elements of `src` added to, or multiplied with, those at the positions `index` gives.");
};

struct ScatterReduceValue {
  static constexpr OpDecl decl = writing_op(
      "scatter.value_reduce", "scatter(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
      "A number added to, or multiplied with, the elements at the positions `index` gives.");
};

struct ScatterAdd {
  static constexpr OpDecl decl =
      writing_op("scatter_add", "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
                 "The elements of `src` added to those at the positions `index` gives along `dim`, in order.");
};

struct ScatterReduce {
  static constexpr OpDecl decl = writing_op(
      "scatter_reduce",
      "scatter_reduce(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor",
      "Elements of `src` folded by position along `dim`: sum, prod, mean, amax or amin; with what was there or "
      "without.");
};

// --- By mask -------------------------------------------------------------------------------------------------------

struct MaskedSelect {
  static constexpr OpDecl decl =
      composite("masked_select", "masked_select(Tensor self, Tensor mask) -> Tensor",
                "A vector of the elements where the bool tensor `mask` holds; both broadcast.");
};

struct MaskedScatter {
  static constexpr OpDecl decl =
      writing_op("masked_scatter", "masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
                 "The elements of `source`, in order, where the bool tensor `mask` holds.");
};

struct NonZero {
  static constexpr OpDecl decl =
      no_gradient(dynamic_op("nonzero", "nonzero(Tensor self, *, False as_tuple=False, Count count=None) -> Tensor",
                             "The positions of the elements other than zero, one in each row, int64."));
};

struct NonZeroTuple {
  static constexpr OpDecl decl = composite("nonzero.tuple", "nonzero(Tensor self, *, True as_tuple) -> Tensor[]",
                                           "The same, one vector for each dimension: what x[...] takes.");
};

struct ArgWhere {
  static constexpr OpDecl decl =
      composite("argwhere", "argwhere(Tensor self) -> Tensor", "As nonzero; a 0-d tensor has rows without columns.");
};

struct WhereIndices {
  static constexpr OpDecl decl =
      function_only(composite("where.indices", "where(Tensor condition) -> Tensor[]", "As nonzero(as_tuple=True)."));
};

// --- Values and how often they occur -------------------------------------------------------------------------------

struct UniqueParts {
  static constexpr OpDecl decl = no_gradient(internal_op(dynamic_op(
      "unique_parts",
      "unique_parts(Tensor self, int? dim, bool consecutive, *, Count count=None) -> (Tensor output, Tensor "
      "inverse_indices, Tensor counts)",
      "Different values (slices of `dim`), where each element's is among them, and how often each occurs.")));
};

struct Unique {
  static constexpr OpDecl decl = composite("unique",
                                           "unique(Tensor self, bool sorted=True, False return_inverse=False, False "
                                           "return_counts=False, int? dim=None) -> Tensor",
                                           "The different values, or slices of `dim`, in order; NaNs all differ.");
};

struct UniqueInverse {
  static constexpr OpDecl decl = composite("unique.inverse",
                                           "unique(Tensor self, bool sorted=True, True return_inverse, False "
                                           "return_counts=False, int? dim=None) -> Tensor[]",
                                           "And where each element's value is among them.");
};

struct UniqueCounts {
  static constexpr OpDecl decl = composite("unique.counts",
                                           "unique(Tensor self, bool sorted=True, False return_inverse=False, True "
                                           "return_counts, int? dim=None) -> Tensor[]",
                                           "And how often each occurs.");
};

struct UniqueBoth {
  static constexpr OpDecl decl = composite(
      "unique.both",
      "unique(Tensor self, bool sorted=True, True return_inverse, True return_counts, int? dim=None) -> Tensor[]",
      "And both of these.");
};

struct UniqueConsecutive {
  static constexpr OpDecl decl =
      composite("unique_consecutive",
                "unique_consecutive(Tensor self, False return_inverse=False, False return_counts=False, int? dim=None) "
                "-> Tensor",
                "The first of each run of equal values, or slices of `dim`.");
};

struct UniqueConsecutiveInverse {
  static constexpr OpDecl decl = composite(
      "unique_consecutive.inverse",
      "unique_consecutive(Tensor self, True return_inverse, False return_counts=False, int? dim=None) -> Tensor[]",
      "And the run each element is in.");
};

struct UniqueConsecutiveCounts {
  static constexpr OpDecl decl = composite(
      "unique_consecutive.counts",
      "unique_consecutive(Tensor self, False return_inverse=False, True return_counts, int? dim=None) -> Tensor[]",
      "And how long each run is.");
};

struct UniqueConsecutiveBoth {
  static constexpr OpDecl decl =
      composite("unique_consecutive.both",
                "unique_consecutive(Tensor self, True return_inverse, True return_counts, int? dim=None) -> Tensor[]",
                "And both of these.");
};

struct BinCount {
  static constexpr OpDecl decl = no_gradient(dynamic_op(
      "bincount", "bincount(Tensor self, Tensor? weights=None, int minlength=0, *, Count count=None) -> Tensor",
      "How often each number from 0 to the largest occurs, or the sum of its weights."));
};

struct RepeatPositions {
  static constexpr OpDecl decl = [] {
    OpDecl d = dynamic_op("repeat_interleave.repeats",
                          "repeat_interleave(Tensor repeats, *, int? output_size=None, Count count=None) -> Tensor",
                          "Position i as often as `repeats` says; `output_size` is their sum, if it is known.");
    d.method = false;
    return d;
  }();
};

struct RepeatInterleaveTensor {
  static constexpr OpDecl decl =
      composite("repeat_interleave.tensor",
                "repeat_interleave(Tensor self, Tensor repeats, int? dim=None, *, int? output_size=None) -> Tensor",
                "Every position of `dim` as often as `repeats` says; of the flattened tensor without it.");
};

// --- Searching -----------------------------------------------------------------------------------------------------

struct SearchSorted {
  static constexpr OpDecl decl = no_gradient([] {
    OpDecl d = kernel_op("searchsorted",
                         "searchsorted(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, "
                         "str? side=None, Tensor? sorter=None) -> Tensor",
                         "Where each value would go into the sorted rows of `sorted_sequence`: before its equals, or "
                         "after them with `right`. Rows are searched by row, one vector by all.");
    d.method = false;
    d.can_fail = true;
    return d;
  }());
};

struct SearchSortedScalar {
  static constexpr OpDecl decl = function_only(composite(
      "searchsorted.scalar",
      "searchsorted(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, "
      "Tensor? sorter=None) -> Tensor",
      "Where a number would go into a sorted vector."));
};

struct Bucketize {
  static constexpr OpDecl decl = function_only(composite(
      "bucketize", "bucketize(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
      "The number of the interval between sorted boundaries that each value falls into."));
};

struct BucketizeScalar {
  static constexpr OpDecl decl = function_only(
      composite("bucketize.scalar",
                "bucketize(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
                "The number of the interval between sorted boundaries that a number falls into."));
};

// x[i] of a trace, for a 0-d tensor i: a view whose place is known when the graph runs.
struct Position {
  static constexpr OpDecl decl = no_gradient(
      internal_op(dynamic_op("position", "position(Tensor self, int size, *, Count count=None) -> Tensor",
                             "The position that a tensor of one element names in a dimension of `size`, as the size of "
                             "a tensor; one outside raises.")));
};

struct SelectAt {
  static constexpr OpDecl decl = [] {
    OpDecl d = internal_op(kernel_op("select_at", "select_at(Tensor self, int dim, int start) -> Tensor",
                                     "A view of one position of `dim`, which is known to be there."));
    d.kind = OpKind::View;
    return d;
  }();
};

// --- Values that leave the tensor world ----------------------------------------------------------------------------

struct Item {
  static constexpr OpDecl decl = no_gradient(internal_op(
      dynamic_op("item_size", "item_size(Tensor self, *, Count count=None) -> Tensor",
                 "The integer a tensor of one element holds, as the size of a tensor: how traces name it.")));
};

struct ItemNumber {
  static constexpr OpDecl decl = no_gradient(
      internal_op(dynamic_op("item_number", "item_number(Tensor self, *, Count count=None) -> Tensor",
                             "The number a floating tensor of one element holds: it promotes as Python's floats do.")));
};

// What torch._check promises of sizes.
struct AssertSizes {
  static constexpr OpDecl decl = no_gradient(internal_op(
      may_fail(kernel_op("assert_sizes", "assert_sizes(int self, int other, str relation) -> Tensor",
                         "Raises unless the relation (lt, le, eq, ne, gt or ge) holds; the result is empty."))));
};

}  // namespace md::ops
