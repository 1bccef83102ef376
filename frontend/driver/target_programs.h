// What a graph would be on another processor, told to those who asked for it: logs, explain(), reports, files.
#pragma once

#include <vector>

#include "frontend/driver/compile_frame.h"
#include "ir/graph/graph.h"

namespace md {

// Does nothing where neither the options nor the settings name a target. `differentiated` as for compile_graph(): a
// graph with gradients is told of as two, forward and backward. Throws PythonError for an unknown target.
void tell_target_programs(const Graph& traced, const std::vector<bool>& differentiated, const FrameRequest& request);

}  // namespace md
