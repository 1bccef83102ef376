// Values of tensors that a trace names without knowing them: data-dependent sizes, items.
#pragma once

#include "frontend/trace/value.h"
#include "frontend/values/number_value.h"
#include "frontend/values/tensor.h"
#include "ir/core/error.h"
#include "ir/graph/graph.h"
#include "ir/sizes/shape_env.h"

namespace md {

struct TensorValue;
struct SizeTestValue;

// Types of a bound call that becomes the node `n`, which notes the symbols it brings along. Throws DataDependent if the
// settings do not allow any. `handed_back`: see infer().
std::vector<TensorType> infer_traced(Tracer& t, Node& n, const BoundArgs& args, std::vector<Node*>& handed_back);
// x[index] = value, the arguments of `n`: throws what the assignment would.
bool check_traced_assignment(Tracer& t, Node& n);
// A symbol for a size of a result of the node, which the run finds out.
Size unknown_size(Tracer& t, Node& n, SizeRange range);
// The node's sizes are where the run finds the values of symbols first seen there.
void note_unbacked(Tracer& t, Node* n);
// The break for a call that needs what no trace knows.
[[noreturn]] void report_data_dependent(Tracer& t, const DataDependent& e, const std::string& op, const CallArgs& args);
// torch._check of a comparison of sizes: the graph checks it, the trace knows it from here on.
void assert_sizes(Tracer& t, SizeTestValue& test);
// x.tolist() of integers; null as below.
ValueRef captured_list(Tracer& t, TensorValue& x);
// The int in a 0-d tensor, whatever the settings.
ValueRef item_of(Tracer& t, TensorValue& x);
// The float in a 0-d tensor of the graph, as a number there.
ValueRef number_in(Tracer& t, TensorValue& x);
// x.item() as a value of the trace; null if the settings do not allow it.
ValueRef captured_item(Tracer& t, TensorValue& x);
// int(x), which cuts off the fraction; null as above.
ValueRef captured_int(Tracer& t, TensorValue& x);

}  // namespace md
