// Elements that a mask selects, found on the device; how many they are is read.
#pragma once

#include "backend/device_blocks/device_call.h"

namespace md::device_blocks {

// Where x is not 0: a dense bool tensor, x itself if it is one. Null: no kernel.
TensorRef as_flags(const TensorRef& x);
// Positions of the dense flags that are set, int64 in a vector. Waits for their count.
TensorRef positions_of_flags(const TensorRef& flags);
// And how many are set before each.
struct Numbered {
  TensorRef positions, ranks;
};
Numbered numbered_flags(const TensorRef& flags);
// The sums of an int64 vector up to each element; the last one is that of all.
TensorRef running_sums(const TensorRef& numbers);
// An element of an int64 tensor without gaps. Waits for it.
std::int64_t number_at(const TensorImpl& t, std::int64_t at);
// The elements of a vector at int64 positions.
TensorRef taken(const TensorRef& values, const TensorRef& positions);

// An index with masks as one with positions: a vector for each of a mask's dimensions. `list` as it is where there are
// none; false if no kernel does it.
bool expand_masks(const ListArg& list, ListArg& expanded);

}  // namespace md::device_blocks
