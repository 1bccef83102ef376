// What the ahead-of-time kernels are given, as host and device see it: structs of 64-bit words. Sizes, strides and
// offsets count elements; dimensions stand innermost first, those a call does not have are left out.
#pragma once

#include <cstdint>

namespace md::device_blocks {

using Word = std::int64_t;

inline constexpr int kMostDims = 8;  // after neighbours that run on have been merged
inline constexpr int kMostIndexes = 5;

// Where in a tensor the points of a space lie.
struct Strides {
  Word of[kMostDims];
};
// Points numbered in row-major order.
struct Space {
  Word total, rank;
  Word sizes[kMostDims];
};
struct Tensor {
  std::uint64_t data;  // address of the first element
  Strides strides;
};
// How a call words that a position is outside.
enum class OutsideWords : Word { Bounds, Indexing, InSelf, OfCopy, Flat, Class };
// An integer tensor that names positions along one dimension of another.
struct IndexTensor {
  std::uint64_t data;
  Word wide;  // int64, else int32
  Strides strides;
  Word dim, size, stride;  // of the dimension
  Word words;              // OutsideWords
};

// What a kernel has found wrong (backend/device/statuses.h).
enum class Failure : std::int32_t { None, Body, Position, Probability, Source, Weights };
// What is wrong with weights.
enum class WrongWeights : Word { Negative, NoSum, TooFew };

inline constexpr int kMostOperands = 3;
struct PointwiseParams {
  Space space;
  Tensor out, in[kMostOperands];
  Word out_dtype, in_dtype[kMostOperands];  // of one working dtype; of an operand -1: a number
  double real[kMostOperands];
  Word whole[kMostOperands];
  std::uint64_t status;
};

// Chunks of the folded elements of each result, in the defined order; a chunk's fold goes to (result, chunk) of `parts`
// or, if there is one chunk, to its place.
struct FoldParams {
  Space kept, folded;
  Tensor in, out;  // `in` along `kept`
  Strides along;   // of `in` along `folded`
  Word in_dtype, compute, out_dtype;
  Word chunks;
  std::uint64_t parts;
};
// Neighbouring parts joined: `count` of each result become half as many, or the result.
struct FoldPartsParams {
  Space kept;
  Tensor out;
  Word count, compute, out_dtype;
  std::uint64_t parts, to_parts;
};

struct CopyParams {
  Space space;
  Tensor to, from;
};

// A copy whose first dimension is dense in `to` and whose second is dense in `from` goes by tiles of so many elements
// along both; a block has so many threads.
inline constexpr int kCopyTile = 32, kCopyThreads = 256;
// The same with a conversion from a dtype.
struct ConvertParams {
  Space space;
  Tensor to, from;
  Word from_dtype;
};

// to[...] = from[...], `from` moved along the dimensions that the indexes name.
struct ReadAtParams {
  Space space;
  Tensor to, from;
  IndexTensor index[kMostIndexes];
  Word indexes;
  Word from_end;  // negative positions count from the end
  std::uint64_t status;
};

enum class Combine : Word { Keep, Add, Multiply, Larger, Smaller };
// For each point of `columns` by itself: step after step, to[...] = combine(to[...], from[...]), `to` moved by the
// indexes. Points of `columns` name different elements.
struct WriteAtParams {
  Space columns, steps;
  Tensor to, from;  // strides along `columns`
  Strides to_steps, from_steps;
  Strides index_steps[kMostIndexes];
  IndexTensor index[kMostIndexes];  // strides along `columns`
  Word indexes, from_end;
  Word combine;
  Word numbered;  // instead of from[...]: this number
  double real;
  Word whole;
  double scale;  // of Add; values are multiplied by it before
  Word whole_scale, scaled;
  std::uint64_t status;
};

// The same where there are few columns and many steps: all pairs of a column and a step, sorted by the element they
// name.
struct SortedWriteParams {
  WriteAtParams write;
  std::uint64_t keys, order;  // offsets in `to`, negative where a position is outside; numbers of pairs
  std::uint64_t status;
};

// Dense lines are scanned by tiles in shared memory: a block takes `flag` lines, a power of two, with so many elements
// in all at a time.
inline constexpr int kScanRoom = 2048, kScanLines = 32, kScanThreads = 128;
// A block sorts as many lines as have no more elements than this.
inline constexpr int kSortMost = 2048, kSortThreads = 256;
inline constexpr int kLineThreads = 256;  // that find the extreme of one line
// Lines of `size` elements that begin at the points of `lines`.
struct LineParams {
  Space lines;
  Tensor from, to, positions;
  Word size, from_step, to_step, positions_step;
  Word flag;
};

// Passes of a merge sort of dense lines: runs of `width` sorted elements become runs of twice as many.
struct MergeParams {
  Word total, size, width, descending;
  std::uint64_t values, positions, to_values, to_positions;
};

inline constexpr int kProductTile = 64, kProductThreads = 256;
struct ProductParams {
  Word batches, m, n, k;
  Tensor a, b, c;  // strides of batch dimensions
  Space batch;
  Word a_row, a_column, b_row, b_column, c_row, c_column;
};
// The same on tensor cores. Kernels are named by their tile and by how the operands lie: along the depth (d), along the
// rows of the left (r) or the columns of the right one (c).
inline constexpr int kMmaLargeTile = 128, kMmaLargeThreads = 256, kMmaSmallTile = 64, kMmaSmallThreads = 128;

// What element i of a row-major space is made of.
struct FillParams {
  Space space;
  Tensor to;
  std::uint64_t bits;       // fill, and eye's diagonal
  double start, step, end;  // in float64
  Word whole, whole_step;   // in int64
  Word columns;             // eye
};

struct DrawParams {
  Space space;
  Tensor to;
  std::uint64_t seed, first;  // of the counters
  double p;
  std::uint64_t low, range;
};
// An event for each of several probabilities, which are float64s.
struct EventsParams {
  DrawParams draw;
  Tensor probability;
  std::uint64_t status;
};

// Two operands that have the result's dtype.
struct PairParams {
  Space space;
  Tensor out, a, b;
};
// For each point of `space` the first place of its row of `size` sorted values that lies at or behind (`right`: behind)
// the point's value; values are float64s or int64s.
struct SearchParams {
  Space space;
  Tensor out, rows, values;
  Word size, step, right, wide;  // wide: results are int64s, else int32s
};
// A row of `classes` results for each point.
struct ClassParams {
  Space space;
  Tensor from;
  std::uint64_t to;
  Word classes;
  IndexTensor named;  // how a class outside is told
  std::uint64_t status;
};

// Flags: bytes that are 0 or 1. A block takes a tile of them.
inline constexpr int kFlagThreads = 256, kFlagsOfThread = 8, kFlagTile = kFlagThreads * kFlagsOfThread;
struct FlagParams {
  Word total;
  std::uint64_t flags;
  std::uint64_t before;     // of each tile: how many are set in those before it; behind the last: in all
  std::uint64_t positions;  // of those that are set, in order; or 0
  std::uint64_t ranks;      // of each: how many before it are set; or 0
};
// Of each number the sum of those before it, and behind the last of all. By one block.
struct SumsParams {
  Word total;
  std::uint64_t numbers, sums;
};
// Numbers of points of a space as rows of coordinates, outermost dimension first.
struct CoordinatesParams {
  Word count;
  Space space;
  std::uint64_t numbers, to;
};
// The place among `sums`, which ascend, of each number below their last.
struct OwnersParams {
  Word total, count;
  std::uint64_t sums, to;
};
// Where the mask holds, elements of a dense source in order.
struct TakeInTurnParams {
  Space space;
  Tensor to;
  std::uint64_t flags, ranks, wanted, source;  // wanted: the address of how many the mask asks for
  Word held;
  std::uint64_t status;
};

// Dense rows of elements in an order in which equals are neighbours.
struct RunParams {
  Word count, length;
  std::uint64_t values, order;  // order 0: as they lie
  std::uint64_t flags;          // whether another row begins
  std::uint64_t ranks, to;      // of group_numbers: the number of its group for each row
};
struct RunLengthParams {
  Word count, total;
  std::uint64_t starts, to;
};
// Passes of a merge sort of numbers of rows, compared element by element.
struct MergeRowsParams {
  Word count, width, length;
  std::uint64_t values, order, to_order;
};
// Rows of sorted values with the positions they had.
struct ModeParams {
  LineParams lines;
  std::uint64_t places;
};
struct CountParams {
  Space space;
  Tensor from;
  std::uint64_t counts;
  double low, high;
  Word bins;
};
struct MeanParams {
  Space space;
  Tensor to;
  std::uint64_t counts;
};
// Rows, then columns, of the elements of a triangle.
struct TriangleParams {
  Word count, rows, columns, offset, lower;
  std::uint64_t to;
};

// Rows of weights, or of their running sums, with a number drawn for each result (or each weight).
struct SampleParams {
  Word rows, size, samples;
  std::uint64_t weights, sums, to;
  std::uint64_t seed, first;
  std::uint64_t status;
};
// A round of swaps, which a shuffle does one after the other.
struct ShuffleParams {
  Word total, round;
  std::uint64_t partners;  // of each position; negative where the swap has been done
  std::uint64_t claims, order;
  std::uint64_t left;  // one more than the last round after which there were swaps left
  std::uint64_t seed, first;
};

inline constexpr int kWindowDims = 3;
struct WindowAxis {
  Word in, out, kernel, stride, padding, dilation, step, out_step;
};
struct WindowParams {
  WindowAxis axes[kWindowDims];
  Space planes;
  Tensor from, to, positions;
  Word positions_step[kWindowDims];
  Word divisor, with_padding, adaptive;
};
enum class Resampling : Word { Nearest, NearestExact, Linear };
struct ResampleParams {
  WindowAxis axes[kWindowDims];
  double ratio[kWindowDims];  // of positions of the operand to those of the result, in the working dtype
  Space planes;
  Tensor from, to;
  Word mode, aligned;
};
struct ConvolutionParams {
  WindowAxis axes[kWindowDims];
  Word weight_step[kWindowDims];
  Word batch, filters, per_group, channels;
  std::uint64_t x, w, to;
  Word x_batch, x_channel, w_filter, w_channel, to_batch, to_filter;
};

}  // namespace md::device_blocks
