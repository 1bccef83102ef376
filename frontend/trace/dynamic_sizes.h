// Which sizes and ints of a frame's inputs are symbols, and what was assumed of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frontend/guards/sizes.h"
#include "frontend/trace/value.h"

namespace md {

// What earlier compilations of a code object have seen at one source: a number that has changed is a symbol from then
// on. Ints and tensors of each rank are remembered apart: they may come in turn.
struct ObservedInput {
  std::vector<std::int64_t> numbers;  // an int: one; a tensor: its sizes, then its strides
  std::vector<bool> changes;
};
inline constexpr int kObservedInt = -1, kObservedFloat = -2;
using ObservedInputs = std::map<std::pair<std::string, int>, ObservedInput>;  // by name and rank

// The numbers of a tensor that are observed.
std::vector<std::int64_t> numbers_of(const TensorImpl& tensor);
// Compares with what was seen before; true where a number has changed at some time.
const std::vector<bool>& observe(ObservedInputs& inputs, const std::string& name, int rank,
                                 std::vector<std::int64_t> now);

// The type of an input tensor, with symbols where its sizes and strides are dynamic; their facts are noted in `t`.
TensorType input_type(Tracer& t, PyObject* tensor, SourceRef source);
// A symbol for an int that is dynamic; none: it is a constant of the trace.
std::optional<Size> int_symbol(Tracer& t, PyObject* value, SourceRef source);
// The float there is another one in other calls: it is no constant of the trace.
bool is_dynamic_float(Tracer& t, double value, SourceRef source);
// The assumption that an expression of numbers of inputs is what it was.
void assume_number(Tracer& t, std::shared_ptr<const NumberTest> test);
// Of a call's symbolic arguments only those stay symbols whose value decides no layout: operands of arithmetic, sizes
// of results and bounds of slices, which are settled first. True: something in `args` or `kwargs` is another size now.
bool settle_arguments(const Op& op, const BoundArgs& bound, std::vector<Arg>& args, KwArgs& kwargs);
// Records what the trace assumed of its symbols. Throws PythonError (ConstraintViolationError) where a size the user
// marked as dynamic has become a constant.
void add_size_guards(Tracer& t);
// Symbols the graph uses that no size of its tensor inputs gives: each becomes an input of its own, first of all, in
// the order returned.
std::vector<SizePlace> add_size_inputs(Tracer& t, Graph& g);

}  // namespace md
