// What the block kernels compiled for one CPU level offer. A kernel works on dense, 64-byte-friendly blocks; the engine
// brings strided operands into that form.
#pragma once

#include <cstdint>

#include "ir/graph/op_table.h"
#include "ir/infer/window_dim.h"

namespace md::blocks {

inline constexpr std::int64_t kBlock = 1024;  // elements; operands of several ops stay in L1

// out[i] = body(in[0][i], in[1][i], ...) for i < n. True if the op's failure condition holds for some element (`out` is
// then meaningless). Masks are bytes 0 or 1.
using PointwiseKernel = bool (*)(const void* const* in, void* out, std::int64_t n);
using ConvertKernel = void (*)(const void* in, void* out, std::int64_t n);
// One chunk (n <= 1024 contiguous elements) folded in 64 lanes.
using FoldInnerKernel = void (*)(const void* in, std::int64_t n, void* out);
// One chunk for each of `columns` neighbouring columns, folded in 4 lanes; row k starts `offsets[k]` elements after
// `in`.
using FoldOuterKernel = void (*)(const void* in, const std::int64_t* offsets, std::int64_t rows, std::int64_t columns,
                                 void* out);
// into[i] = combine(into[i], from[i])
using CombineKernel = void (*)(void* into, const void* from, std::int64_t n);
// Position of the winner among n <= 1024 contiguous elements.
using FindKernel = std::int64_t (*)(const void* in, std::int64_t n);
// Where candidate[i] wins against best[i], it and `index` take its place.
using ChallengeKernel = void (*)(const void* candidate, std::int64_t index, std::int64_t n, void* best,
                                 std::int64_t* best_index);

// c (m x n) = a (m x k) b (k x n); strides in elements, c has unit column stride.
struct Product {
  std::int64_t m, n, k;
  const void* a;
  std::int64_t a_row, a_column;
  const void* b;
  std::int64_t b_row, b_column;
  void* c;
  std::int64_t c_row;
};
inline constexpr std::int64_t kProductRows = 192, kProductColumns = 1536, kProductDepth = 384;  // packed panels
// Workspaces are 64-byte aligned.
struct ProductKernels {
  // In one go; `workspace` holds product_workspace(p, item) bytes.
  void (*run)(const Product& p, void* workspace);
  // The same of a panel, of at most kProductColumns columns and depth kProductDepth, in parts that threads can share:
  // columns [first, last) of b packed (`first` is a multiple of 48), and then any rows of c from all that is packed.
  // `fresh`: c's old values do not count. The workspaces hold product_columns(p, item) and product_rows(p, item) bytes.
  void (*pack)(const Product& p, std::int64_t first, std::int64_t last, void* packed);
  void (*add)(const Product& p, const void* packed, bool fresh, void* workspace);
};
constexpr std::int64_t product_depth(const Product& p) { return p.k < kProductDepth ? p.k : kProductDepth; }
constexpr std::int64_t product_columns(const Product& p, std::int64_t item) {
  return product_depth(p) * ((p.n < kProductColumns ? p.n : kProductColumns) + 64) * item;
}
constexpr std::int64_t product_rows(const Product& p, std::int64_t item) {
  return (product_depth(p) * ((p.m < kProductRows ? p.m : kProductRows) + 16) * item + 63) / 64 * 64;
}
constexpr std::int64_t product_workspace(const Product& p, std::int64_t item) {
  return product_rows(p, item) + product_columns(p, item);
}

[[gnu::always_inline]] inline const void* moved(const void* base, std::int64_t elements, std::int64_t item) {
  return static_cast<const char*>(base) + elements * item;
}

// f(panel, fresh) for the panels of a product in the order of their terms.
template <class F>
void for_each_panel(const Product& p, std::int64_t item, F&& f) {
  for (std::int64_t j = 0; j < p.n; j += kProductColumns) {
    for (std::int64_t q = 0; q < p.k; q += kProductDepth) {
      Product panel = p;
      panel.n = p.n - j < kProductColumns ? p.n - j : kProductColumns;
      panel.k = p.k - q < kProductDepth ? p.k - q : kProductDepth;
      panel.a = moved(p.a, q * p.a_column, item);
      panel.b = moved(p.b, q * p.b_row + j * p.b_column, item);
      panel.c = const_cast<void*>(moved(p.c, j, item));
      f(panel, q == 0);
    }
  }
}

// Elements of a window: where they are laid out, seen from the first a position reads, and their places in a filter.
struct WindowElements {
  std::int64_t count;
  const std::int64_t *offsets, *places;
};
// The convolution of one group of an image with its filters. The inputs a patch of results needs are laid out as
// (planes of a window, rows, channels, remainders of the column by the stride, columns), zeros in the padding: each
// element of the window then sees the inputs of neighbouring results side by side.
struct Convolution {
  WindowDim dims[kMostWindowDims];
  std::int64_t channels, filters, depth;  // depth: elements of a filter
  std::int64_t remainders, width, pitch;  // of a row laid out: columns of each remainder, elements from row to row
  std::int64_t rows, laid_out;            // laid out; elements of all of that, for one image
  std::uint64_t used_rows, used_columns;  // remainders by the stride that some element of the window falls on
  // Where planes lie in memory, in elements; each is dense.
  std::int64_t x_image, x_channel;   // of the inputs, from image to image and from channel to channel
  std::int64_t w_filter, w_channel;  // of the weights
  // elements[0] are all; others are without the rows of the window that lie in the padding. row_elements: which of them
  // each row of results needs, if no weight is infinite or NaN.
  const WindowElements* elements;
  const std::uint8_t* row_elements;
  // Vectors hold results of neighbouring filters, or else of neighbouring positions of one filter.
  bool filter_lanes;
  std::int64_t panel;  // filters computed together, whose weights lie side by side
};
// `rows` times `columns` results of each of `filters` filters, in each of `images`; the first filter begins a panel.
struct ConvolutionPatch {
  const void *x, *weights;         // the group's first plane, the first filter's packed weights
  void* out;                       // the first filter's plane
  std::int64_t images, out_image;  // the results' elements from image to image
  std::int64_t filters, plane, row, rows, column, columns;
};
struct ConvolutionKernels {
  int lanes;                           // of a vector
  int filter_panel, filter_positions;  // filters in lanes: of them and of neighbouring results computed together
  // Panels [first, last) of weights. Panels are of 1, 2, 4, 8 filters or, in lanes, of filter_panel, the last as
  // narrow as whole vectors allow. Whether all weights are finite.
  bool (*pack)(const Convolution& c, const void* weights, std::int64_t first, std::int64_t last, void* packed);
  void (*run)(const Convolution& c, const ConvolutionPatch& p, void* laid_out);
};

// Random numbers of Philox (ir/tensor/philox.h).
using DrawKernel = void (*)(std::uint64_t seed, std::uint64_t block, std::int64_t n, void* out);
struct RandomKernels {
  // n values of 64 bits, two of each block from `block` on: bits, float64s on [0, 1), normally distributed float64s.
  DrawKernel bits, uniform, normal;
  // Of a word's upper `digits` bits a float32 on [0, 1).
  void (*singles)(const std::uint32_t* words, int digits, std::int64_t n, float* out);
  // values[i] = low + values[i] mod range
  void (*remainders)(std::uint64_t low, std::uint64_t range, std::int64_t n, std::uint64_t* values);
  // Whether word / 2^32 < p, for one p or one each; and whether each p is on [0, 1].
  void (*happen)(const std::uint32_t* words, double p, std::int64_t n, std::uint8_t* out);
  void (*happen_each)(const std::uint32_t* words, const double* p, std::int64_t n, std::uint8_t* out);
  bool (*are_probabilities)(const double* p, std::int64_t n);
};

// Max pooling of a dense plane. The inputs that some rows of results need are laid out as (planes of a window,
// remainders of the row by the stride, remainders of the column, rows, columns), the smallest value in the padding:
// each element of the window then sees the inputs of all these results side by side, row behind row.
struct MaxPool {
  WindowDim dims[kMostWindowDims];
  std::int64_t row_remainders, column_remainders;
  std::int64_t pitch, rows;  // of each remainder: columns, and rows laid out for as many results as a patch has
  std::int64_t laid_out;     // elements of all of that, and of those read behind it
  // Elements of a window in row-major order: where they are laid out, and their positions in the input, seen from those
  // of the window's first.
  WindowElements elements;
};
struct MaxPoolPatch {
  const void* x;            // the plane
  void* values;             // the first result, of a row
  std::int64_t* positions;  // or null
  std::int64_t frame, row, rows;
};
// Elements read or written, but not used, behind the last one of a patch.
inline constexpr std::int64_t kMaxPoolSlack = 64;
// Each element of the workspace takes as much as one of the input.
constexpr std::int64_t max_pool_workspace(const MaxPool& p) {
  return p.laid_out + 2 * (p.rows * p.pitch + kMaxPoolSlack);
}
using MaxPoolKernel = void (*)(const MaxPool& p, const MaxPoolPatch& patch, void* workspace);

// The dtypes bodies run in (DTypeInfo::working), in the order of the tables below.
inline constexpr int kComputeTypes = 5;
constexpr int compute_index(DType t) {
  switch (t) {
    case DType::Float32:
      return 0;
    case DType::Float64:
      return 1;
    case DType::Int32:
      return 2;
    case DType::Int64:
      return 3;
    case DType::Bool:
      return 4;
    default:
      return -1;
  }
}

struct ReductionKernels {
  FoldInnerKernel fold_inner = nullptr;
  FoldOuterKernel fold_outer = nullptr;
  CombineKernel combine = nullptr;
  FindKernel find = nullptr;
  ChallengeKernel challenge = nullptr;
};

// Tables are indexed by the OpId of an op with a body (registry/bodies.inc); null where it does not compute in that
// dtype.
struct KernelTable {
  const char* level;  // "x86-64-v4"
  const PointwiseKernel* pointwise[kComputeTypes];
  const ReductionKernels* reductions[kComputeTypes];
  const ProductKernels* product;          // by compute dtype; those of bool are null
  const ConvolutionKernels* convolution;  // the same; without functions for bool
  const MaxPoolKernel* max_pool;          // the same
  const RandomKernels* random;
  const ConvertKernel (*convert)[kComputeTypes];  // [from][to]
  // By dtype, between elements and values of the working dtype; null where that is the dtype itself.
  const ConvertKernel *widen, *narrow;
};

// The best table this CPU can run.
const KernelTable& kernel_table();
// Every table this CPU can run, best first (for tests).
const KernelTable* const* runnable_tables(int* count);

}  // namespace md::blocks
