// Ops that put tensors together from others by copies; and which family a kernel op belongs to.
#include "backend/device_blocks/kernel_calls.h"
#include "ir/graph/op_ids.h"

namespace md::device_blocks {
namespace {

bool join_along(const DeviceCall& c) {
  const TensorImpl& out = *c.out[0];
  const std::int64_t given = c.whole(1);
  const auto d = static_cast<std::size_t>(given < 0 ? given + out.dim() : given);
  for (const Arg& a : c.args[0].get<ListArg>().items) {
    const DType t = a.get<TensorRef>()->dtype;
    if (t != out.dtype && (is_storage_only(t) || is_storage_only(out.dtype))) return false;
  }
  TensorImpl part(out.storage, out.dtype, out.sizes, out.strides, out.offset);
  for (const Arg& a : c.args[0].get<ListArg>().items) {
    const TensorImpl& t = *a.get<TensorRef>();
    if (t.dim() != out.dim()) continue;  // an empty 1-d tensor among others
    part.sizes = t.sizes;
    if (!copy_elements(t, part)) return false;
    part.offset += t.sizes[d] * out.strides[d];
  }
  return true;
}

bool write_view(const DeviceCall& c) {
  const TensorImpl &out = *c.out[0], &source = c.tensor(1);
  DimVec strides;
  for (const Arg& s : c.args[2].get<ListArg>().items) strides.push_back(s.get<Size>().value());
  const TensorImpl view(out.storage, out.dtype, source.sizes, strides, out.offset + c.whole(3));
  return copy_elements(c.tensor(0), out) && copy_elements(source, view);
}

bool flip(const DeviceCall& c) {
  const TensorImpl &x = c.tensor(0), &out = *c.out[0];
  TensorImpl turned(x.storage, x.dtype, x.sizes, x.strides, x.offset);
  for (const Arg& a : c.args[1].get<ListArg>().items) {
    if (x.dim() == 0) continue;
    const std::int64_t given = a.get<Size>().value();
    const auto d = static_cast<std::size_t>(given < 0 ? given + x.dim() : given);
    turned.offset += (x.sizes[d] - 1) * x.strides[d];
    turned.strides[d] = -x.strides[d];
  }
  return copy_elements(turned, out);
}

}  // namespace

bool run_joining(const DeviceCall& c) {
  switch (c.op.id) {
    case id::Cat:
      return join_along(c);
    case id::WriteView:
      return write_view(c);
    case id::Flip:
      return flip(c);
    default:
      return false;
  }
}

bool run_kernel(const DeviceCall& c) {
  constexpr bool (*kFamilies[])(const DeviceCall&) = {run_joining,  run_reading, run_writing,   run_product,
                                                      run_lines,    run_windows, run_searching, run_selecting,
                                                      run_grouping, run_special};
  for (const auto family : kFamilies)
    if (family(c)) return true;
  return false;
}

}  // namespace md::device_blocks
