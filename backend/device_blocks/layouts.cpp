// Dimensions are merged from the last one outwards, which is the order kernels take them in.
#include "backend/device_blocks/layouts.h"

#include <algorithm>

namespace md::device_blocks {

DimVec spread(const TensorImpl& t, const DimVec& sizes) {
  DimVec strides(sizes.size());
  const std::size_t added = sizes.size() - t.sizes.size();
  for (std::size_t i = added; i < sizes.size(); ++i) strides[i] = t.sizes[i - added] == 1 ? 0 : t.strides[i - added];
  return strides;
}

bool lay_out(const DimVec& sizes, Space& space, std::initializer_list<LaidOut> tensors) {
  space = {};
  space.total = 1;
  for (const LaidOut& t : tensors) t.to = {};
  for (std::size_t i = sizes.size(); i-- > 0;) {
    const std::int64_t n = sizes[i];
    space.total *= n;
    if (n == 1) continue;
    const Word last = space.rank - 1;
    const bool runs_on = last >= 0 && std::ranges::all_of(tensors, [&](const LaidOut& t) {
                           return t.strides[i] == t.to.of[last] * space.sizes[last];
                         });
    if (runs_on) {
      space.sizes[last] *= n;
      continue;
    }
    if (space.rank == kMostDims) return false;
    space.sizes[space.rank] = n;
    for (const LaidOut& t : tensors) t.to.of[space.rank] = t.strides[i];
    ++space.rank;
  }
  return true;
}

Line line_of(const TensorImpl& t, int dim) {
  Line line;
  for (int i = 0; i < t.dim(); ++i) {
    if (i == dim) {
      line.size = t.sizes[i], line.step = t.strides[i];
    } else {
      line.sizes.push_back(t.sizes[i]);
      line.strides.push_back(t.strides[i]);
    }
  }
  return line;
}

}  // namespace md::device_blocks
