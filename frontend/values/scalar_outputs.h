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
// settings do not allow any. `handed_back`: see infer(). What it takes for granted of sizes only a run knows the graph
// checks, `check_later` after `n`.
std::vector<TensorType> infer_traced(Tracer& t, Node& n, const BoundArgs& args, std::vector<Node*>& handed_back,
                                     std::vector<SizeGuard>& check_later);
// x[index] = value, the arguments of `n`: throws what the assignment would.
bool check_traced_assignment(Tracer& t, Node& n, std::vector<SizeGuard>& check_later);
// Puts checks into the graph.
void check_assumed(Tracer& t, const std::vector<SizeGuard>& assumed);
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
// The truth of a 0-d tensor of bools, as a value of the trace.
ValueRef test_in(Tracer& t, TensorValue& x);
// bool(x) as a value of the trace; null if the settings do not allow it.
ValueRef captured_test(Tracer& t, TensorValue& x);
// The comparison as a 0-d tensor of bools.
ValueRef test_in_graph(Tracer& t, const SizeTestValue& test);
// Whether x differs from zero, as a tensor of bools.
ValueRef truth_in_graph(Tracer& t, TensorValue& x);
// Unless a 0-d tensor of bools is True the graph fails.
void require_true(Tracer& t, TensorValue& x);
// x.item() as a value of the trace; null if the settings do not allow it.
ValueRef captured_item(Tracer& t, TensorValue& x);
// int(x), which cuts off the fraction; null as above.
ValueRef captured_int(Tracer& t, TensorValue& x);

}  // namespace md
