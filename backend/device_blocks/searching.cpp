// Searching, classes, and functions of two elements that no body has.
#include "backend/device_blocks/kernel_calls.h"
#include "ir/graph/op_ids.h"

namespace md::device_blocks {
namespace {

bool map_pairs(const DeviceCall& c, std::string_view kernel) {
  const TensorImpl& out = *c.out[0];
  const std::string entry = by_dtype(kernel, out.dtype);
  if (!has_kernel(entry)) return false;
  const TensorRef a = converted(c.args[0].get<TensorRef>(), out.dtype);
  const TensorRef b = converted(c.args[1].get<TensorRef>(), out.dtype);
  if (!a || !b) return false;
  const DimVec of_a = spread(*a, out.sizes), of_b = spread(*b, out.sizes);
  PairParams p{};
  if (!lay_out(out.sizes, p.space, {{out.strides, p.out.strides}, {of_a, p.a.strides}, {of_b, p.b.strides}}))
    return false;
  p.out.data = address_of(out), p.a.data = address_of(*a), p.b.data = address_of(*b);
  launch(entry, out.device(), p.space.total, p);
  return true;
}

// Values are compared as float64s, or as int64s where all are integers.
bool search(const DeviceCall& c) {
  if (!c.args[5].is_none()) return false;  // with a sorter
  const auto* side = c.args[4].get_if<std::string>();
  const TensorRef &rows = c.args[0].get<TensorRef>(), &x = c.args[1].get<TensorRef>();
  const TensorImpl& out = *c.out[0];
  const DType compared = is_floating(rows->dtype) || is_floating(x->dtype) ? DType::Float64 : DType::Int64;
  const TensorRef sorted = converted(rows, compared), values = converted(x, compared);
  if (!sorted || !values || sorted->dim() == 0) return false;
  const auto last = static_cast<std::size_t>(sorted->dim() - 1);
  // One row of values for each row of boundaries, or all for the only one.
  DimVec starts(x->sizes.size());
  for (std::size_t d = 0; d < last; ++d) starts[d] = sorted->strides[d];
  SearchParams p{};
  p.size = sorted->sizes[last], p.step = sorted->strides[last];
  p.right = c.args[3].get<bool>() || (side && *side == "right");
  p.wide = out.dtype == DType::Int64;
  if (!lay_out(x->sizes, p.space,
               {{out.strides, p.out.strides}, {starts, p.rows.strides}, {values->strides, p.values.strides}}))
    return false;
  p.out.data = address_of(out), p.rows.data = address_of(*sorted), p.values.data = address_of(*values);
  launch(by_dtype("search", compared), out.device(), p.space.total, p);
  return true;
}

bool name_classes(const DeviceCall& c) {
  const TensorImpl &x = c.tensor(0), &out = *c.out[0];
  ClassParams p{};
  if (x.dtype != DType::Int64 || !out.is_contiguous() || !lay_out(x.sizes, p.space, {{x.strides, p.from.strides}}))
    return false;
  p.from.data = address_of(x), p.to = address_of(out);
  p.classes = out.sizes.back();
  p.named.words = static_cast<Word>(OutsideWords::Class);
  launch("one_hot_i64", out.device(), out.numel(), p);
  return true;
}

}  // namespace

bool run_searching(const DeviceCall& c) {
  switch (c.op.id) {
    case id::Gcd:
      return map_pairs(c, "gcd");
    case id::Lcm:
      return map_pairs(c, "lcm");
    case id::NextAfter:
      return map_pairs(c, "nextafter");
    case id::SearchSorted:
      return search(c);
    case id::OneHot:
      return name_classes(c);
    default:
      return false;
  }
}

}  // namespace md::device_blocks
