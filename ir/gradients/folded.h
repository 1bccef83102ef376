// What derivatives of ops that fold dimensions share.
#pragma once

#include <vector>

#include "ir/gradients/derivation.h"

namespace md {

// The dimensions of the first operand that the argument `dim` means, from 0 on; all for None and for [].
std::vector<int> folded_dims(const Derivation& d, const Arg& dim);
// A result with its folded dimensions back as size 1: what broadcasts against the operand.
Arg unfolded(const Derivation& d, const Arg& result, const std::vector<int>& dims);
Arg dims_arg(const std::vector<int>& dims);

}  // namespace md
