// Where the values of special registers lie.
#include "special_rows.h"

#include <cstddef>
#include <map>

#include "warp.h"

namespace emulated {

std::optional<Row> special_row(std::string_view name) {
  static const std::map<std::string_view, std::size_t> kRows = {
      {"%tid.x", offsetof(SpecialRows, tid)},
      {"%tid.y", offsetof(SpecialRows, tid) + 128},
      {"%tid.z", offsetof(SpecialRows, tid) + 256},
      {"%ntid.x", offsetof(SpecialRows, ntid)},
      {"%ntid.y", offsetof(SpecialRows, ntid) + 128},
      {"%ntid.z", offsetof(SpecialRows, ntid) + 256},
      {"%ctaid.x", offsetof(SpecialRows, ctaid)},
      {"%ctaid.y", offsetof(SpecialRows, ctaid) + 128},
      {"%ctaid.z", offsetof(SpecialRows, ctaid) + 256},
      {"%nctaid.x", offsetof(SpecialRows, nctaid)},
      {"%nctaid.y", offsetof(SpecialRows, nctaid) + 128},
      {"%nctaid.z", offsetof(SpecialRows, nctaid) + 256},
      {"%tid.w", offsetof(SpecialRows, zero)},
      {"%ctaid.w", offsetof(SpecialRows, zero)},
      {"%laneid", offsetof(SpecialRows, laneid)},
      {"%warpid", offsetof(SpecialRows, warpid)},
      {"%nwarpid", offsetof(SpecialRows, nwarpid)},
      {"%smid", offsetof(SpecialRows, smid)},
      {"%nsmid", offsetof(SpecialRows, nsmid)},
      {"%lanemask_eq", offsetof(SpecialRows, mask_eq)},
      {"%lanemask_lt", offsetof(SpecialRows, mask_lt)},
      {"%lanemask_le", offsetof(SpecialRows, mask_le)},
      {"%lanemask_gt", offsetof(SpecialRows, mask_gt)},
      {"%lanemask_ge", offsetof(SpecialRows, mask_ge)},
      {"%dynamic_smem_size", offsetof(SpecialRows, dynamic_shared)},
      {"%total_smem_size", offsetof(SpecialRows, total_shared)},
      {"%gridid", offsetof(SpecialRows, gridid)},
  };
  auto found = kRows.find(name);
  if (found == kRows.end()) return std::nullopt;
  return kSpecialRow | static_cast<Row>(found->second);
}

}  // namespace emulated
