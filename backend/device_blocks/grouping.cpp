// Equal elements brought together and counted: unique, bincount, histc, mode.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "backend/device_blocks/kernel_calls.h"
#include "backend/device_blocks/selecting.h"
#include "ir/core/error.h"
#include "ir/graph/op_ids.h"
#include "ir/reference/reference.h"
#include "ir/tensor/readable.h"

namespace md::device_blocks {
namespace {

TensorRef zeros_like(const DimVec& sizes, DType t, Device device) {
  TensorRef zeros = empty_tensor(sizes, t, device);
  const Arg args[] = {zeros, Arg(0)};
  if (zeros->numel() > 0) run_create({op(id::FullLike), args, {&zeros, 1}});
  return zeros;
}

TensorRef positions_from_zero(std::int64_t count, Device device) {
  TensorRef numbers = empty_tensor({count}, DType::Int64, device);
  const Arg args[] = {Arg(0), Arg(count), Arg(1)};
  if (count > 0) run_create({op(id::Arange), args, {&numbers, 1}});
  return numbers;
}

// The smallest and the largest element, in memory of the CPU; NaN where there is one. Null: no kernel.
TensorRef extremes(const TensorRef& x) {
  const TensorRef both = empty_tensor({2}, x->dtype, x->device());
  for (const OpId which : {OpId{id::AMin}, OpId{id::AMax}}) {
    const auto one = make_ref<TensorImpl>(both->storage, x->dtype, DimVec{}, DimVec{}, which == id::AMin ? 0 : 1);
    const Arg args[] = {x, ListArg{}, Arg(false)};
    if (!run_reduction({op(which), args, {&one, 1}})) return nullptr;
  }
  return readable(both);
}

// --- Unique --------------------------------------------------------------------------------------------------------

// Rows in an order in which equals are neighbours.
struct Rows {
  TensorRef values, order;  // without an order: as they lie
  std::int64_t count, length;
  bool moved = false;  // the values have been put into the order
};

void sort_numbers(Rows& rows) {
  const Device here = rows.values->device();
  rows.order = positions_from_zero(rows.count, here);
  TensorRef to = empty_tensor({rows.count}, DType::Int64, here);
  MergeRowsParams p{rows.count, 1, rows.length, address_of(*rows.values), 0, 0};
  for (; p.width < p.count; p.width *= 2) {
    p.order = address_of(*rows.order), p.to_order = address_of(*to);
    launch(by_dtype("merge_rows", rows.values->dtype), here, p.count, p);
    std::swap(rows.order, to);
  }
}

// The slices of dimension `d` (of the flattened tensor: -1), each with its elements in row-major order.
Rows rows_of(const TensorRef& x, int d) {
  Rows rows;
  auto turned = make_ref<TensorImpl>(x->storage, x->dtype, x->sizes, x->strides, x->offset);
  if (d > 0) {
    std::rotate(turned->sizes.begin(), turned->sizes.begin() + d, turned->sizes.begin() + d + 1);
    std::rotate(turned->strides.begin(), turned->strides.begin() + d, turned->strides.begin() + d + 1);
  }
  rows.count = d < 0 || x->dim() == 0 ? x->numel() : x->sizes[static_cast<std::size_t>(d)];
  rows.length = rows.count ? x->numel() / rows.count : 1;
  const TensorRef dense = contiguous(turned);
  if (dense) rows.values = make_ref<TensorImpl>(dense->storage, x->dtype, DimVec{x->numel()}, DimVec{1}, dense->offset);
  return rows;
}

// Single elements are moved, of rows the numbers.
void sort_equals(Rows& rows) {
  rows.moved = rows.length == 1;
  if (!rows.moved) return sort_numbers(rows);
  rows.order = positions_from_zero(rows.count, rows.values->device());
  // Sorting goes between two buffers, and these may be the operand's elements.
  const TensorRef own = empty_tensor(rows.values->sizes, rows.values->dtype, rows.values->device());
  copy_elements(*rows.values, *own);
  rows.values = own;
  sort_rows(rows.count, false, rows.values, rows.order);
}

// Rows number firsts[k] of dimension `d`.
TensorRef selected_rows(const TensorRef& x, int d, const TensorRef& firsts) {
  DimVec sizes = x->sizes;
  sizes[static_cast<std::size_t>(d)] = firsts->numel();
  TensorRef out = empty_tensor(sizes, x->dtype, x->device());
  const Arg args[] = {x, Arg(std::int64_t{d}), firsts};
  return out->numel() == 0 || run_reading({op(id::IndexSelect), args, {&out, 1}}) ? out : nullptr;
}

bool make_unique(const DeviceCall& c, std::vector<TensorRef>& made) {
  const TensorRef& x = c.args[0].get<TensorRef>();
  const Device here = x->device();
  const std::int64_t given = c.args[1].is_none() ? -1 : c.args[1].get<Size>().value();
  const int d = c.args[1].is_none() ? -1 : static_cast<int>(given < 0 ? given + std::max(x->dim(), 1) : given);
  if (is_storage_only(x->dtype) || x->numel() == 0) return false;
  Rows rows = rows_of(x, d);
  if (!rows.values) return false;
  if (!c.args[2].get<bool>()) sort_equals(rows);
  const TensorRef flags = empty_tensor({rows.count}, DType::Bool, here);
  RunParams p{rows.count,
              rows.length,
              address_of(*rows.values),
              rows.order && !rows.moved ? address_of(*rows.order) : 0,
              address_of(*flags),
              0,
              0};
  launch(by_dtype("mark_starts", x->dtype), here, rows.count, p);
  const Numbered starts = numbered_flags(flags);
  const std::int64_t groups = starts.positions->numel();
  const TensorRef inverse = empty_tensor(d < 0 ? x->sizes : DimVec{rows.count}, DType::Int64, here);
  p.order = rows.order ? address_of(*rows.order) : 0, p.ranks = address_of(*starts.ranks), p.to = address_of(*inverse);
  launch("group_numbers", here, rows.count, p);
  const TensorRef counts = empty_tensor({groups}, DType::Int64, here);
  launch("run_lengths", here, groups,
         RunLengthParams{groups, rows.count, address_of(*starts.positions), address_of(*counts)});
  TensorRef out;
  if (d < 0 || x->dim() == 0) {
    out = taken(rows.values, starts.positions);
  } else {
    const TensorRef firsts = rows.order ? taken(rows.order, starts.positions) : starts.positions;
    out = selected_rows(x, d, firsts);
  }
  if (!out) return false;
  made = {out, inverse, counts};
  return true;
}

// --- Counting ------------------------------------------------------------------------------------------------------

void count_vector(const TensorImpl& numbers, const TensorImpl& counts) {
  CountParams p{};
  p.space = {numbers.numel(), 1, {numbers.numel()}};
  p.from.data = address_of(numbers), p.from.strides.of[0] = numbers.strides[0], p.counts = address_of(counts);
  launch("count_numbers", numbers.device(), p.space.total, p);
}

bool make_counts(const DeviceCall& c, std::vector<TensorRef>& made) {
  const TensorRef x = converted(c.args[0].get<TensorRef>(), DType::Int64);
  if (!x || x->numel() == 0) return false;
  const TensorRef ends = extremes(x);
  if (!ends) return false;
  const std::int64_t least = ends->as<std::int64_t>()[0], most = ends->as<std::int64_t>()[1];
  if (least < 0) throw OpError(ErrorKind::Runtime, "bincount only supports 1-d non-negative integral inputs.");
  if (most == std::numeric_limits<std::int64_t>::max()) throw OpError(ErrorKind::Runtime, "bincount(): too many bins");
  const std::int64_t bins = std::max(c.args[2].get<Size>().value(), most + 1);
  if (c.args[1].is_none()) {
    made.push_back(zeros_like({bins}, DType::Int64, x->device()));
    count_vector(*x, *made[0]);
    return true;
  }
  const DType t = c.tensor(1).dtype == DType::Float32 ? DType::Float32 : DType::Float64;
  const TensorRef weights = converted(c.args[1].get<TensorRef>(), t);
  if (!weights) return false;
  made.push_back(zeros_like({bins}, t, x->device()));
  add_by_position(*made[0], *x, *weights);
  return true;
}

// The bounds as the dtype's arithmetic has them; halves are counted in float32.
template <class E>
bool find_bounds(const DeviceCall& c, CountParams& p) {
  using T = WorkingOf<E>;
  const TensorRef& x = c.args[0].get<TensorRef>();
  T low = static_cast<T>(number_as(c.args[2], DType::Float64).real),
    high = static_cast<T>(number_as(c.args[3], DType::Float64).real);
  if (low == high && x->numel() > 0) {
    const TensorRef ends = extremes(x);
    if (!ends) return false;
    low = widen(ends->as<E>()[0]), high = widen(ends->as<E>()[1]);
  }
  if (low == high) low -= 1, high += 1;
  if (!std::isfinite(low) || !std::isfinite(high))
    throw OpError(ErrorKind::Runtime, fmt::format("histc(): range of [{}, {}] is not finite", low, high));
  if (low > high) throw OpError(ErrorKind::Runtime, "histc(): max must be larger than min");
  p.low = low, p.high = high;
  return true;
}

bool count_into_bins(const DeviceCall& c) {
  const TensorImpl &x = c.tensor(0), &out = *c.out[0];
  CountParams p{};
  if (!has_kernel(by_dtype("count_into_bins", x.dtype)) || !lay_out(x.sizes, p.space, {{x.strides, p.from.strides}}))
    return false;
  const bool found = visit_dtype(x.dtype, [&](auto t) {
    if constexpr (std::is_floating_point_v<WorkingOf<decltype(t)>>) return find_bounds<decltype(t)>(c, p);
    return false;
  });
  if (!found) return false;
  const TensorRef counts = zeros_like({out.numel()}, DType::Int64, out.device());
  p.from.data = x.numel() ? address_of(x) : 0, p.counts = address_of(*counts), p.bins = out.numel();
  launch(by_dtype("count_into_bins", x.dtype), out.device(), p.space.total, p);
  return copy_elements(*counts, out);
}

bool find_modes(const DeviceCall& c) {
  const TensorRef& x = c.args[0].get<TensorRef>();
  const int d = c.dim(x->dim());
  TensorRef values, places;
  ModeParams m{};
  const Line line = line_of(*x, d);
  const bool keeps = c.out[0]->dim() == x->dim() && x->dim() > 0;
  const auto kept = [&](const TensorImpl& out) {
    return keeps ? line_of(out, d).strides : DimVec(out.strides.begin(), out.strides.end());
  };
  const DimVec to = kept(*c.out[0]), positions = kept(*c.out[1]);
  if (!lay_out(line.sizes, m.lines.lines, {{to, m.lines.to.strides}, {positions, m.lines.positions.strides}}) ||
      !sorted_lines(x, d, false, values, places))
    return false;
  m.lines.size = line.size, m.lines.from.data = address_of(*values), m.places = address_of(*places);
  m.lines.to.data = address_of(*c.out[0]), m.lines.positions.data = address_of(*c.out[1]);
  launch(by_dtype("find_modes", x->dtype), x->device(), m.lines.lines.total, m);
  return true;
}

}  // namespace

bool make_grouped(const DeviceCall& c, std::vector<TensorRef>& made) {
  if (c.op.id == id::UniqueParts) return make_unique(c, made);
  return c.op.id == id::BinCount && make_counts(c, made);
}

bool run_grouping(const DeviceCall& c) {
  if (c.op.id == id::Histc) return count_into_bins(c);
  return c.op.id == id::Mode && find_modes(c);
}

}  // namespace md::device_blocks
