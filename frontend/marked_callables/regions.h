// Functions that become regions: graphs of their own in a node of the graph around them. What every operator over
// regions asks of its functions is checked here.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frontend/report/placed_frames.h"
#include "frontend/trace/tracer.h"

namespace md {

// An operator over functions has no partial form: what does not fit is an error in every mode. `inner`: the break of
// the function, or null.
[[noreturn]] void uncaptured(const PlacedFrames& frames, const std::string& op, const GraphBreak* inner,
                             const std::string& text);
// The same for `text` alone, unless `holds`.
void expect(Tracer& t, bool holds, const std::string& op, const std::string& text);

bool can_call(const ValueRef& v);

// A tensor or an int that a function is given or gives; ints among results can be expressions of sizes.
struct Leaf {
  Node* node = nullptr;  // null: an int
  Size number = 0;
  bool is_constant = false;  // the number is written in the program
};

struct Region {
  std::unique_ptr<Graph> graph;
  std::vector<Node*> inputs;  // declared ones; captured tensors follow when it is closed
  PyRef shape;                // of the result: containers with holes for its leaves
  std::vector<Leaf> results;
};

// How a function gets its arguments: called in the region, whose inputs have the given types.
using RegionArgs = std::function<CallArgs(const std::vector<ValueRef>& inputs)>;

// A comparison of sizes nobody knows yet, or a number read from a tensor, as a tensor; anything else as it is.
ValueRef test_as_tensor(Tracer& t, const ValueRef& v);
// The shape of a value with holes for tensors and ints, which are appended. What is neither, nor a container or
// constant of the shape, is an error.
PyRef leaves_of(Tracer& t, const std::string& op, const ValueRef& v, std::vector<ValueRef>& leaves);

enum class SharedResults { Refused, Copied };

// Calls `function` in a graph of its own. Breaks inside, changes of what is outside, writes to inputs or captured
// tensors and, unless they are to be copied, results that share memory with them or each other are errors of `op`.
Region trace_region(Tracer& t, const std::string& op, const ValueRef& function, const std::vector<TensorType>& inputs,
                    const std::vector<ValueRef>& operands, const RegionArgs& arguments,
                    SharedResults shared = SharedResults::Refused);

// A function that stays part of the graph around it, whose operator all the same has no partial form.
enum class InlineRule { OwnResults, NoEffects };  // results share no memory with inputs; nothing outside changes
ValueRef trace_inlined(Tracer& t, const std::string& op, const ValueRef& function, CallArgs args, InlineRule rule);
// Changes of what can be reached from outside break the graph: GB0067.
ValueRef call_without_effects(Tracer& t, const ValueRef& function, CallArgs args);

// A node for each of the results: ints become 0-d tensors.
std::vector<Node*> result_nodes(Region& r);
// The node, or a row-major copy of it at the end of the region.
Node* made_contiguous(Region& r, Node* x);
// A call of an op at the end of the region.
Node* append_call(Graph& g, const std::string& name, std::vector<Arg> args, const Node* like = nullptr);

// The type of a tensor of its own memory, row-major.
TensorType own_type(Tracer& t, TensorType type);

// What the regions read from outside, in the order of first use, as inputs of each behind the declared ones.
std::vector<Node*> close_regions(std::span<Region* const> regions, std::span<const std::vector<Node*>> results,
                                 std::span<const std::string> names);
// "cond_true_0": the number is that of such names in the graph.
std::string region_name(const Tracer& t, const std::string& base);
Arg tensor_list(const std::vector<Node*>& nodes, bool tuple);
// Appends the call; its results in order.
std::vector<ValueRef> append_regions(Tracer& t, Node n, std::span<Region* const> regions);

}  // namespace md
