// What the inference rules of ir/infer*.cpp share. A rule is `TensorType infer_rule(ops::X, const InferCall&)`.
#pragma once

#include <fmt/format.h>

#include <optional>

#include "ir/core/error.h"
#include "ir/graph/graph.h"
#include "ir/graph/op_table.h"

namespace md {

struct InferCall {
  const Op& op;
  std::span<const Arg> args;

  const Arg& arg(int i) const { return args[static_cast<std::size_t>(i)]; }
  TensorType tensor(int i) const { return type_of(arg(i)); }
  Device device() const;  // where the result is
  int rank(int i) const;  // tensor(i).dim() without copying the type
  Size size(int i) const { return arg(i).get<Size>(); }
  SizeVec sizes(int i) const;  // an int[] argument
  bool flag(int i) const { return arg(i).get<bool>(); }

  // Throws OpError with "name(): " before the message.
  template <class... T>
  [[noreturn]] void fail(ErrorKind kind, fmt::format_string<T...> format, T&&... values) const {
    throw OpError(kind, op.public_name + "(): " + fmt::format(format, std::forward<T>(values)...));
  }
};

// infer(), which also says which results are operands that the call hands back, not tensors of their own (x.float() of
// a float32 tensor): per result the operand's node, else null.
std::vector<TensorType> infer(const Op& op, std::span<const Arg> args, std::vector<Node*>& handed_back);

std::string sizes_text(const SizeVec& sizes);  // "[2, 3]"
// Sizes with a -1 replaced by what makes `numel` elements; throws OpError(Runtime) if nothing does.
SizeVec completed_sizes(const InferCall& c, SizeVec wanted, const SizeVec& have);
// Strides under which a tensor's elements read in row-major order under `wanted` sizes, or nothing if a copy is needed.
std::optional<SizeVec> view_strides(const TensorType& x, const SizeVec& wanted);
// Strides of an empty_like(x): x's own if dense, else dense in x's order of dimensions.
SizeVec like_strides(const TensorType& x);
// Dense strides in the order in which operands of (or broadcast to) these sizes lie in memory, as torch's iterator
// allocates its outputs.
SizeVec joined_strides(std::span<const TensorType> operands, const SizeVec& sizes);
SizeVec row_major_strides(const SizeVec& sizes);
bool is_row_major(const SizeVec& sizes, const SizeVec& strides);
Size product(const SizeVec& sizes);
// 0 <= dim < rank for -rank <= dim < rank, else IndexError. A 0-d tensor counts as rank 1.
int checked_dim(const InferCall& c, Size dim, int rank);
// Sizes both broadcast to; throws OpError(Runtime).
SizeVec broadcast(const InferCall& c, const SizeVec& a, const SizeVec& b);
// Where the results of a call are: on the device it names, else with its operands, else on the CPU. 0-d tensors of the
// CPU go with any others as numbers do, and positions may be on the CPU. Throws OpError(Runtime) for operands on
// several devices and devices this build has no tensors on, OpError(NotImplemented) for a copy of elements that are not
// there.
Device device_of_call(const Op& op, std::span<const Arg> args);
Device device_of(const Arg& tensor);
Device available(Device d);  // as tensors there have it; throws OpError(Runtime) if there can be none
// The dtype of `c`'s dtype parameter, or `otherwise`.
DType chosen_dtype(const InferCall& c, DType otherwise);
TensorType fresh_type(const InferCall& c, DType dtype, SizeVec sizes);  // row-major
DType number_dtype(const Arg& number);                                  // bool, int64, default float
void check_number_fits(const Op& op, const Arg& number, DType t);       // throws OpError(Runtime)

}  // namespace md
