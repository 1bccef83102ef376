// What stands between the brackets of x[index].
#pragma once

#include "ir/infer/composite.h"

namespace md {

// Ints, slices, None and ... are views; tensors and lists of positions and masks are looked up.
struct OpenedIndex {
  Arg x;              // with the views applied
  ListArg positions;  // as ops::Index takes them; empty: x is the answer
};
enum class IndexUse : bool { Read, Write };
// Throws OpError for what torch refuses, DataDependent for what only values would decide.
OpenedIndex open_index(OpCaller& caller, const Arg& x, const Arg& index, IndexUse use);

// x[index] = value for an index with positions: what is to be called with {x, ...} in place.
struct Assignment {
  OpId op;
  std::vector<Arg> args;  // args[0] is the view that is written
};
Assignment open_assignment(OpCaller& caller, const Arg& x, const Arg& index, const Arg& value);

// IndexError of ops that take no dimension of a 0-d tensor.
[[noreturn]] void no_dimensions(Size dim);
bool is_mask(DType t);  // bool, or uint8 which once stood for it
// Sizes of a nested list of ints; throws OpError(Index) for other things and ragged lists.
SizeVec list_sizes(const ListArg& list);

}  // namespace md
