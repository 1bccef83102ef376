// What the rules of composite ops share. A rule is `Arg expand_rule(ops::X, const Expansion&)`.
#pragma once

#include "ir/graph/op_ids.h"
#include "ir/infer/composite.h"
#include "ir/infer/infer.h"

namespace md {

struct Expansion : InferCall {
  OpCaller& caller;
  Device place;  // of the result

  // A tensor made from nothing is made where the result is.
  Arg call(OpId id, std::initializer_list<Arg> leading) const {
    return place.is_cpu() ? caller.call(id, leading) : call_there(id, leading);
  }

  Arg call_there(OpId id, std::initializer_list<Arg> leading) const;
};

inline Arg sizes_arg(const SizeVec& sizes) {
  ListArg l;
  for (const Size s : sizes) l.items.emplace_back(s);
  return l;
}
// A size that decides how many calls there are or which elements they read is fixed here.
inline std::int64_t fixed_size(Size s) {
  const std::int64_t n = hint(s);
  guard_eq(s, n);
  return n;
}
// x on device `d`: itself if it is there already.
Arg on_device(const Expansion& e, const Arg& x, Device d);
// A dense copy of x in the format, which is not preserve_format.
Arg in_format(const Expansion& e, const Arg& x, MemoryFormat f);
// x in dtype `t`: itself if it has it already.
Arg converted(const Expansion& e, const Arg& x, DType t);
Arg reshaped(const Expansion& e, const Arg& x, const SizeVec& sizes);
// The first operand reshaped, where the program may see whether that is a view. Throws DataDependent where it may or
// may not be, by sizes known only at run time.
Arg reshaped_for_program(const Expansion& e, const SizeVec& sizes);
// Before a copy that the program sees: throws DataDependent if a size of `x` is known only at run time, unless that
// may be assumed.
void need_known_layout(const TensorType& x);

}  // namespace md
