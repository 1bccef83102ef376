// Ops that go along one dimension in order: running sums and extremes, sorting.
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
  launch(entry, x->device(), p.lines.total, p);
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

// Rows of `size` values with their positions, sorted; both are tensors of one dimension.
void sort_rows(std::int64_t size, bool descending, TensorRef& values, TensorRef& positions) {
  const Device here = values->device();
  MergeParams m{values->numel(), size, 1, descending, 0, 0, 0, 0};
  if (size < 2) return;
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

// By merges that go between two buffers.
bool sorted_lines(const TensorRef& x, int d, bool descending, TensorRef& values, TensorRef& positions) {
  const std::int64_t total = x->numel();
  const Device here = x->device();
  const Line from = line_of(*x, d);
  LineParams p{};
  if (is_storage_only(x->dtype) || !lay_out(from.sizes, p.lines, {{from.strides, p.from.strides}})) return false;
  values = empty_tensor({total}, x->dtype, here), positions = empty_tensor({total}, DType::Int64, here);
  p.size = from.size, p.from_step = from.step;
  p.from.data = address_of(*x), p.to.data = address_of(*values), p.positions.data = address_of(*positions);
  launch(by_dtype("gather_lines", x->dtype), here, total, p);
  sort_rows(p.size, descending, values, positions);
  return true;
}

namespace {

bool sort_lines(const DeviceCall& c) {
  const TensorRef& x = c.args[0].get<TensorRef>();
  TensorRef values, positions;
  const int d = c.dim(x->dim());
  if (!sorted_lines(x, d, c.args[2].get<bool>(), values, positions)) return false;
  // Rows of the buffers seen as the lines of the results.
  const std::int64_t size = x->dim() ? x->sizes[static_cast<std::size_t>(d)] : 1;
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
