// Calls that no kernel of the device engine does: on the CPU, with copies both ways.
#pragma once

#include <map>
#include <span>
#include <string>

#include "ir/graph/graph.h"

namespace md::device_blocks {

void run_on_host(const Op& op, std::span<const Arg> args, std::span<const TensorRef> out);

// Notes a call that somebody else does there.
void count_on_host(const Op& op);
// How often that was done in this process, by op.
std::map<std::string, std::int64_t> host_calls();

}  // namespace md::device_blocks
