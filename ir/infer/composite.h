// Composite ops are written once, as calls of other ops through an OpCaller: eager runs them, inference types them,
// `decompose` builds nodes from them.
#pragma once

#include <initializer_list>
#include <vector>

#include "ir/graph/op_table.h"

namespace md {

class OpCaller {
 public:
  virtual ~OpCaller() = default;
  // `bound` is in schema order and complete; `op` may be a composite itself. The result is a tensor argument (or
  // ListArg of them) type_of() answers for.
  virtual Arg call(const Op& op, std::vector<Arg> bound) = 0;
  // The leading arguments; the others take their defaults.
  Arg call(OpId id, std::initializer_list<Arg> leading);
};

// Opens one composite call. The result may be an operand itself (x.float() of a float32 tensor) or a view of one.
Arg expand(const Op& composite, OpCaller& caller, std::span<const Arg> bound);

}  // namespace md
