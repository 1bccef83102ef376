// The passes from a traced graph to a functional one, as one list.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "ir/graph/graph.h"

namespace md {

struct PipelineOptions {
  bool verify = false;  // after every pass; also set by MINIDYNAMO_VERIFY=1
  // Called with the graph after each pass and how long it took.
  std::function<void(std::string_view pass, const Graph& after, double seconds)> observer;
};

// `traced` is left alone. Throws NotFunctional if the graph has no functional form: run it by interpret().
std::unique_ptr<Graph> optimize(const Graph& traced, const PipelineOptions& options);
// What follows functionalize(): of a graph that is functional already.
std::unique_ptr<Graph> optimize_functional(std::unique_ptr<Graph> functional);

}  // namespace md
