// Calls that the program's handlers answer: modes that are active, tensors that only their handler knows.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/graph/op_table.h"
#include "ir/tensor/handled.h"

namespace md {

// What the program answers to a call; nothing: it has no name for the op, whose parts are asked about then. Of a write
// in place (bound[0] is written) the answer is what was written.
using AnswerCall = std::optional<Arg> (*)(const Op& op, std::span<const Arg> bound, bool inplace);
void set_answer_call(AnswerCall answer);

// Whether a handler has a say in a call with these arguments.
bool is_for_handlers(std::span<const Arg> bound);
// The answer with what the record of gradients and views have to know of it.
std::optional<Arg> answered_call(const Op& op, std::span<const Arg> bound);
bool answered_write(const Op& op, std::span<const Arg> bound);

}  // namespace md
