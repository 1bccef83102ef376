// Walking several strided tensors together: the axes of an iteration space with one stride per operand, merged where
// they can be, and the copies between strided memory and dense blocks.
#pragma once

#include <span>

#include "ir/tensor/tensor.h"

namespace md::blocks {

inline constexpr int kMaxOperands = 4;

struct Axis {
  std::int64_t size;
  std::int64_t stride[kMaxOperands];  // bytes
};
using Axes = SmallVector<Axis, 6>;

// Axes of `sizes`, outermost first, with the strides of each operand broadcast to them (0 along a broadcast axis).
Axes make_axes(const DimVec& sizes, std::span<TensorImpl* const> operands);
// Sorts the axes so that operand 0 is walked with falling strides, drops those of size 1 and merges neighbours that
// every operand walks as one. For iteration whose order does not matter.
void simplify(Axes& axes, int operands);
// The same without sorting.
void merge(Axes& axes, int operands);
std::int64_t product(const Axes& axes);
// Whether operand k walks memory element by element.
bool is_dense(const Axes& axes, int k, std::int64_t item);

// A place in the space: coordinates and the byte offset of every operand.
class Walker {
 public:
  Walker(const Axes& axes, int operands, std::int64_t linear);
  std::int64_t offset(int k) const { return offset_[k]; }
  // Elements from here to the end of the innermost axis.
  std::int64_t left() const { return axes_->empty() ? 1 : axes_->back().size - at_.back(); }
  void advance(std::int64_t n);  // n <= left()

 private:
  const Axes* axes_;
  int operands_;
  SmallVector<std::int64_t, 6> at_;
  std::int64_t offset_[kMaxOperands];
};

// `count` elements of operand k from the linear index `start` on, into or out of a dense block.
void gather(const Axes& axes, int k, const char* base, std::int64_t item, std::int64_t start, std::int64_t count,
            void* block);
void scatter(const Axes& axes, int k, char* base, std::int64_t item, std::int64_t start, std::int64_t count,
             const void* block);
// Rows of a matrix whose columns are contiguous in memory, read a cache line at a time: row i of the result starts at
// block + i * kTileColumns elements. rows <= kTileRows, columns <= kTileColumns.
inline constexpr std::int64_t kTileRows = 16, kTileColumns = 256;
void gather_tile(const char* base, std::int64_t column_stride, std::int64_t rows, std::int64_t columns,
                 std::int64_t item, void* block);
// n equally spaced elements as a dense run, and back.
void gather_run(const char* from, std::int64_t stride, std::int64_t item, std::int64_t n, void* to);
void scatter_run(char* to, std::int64_t stride, std::int64_t item, std::int64_t n, const void* from);
// block[i] = *value for i < count
void fill(const void* value, std::int64_t item, std::int64_t count, void* block);

// The bytes a tensor may touch: [first, last).
struct Extent {
  const char *first, *last;
  bool overlaps(const Extent& o) const { return first < o.last && o.first < last; }
};
Extent extent(const TensorImpl& t);

}  // namespace md::blocks
