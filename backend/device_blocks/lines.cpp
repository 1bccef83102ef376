// Ops that go along one dimension in order: running sums and extremes, sorting.
#include <string>
#include <utility>

#include "backend/device_blocks/kernel_calls.h"
#include "ir/graph/op_ids.h"

namespace md::device_blocks {
namespace {

// Lines of `x` along the op's dimension, with those of the results.
bool lay_out_lines(const DeviceCall& c, const TensorImpl& x, LineParams& p) {
  const int d = c.dim(x.dim());
  const Line from = line_of(x, d), to = line_of(*c.out[0], d), positions = line_of(*c.out.back(), d);
  p.size = from.size, p.from_step = from.step, p.to_step = to.step, p.positions_step = positions.step;
  p.from.data = address_of(x), p.to.data = address_of(*c.out[0]), p.positions.data = address_of(*c.out.back());
  return lay_out(
      from.sizes, p.lines,
      {{from.strides, p.from.strides}, {to.strides, p.to.strides}, {positions.strides, p.positions.strides}});
}

bool accumulate(const DeviceCall& c, std::string_view kernel) {
  const DType t = c.out[0]->dtype;
  const std::string entry = by_dtype(kernel, t);
  if (!has_kernel(entry)) return false;
  const TensorRef x = converted(c.args[0].get<TensorRef>(), t);
  LineParams p{};
  if (!x || !lay_out_lines(c, *x, p)) return false;
  constexpr std::int64_t kLong = 16, kManyBlocks = 128;
  if (p.from_step != 1 || p.to_step != 1 || p.size < kLong) {
    launch(entry, x->device(), p.lines.total, p);
    return true;
  }
  // Lines for each block, a power of two: one if there are few.
  for (p.flag = 1; p.flag < kScanLines && p.lines.total >= p.flag * 2 * kManyBlocks;) p.flag *= 2;
  const std::int64_t blocks = (p.lines.total + p.flag - 1) / p.flag;
  launch(by_dtype(std::string(kernel) + "_tiles", t), x->device(), blocks * kScanThreads, p, kScanThreads);
  return true;
}

bool running_extreme(const DeviceCall& c, bool largest) {
  const TensorImpl& x = c.tensor(0);
  LineParams p{};
  if (is_storage_only(x.dtype) || !lay_out_lines(c, x, p)) return false;
  p.flag = largest;
  launch(by_dtype("cumextreme", x.dtype), x.device(), p.lines.total, p);
  return true;
}

}  // namespace

namespace {

void sort_in_blocks(DType t, Device device, const LineParams& p) {
  const std::int64_t together = kSortMost / p.size;
  launch(by_dtype("sort_in_block", t), device, (p.lines.total + together - 1) / together * kSortThreads, p,
         kSortThreads);
}

}  // namespace

void sort_rows(std::int64_t size, bool descending, TensorRef& values, TensorRef& positions) {
  const Device here = values->device();
  MergeParams m{values->numel(), size, 1, descending, 0, 0, 0, 0};
  if (size <= kSortMost) {
    LineParams p{};
    p.lines = {m.total / size, 1, {m.total / size}};
    p.from.strides.of[0] = p.to.strides.of[0] = p.positions.strides.of[0] = size;
    p.from.data = p.to.data = address_of(*values), p.positions.data = address_of(*positions);
    p.size = size, p.from_step = p.to_step = p.positions_step = 1, p.flag = descending;
    return sort_in_blocks(values->dtype, here, p);
  }
  TensorRef to_values = empty_tensor(values->sizes, values->dtype, here);
  TensorRef to_positions = empty_tensor(values->sizes, DType::Int64, here);
  const std::string entry = by_dtype("merge_runs", values->dtype);
  for (; m.width < m.size; m.width *= 2) {
    m.values = address_of(*values), m.positions = address_of(*positions);
    m.to_values = address_of(*to_values), m.to_positions = address_of(*to_positions);
    launch(entry, here, m.total, m);
    std::swap(values, to_values), std::swap(positions, to_positions);
  }
}

bool sorted_lines(const TensorRef& x, int d, bool descending, TensorRef& values, TensorRef& positions) {
  const std::int64_t total = x->numel();
  const Device here = x->device();
  const Line from = line_of(*x, d);
  DimVec rows = contiguous_strides(from.sizes);
  for (std::int64_t& step : rows) step *= from.size;
  LineParams p{};
  if (is_storage_only(x->dtype) ||
      !lay_out(from.sizes, p.lines,
               {{from.strides, p.from.strides}, {rows, p.to.strides}, {rows, p.positions.strides}}))
    return false;
  values = empty_tensor({total}, x->dtype, here), positions = empty_tensor({total}, DType::Int64, here);
  p.size = from.size, p.from_step = from.step, p.to_step = p.positions_step = 1, p.flag = descending;
  p.from.data = address_of(*x), p.to.data = address_of(*values), p.positions.data = address_of(*positions);
  if (p.size <= kSortMost) {
    sort_in_blocks(x->dtype, here, p);
  } else {
    launch(by_dtype("gather_lines", x->dtype), here, total, p);
    sort_rows(p.size, descending, values, positions);
  }
  return true;
}

namespace {

bool sort_lines(const DeviceCall& c) {
  const TensorRef& x = c.args[0].get<TensorRef>();
  const int d = c.dim(x->dim());
  const bool descending = c.args[2].get<bool>();
  const std::int64_t size = x->dim() ? x->sizes[static_cast<std::size_t>(d)] : 1;
  LineParams p{};
  if (is_storage_only(x->dtype)) return false;
  if (size <= kSortMost) {
    if (!lay_out_lines(c, *x, p)) return false;
    p.flag = descending;
    sort_in_blocks(x->dtype, x->device(), p);
    return true;
  }
  TensorRef values, positions;
  if (!sorted_lines(x, d, descending, values, positions)) return false;
  // Rows of the buffers seen as the lines of the results.
  const auto put = [&](const TensorImpl& rows, const TensorImpl& out) {
    DimVec strides(out.sizes.size());
    std::int64_t step = size;
    for (int i = out.dim(); i-- > 0;) {
      if (i == d) continue;
      strides[static_cast<std::size_t>(i)] = step;
      step *= out.sizes[static_cast<std::size_t>(i)];
    }
    if (!strides.empty()) strides[static_cast<std::size_t>(d)] = 1;
    return copy_elements(TensorImpl(rows.storage, rows.dtype, out.sizes, strides, 0), out);
  };
  return put(*values, *c.out[0]) && put(*positions, *c.out[1]);
}

}  // namespace

bool run_lines(const DeviceCall& c) {
  switch (c.op.id) {
    case id::CumSum:
      return accumulate(c, "cumsum");
    case id::CumProd:
      return accumulate(c, "cumprod");
    case id::LogCumSumExp:
      return accumulate(c, "logcumsumexp");
    case id::CumMax:
      return running_extreme(c, true);
    case id::CumMin:
      return running_extreme(c, false);
    case id::Sort:
      return sort_lines(c);
    default:
      return false;
  }
}

}  // namespace md::device_blocks
