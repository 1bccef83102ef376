// Calls that the program's handlers answer: modes that are active, tensors that only their handler knows.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/graph/op_table.h"
#include "ir/tensor/handled.h"

namespace md {

// Call: below the record of gradients. Write: in place, of bound[0]. Recorded: a call that is made above the record, of
// which the answer knows how it was computed. Saved: the op has given `bound`, which its derivative reads.
enum class Asking : std::uint8_t { Call, Write, Recorded, Saved };
// What the program answers to a call; nothing: it has no name for the op, whose parts are asked about then. Of a write
// in place (bound[0] is written) the answer is what was written.
using AnswerCall = std::optional<Arg> (*)(const Op& op, std::span<const Arg> bound, Asking how);
void set_answer_call(AnswerCall answer);

// Whether a handler has a say in a call with these arguments.
bool is_for_handlers(std::span<const Arg> bound);
// The answer with what the record of gradients and views have to know of it.
std::optional<Arg> answered_call(const Op& op, std::span<const Arg> bound);
bool answered_write(const Op& op, std::span<const Arg> bound);
// A composite as a whole, whose parts would record themselves.
std::optional<Arg> answered_recorded(const Op& op, std::span<const Arg> bound);
// The result of a recorded call that its derivative reads is seen by handlers once more.
void show_saved(const Op& op, const Arg& result);

}  // namespace md
