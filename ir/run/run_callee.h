// Running Call nodes of code outside of the op table.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ir/graph/callee.h"

namespace md {

// Sizes as numbers.
using SizeNumber = std::function<std::int64_t(Size)>;
std::vector<ExpectedTensor> expected_tensors(std::span<const TensorType> types, const SizeNumber& number);

// The tensors among arguments, from left to right.
void for_each_tensor(std::span<Arg> args, const std::function<void(TensorRef&)>& f);

// Runs a Call of the functional dialect: copies what it writes to, and gives every result the strides of its type.
std::vector<TensorRef> run_functional(const Callee& callee, std::vector<Arg> args,
                                      std::span<const ExpectedTensor> expected);

}  // namespace md
