// Names for the ids of the built-in ops: id::Add is the OpId of ops::Add. For code that builds graphs or calls.
#pragma once

#include "ir/graph/op_table.h"

namespace md::id {

enum : OpId {
#define MD_OP(S) S,
#include "registry/ops.inc"
#undef MD_OP
  kCount
};

}  // namespace md::id
