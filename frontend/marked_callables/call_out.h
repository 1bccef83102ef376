// Opaque calls: one node of the graph that calls a Python function on real tensors.
#pragma once

#include <optional>
#include <string>

#include "frontend/trace/tracer.h"

namespace md {

struct OutCall {
  std::string name;               // as errors call it: "mylib::square", "step"
  std::string target, node_name;  // "ops.mylib.square.default", "square_default"
  Spelling spelling = Spelling::Function;
  PyRef function;  // runs with the graph
  PyRef key;       // what plain Python calls: the function itself, or the operator
  // Where those of `args` are the tensors inside of the program's arguments: how many stood by position, and the names.
  std::optional<std::size_t> positional;
  PyRef keywords;
  PyRef fake;                              // computes results of the right shapes; real tensors in and out
  ValueRef traced;                         // a Python function for symbolic sizes; may be null
  bool declared = false;                   // the program says what the results are like: being wrong is its error
  bool gives_nothing = false;              // returns None: nothing to compute
  std::optional<std::vector<int>> writes;  // known beforehand; results are then memory of their own
};

// A tensor the graph holds, itself and not a copy.
ValueRef held_tensor(Tracer& t, PyObject* tensor);

inline constexpr const char* kFlatApply = "flat_apply";  // target of calls of what nonstrict_trace() has marked

// The function of the program that a node calls, and that is its target; null for other nodes.
PyRef function_of(const Node& n);

ValueRef call_out(Tracer& t, const OutCall& call, CallArgs args);

}  // namespace md
