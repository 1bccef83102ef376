// Ops as parts that are measured: one site for each, made when it is first observed.
#pragma once

#include "ir/graph/op_table.h"
#include "ir/run/observed_parts.h"

namespace md {

const PartSite* op_site(const Op& op);

}  // namespace md
