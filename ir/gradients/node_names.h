// The names that programs read as grad_fn: torch's, of ops and of the calls that are several ops here.
#pragma once

#include <span>
#include <string>

#include "ir/graph/op_table.h"

namespace md {

// "AddBackward0" of add(); some names depend on the arguments. Kept for good.
const std::string& node_name(const Op& op, std::span<const Arg> args);
// Of a composite; null where torch, too, shows its parts.
const std::string* call_name(const Op& op, std::span<const Arg> args);
// Of the last of these parts, `name`, where torch has another name; else null.
const std::string* last_part_name(const Op& op, std::span<const Arg> args, std::string_view name);

}  // namespace md
