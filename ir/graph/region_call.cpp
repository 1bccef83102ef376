// The operators over regions by their names in graphs.
#include "ir/graph/region_call.h"

#include <string>
#include <utility>

#include "ir/core/error.h"

namespace md {

RegionKind region_kind(std::string_view target) {
  static constexpr std::pair<std::string_view, RegionKind> kRows[] = {
      {"ops.higher_order.cond", RegionKind::Cond},
      {"ops.higher_order.while_loop", RegionKind::WhileLoop},
      {"ops.higher_order.scan", RegionKind::Scan},
      {"ops.higher_order.map_impl", RegionKind::Map},
  };
  for (const auto& [name, kind] : kRows)
    if (name == target) return kind;
  throw InternalError("no operator over regions: " + std::string(target));
}

std::size_t carried_count(RegionKind kind, const std::vector<Arg>& args) {
  const bool carries = kind == RegionKind::WhileLoop || kind == RegionKind::Scan;
  return carries ? args.at(0).get<ListArg>().items.size() : 0;
}

}  // namespace md
