// Which dimensions an index names, and where its positions stand in the result.
#include "backend/device_blocks/indexes.h"

namespace md::device_blocks {

bool is_positions(const TensorImpl& t) { return t.dtype == DType::Int64 || t.dtype == DType::Int32; }

IndexTensor index_along(const TensorImpl& index, const TensorImpl& x, int dim, OutsideWords words) {
  IndexTensor i{};
  i.data = address_of(index), i.wide = index.dtype == DType::Int64;
  i.dim = dim, i.size = x.dim() ? x.sizes[static_cast<std::size_t>(dim)] : 1;
  i.stride = x.dim() ? x.strides[static_cast<std::size_t>(dim)] : 0;
  i.words = static_cast<Word>(words);
  return i;
}

IndexTensor flat_index(const TensorImpl& index, const TensorImpl& x) {
  IndexTensor i{};
  i.data = address_of(index), i.wide = index.dtype == DType::Int64;
  i.size = x.numel(), i.stride = 1, i.words = static_cast<Word>(OutsideWords::Flat);
  return i;
}

bool read_indexes(const TensorImpl& x, const ListArg& list, Indexed& e) {
  int dim = 0;
  for (const Arg& a : list.items) {
    if (a.is_none()) {
      e.kept.push_back(dim++);
      continue;
    }
    const auto* t = a.get_if<TensorRef>();
    if (!t || !is_positions(**t) || static_cast<int>(e.axes.size()) == kMostIndexes) return false;
    e.axes.push_back({*t, dim++});
  }
  for (; dim < x.dim(); ++dim) e.kept.push_back(dim);
  if (e.axes.empty()) return false;
  for (const Indexed::Axis& axis : e.axes) {
    const DimVec& sizes = axis.index->sizes;
    while (sizes.size() > e.positions.size()) e.positions.insert(e.positions.begin(), 1);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::int64_t& have = e.positions[e.positions.size() - sizes.size() + i];
      if (have != sizes[i] && have != 1 && sizes[i] != 1) return false;
      if (have == 1) have = sizes[i];
    }
  }
  const int first = e.axes.front().dim, last = e.axes.back().dim;
  const bool together = last - first + 1 == static_cast<int>(e.axes.size());
  e.first = together ? static_cast<std::size_t>(first) : 0;
  return true;
}

DimVec of_positions(const Indexed& e, const DimVec& strides) {
  return DimVec(strides.begin() + static_cast<std::ptrdiff_t>(e.first),
                strides.begin() + static_cast<std::ptrdiff_t>(e.first + e.positions.size()));
}

DimVec of_kept(const Indexed& e, const DimVec& strides) {
  DimVec kept;
  for (std::size_t i = 0; i < strides.size(); ++i)
    if (i < e.first || i >= e.first + e.positions.size()) kept.push_back(strides[i]);
  return kept;
}

DimVec joined(const Indexed& e, const DimVec& kept, const DimVec& positions) {
  DimVec all;
  for (std::size_t i = 0; i < e.first; ++i) all.push_back(kept[i]);
  for (const std::int64_t s : positions) all.push_back(s);
  for (std::size_t i = e.first; i < kept.size(); ++i) all.push_back(kept[i]);
  return all;
}

}  // namespace md::device_blocks
