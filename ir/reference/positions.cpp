// Index tensors, lists and masks become offsets into a tensor; two tensors are paired slice by slice.
#include "ir/reference/positions.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "ir/core/error.h"
#include "ir/graph/op_ids.h"
#include "ir/infer/indexing.h"

namespace md {
namespace {

// One item of an index: positions in one dimension.
struct Axis {
  int dim;
  DimVec sizes;
  std::vector<std::int64_t> values;
};

void add_numbers(const ListArg& list, std::vector<std::int64_t>& out) {
  for (const Arg& a : list.items) {
    if (const auto* inner = a.get_if<ListArg>()) {
      add_numbers(*inner, out);
    } else {
      out.push_back(a.get<Size>().value());
    }
  }
}

Axis axis_of(const ListArg& list, int dim) {
  Axis axis{dim, {}, {}};
  for (const Size s : list_sizes(list)) axis.sizes.push_back(s.value());
  add_numbers(list, axis.values);
  return axis;
}

template <class T>
void read_all(const TensorImpl& t, std::vector<std::int64_t>& out) {
  const std::int64_t n = t.numel();
  out.reserve(static_cast<std::size_t>(n));
  if (t.is_contiguous()) {
    out.assign(t.as<T>(), t.as<T>() + n);
    return;
  }
  ElementCursor at(t, t.sizes);
  for (std::int64_t i = 0; i < n; ++i, at.next()) out.push_back(t.as<T>()[at.offset()]);
}

// A mask stands for the positions where it holds, one vector for each of its dimensions.
void add_mask(const TensorImpl& mask, int dim, std::vector<Axis>& axes) {
  const std::size_t first = axes.size();
  for (int i = 0; i < mask.dim(); ++i) axes.push_back({dim + i, {}, {}});
  DimVec at(mask.sizes.size());
  ElementCursor cursor(mask, mask.sizes);
  for (std::int64_t n = mask.numel(); n > 0; --n, cursor.next()) {
    if (mask.as<std::uint8_t>()[cursor.offset()]) {
      for (std::size_t i = 0; i < at.size(); ++i) axes[first + i].values.push_back(at[i]);
    }
    for (std::size_t i = at.size(); i-- > 0;) {
      if (++at[i] < mask.sizes[i]) break;
      at[i] = 0;
    }
  }
  for (std::size_t i = first; i < axes.size(); ++i) axes[i].sizes = {static_cast<std::int64_t>(axes[i].values.size())};
}

std::vector<Axis> read_axes(const ListArg& indices, std::vector<std::int64_t>& counts) {
  std::vector<Axis> axes;
  int dim = 0;
  for (const Arg& a : indices.items) {
    if (a.is_none()) {
      ++dim;
    } else if (const auto* list = a.get_if<ListArg>()) {
      axes.push_back(axis_of(*list, dim++));
    } else {
      const TensorImpl& t = *a.get<TensorRef>();
      if (is_mask(t.dtype)) {
        add_mask(t, dim, axes);
        counts.push_back(static_cast<std::int64_t>(axes.back().values.size()));
        dim += t.dim();
        continue;
      }
      axes.push_back({dim++, t.sizes, vector_positions(t)});
    }
  }
  return axes;
}

DimVec joined_sizes(const std::vector<Axis>& axes) {
  DimVec out;
  for (const Axis& axis : axes) {
    while (axis.sizes.size() > out.size()) out.insert(out.begin(), 1);
    for (std::size_t i = 0; i < axis.sizes.size(); ++i) {
      std::int64_t& have = out[out.size() - axis.sizes.size() + i];
      if (have != axis.sizes[i] && have != 1 && axis.sizes[i] != 1) {
        throw OpError(ErrorKind::Index, "shape mismatch: indexing tensors could not be broadcast together");
      }
      if (have == 1) have = axis.sizes[i];
    }
  }
  return out;
}

[[noreturn]] void out_of_bounds(std::int64_t at, int dim, std::int64_t size) {
  throw OpError(ErrorKind::Index,
                fmt::format("index {} is out of bounds for dimension {} with size {}", at, dim, size));
}

void add_offsets(const Axis& axis, const TensorImpl& x, const DimVec& positions, std::vector<std::int64_t>& offsets) {
  const std::int64_t size = x.sizes[axis.dim], stride = x.strides[axis.dim];
  const auto offset = [&](std::int64_t at) {
    if (at < -size || at >= size) out_of_bounds(at, axis.dim, size);
    return (at < 0 ? at + size : at) * stride;
  };
  if (axis.sizes == positions) {
    for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] += offset(axis.values[i]);
    return;
  }
  const TensorImpl shape({}, DType::Int64, axis.sizes, contiguous_strides(axis.sizes), 0);
  ElementCursor at(shape, positions);
  for (std::int64_t& o : offsets) {
    o += offset(axis.values[static_cast<std::size_t>(at.offset())]);
    at.next();
  }
}

}  // namespace

std::vector<std::int64_t> vector_positions(const TensorImpl& index) {
  std::vector<std::int64_t> values;
  if (index.dtype == DType::Int32) {
    read_all<std::int32_t>(index, values);
  } else {
    read_all<std::int64_t>(index, values);
  }
  return values;
}

IndexedElements indexed_elements(const TensorImpl& x, const ListArg& indices) {
  IndexedElements e;
  const std::vector<Axis> axes = read_axes(indices, e.counts);
  e.positions = joined_sizes(axes);
  std::vector<bool> taken(x.sizes.size());
  for (const Axis& axis : axes) taken.at(static_cast<std::size_t>(axis.dim)) = true;
  const int last = axes.empty() ? -1 : axes.back().dim;
  const bool together = !axes.empty() && last - axes.front().dim + 1 == static_cast<int>(axes.size());
  for (int d = 0; d < x.dim(); ++d) {
    if (taken[static_cast<std::size_t>(d)]) continue;
    e.kept.push_back(d);
    if (d < last) ++e.outer;
  }
  e.first = together ? axes.front().dim : 0;
  for (const int d : e.kept) e.result.push_back(x.sizes[d]);
  for (std::size_t i = 0; i < e.positions.size(); ++i) {
    e.result.insert(e.result.begin() + e.first + static_cast<int>(i), e.positions[i]);
  }
  const std::int64_t count =
      std::accumulate(e.positions.begin(), e.positions.end(), std::int64_t{1}, std::multiplies<>());
  e.offsets.assign(static_cast<std::size_t>(count), 0);
  // Nothing is looked up in a result without elements.
  const bool reads = std::ranges::none_of(e.result, [](std::int64_t n) { return n == 0; });
  for (const Axis& axis : axes) {
    if (reads) add_offsets(axis, x, e.positions, e.offsets);
  }
  return e;
}

SlicePairs IndexedElements::pairs(const TensorImpl& x, const TensorImpl& other) const {
  SlicePairs p;
  DimVec strides(result.size());
  const std::size_t added = result.size() - other.sizes.size();
  for (std::size_t i = added; i < result.size(); ++i) {
    strides[i] = other.sizes[i - added] == 1 ? 0 : other.strides[i - added];
  }
  const auto n = static_cast<int>(positions.size());
  for (int i = 0; i < static_cast<int>(kept.size()); ++i) {
    const int to = i < first ? i : i + n;
    (i < outer ? p.outer : p.inner).add(x.sizes[kept[i]], x.strides[kept[i]], strides[to]);
  }
  p.here = offsets;
  p.there.reserve(offsets.size());
  TensorImpl at({}, other.dtype, positions, DimVec(positions.size()), 0);
  for (int i = 0; i < n; ++i) at.strides[i] = strides[first + i];
  ElementCursor cursor(at, positions);
  for (std::size_t k = 0; k < offsets.size(); ++k, cursor.next()) p.there.push_back(cursor.offset());
  return p;
}

void copy_unless_same(const TensorImpl& x, const TensorImpl& out) {
  if (&x == &out) return;
  SideBySide s;
  const std::size_t added = out.sizes.size() - x.sizes.size();
  for (std::size_t i = 0; i < out.sizes.size(); ++i) {
    const bool repeated = i < added || x.sizes[i - added] != out.sizes[i];
    s.add(out.sizes[i], repeated ? 0 : x.strides[i - added], out.strides[i]);
  }
  const std::size_t last = s.sizes.size();
  visit_size(x.dtype, [&](auto u) {
    using U = decltype(u);
    const U* from = x.as<U>();
    U* to = out.as<U>();
    if (last == 0) {
      if (out.numel() > 0) *to = *from;
      return;
    }
    const std::int64_t n = s.sizes[last - 1], step = s.a[last - 1], step_out = s.b[last - 1];
    walk(s, last - 1, [&](std::int64_t a, std::int64_t b) {
      for (std::int64_t i = 0; i < n; ++i) to[b + i * step_out] = from[a + i * step];
    });
  });
}

}  // namespace md
