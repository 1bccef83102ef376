// Ops whose results have sizes that depend on what the operands hold.
#pragma once

#include <span>
#include <vector>

#include "ir/graph/op_table.h"

namespace md {

// Whether that is so for this call.
bool is_dynamic(const Op& op, std::span<const Arg> args);
// Called before such a call of this thread on real tensors; may throw. Null: none.
using BeforeDynamic = void (*)(const Op& op);
BeforeDynamic& before_dynamic();
// Such a call on real tensors; it allocates the results. Throws OpError.
std::vector<TensorRef> run_dynamic(const Op& op, std::span<const Arg> args);

}  // namespace md
