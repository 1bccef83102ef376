// Positions of the elements of a triangle of a matrix.
#include "backend/device_blocks/kernels/device.h"

namespace md::device_blocks {
namespace {

// How many of the triangle's elements lie in the rows before row i, for i up to the first row without any. `offset` is
// at least -rows and at most columns.
inline Word elements_before(const TriangleParams& p, Word i) {
  if (p.lower) {
    const Word first = p.offset < 0 ? -p.offset : 0;  // rows before it have none
    const Word least = first + p.offset + 1 < p.columns ? first + p.offset + 1 : p.columns;
    const Word rows = i < first ? 0 : i - first, growing = p.columns - least;
    if (rows <= growing) return rows * least + rows * (rows - 1) / 2;
    return growing * least + growing * (growing - 1) / 2 + (rows - growing) * p.columns;
  }
  const Word whole = p.offset < 0 ? -p.offset : 0;  // rows before it have all columns
  if (i <= whole) return i * p.columns;
  const Word rows = i - whole, most = p.columns - (p.offset < 0 ? 0 : p.offset);
  return whole * p.columns + rows * most - rows * (rows - 1) / 2;
}

}  // namespace

MD_KERNEL void triangle(TriangleParams p) {
  for_each_point(p.count, [&](Word k) {
    Word low = 0, high = p.rows;  // the last row with at most k elements before it
    if (!p.lower && p.columns - p.offset < high) high = p.columns - p.offset;
    const Word end = high;
    while (low < high) {
      const Word middle = low + (high - low) / 2;
      if (elements_before(p, middle + 1) > k) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    const Word row = low < end ? low : end - 1, in_row = k - elements_before(p, row);
    const Word edge = row + p.offset < 0 ? 0 : row + p.offset;
    at_address<Word>(p.to)[k] = row;
    at_address<Word>(p.to)[p.count + k] = p.lower ? in_row : edge + in_row;
  });
}

}  // namespace md::device_blocks
