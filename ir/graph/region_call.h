// Calls of regions: which operator a Call node with regions is, and how its arguments belong to the regions' inputs.
#pragma once

#include <string_view>
#include <vector>

#include "ir/graph/graph.h"

namespace md {

enum class RegionKind : std::uint8_t {
  Cond,       // (predicate, captured): region 0 or region 1, called once
  WhileLoop,  // (carried, captured): region 1 again and again while region 0 holds
  Scan,       // (init, xs, captured): the region per row of xs; a new init and a row of each other result
  Map,        // (xs, captured): the region per row of xs; a row of each result
};

// By the target of the node. Throws InternalError for others.
RegionKind region_kind(std::string_view target);
// Of the arguments, those before the regions when the call is written out.
inline std::size_t arguments_before_regions(RegionKind kind) { return kind == RegionKind::Cond ? 1 : 0; }
// Which of the arguments is given row by row; -1: none.
inline int rows_argument(RegionKind kind) { return kind == RegionKind::Scan ? 1 : kind == RegionKind::Map ? 0 : -1; }
inline SizeVec row_sizes(const SizeVec& of) { return SizeVec(of.begin() + 1, of.end()); }
// How many results stand for a state that goes from call to call: the first so many, as the first inputs.
std::size_t carried_count(RegionKind kind, const std::vector<Arg>& args);

}  // namespace md
