// Ops as parts that are measured: one site for each, made when it is first observed.
#pragma once

#include "ir/graph/op_table.h"
#include "ir/run/observed_parts.h"

namespace md {

const SiteSlot* op_slot(const Op& op);
PartName name_of_op(const Op& op);

}  // namespace md
