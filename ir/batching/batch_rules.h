// The rules of batching and the table that finds them.
#pragma once

#include "ir/batching/batching.h"

namespace md {

using BatchRule = Arg (*)(const Batching&);
BatchRule batch_rule_of(OpId id);  // null: that of the op's kind

Arg batch_one_by_one(const Batching& b);    // a call for each example
Arg batch_pointwise(const Batching& b);     // all operands broadcast
Arg batch_along_dims(const Batching& b);    // the first operand, along a dimension or several
Arg batch_same_call(const Batching& b);     // the first operand alone, and further dimensions in front change nothing
Arg batch_by_last_dims(const Batching& b);  // all operands, of which only the last dimensions count

// Views (view_rules.cpp)
Arg batch_view(const Batching& b);
Arg batch_squeeze(const Batching& b);
Arg batch_unsqueeze(const Batching& b);
Arg batch_expand(const Batching& b);
Arg batch_permute(const Batching& b);
Arg batch_transpose(const Batching& b);
Arg batch_matrix_t(const Batching& b);
Arg batch_reversed_t(const Batching& b);
Arg batch_last_two_t(const Batching& b);
Arg batch_dim_view(const Batching& b);  // of one dimension, named by the second argument
Arg batch_diagonal(const Batching& b);
Arg batch_as_strided(const Batching& b);
Arg batch_write_view(const Batching& b);

// Products, joining, convolution (product_rules.cpp)
Arg batch_mm(const Batching& b);
Arg batch_bmm(const Batching& b);
Arg batch_matmul(const Batching& b);
Arg batch_cat(const Batching& b);
Arg batch_convolution(const Batching& b);

// By position (indexing_rules.cpp)
Arg batch_along_whole(const Batching& b);  // gather, scatter and their kin: every tensor has its examples
Arg batch_index_select(const Batching& b);
Arg batch_index_write(const Batching& b);  // index_add, index_copy, index_fill
Arg batch_take(const Batching& b);
Arg batch_put(const Batching& b);
Arg batch_index(const Batching& b);
Arg batch_index_put(const Batching& b);

}  // namespace md
