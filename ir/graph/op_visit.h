// From an OpId to its struct at compile time. Includes every declaration: for the few files that look at all of them.
#pragma once

#include <utility>

#include "ir/core/error.h"
#include "ir/graph/op_bodies.h"
#include "ir/graph/op_ids.h"
#include "registry/ops/activations.h"
#include "registry/ops/arrangement.h"
#include "registry/ops/complex.h"
#include "registry/ops/composites.h"
#include "registry/ops/convolution.h"
#include "registry/ops/folds.h"
#include "registry/ops/indexing.h"
#include "registry/ops/kernels.h"
#include "registry/ops/products.h"
#include "registry/ops/randomness.h"
#include "registry/ops/scans.h"
#include "registry/ops/special.h"
#include "registry/ops/special_functions.h"
#include "registry/ops/views.h"

namespace md {

template <class O>
struct OpIdOf;
#define MD_OP(S)                             \
  template <>                                \
  struct OpIdOf<ops::S> {                    \
    static constexpr OpId value = md::id::S; \
  };
#include "registry/ops.inc"
#undef MD_OP
template <class O>
inline constexpr OpId op_id = OpIdOf<O>::value;

// f(ops::X{}) for the op with this id.
template <class F>
decltype(auto) visit_op(OpId id, F&& f) {
  switch (id) {
#define MD_OP(S)  \
  case md::id::S: \
    return f(ops::S{});
#include "registry/ops.inc"
#undef MD_OP
    default:
      throw InternalError("visit_op: not a built-in op");
  }
}

}  // namespace md
